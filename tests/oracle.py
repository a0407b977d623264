"""The conversion rule, one value at a time, in Python integers only: slow, exact and meant to be read.

Every finite value of the seventeen numeric types is a whole multiple of 2**-1074, the smallest double. So a number is
a sign and a whole count of such grains here, and each rounding is one integer division. Conversions go from bit pattern
to bit pattern; patterns are unsigned ints, a complex pattern has the real part in its low half.
"""

from __future__ import annotations

import math
from typing import NamedTuple

GRAIN = 1074
ROUNDINGS = ("truncate", "nearest", "nearest_away", "floor", "ceil")
OVERFLOWS = ("saturate", "wrap", "raise")


class DoesNotFitError(Exception):
    """What ``overflow="raise"`` says of one value."""


class Element(NamedTuple):
    """How the bits of an element type are read. `part` is the type of a complex type's two parts."""

    kind: str
    bits: int
    signed: bool = True
    exponent_bits: int = 0
    fraction_bits: int = 0
    has_infinity: bool = True
    part: str = ""

    @property
    def smallest_exponent(self) -> int:
        """The exponent of the smallest normal number."""
        return 2 - (1 << (self.exponent_bits - 1))

    @property
    def largest_pattern(self) -> int:
        """The pattern of the largest finite number."""
        infinity = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        return infinity - 1 if self.has_infinity else infinity + (1 << self.fraction_bits) - 2

    @property
    def nan_pattern(self) -> int:
        """The canonical NaN: quiet, positive, no payload."""
        if not self.has_infinity:
            return self.largest_pattern + 1
        return self.largest_pattern + 1 + (1 << (self.fraction_bits - 1))


