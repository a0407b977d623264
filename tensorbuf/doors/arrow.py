"""The door to Arrow, through its PyCapsule interface (https://arrow.apache.org/docs/format/CDataInterface)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbuf._kernels import arrow as _arrow
from tensorbuf.doors.partner import partner
from tensorbuf.dtypes import DataType
from tensorbuf.memory import empty, native_copy, obstacle

__all__ = ["check_type", "read", "refuse_nulls", "to_arrow"]

Array = np.ndarray[Any, Any]

_FORMATS = {
    DataType.BOOL: b"b",
    DataType.INT8: b"c",
    DataType.UINT8: b"C",
    DataType.INT16: b"s",
    DataType.UINT16: b"S",
    DataType.INT32: b"i",
    DataType.UINT32: b"I",
    DataType.INT64: b"l",
    DataType.UINT64: b"L",
    DataType.FLOAT16: b"e",
    DataType.FLOAT32: b"f",
    DataType.FLOAT64: b"g",
}
_DTYPES = {format: kind.numpy_dtype for kind, format in _FORMATS.items()}
_LIST = b"+w:"
_TENSOR = b"arrow.fixed_shape_tensor"


def check_type(dtype: np.dtype[Any]) -> None:
    """TypeError where Arrow has no such type."""
    kind = DataType.of(dtype)
    if kind not in _FORMATS:
        raise TypeError(f"Arrow has no type for {kind.value}; convert to one of {', '.join(k.value for k in _FORMATS)}")


def to_arrow(array: Array) -> Any:
    """An Arrow array of the values of `array`: primitive, or of fixed-shape tensors from rank 2 on.

    Raises
    ------
    TypeError
        If Arrow has no such type.
    ImportError
        If the rank is 2 or more and pyarrow is missing.
    """
    check_type(array.dtype)
    if array.ndim >= 2:
        return _tensor_array(array)
    flat = _primitive(array.reshape(-1))
    try:
        import pyarrow
    except ImportError:
        return flat
    return pyarrow.array(flat)


def _primitive(array: Array) -> _arrow.PrimitiveArray:
    format = _FORMATS[DataType.of(array.dtype)]
    if format == b"b":
        return _arrow.PrimitiveArray(format, np.packbits(array, bitorder="little"), array.size)
    plain = array if array.flags.c_contiguous and not obstacle(array) else native_copy(array)
    return _arrow.PrimitiveArray(format, plain, plain.size)


def _tensor_array(array: Array) -> Any:
    pyarrow = partner("pyarrow", "to_arrow from rank 2 on", "arrow")
    values = pyarrow.array(_primitive(array.reshape(-1)))
    tensor_type = pyarrow.fixed_shape_tensor(values.type, array.shape[1:])
    storage_type = pyarrow.list_(values.type, math.prod(array.shape[1:]))
    storage = pyarrow.Array.from_buffers(storage_type, array.shape[0], [None], children=[values])
    return pyarrow.ExtensionArray.from_storage(tensor_type, storage)


def read(x: Any) -> tuple[Array, Array | None]:
    """The values of an object with ``__arrow_c_array__`` or ``__arrow_c_stream__``, and where they are null.

    Returns
    -------
    values : numpy.ndarray
        *Shares* Arrow's memory, read-only; a new writable array where booleans were unpacked or chunks joined.
    missing : numpy.ndarray or None
        True where a value is null, of the same shape; None where there are no nulls.

    Raises
    ------
    TypeError
        If `x` has none of the two methods, or is of a type that is none of this package.
    """
    if hasattr(type(x), "__arrow_c_array__"):
        return _read(_arrow.taken(*x.__arrow_c_array__()))
    if not hasattr(type(x), "__arrow_c_stream__"):
        raise TypeError(f"an object with __arrow_c_array__ or __arrow_c_stream__ is needed, got {type(x).__name__}")
    *chunks, last = [_read(chunk) for chunk in _arrow.taken_chunks(x.__arrow_c_stream__())]
    if len(chunks) == 1:
        return chunks[0]
    values = empty((sum(len(chunk) for chunk, _ in chunks), *last[0].shape[1:]), last[0].dtype)
    np.concatenate([last[0], *(chunk for chunk, _ in chunks)], out=values)
    if all(missing is None for _, missing in chunks):
        return values, None
    masks = [np.zeros(chunk.shape, bool) if missing is None else missing for chunk, missing in chunks]
    return values, np.concatenate(masks)


def refuse_nulls(missing: Array | None) -> None:
    """ValueError where `read` has found nulls."""
    if missing is not None:
        raise ValueError(
            f"{np.count_nonzero(missing)} of {missing.size} elements are null, the first at flat index "
            f'{np.argmax(missing)}; from_arrow(..., nulls="fill", fill_value=...) puts a number there'
        )


def _read(taken: _arrow.Taken) -> tuple[Array, Array | None]:
    dtype, shape, axes = _element(taken.type)
    if taken.layout is None:
        values, missing, length = np.empty(0, dtype), None, 0
    else:
        length = taken.layout[0]
        values, missing = _values(taken, taken.type, taken.layout, 0, length)
    order = (0, *(axis + 1 for axis in axes))

    def arranged(flat: Array) -> Array:
        return flat.reshape(length, *shape).transpose(order)

    return arranged(values), None if missing is None else arranged(missing)


def _element(type: tuple[Any, ...]) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]:
    """The numpy dtype of an Arrow type, the shape of one of its elements, and the order to take the axes of that in."""
    format, metadata, has_dictionary, children = type
    extension = metadata.get(b"ARROW:extension:name")
    if has_dictionary or (extension and extension != _TENSOR) or not (format in _DTYPES or format.startswith(_LIST)):
        name = extension or (b"dictionary of " + format if has_dictionary else format)
        raise TypeError(f"Arrow's type {name.decode()!r} is none of this package; cast it to a number type first")
    if format in _DTYPES:
        return _DTYPES[format], (), ()
    dtype, inner, axes = _element(children[0])
    shape = (int(format[len(_LIST) :]), *inner)
    if extension is None:
        return dtype, shape, (0, *(axis + 1 for axis in axes))
    import json  # takes a while, and is seldom needed

    parameters = json.loads(metadata[b"ARROW:extension:metadata"])
    shape = tuple(parameters["shape"])
    return dtype, shape, tuple(parameters.get("permutation") or range(len(shape)))


def _values(
    taken: _arrow.Taken, type: tuple[Any, ...], layout: tuple[Any, ...], start: int, length: int
) -> tuple[Array, Array | None]:
    """The elements of the slots `start` to ``start + length`` of an array, flat, and where they are null."""
    format, _, _, types = type
    _, offset, null_count, buffers, children = layout
    begin = offset + start
    missing = ~_bits(taken, buffers[0], begin, length) if null_count and buffers[0] and length else None
    if missing is not None and not missing.any():
        missing = None
    if not format.startswith(_LIST):
        return _numbers(taken, buffers[1], _DTYPES[format], begin, length), missing
    size = int(format[len(_LIST) :])
    values, inner = _values(taken, types[0], children[0], begin * size, length * size)
    if missing is not None:
        missing = np.repeat(missing, size)
        inner = missing if inner is None else inner | missing
    return values, inner


def _numbers(taken: _arrow.Taken, address: int, dtype: np.dtype[Any], begin: int, length: int) -> Array:
    if not length:
        return np.empty(0, dtype)
    if dtype.kind == "b":
        return _bits(taken, address, begin, length)
    size = dtype.itemsize
    return taken.span(address + begin * size, length * size).view(dtype)


def _bits(taken: _arrow.Taken, address: int, begin: int, length: int) -> Array:
    octets = taken.span(address + begin // 8, (begin % 8 + length + 7) // 8)
    bits = np.unpackbits(octets, count=begin % 8 + length, bitorder="little")
    return bits[begin % 8 :].view(bool)
