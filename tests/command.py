"""The command as a real process, and, where nothing depends on that, in this one."""

import subprocess
import sys
from typing import Any

from tensorbuf.cli.main import run as run_command

COMMAND = (sys.executable, "-m", "tensorbuf")


def run(*arguments: object, data: bytes | None = None, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m tensorbuf`` to its end, with `data` through a pipe as its standard input."""
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, input=data, capture_output=True, timeout=300, check=False, **how)


def succeed(*arguments: object, data: bytes | None = None, **how: Any) -> bytes:
    """Run it, without an error; returns standard output."""
    done = run(*arguments, data=data, **how)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def fail(status: int, *arguments: object, data: bytes | None = None, **how: Any) -> str:
    """Run it, with an error of that exit status; returns the one line on standard error."""
    done = run(*arguments, data=data, **how)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(b"tensorbuf: ")
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.endswith(b"\n")
    return done.stderr.decode()


class Here:
    """The command in this process, which is quicker."""

    def __init__(self, capsys: Any) -> None:
        self._capsys = capsys

    def succeed(self, *arguments: object) -> str:
        """Run it, without an error; returns standard output."""
        status = run_command([str(word) for word in arguments])
        out, err = self._capsys.readouterr()
        assert (status, err) == (0, "")
        return out

    def fail(self, status: int, *arguments: object) -> str:
        """Run it, with an error of that exit status; returns the one line on standard error."""
        assert run_command([str(word) for word in arguments]) == status
        out, err = self._capsys.readouterr()
        assert out == ""
        assert err.startswith("tensorbuf: ")
        assert err.count("\n") == 1
        return err
