"""Lists: nested Python sequences of numbers, from their exact values to typed memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorbuf._kernels import load as _load
from tensorbuf.dtypes import CODES, DataType
from tensorbuf.errors import ConversionError, shown
from tensorbuf.memory import empty

__all__ = ["Convert", "Nested", "TextError", "object_array"]

Array = np.ndarray[Any, Any]
# Converts the values of one array into another by a rule, or raises ConversionError before it writes.
Convert = Callable[[Array, Array], object]

_BLOCK = 8192
_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)


class TextError(TypeError):
    """A list of numbers holds text."""


class Nested:
    """A list or tuple of numbers, nested to any depth; arrays and scalars of numpy may lie in it.

    Parameters
    ----------
    items : list or tuple
    memory_of : callable
        Gives the array of an item that is neither list nor number, or raises TypeError.
    """

    __slots__ = ("_leaves", "_resolve")

    def __init__(self, items: Sequence[Any], memory_of: Callable[[object], Array]) -> None:
        self._resolve = _Resolver(memory_of)
        self._leaves = _load.Leaves(items, self._resolve)

    @property
    def shape(self) -> tuple[int, ...]:
        """Read from the first item on every axis; `load` and `infer` check that all others agree."""
        return self._leaves.shape

    def infer(self) -> np.dtype[Any]:
        """The numeric dtype that holds these values.

        Python's numbers count as bool, int64 (uint64 where only that fits), float64 and complex128, and are joined with
        the dtypes of arrays and numpy scalars. An empty list is float64, as in numpy.

        Raises
        ------
        ValueError
            If the nesting is ragged.
        TypeError
            If an item is no number.
        """
        for _ in self._parts():
            pass
        seen = self._leaves.seen
        integer = _UINT64 if seen & _load.ABOVE_INT64 and not seen & _load.NEGATIVE else _INT64
        python = {_load.BOOL: np.bool, _load.INT: integer, _load.FLOAT: np.float64, _load.COMPLEX: np.complex128}
        found = self._resolve.dtypes | {np.dtype(dtype) for number, dtype in python.items() if seen & number}
        if not found:
            return np.dtype(np.float64)
        try:
            joined = np.result_type(*found)
        except TypeError:
            # numpy joins bfloat16 and float8 with few others.
            return np.dtype(np.complex128 if any(dtype.kind == "c" for dtype in found) else np.float64)
        if joined.kind == "f" and all(dtype.kind in "biu" for dtype in found):
            # numpy would round signed and unsigned 64-bit integers to float64.
            return (
                _INT64 if seen & _load.NEGATIVE or any(dtype.kind == "i" for dtype in self._resolve.dtypes) else _UINT64
            )
        return joined

    def load(self, target: Array, convert: Convert, *, overflow: str, fresh: bool) -> None:
        """Convert every value, exactly as Python has it, to the dtype of `target`, in row-major order.

        Parameters
        ----------
        target : numpy.ndarray
            Writable, of this shape, of any strides and byte order.
        convert : callable
            Converts one array into another with `overflow`.
        overflow : {"saturate", "wrap", "raise"}
        fresh : bool
            Whether nobody sees `target` if this fails. Otherwise all is judged before the first byte changes.

        Raises
        ------
        ValueError
            If the nesting is ragged.
        TypeError
            If an item is no number.
        ConversionError
            Naming the flat index and the value of the first element that does not fit.
        """
        if not fresh:
            overlapping, has_complex = self._survey(target)
            if overlapping:
                # Arrays in the list lie in the target: all of them are read before it changes.
                copied = empty(target.shape, target.dtype)
                self._convert(copied, copied.dtype, convert, overflow)
                target[...] = copied
                return
            if overflow == "raise" or has_complex:
                self._convert(None, target.dtype, convert, overflow)
        self._convert(target, target.dtype, convert, overflow)

    def _survey(self, target: Array) -> tuple[bool, bool]:
        """Reads everything once, for its errors: does an array in it overlap `target`, are there complex numbers?"""
        overlapping = has_complex = False
        for part in self._parts():
            if isinstance(part, np.ndarray):
                overlapping |= np.may_share_memory(part, target)
                has_complex |= part.dtype.kind == "c"
        return overlapping, has_complex

    def _parts(self) -> Iterator[Array | int]:
        self._leaves.restart()
        while (part := self._leaves.take()) is not None:
            yield part

    def _convert(self, target: Array | None, dtype: np.dtype[Any], convert: Convert, overflow: str) -> None:
        """Convert part by part into `target`; without one, only judge."""
        flat = target.reshape(-1) if target is not None and target.flags.c_contiguous else None
        scratch = empty((min(_BLOCK, math.prod(self.shape)) if flat is None else 0,), dtype)
        position = 0
        for part in self._parts():
            values = part if isinstance(part, np.ndarray) else _stand_in(part, dtype, position, overflow)
            for block in _blocks(values) if flat is None else [values]:
                end = position + block.size
                place = scratch[: block.size] if flat is None else flat[position:end].reshape(block.shape)
                try:
                    convert(block, place)
                except ConversionError:
                    raise _first_misfit(part, block, place, convert, position) from None
                if flat is None and target is not None:
                    target.flat[position:end] = place
                position = end


class _Resolver:
    """What an item of a list is that is neither list nor Python number, and which dtypes such items had."""

    __slots__ = ("_memory_of", "dtypes")

    def __init__(self, memory_of: Callable[[object], Array]) -> None:
        self._memory_of = memory_of
        self.dtypes: set[np.dtype[Any]] = set()

    def __call__(self, item: object) -> object:
        if isinstance(item, np.generic) and item.dtype in CODES:
            self.dtypes.add(item.dtype)
            return item.item()
        if isinstance(item, (str, bytes, bytearray)):
            raise TextError(f"a list of numbers cannot hold {shown(item)}")
        try:
            array = self._memory_of(item)
        except TypeError:
            if isinstance(item, Sequence):
                return list(item)
            raise
        if array.dtype.newbyteorder("=") not in CODES:
            raise TypeError(f"a list of numbers cannot hold an array of {array.dtype}")
        self.dtypes.add(array.dtype.newbyteorder("="))
        return array


def _blocks(values: Array) -> Iterator[Array]:
    for start in range(0, values.size, _BLOCK):
        yield values.flat[start : start + _BLOCK]


def _first_misfit(part: Array | int, block: Array, place: Array, convert: Convert, position: int) -> ConversionError:
    if isinstance(part, int):
        return ConversionError.at(position, part, place.dtype)
    scratch = empty((1,), place.dtype)
    values = block.reshape(-1)
    index = 0
    try:
        for index in range(values.size):
            convert(values[index : index + 1], scratch)
    except ConversionError:
        pass
    return ConversionError.at(position + index, values[index].item(), place.dtype)


def _stand_in(value: int, dtype: np.dtype[Any], position: int, overflow: str) -> Array:
    """A value of 64 bits, alone in an array, that becomes in `dtype` what an int beyond 64 bits becomes."""
    kind = DataType.of(dtype)
    if kind is DataType.BOOL:
        return np.array([1])
    if kind.is_integer:
        if overflow == "raise":
            raise ConversionError.at(position, value, dtype)
        if overflow == "wrap":
            return np.array([value & (2**64 - 1)], np.uint64)
        return np.array([2**64 - 1], np.uint64) if value > 0 else np.array([-(2**63)], np.int64)
    number = _nearest_float(value) if kind in (DataType.FLOAT64, DataType.COMPLEX128) else _odd_float(value)
    if overflow == "raise" and math.isinf(number):
        raise ConversionError.at(position, value, dtype)
    return np.array([number])


def _nearest_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _odd_float(value: int) -> float:
    """The first 53 bits, the last one set where a bit was lost: rounding that to a narrower type rounds only once."""
    magnitude = abs(value)
    lost = magnitude.bit_length() - 53
    if lost > 1024 - 53:
        return math.inf if value > 0 else -math.inf
    mantissa = magnitude >> lost
    number = math.ldexp(mantissa | (mantissa << lost != magnitude), lost)
    return number if value > 0 else -number


def object_array(nested: object, *, text_only: bool) -> Array:
    """The leaves of a nested list as an object array; whatever is neither list nor tuple is a leaf.

    Raises
    ------
    TypeError
        If `text_only` and a leaf is no str.
    ValueError
        If the nesting is ragged.
    """
    shape: list[int] = []
    first = nested
    while isinstance(first, (list, tuple)):
        shape.append(len(first))
        first = first[0] if first else None
    array = np.empty(shape, object)
    leaves = [nested]
    for length in shape:
        for item in leaves:
            if not isinstance(item, (list, tuple)) or len(item) != length:
                raise ValueError(f"ragged nesting: {shown(item)} where the first item there has length {length}")
        leaves = [leaf for item in leaves for leaf in item]  # type: ignore[attr-defined]
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, (list, tuple)):
            raise ValueError(f"ragged nesting: {shown(leaf)} where the first item there is a scalar")
        if text_only and not isinstance(leaf, str):
            raise TypeError(f"a list of text cannot hold {shown(leaf)}")
        array.flat[index] = leaf
    return array
