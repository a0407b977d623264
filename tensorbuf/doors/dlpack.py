"""The door to every library that speaks DLPack (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf._kernels import dlpack as _dlpack
from tensorbuf.dtypes import DataType
from tensorbuf.errors import shown
from tensorbuf.memory import check_integer, native_copy, obstacle

__all__ = ["CPU", "export", "memory_of"]

Array = np.ndarray[Any, Any]

CPU = (1, 0)
# The kinds of memory that a CPU can read: its own, and what CUDA and ROCm have pinned for it.
_READABLE = (1, 3, 11)
_VERSION = (1, 1)


def _codes() -> dict[DataType, tuple[int, int]]:
    """DLPack's code and the bits of every numeric type."""
    codes = {
        DataType.BOOL: 6,
        DataType.BFLOAT16: 4,
        DataType.FLOAT8_E4M3FN: 10,
        DataType.FLOAT8_E5M2: 12,
        **{kind: 5 for kind in DataType if kind.is_complex},
        **{kind: 0 if kind.min else 1 for kind in DataType if kind.is_integer},
    }
    return {kind: (codes.get(kind, 2), 8 * kind.byte_size) for kind in DataType if kind is not DataType.STRING}


_CODES = _codes()
_DTYPES = {code: kind.numpy_dtype for kind, code in _CODES.items()}


def export(
    array: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
    copied: bool = False,
) -> Any:
    """The capsule that ``__dlpack__`` of an object with this memory returns; the arguments are those of the standard.

    Parameters
    ----------
    copied : bool
        Whether `array` was made for this export already.

    Raises
    ------
    BufferError
        If the elements are objects; the memory would have to be copied (it is misaligned, byte-swapped, or has a stride
        that is negative or no multiple of the item size) and `copy` is False; it is read-only and the caller too old to
        be told so; or another device is asked for.
    ValueError
        If a `stream` is given.
    TypeError
        If `max_version` or `dl_device` is no pair of ints.
    """
    if stream is not None:
        raise ValueError(f"memory on the CPU has no streams, got stream={shown(stream)}")
    device = CPU if dl_device is None else _pair(dl_device, "dl_device")
    if device != CPU:
        raise BufferError(f"this memory lies on the CPU, device {CPU}, and cannot be exported to {device}")
    if array.dtype.hasobject:
        raise BufferError("DLPack has no type for Python objects")
    reason = obstacle(array) or ("was gathered for this export" if copied else "")
    if copy is False and reason:
        raise BufferError(f"this memory cannot be shared: it {reason}; take copy=None or copy=True")
    if not copied and (copy or reason):
        array, copied = native_copy(array), True
    versioned = max_version is not None and _pair(max_version, "max_version") >= (_VERSION[0], 0)
    if not versioned and not array.flags.writeable:
        raise BufferError(
            "this memory is read-only, which an unversioned capsule cannot say; "
            "ask with max_version=(1, 0) or with copy=True"
        )
    code, bits = _CODES[DataType.of(array.dtype)]
    return _dlpack.export(array, code, bits, versioned, copied)


def _pair(value: Any, name: str) -> tuple[int, int]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a pair of ints, got {shown(value)}") from None
    return check_integer(first, f"each of {name}"), check_integer(second, f"each of {name}")


def memory_of(x: Any, *, copy: bool | None = None) -> Array:
    """The memory of an object that speaks DLPack, which the array *shares*."""
    if not hasattr(type(x), "__dlpack__"):
        raise TypeError(f"an object with __dlpack__ is needed, got {type(x).__name__}")
    kind, number = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else CPU
    if kind not in _READABLE:
        raise BufferError(
            f"the {type(x).__name__} lies on DLPack's device ({kind}, {number}); bring it to the CPU first"
        )
    how = {"max_version": _VERSION} if copy is None else {"max_version": _VERSION, "copy": copy}
    try:
        capsule = x.__dlpack__(**how)
    except TypeError as error:
        if type(error) is not TypeError:
            raise
        # An exporter from before DLPack 1 does not know the keywords.
        capsule = x.__dlpack__()
    return _dlpack.taken(capsule, _DTYPES, _READABLE)
