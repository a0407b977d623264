"""The parameters of a Converter: a number, or one for each channel."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tensorbuf import source
from tensorbuf.conversion import convert, convert_array
from tensorbuf.dtypes import CODES, DataType
from tensorbuf.errors import ConversionError, ShapeError, shown
from tensorbuf.memory import empty
from tensorbuf.rule import DEFAULT

__all__ = ["Parameter", "channels", "read_divisor", "read_factor", "read_parameter", "read_zero_point"]

Array = np.ndarray[Any, Any]


class Parameter(NamedTuple):
    """Rank-1 arrays of one value, or of one a channel: what was given, rounded once to either arithmetic type."""

    single: Array
    double: Array

    @property
    def size(self) -> int:
        return self.double.size

    def part(self, start: int, stop: int) -> Parameter:
        """That of some channels; a single value is that of each."""
        return self if self.size == 1 else Parameter(self.single[start:stop], self.double[start:stop])

    def __str__(self) -> str:
        values = self.double.tolist()
        return str(values[0] if len(values) == 1 else values)


def read_parameter(value: object, name: str) -> Parameter:
    """A parameter that was given, copied.

    Raises
    ------
    TypeError
        If it holds anything but real numbers.
    ShapeError
        If it is neither a number nor a rank-1 sequence of one or more.
    """
    try:
        given = source.Source(value)
        dtype = given.dtype.newbyteorder("=")
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in CODES or dtype.kind == "c":
        raise TypeError(f"{name} must be a real number or a sequence of them, got {shown(value)}")
    if len(given.shape) > 1 or given.size == 0:
        raise ShapeError(f"{name} must be a number or a rank-1 sequence with one a channel, got shape {given.shape}")
    return Parameter(_rounded(given, np.dtype(np.float32)), _rounded(given, np.dtype(np.float64)))


def read_factor(value: object, name: str) -> Parameter:
    """`read_parameter`; ValueError unless finite."""
    parameter = read_parameter(value, name)
    if not np.isfinite(parameter.double).all():
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return parameter


def read_divisor(value: object, name: str) -> Parameter:
    """`read_factor`; ValueError if a value is 0."""
    parameter = read_factor(value, name)
    if not parameter.double.all():
        raise ValueError(f"{name} must not be 0, since it divides; got {shown(value)}")
    return parameter


def read_zero_point(value: object, dtype: np.dtype[Any] | None = None) -> Parameter:
    """`read_factor` of whole numbers, ValueError for others; and of values of an integer `dtype`, if that is known."""
    parameter = read_factor(value, "zero_point")
    if (np.trunc(parameter.double) != parameter.double).any():
        raise ValueError(f"zero_point must be whole, got {shown(value)}")
    if dtype is not None:
        try:
            convert(value, dtype, overflow="raise")
        except ConversionError:
            kind = DataType.of(dtype)
            raise ValueError(
                f"zero_point must be a value of {dtype}, {kind.min} to {kind.max}, got {shown(value)}"
            ) from None
    return parameter


def _rounded(given: source.Source, dtype: np.dtype[Any]) -> Array:
    copy = empty((given.size,), dtype)
    given.load(copy, functools.partial(convert_array, rule=DEFAULT), overflow=DEFAULT.overflow, fresh=True)
    copy.flags.writeable = False
    return copy


def channels(**parameters: Parameter | None) -> int:
    """The number of channels that the parameters speak of; 1 where each is a single value.

    Raises
    ------
    ShapeError
        If two have different numbers of values, both above 1.
    """
    sizes = {name: parameter.size for name, parameter in parameters.items() if parameter is not None}
    several = {name: size for name, size in sizes.items() if size > 1}
    if len(set(several.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in several.items())
        raise ShapeError(f"the parameters must have one value or as many as each other: {listed}")
    return max(several.values(), default=1)
