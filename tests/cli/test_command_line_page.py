"""The examples of docs/command_line.md, run by a shell one after another in one folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tensorbuf

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
FENCED = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples():
    """Each command of the page with what it prints."""
    for block in FENCED.findall(PAGE.read_text("utf-8")):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


if os.name == "posix":

    def test_the_examples_of_the_page(tmp_path):
        shutil.copy(Path(tensorbuf.__file__).parent / "samples" / "astronaut.jpg", tmp_path / "photo.jpg")
        folder = Path(sys.executable).parent
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        count = 0
        for command, printed in examples():
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=300,
                check=False,
            )
            assert (command, done.stdout.decode()) == (command, printed)
            count += 1
        assert count > 10
