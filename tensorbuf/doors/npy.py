"""The ``.npy`` format of numpy (format description: numpy.lib.format), also for the types of ml_dtypes.

numpy writes bfloat16 as raw bytes (``<V2``) that nobody reads back as bfloat16. Here such a type stands in the header
by its name, which ``numpy.load`` reads wherever ml_dtypes is imported, and refuses elsewhere.
"""

from __future__ import annotations

import mmap
import os
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tensorbuf.dtypes import numeric_dtype, read_dtype
from tensorbuf.memory import empty, native_copy, pinned

__all__ = ["header", "map_array", "map_file", "mapped", "read_array", "read_header", "read_into", "write"]

_MAGIC = b"\x93NUMPY"
_ALIGNMENT = 64
# `dtype.isbuiltin` of a type that another package has registered with numpy.
_REGISTERED = 2


def header(shape: tuple[int, ...], dtype: np.dtype[Any], *, fortran_order: bool = False, room: int = 0) -> bytes:
    """The bytes before the elements.

    Parameters
    ----------
    room : int
        At least so many bytes, a multiple of 64: for a header that is written again when the shape is known.

    Returns
    -------
    bytes
        A multiple of 64 long, so that the elements of a mapped file are aligned.
    """
    name = dtype.name if dtype.isbuiltin == _REGISTERED else dtype.str
    text = f"{{'descr': {name!r}, 'fortran_order': {fortran_order}, 'shape': {tuple(map(int, shape))!r}, }}"
    start = _MAGIC + b"\x01\x00"
    # Two bytes of length before the text, one line end after it.
    length = max(room, -(-(len(start) + 2 + len(text) + 1) // _ALIGNMENT) * _ALIGNMENT)
    text = text.ljust(length - len(start) - 3) + "\n"
    return start + len(text).to_bytes(2, "little") + text.encode("ascii")


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Read shape, dtype (with its byte order) and whether the order is Fortran's; leaves `file` at the elements.

    Raises
    ------
    ValueError
        If this is no ``.npy`` file, or its header is damaged.
    TypeError
        If the elements are of no type of the package; objects, which would have to be unpickled, among them.
    """
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran_order, found = read(file)
    except KeyError:
        raise TypeError("its format version is for records, which no array here holds") from None
    except ValueError as error:
        raise ValueError(f"it is no .npy file, or a damaged one: {error}") from None
    dtype = read_dtype(found)
    numeric_dtype(dtype)
    if any(size < 0 for size in shape):
        raise ValueError(f"it is a damaged .npy file, of the shape {shape}")
    return shape, dtype, fortran_order


def map_array(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Map the file of an array into memory.

    Returns
    -------
    numpy.ndarray
        Read-only; the mapping cannot be closed as long as the array lives.

    Raises
    ------
    ValueError, TypeError
        As for `read_header`, and if the file is too short.
    """
    with open(path, "rb") as file:
        return mapped(file, pinned(map_file(file)))


def map_file(file: IO[bytes]) -> mmap.mmap:
    """Map all of a file into memory, read-only; ValueError where it is empty, which cannot be mapped."""
    if os.fstat(file.fileno()).st_size == 0:
        raise ValueError("it is cut off: it has 0 bytes")
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def mapped(file: IO[bytes], whole: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array whose header `file` stands at, on the bytes `whole` of that file."""
    shape, dtype, fortran_order = read_header(file)
    needed = _byte_size(shape, dtype)
    start = file.tell()
    if whole.size - start < needed:
        raise ValueError(f"it is cut off: {shape} of {dtype} needs {needed} bytes, {whole.size - start} are there")
    return np.ndarray(shape, dtype, buffer=whole, offset=start, order="F" if fortran_order else "C")


def read_array(file: IO[bytes]) -> npt.NDArray[Any]:
    """Read an array from a file that need not be seekable, such as a member of an archive.

    Raises
    ------
    ValueError, TypeError
        As for `map_array`.
    """
    shape, dtype, fortran_order = read_header(file)
    array = empty(shape[::-1] if fortran_order else shape, dtype)
    read_into(file, array)
    return array.T if fortran_order else array


def read_into(file: IO[bytes], array: npt.NDArray[Any]) -> None:
    """Fill a C-contiguous array with the next bytes of a file; ValueError where they are too few."""
    room = array.reshape(-1).view(np.uint8).data
    there = 0
    while there < room.nbytes:
        count = file.readinto(room[there:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError(
                f"it is cut off: {array.shape} of {array.dtype} needs {room.nbytes} bytes, {there} are there"
            )
        there += count


def write(file: IO[bytes], array: npt.NDArray[Any]) -> None:
    """Write an array, in its own order where that is C or Fortran, else in C order."""
    fortran_order = array.flags.f_contiguous and not array.flags.c_contiguous
    if not array.flags.forc or (not array.dtype.isnative and array.dtype.isbuiltin == _REGISTERED):
        array = native_copy(array)
        fortran_order = False
    file.write(header(array.shape, array.dtype, fortran_order=fortran_order))
    file.write((array.T if fortran_order else array).reshape(-1).view(np.uint8).data)


def _byte_size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape, dtype=object)) * dtype.itemsize
