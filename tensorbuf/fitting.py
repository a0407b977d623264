"""Which values of one type fit another: what ``overflow="raise"`` judges by."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tensorbuf.dtypes import DataType

__all__ = ["Bounds", "bounds"]


class Bounds(NamedTuple):
    """The least and the largest source value that fit, both inclusive, and whether an infinity fits."""

    least: int | float
    most: int | float
    infinity: bool


# How far beyond an integer type's least and largest value a fraction may lie and still be rounded into the range, and
# whether just that far still fits. Every least value is even and every largest one odd: that settles ties of "nearest".
_HALF = Fraction(1, 2)
_BELOW = {
    "truncate": (Fraction(1), False),
    "nearest": (_HALF, True),
    "nearest_away": (_HALF, False),
    "floor": (Fraction(0), True),
    "ceil": (Fraction(1), False),
}
_ABOVE = {
    "truncate": (Fraction(1), False),
    "nearest": (_HALF, False),
    "nearest_away": (_HALF, False),
    "floor": (Fraction(1), False),
    "ceil": (Fraction(0), True),
}


@functools.cache
def bounds(source: np.dtype[Any], target: np.dtype[Any], rounding: str) -> Bounds | None:
    """What of a real `source` type fits a real `target` type; None where everything does, NaN included.

    The bounds of a floating source are values of float32 (of float64 where it is float64), the type the values are
    compared in.
    """
    from_type, to_type = DataType.of(source), DataType.of(target)
    if from_type is DataType.BOOL or to_type is DataType.BOOL:
        return None
    if to_type.is_integer:
        if from_type.is_integer:
            return _within(from_type, Fraction(to_type.min), Fraction(to_type.max), closed=True, infinity=False)
        return _whole_numbers(from_type, to_type, rounding)
    limit, closed = _overflow(to_type)
    return _within(from_type, -limit, limit, closed=closed, infinity=to_type is not DataType.FLOAT8_E4M3FN)


def _overflow(to_type: DataType) -> tuple[Fraction, bool]:
    """The magnitude from which a finite value overflows a floating type, and whether it still fits itself."""
    largest = Fraction(to_type.max)
    # Half a unit in the last place above the largest value; the tie goes to the even neighbour, which is the largest
    # value itself in float8_e4m3fn only.
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "float8_e4m3fn": 4, "float8_e5m2": 3}
    exponent = math.frexp(float(to_type.max))[1]
    half_unit = Fraction(2) ** (exponent - digits[to_type.value] - 1)
    return largest + half_unit, to_type is DataType.FLOAT8_E4M3FN


def _whole_numbers(from_type: DataType, to_type: DataType, rounding: str) -> Bounds:
    low, low_closed = _BELOW[rounding]
    high, high_closed = _ABOVE[rounding]
    least = _inward(from_type, Fraction(to_type.min) - low, low_closed, 1)
    most = _inward(from_type, Fraction(to_type.max) + high, high_closed, -1)
    return Bounds(least, most, False)


def _within(from_type: DataType, low: Fraction, high: Fraction, *, closed: bool, infinity: bool) -> Bounds | None:
    has_infinity = from_type.is_floating and from_type is not DataType.FLOAT8_E4M3FN
    least, most = Fraction(from_type.min), Fraction(from_type.max)
    if (low < least or (closed and low == least)) and (most < high or (closed and most == high)):
        return Bounds(from_type.min, from_type.max, False) if has_infinity and not infinity else None
    return Bounds(_inward(from_type, low, closed, 1), _inward(from_type, high, closed, -1), infinity)


def _inward(from_type: DataType, bound: Fraction, closed: bool, direction: int) -> int | float:
    """The value of the source's type nearest to `bound` on the side of `direction`, `bound` itself only if `closed`."""

    def fits(value: float) -> bool:
        distance = (Fraction(value) - bound) * direction
        return distance > 0 or (closed and distance == 0)

    if from_type.is_integer:
        whole = math.ceil(bound) if direction > 0 else math.floor(bound)
        whole = whole if fits(whole) else whole + direction
        return min(max(whole, int(from_type.min)), int(from_type.max))
    kind = np.float64 if from_type is DataType.FLOAT64 else np.float32
    with np.errstate(over="ignore"):
        value = kind(float(bound))
    # Rounding to the type may have landed outside, on infinity or on the open bound itself: then the next one inside.
    while math.isinf(value) or not fits(float(value)):
        value = np.nextafter(value, kind(direction * math.inf))
    return float(value)
