"""The choices of a conversion, read once: what happens out of range, how fractions round, what NaN becomes."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorbuf.dtypes import DataType
from tensorbuf.errors import shown

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "DEFAULT",
    "OVERFLOWS",
    "ROUNDINGS",
    "UNSET",
    "Number",
    "Rule",
    "filling",
    "read_rule",
    "round_exactly",
    "whole",
]

Number = int | float


class _Unset:
    """The default of `nan`: counts as 0, and lets ``overflow="raise"`` refuse NaN."""

    def __repr__(self) -> str:
        return "0"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = _Unset()

OVERFLOWS = ("saturate", "wrap", "raise")
ROUNDINGS = ("truncate", "nearest", "nearest_away", "floor", "ceil")


class Rule(NamedTuple):
    """`overflow` and `rounding` are known names; `nan` is UNSET or a real number that is not NaN."""

    overflow: str
    rounding: str
    nan: Number | _Unset


DEFAULT = Rule("saturate", "truncate", UNSET)


def read_rule(overflow: object, rounding: object, nan: object) -> Rule:
    """The arguments of a conversion, checked.

    Raises
    ------
    ValueError
        If `overflow` or `rounding` is no known name, or `nan` is NaN.
    TypeError
        If `nan` is no real number.
    """
    # An array compares with each name element by element.
    if not isinstance(overflow, str) or overflow not in OVERFLOWS:
        raise ValueError(f"overflow must be one of {', '.join(OVERFLOWS)}, got {shown(overflow)}")
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDINGS)}, got {shown(rounding)}")
    if nan is UNSET:
        return Rule(str(overflow), str(rounding), UNSET)
    if isinstance(nan, (np.generic, np.ndarray)) and nan.ndim == 0:
        nan = nan.item()
    if not isinstance(nan, numbers.Real):
        raise TypeError(f"nan must be a real number, got {shown(nan)}")
    number = int(nan) if isinstance(nan, numbers.Integral) else float(nan)
    if number != number:
        raise ValueError("nan is the number that NaN becomes in an integer type; it cannot be NaN itself")
    return Rule(str(overflow), str(rounding), number)


def round_exactly(value: Number | Fraction, rounding: str) -> int:
    """A finite number as a whole one."""
    from fractions import Fraction  # imports decimal, which takes a while and is seldom needed

    exact = Fraction(value)
    below = math.floor(exact)
    if rounding == "floor" or exact == below:
        return below
    if rounding == "ceil":
        return below + 1
    if rounding == "truncate":
        return below if exact > 0 else below + 1
    half = Fraction(1, 2)
    if rounding == "nearest_away" and exact - below == half:
        return below + 1 if exact > 0 else below
    return round(exact)


def whole(value: Number, target: DataType, rule: Rule) -> tuple[int, bool]:
    """A number (not NaN) in an integer type by `rule`, and whether it fits there."""
    least, most = int(target.min), int(target.max)
    if isinstance(value, float) and math.isinf(value):
        return (0 if rule.overflow == "wrap" else most if value > 0 else least), False
    rounded = round_exactly(value, rule.rounding)
    if least <= rounded <= most:
        return rounded, True
    if rule.overflow != "wrap":
        return (most if rounded > most else least), False
    rounded &= (1 << 8 * target.byte_size) - 1
    return (rounded - (1 << 8 * target.byte_size) if rounded > most else rounded), False


def filling(target: np.dtype[Any], rule: Rule) -> tuple[int, bool]:
    """What NaN becomes in `target`, and whether it counts as fitting."""
    kind = DataType.of(target)
    if not kind.is_integer:
        return 0, True
    if isinstance(rule.nan, _Unset):
        return 0, False
    return whole(rule.nan, kind, rule)
