"""The ``.safetensors`` format, through the package of that name, which checks every file that is read."""

from __future__ import annotations

import errno
import json
import os
import re
from typing import Any, NamedTuple

import numpy as np

from tensorbuf.doors.partner import partner
from tensorbuf.dtypes import DataType

__all__ = ["Entry", "entries", "write"]

Array = np.ndarray[Any, Any]

_TYPES = {
    "BOOL": DataType.BOOL,
    "I8": DataType.INT8,
    "U8": DataType.UINT8,
    "I16": DataType.INT16,
    "U16": DataType.UINT16,
    "I32": DataType.INT32,
    "U32": DataType.UINT32,
    "I64": DataType.INT64,
    "U64": DataType.UINT64,
    "F16": DataType.FLOAT16,
    "BF16": DataType.BFLOAT16,
    "F32": DataType.FLOAT32,
    "F64": DataType.FLOAT64,
    "C64": DataType.COMPLEX64,
    "F8_E4M3": DataType.FLOAT8_E4M3FN,
    "F8_E5M2": DataType.FLOAT8_E5M2,
}


class Entry(NamedTuple):
    """Where a tensor lies in its file: `start` is the byte of its first element, in C order and little-endian."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int


def entries(path: str | os.PathLike[str]) -> dict[str, Entry]:
    """What a file holds, by name.

    Raises
    ------
    ValueError
        If this is no ``.safetensors`` file, or a damaged one.
    TypeError
        If a tensor is of no type of the package.
    ImportError
        If safetensors is not installed.
    """
    safetensors = _library()
    try:
        with safetensors.safe_open(os.fspath(path), framework="numpy"):
            pass
    except safetensors.SafetensorError as error:
        raise ValueError(f"it is no .safetensors file, or a damaged one: {error}") from None
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {name: _entry(name, found, 8 + length) for name, found in header.items()}


def _entry(name: str, found: dict[str, Any], data: int) -> Entry:
    if found["dtype"] not in _TYPES:
        raise TypeError(f"tensor {name!r} is of type {found['dtype']}, which is none of this package")
    dtype = _TYPES[found["dtype"]].numpy_dtype.newbyteorder("<")
    return Entry(dtype, tuple(found["shape"]), data + found["data_offsets"][0])


def _library() -> Any:
    return partner("safetensors", "a .safetensors file", "safetensors")


def write(path: str | os.PathLike[str], arrays: dict[str, Array]) -> None:
    """Write arrays into a file.

    Raises
    ------
    TypeError
        If the format has no such type: complex128.
    ImportError
        If safetensors is not installed.
    OSError
        If the file cannot be written; it has no name.
    """
    safetensors = _library()
    for name, array in arrays.items():
        if DataType.of(array.dtype) not in _TYPES.values():
            raise TypeError(f"array {name!r}: .safetensors has no type for {array.dtype}; take .npz")
    kept = {
        name: np.asarray(array, array.dtype.newbyteorder("<"), order="C", copy=None) for name, array in arrays.items()
    }
    specs = {
        name: safetensors.TensorSpec(
            dtype=DataType.of(array.dtype).value, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
        )
        for name, array in kept.items()
    }
    try:
        safetensors.serialize_file(specs, os.fspath(path))
    except safetensors.SafetensorError as error:
        raise _failure(error) from None


def _failure(error: Exception) -> OSError:
    """The library's error of a write, whose sentence ends with the system's own and its number."""
    found = re.search(r"([^:]+) \(os error (\d+)\)", str(error))
    return OSError(int(found[2]), found[1].strip()) if found else OSError(errno.EIO, str(error))
