"""The ``.npz`` format of numpy: a zip archive of ``.npy`` files."""

from __future__ import annotations

import mmap
import os
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from tensorbuf.doors import npy
from tensorbuf.memory import pinned

__all__ = ["map_arrays", "names", "read_array", "read_arrays", "write"]

Array = np.ndarray[Any, Any]

_SUFFIX = ".npy"
# Before the data of a member stand its own header of 30 bytes, its name and an extra field, whose lengths are in it.
_HEADER = 30
_LENGTHS = slice(26, 30)


def names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the arrays of an archive; ValueError as for `read_arrays`."""
    with _opened(path) as archive:
        return [_name(info) for info in archive.infolist()]


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Every array of an archive, by name, in new memory.

    Raises
    ------
    ValueError
        If this is no ``.npz`` file, or a damaged one.
    TypeError
        If the elements of a member are of no type of the package; nothing is unpickled.
    """
    with _opened(path) as archive:
        return {_name(info): _read(archive, info) for info in archive.infolist()}


def read_array(path: str | os.PathLike[str], name: str) -> Array:
    """The array of that name, in new memory.

    Raises
    ------
    KeyError
        If there is none.
    ValueError, TypeError
        As for `read_arrays`.
    """
    with _opened(path) as archive:
        return _read(archive, archive.getinfo(name + _SUFFIX))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    try:
        with archive.open(info) as file:
            return npy.read_array(file)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"member {info.filename!r} is damaged: {error}") from None


def map_arrays(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Every array of an archive whose members are not compressed, read-only on the mapped file.

    Raises
    ------
    ValueError, TypeError
        As for `read_arrays`, and if a member is compressed.
    """
    with _opened(path) as archive, open(path, "rb") as file:
        members = archive.infolist()
        if not members:
            return {}
        whole = pinned(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return {_name(info): _mapped(info, file, whole) for info in members}


def _mapped(info: zipfile.ZipInfo, file: IO[bytes], whole: Array) -> Array:
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"member {info.filename!r} is compressed and cannot be mapped; load it with mmap=False")
    header = info.header_offset
    name_length, extra_length = np.frombuffer(whole[header:][_LENGTHS].tobytes(), "<u2").tolist()
    start = header + _HEADER + name_length + extra_length
    file.seek(start)
    return npy.mapped(file, whole[: start + info.file_size])


def _opened(path: str | os.PathLike[str]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ValueError(f"it is no .npz file, or a damaged one: {error}") from None


def _name(info: zipfile.ZipInfo) -> str:
    if not info.filename.endswith(_SUFFIX):
        raise ValueError(f"member {info.filename!r} is no .npy file")
    return info.filename.removesuffix(_SUFFIX)


def write(file: IO[bytes], arrays: dict[str, Array]) -> None:
    """Write arrays into an open file, not compressed, so that they can be mapped."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                npy.write(member, array)