ELEMENTS = {
    "bool": Element("bool", 8),
    **{f"int{bits}": Element("integer", bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": Element("integer", bits, signed=False) for bits in (8, 16, 32, 64)},
    "float16": Element("float", 16, exponent_bits=5, fraction_bits=10),
    "bfloat16": Element("float", 16, exponent_bits=8, fraction_bits=7),
    "float32": Element("float", 32, exponent_bits=8, fraction_bits=23),
    "float64": Element("float", 64, exponent_bits=11, fraction_bits=52),
    "float8_e4m3fn": Element("float", 8, exponent_bits=4, fraction_bits=3, has_infinity=False),
    "float8_e5m2": Element("float", 8, exponent_bits=5, fraction_bits=2),
    "complex64": Element("complex", 64, part="float32"),
    "complex128": Element("complex", 128, part="float64"),
}


class Number(NamedTuple):
    """A real number: its sign and its size in grains of 2**-1074; `special` is "", "infinity" or "nan"."""

    negative: bool
    grains: int
    special: str = ""


def number(value: float) -> Number:
    """A Python int or float as a Number."""
    if isinstance(value, int):
        return Number(value < 0, abs(value) << GRAIN)
    negative = math.copysign(1, value) < 0
    if not math.isfinite(value):
        return Number(negative, 0, "nan" if math.isnan(value) else "infinity")
    numerator, denominator = abs(value).as_integer_ratio()
    return Number(negative, (numerator << GRAIN) // denominator)


def decode(pattern: int, name: str) -> Number:
    """The number that a pattern of a real type stands for."""
    element = ELEMENTS[name]
    if element.kind == "bool":
        return Number(False, int(pattern != 0) << GRAIN)
    if element.kind == "integer":
        negative = element.signed and pattern >> (element.bits - 1) == 1
        return Number(negative, ((1 << element.bits) - pattern if negative else pattern) << GRAIN)
    negative, size = divmod(pattern, 1 << (element.bits - 1))
    if size > element.largest_pattern:
        infinite = element.has_infinity and size == element.largest_pattern + 1
        return Number(bool(negative), 0, "infinity" if infinite else "nan")
    exponent, fraction = divmod(size, 1 << element.fraction_bits)
    units = fraction if exponent == 0 else fraction + (1 << element.fraction_bits)
    unit = element.smallest_exponent - element.fraction_bits + max(exponent - 1, 0)
    return Number(bool(negative), units << (unit + GRAIN))


def round_to_units(x: Number, unit: int, rounding: str) -> int:
    """The whole count of `unit` grains, with its sign, that `rounding` chooses for a finite `x`."""
    whole, rest = divmod(-x.grains if x.negative else x.grains, unit)
    if rounding == "floor":
        up = False
    elif rounding == "ceil":
        up = rest > 0
    elif rounding == "truncate":
        up = rest > 0 and x.negative
    elif 2 * rest != unit:
        up = 2 * rest > unit
    else:
        up = whole % 2 == 1 if rounding == "nearest" else not x.negative
    return whole + up


def to_integer(x: Number, name: str, overflow: str, rounding: str, nan: float | None) -> int:
    """A number as a pattern of an integer type; `nan` is None where it was not given."""
    element = ELEMENTS[name]
    largest = (1 << (element.bits - element.signed)) - 1
    smallest = -largest - 1 if element.signed else 0
    if x.special == "nan":
        if overflow == "raise" and nan is None:
            raise DoesNotFitError
        x = number(0 if nan is None else nan)
    if x.special:
        chosen = 0 if overflow == "wrap" else (smallest - 1 if x.negative else largest + 1)
    else:
        chosen = round_to_units(x, 1 << GRAIN, rounding)
    if overflow == "raise" and not smallest <= chosen <= largest:
        raise DoesNotFitError
    if overflow == "saturate":
        chosen = min(max(chosen, smallest), largest)
    return chosen % (1 << element.bits)


def to_float(x: Number, name: str, overflow: str) -> int:
    """A number as a pattern of a float type; `overflow` "limit" stops at the largest finite number."""
    element = ELEMENTS[name]
    sign = x.negative << (element.bits - 1)
    beyond = element.largest_pattern + 1
    if x.special == "nan":
        return element.nan_pattern
    if x.special:
        size = beyond
        fits = element.has_infinity
    else:
        exponent = max(x.grains.bit_length() - 1 - GRAIN, element.smallest_exponent)
        unit = exponent - element.fraction_bits + GRAIN
        units = round_to_units(Number(False, x.grains), 1 << unit, "nearest")
        # The leading bit of `units` adds one to the exponent field, and a carry one more.
        size = ((exponent - element.smallest_exponent) << element.fraction_bits) + units
        fits = size < beyond
    if overflow == "raise" and not fits:
        raise DoesNotFitError
    if size >= beyond and overflow == "limit":
        size = element.largest_pattern
    if size >= beyond and not element.has_infinity:
        return element.nan_pattern
    return sign | min(size, beyond)


def parts(pattern: int, name: str) -> tuple[int, int]:
    """The patterns of the real and the imaginary part of a complex pattern."""
    half = ELEMENTS[name].bits // 2
    return pattern & ((1 << half) - 1), pattern >> half


def convert_number(x: Number, to: str, overflow: str, rounding: str, nan: float | None) -> int:
    """A real number as a pattern of `to`, by the rule of ``convert``."""
    element = ELEMENTS[to]
    if element.kind == "bool":
        return int(x.special != "" or x.grains > 0)
    if element.kind == "integer":
        return to_integer(x, to, overflow, rounding, nan)
    return to_float(x, element.part or to, overflow)


def convert(
    pattern: int, of: str, to: str, overflow: str = "saturate", rounding: str = "truncate", nan: float | None = None
) -> int:
    """``tensorbuf.convert`` of one pattern. A NaN that is not copied comes out canonical."""
    source, target = ELEMENTS[of], ELEMENTS[to]
    if source.kind != "complex":
        if of == to and source.kind != "bool":
            return pattern
        return convert_number(decode(pattern, of), to, overflow, rounding, nan)
    real, imaginary = parts(pattern, of)
    if target.kind == "complex":
        low = convert(real, source.part, target.part, overflow)
        return low | convert(imaginary, source.part, target.part, overflow) << (target.bits // 2)
    if target.kind == "bool":
        return convert(real, source.part, to) | convert(imaginary, source.part, to)
    raise TypeError(f"{of} to {to}")


def cast(pattern: int, of: str, to: str) -> int:
    """``tensorbuf.cast`` of one pattern."""
    if ELEMENTS[of].kind == "complex" and ELEMENTS[to].kind != "complex":
        return convert(parts(pattern, of)[0], ELEMENTS[of].part, to, "wrap")
    return convert(pattern, of, to, "wrap")


def saturate_cast(pattern: int, of: str, to: str) -> int:
    """``tensorbuf.saturate_cast`` of one pattern."""
    source, target = ELEMENTS[of], ELEMENTS[to]
    if source.kind == "complex":
        real, imaginary = parts(pattern, of)
        if target.kind != "complex":
            return saturate_cast(real, source.part, to)
        low = saturate_cast(real, source.part, target.part)
        return low | saturate_cast(imaginary, source.part, target.part) << (target.bits // 2)
    overflow = "limit" if target.kind in ("float", "complex") else "saturate"
    return convert_number(decode(pattern, of), to, overflow, "truncate", None)
