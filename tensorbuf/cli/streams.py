"""Standard input and output as binary files without buffers, and reading and writing what may come in pieces."""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
import sys
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from tensorbuf.doors.whole_file import naming

__all__ = ["read_some", "standard_input", "standard_output", "write_all"]


_PIPE_BYTES = 1 << 20


def standard_input() -> io.FileIO:
    """Standard input; closing it leaves the process's own open."""
    return _open(0, "rb")


def standard_output() -> io.FileIO:
    """Standard output; closing it leaves the process's own open."""
    return _open(1, "wb")


def read_some(file: io.FileIO, memory: npt.NDArray[np.uint8]) -> int:
    """Read what is there, but at least one byte; 0 is the end. Waits also where the file is set not to block."""
    while (count := file.readinto(memory.data)) is None:
        select.select([file], [], [])
    return count


def write_all(file: BinaryIO, data: memoryview) -> None:
    """Write every byte, also to a pipe that takes less at a time, or is set not to block."""
    while data:
        # None, for nothing taken, is not in the type of a BinaryIO, but what a FileIO gives.
        count: int | None = file.write(data)
        if count is None:
            select.select([], [file], [])
        else:
            data = data[count:]


def _open(descriptor: int, mode: Literal["rb", "wb"]) -> io.FileIO:
    with naming(("standard input", "standard output")[descriptor]):
        _widen(descriptor)
        return open(descriptor, mode, buffering=0, closefd=False)


def _widen(descriptor: int) -> None:
    """Let a pipe hold more than the usual 64 KiB, so that both ends run on for longer before they wait."""
    if sys.platform == "linux" and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        import fcntl

        with contextlib.suppress(OSError):  # beyond what this user's pipes may hold in all
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
