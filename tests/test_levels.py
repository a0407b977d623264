"""The instruction-set level: the best by itself, another by force, and never one that is not there."""

import os
import subprocess
import sys

import pytest

from tensorbuf import _kernels

pytestmark = pytest.mark.levels


def load(level: str) -> subprocess.CompletedProcess[str]:
    """A new process that loads the package at `level` and prints the level that it got."""
    return subprocess.run(
        [sys.executable, "-c", "from tensorbuf import _kernels; print(_kernels.level())"],
        env={**os.environ, "TENSORBUF_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )


def test_this_process_has_the_level_that_was_asked_for():
    assert _kernels.level() == (os.environ.get("TENSORBUF_LEVEL") or _kernels.levels()[-1])


def test_this_process_has_the_modules_of_that_level():
    """The level is a name; what computes are the modules that are loaded."""
    build = "baseline" if _kernels.level() == "baseline" else "v3"
    loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith("tensorbuf._kernels.")}
    assert {name for name in loaded if name.startswith(("convert", "arithmetic"))} == {
        f"convert_{build}",
        f"arithmetic_{build}",
    }


def test_the_baseline_is_always_there():
    assert _kernels.levels()[0] == "baseline"


@pytest.mark.parametrize("level", _kernels.levels())
def test_each_level_of_this_machine_can_be_forced(level):
    assert load(level).stdout.split() == [level]


def test_a_level_that_is_not_there_is_refused():
    done = load("v9")
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert "v9" in done.stderr
    assert "baseline" in done.stderr
