"""A file that appears under its name whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["naming", "whole_file"]


@contextlib.contextmanager
def naming(name: str | os.PathLike[str]) -> Iterator[None]:
    """Give an `OSError` of the block that has no name that of the file, which reads, writes and closing do not know."""
    try:
        yield
    except OSError as error:
        # The number of a descriptor is no name.
        if error.errno is None or isinstance(error.filename, (str, bytes)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(name)) from None


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool) -> Iterator[BinaryIO]:
    """Open a file for writing (and reading back) that appears as `path` only if the block ends without an error.

    The bytes go into a temporary file in the same folder, which takes the name `path` at the end and is removed after
    an error. Until then an older file of that name stays as it was. A symbolic link is followed. What is no regular
    file (a device, a named pipe) cannot be replaced and is written directly.

    Parameters
    ----------
    path : str or path-like
        The name of the file.
    replace : bool
        Whether a file that is already there is replaced, keeping its permissions.

    Raises
    ------
    FileExistsError
        If there is a file already and `replace` is False; before anything is written, and again at the end.
    OSError
        If the folder cannot be written to, the disk is full, `path` is a folder. An error of the
        block that names no file, as those of writing do, gets the name `path`.
    """
    given = Path(path)
    if given.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", os.fspath(path))
    if given.exists() and not given.is_file():
        with naming(path), open(given, "wb", buffering=0) as device:
            yield device
        return
    target = Path(os.path.realpath(given))
    _refuse_existing(target, path, replace)
    # Cut, since a name may be as long as the file system allows.
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        with naming(path):
            with _create(temporary, path) as file:
                yield file
            _refuse_existing(target, path, replace)
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _refuse_existing(target: Path, path: str | os.PathLike[str], replace: bool) -> None:
    if not replace and target.exists():
        raise FileExistsError(errno.EEXIST, "there is a file of that name already", os.fspath(path))


def _create(temporary: Path, path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open(temporary, "x+b")
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
