"""Standard input and output as binary files without buffers."""

from __future__ import annotations

import io
from typing import Literal

__all__ = ["standard_input", "standard_output"]


def standard_input() -> io.FileIO:
    """Standard input; closing it leaves the process's own open."""
    return _open(0, "rb")


def standard_output() -> io.FileIO:
    """Standard output; closing it leaves the process's own open."""
    return _open(1, "wb")


def _open(descriptor: int, mode: Literal["rb", "wb"]) -> io.FileIO:
    try:
        return open(descriptor, mode, buffering=0, closefd=False)
    except OSError as error:
        raise OSError(error.errno, error.strerror, ("standard input", "standard output")[descriptor]) from None
