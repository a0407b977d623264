"""The parameters of a Converter: a number, or one for each channel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorbuf import source
from tensorbuf.conversion import convert_array
from tensorbuf.dtypes import CODES
from tensorbuf.errors import ShapeError
from tensorbuf.memory import empty
from tensorbuf.rule import DEFAULT

__all__ = ["Parameter", "channels", "read_parameter"]

Array = np.ndarray[Any, Any]


class Parameter(NamedTuple):
    """Rank-1 arrays of one value, or of one a channel: as given, and rounded once to either arithmetic type."""

    given: Array
    single: Array
    double: Array

    @property
    def size(self) -> int:
        return self.given.size


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
        given = source.array_of(value)
    except TypeError:
        given = np.asarray(None)
    if given.dtype.newbyteorder("=") not in CODES or given.dtype.kind == "c":
        raise TypeError(f"{name} must be a real number or a sequence of them, got {value!r}")
    if given.ndim > 1 or given.size == 0:
        raise ShapeError(f"{name} must be a number or a rank-1 sequence with one a channel, got shape {given.shape}")
    given = given.reshape(-1)
    return Parameter(
        *(_frozen(given, dtype) for dtype in (given.dtype.newbyteorder("="), np.dtype("f4"), np.dtype("f8")))
    )


def _frozen(given: Array, dtype: np.dtype[Any]) -> Array:
    copy = empty(given.shape, dtype)
    convert_array(given, copy, DEFAULT)
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
