"""The errors that are more precise than Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ConversionError", "RankError", "ReadOnlyError", "ShapeError", "shown"]


class RankError(ValueError):
    """A wrong number of coordinates, selectors or axes."""


class ShapeError(ValueError):
    """A shape, a size or a count that does not fit."""


class ReadOnlyError(ValueError):
    """A write to memory that is read-only."""


class ConversionError(OverflowError, ValueError):
    """A checked conversion (``overflow="raise"``) met a value that the target type does not hold."""

    @classmethod
    def at(cls, position: int, value: object, dtype: np.dtype[Any], link: str = "which") -> ConversionError:
        """The error that names the flat position and the value of the first element that does not fit."""
        return cls(
            f"element {position} is {shown(value)}, {link} does not fit {dtype.newbyteorder('=')}; "
            'overflow="saturate" clamps such values, overflow="wrap" keeps their low bits'
        )


def shown(value: object) -> str:
    """What was given, for a message: its repr, also where Python refuses to write out an int of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return f"an int of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
