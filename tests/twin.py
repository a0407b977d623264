"""The conversion rule on whole arrays: numpy's integers on bit patterns, exact and the same on every machine.

A real array is taken apart once (`Reals`: sign, significand, exponent); each conversion then rounds the significand to
whole units of the target and assembles the target's bits. No value passes through a cast between float types or between
a float and an integer. tests/test_twin.py holds this file against the one-value oracle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import oracle
from oracle import ELEMENTS

from tensorbuf import DataType

NAN = oracle.Number(False, 0, "nan")


class Converted(NamedTuple):
    """What a conversion gives: an array of the target's dtype, and where ``overflow="raise"`` has nothing to say."""

    values: np.ndarray
    fits: np.ndarray


def dtype_of(name: str) -> np.dtype:
    return DataType(name).numpy_dtype


def name_of(array: np.ndarray) -> str:
    return DataType.of(array.dtype).value


def patterns_of(array: np.ndarray) -> np.ndarray:
    """The bits of a contiguous array, as unsigned integers; two for each complex number, in a last axis."""
    size = array.dtype.itemsize
    if array.dtype.kind != "c":
        return array.view(f"u{size}")
    return array[..., np.newaxis].view(f"u{size // 2}")


def is_nan(patterns: np.ndarray, name: str) -> np.ndarray:
    """Where the patterns of a type, or of the parts of a complex type, are NaN."""
    element = ELEMENTS[ELEMENTS[name].part or name]
    if element.kind != "float":
        return np.zeros(patterns.shape, bool)
    beyond = element.largest_pattern + (1 if element.has_infinity else 0)
    return patterns & patterns.dtype.type((1 << (element.bits - 1)) - 1) > patterns.dtype.type(beyond)


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal bits everywhere, but that any NaN counts as equal to any other."""
    return got.dtype == want.dtype and got.shape == want.shape and not _differences(got, want).any()


def assert_same(got: np.ndarray, want: np.ndarray, of: np.ndarray | None = None, what: object = "") -> None:
    """Fail with the first element that differs; `of` is the source."""
    assert isinstance(got, np.ndarray), f"{what}: got {type(got)}"
    assert got.dtype == want.dtype, f"{what}: {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape} instead of {want.shape}"
    wrong = _differences(got, want)
    if not wrong.any():
        return
    index = int(np.flatnonzero(wrong)[0])
    got, want = np.ascontiguousarray(got).reshape(-1)[index], np.ascontiguousarray(want).reshape(-1)[index]
    source = "" if of is None else f" of {np.ascontiguousarray(of).reshape(-1)[index : index + 1]!r}"
    raise AssertionError(
        f"{what}: {np.count_nonzero(wrong)} of {wrong.size} differ; at {index}{source} "
        f"got {got!r} ({got.tobytes()[::-1].hex()}), want {want!r} ({want.tobytes()[::-1].hex()})"
    )


def _differences(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    name = name_of(want)
    left, right = (patterns_of(np.asarray(x, x.dtype.newbyteorder("="), order="C")) for x in (got, want))
    unequal = left != right
    if unequal.any():
        unequal &= ~(is_nan(left, name) & is_nan(right, name))
    return unequal.any(-1) if want.dtype.kind == "c" else unequal


class Rounded(NamedTuple):
    """Whole numbers: their sizes, at most 2**64 - 1; where they are beyond that; modulo 2**64, infinities as 0."""

    size: np.ndarray
    beyond: np.ndarray
    signed: np.ndarray


class Reals:
    """Real numbers taken apart: sign, significand and exponent of each (significand * 2**exponent), which are NaN."""

    def __init__(self, patterns: np.ndarray, name: str) -> None:
        element = ELEMENTS[name]
        wide = patterns.astype(np.uint64)
        self.shape = patterns.shape
        self.nan = self.infinite = np.zeros((), bool)
        self.exponent = np.zeros((), np.int64)
        self._rounded: dict[str, Rounded] = {}
        if element.kind == "bool":
            self.negative = np.zeros((), bool)
            self.significand = np.minimum(wide, np.uint64(1))
        elif element.kind == "integer":
            self.negative = np.zeros((), bool)
            self.significand = wide
            if element.signed:
                self.negative = wide >> np.uint64(element.bits - 1) != 0
                ones = np.uint64((1 << element.bits) - 1)
                self.significand = np.where(self.negative, (~wide & ones) + np.uint64(1), wide)
        else:
            self._take_float_apart(wide, element)

    def _take_float_apart(self, wide: np.ndarray, element: oracle.Element) -> None:
        size = wide & np.uint64((1 << (element.bits - 1)) - 1)
        self.negative = wide != size
        field = size >> np.uint64(element.fraction_bits)
        normal = field != 0
        self.significand = size & np.uint64((1 << element.fraction_bits) - 1)
        self.significand += normal.astype(np.uint64) << np.uint64(element.fraction_bits)
        self.exponent = field.astype(np.int64) - normal + (element.smallest_exponent - element.fraction_bits)
        infinity = np.uint64(element.largest_pattern + 1)
        if element.has_infinity:
            self.infinite = size == infinity
            self.nan = size > infinity
        else:
            self.nan = size == infinity

    def in_units(self, unit: np.ndarray | int, rounding: str) -> tuple[np.ndarray, np.ndarray]:
        """The sizes in whole units of 2**unit: their low 64 bits, and where there are more."""
        shift = self.exponent - unit
        right = np.clip(-shift, 0, 65)
        halves = _shift(np.right_shift, self.significand, np.maximum(right - 1, 0))
        shifted = right > 0
        whole = halves >> shifted.astype(np.uint64)
        guard = (halves & shifted.astype(np.uint64)) != 0
        sticky = _shift(np.left_shift, halves, np.maximum(right - 1, 0)) != self.significand
        whole = whole + self._away_from_zero(rounding, whole, guard, sticky)
        left = np.clip(shift, 0, 64)
        result = _shift(np.left_shift, whole, left)
        return result, _shift(np.right_shift, result, left) != whole

    def _away_from_zero(
        self, rounding: str, whole: np.ndarray, guard: np.ndarray, sticky: np.ndarray
    ) -> np.ndarray | np.uint64:
        if rounding == "truncate":
            return np.uint64(0)
        if rounding == "nearest":
            up = guard & (sticky | ((whole & np.uint64(1)) != 0))
        elif rounding == "nearest_away":
            up = guard
        else:
            up = (guard | sticky) & (self.negative == (rounding == "floor"))
        return up.astype(np.uint64)

    def rounded(self, rounding: str) -> Rounded:
        """As whole numbers; kept for the next target type."""
        if rounding not in self._rounded:
            size, beyond = self.in_units(0, rounding)
            beyond = beyond | self.infinite
            signed = _with_sign(self.negative, np.where(self.infinite, np.uint64(0), size))
            self._rounded[rounding] = Rounded(np.where(beyond, np.uint64(2**64 - 1), size), beyond, signed)
        return self._rounded[rounding]


def _shift(direction: np.ufunc, x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """A shift by up to 64 bits: C leaves one by 64 undefined, so it goes in two steps."""
    first = by >> 1
    return direction(direction(x, first.astype(np.uint64)), (by - first).astype(np.uint64))


def _with_sign(negative: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Modulo 2**64, the sizes where `negative` is not set and their opposites where it is."""
    if negative.all():
        return np.negative(size)
    return np.where(negative, np.negative(size), size) if negative.any() else size


def _bit_length(x: np.ndarray) -> np.ndarray:
    length = np.zeros(x.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        more = x >> np.uint64(step) != 0
        length += more * step
        x = np.where(more, x >> np.uint64(step), x)
    return length + (x != 0)


def to_integer(x: Reals, name: str, overflow: str, rounding: str, nan: float | None) -> np.ndarray:
    """Patterns of an integer type."""
    whole = x.rounded(rounding)
    signed = whole.signed
    if overflow != "wrap":
        signed = _with_sign(x.negative, np.minimum(whole.size, _limit(x, name)))
    if x.nan.any():
        usual = "saturate" if overflow == "raise" else overflow
        signed = np.where(x.nan, np.uint64(oracle.to_integer(NAN, name, usual, rounding, nan)), signed)
    return signed.astype(f"u{ELEMENTS[name].bits // 8}")


def fits_integer(x: Reals, name: str, rounding: str, nan: float | None) -> np.ndarray:
    """Where an integer type holds the numbers."""
    whole = x.rounded(rounding)
    fits = ~whole.beyond & (whole.size <= _limit(x, name))
    if not x.nan.any():
        return fits
    try:
        oracle.to_integer(NAN, name, "raise", rounding, nan)
    except oracle.DoesNotFitError:
        return fits & ~x.nan
    return fits | x.nan


def _limit(x: Reals, name: str) -> np.ndarray:
    """The largest size that a type holds: of a negative number one more, or none."""
    element = ELEMENTS[name]
    largest = (1 << (element.bits - element.signed)) - 1
    return np.where(x.negative, np.uint64(largest + 1 if element.signed else 0), np.uint64(largest))


def to_float(x: Reals, name: str, limit: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Patterns of a float type, and where they fit; with `limit` what is too large is the largest finite number."""
    element = ELEMENTS[name]
    smallest = element.smallest_exponent
    leading = np.where(x.significand != 0, x.exponent + _bit_length(x.significand) - 1, smallest)
    exponent = np.maximum(leading, smallest)
    units, _ = x.in_units(exponent - element.fraction_bits, "nearest")
    # The leading bit of `units` adds one to the exponent field, and a carry one more.
    size = ((exponent - smallest).astype(np.uint64) << np.uint64(element.fraction_bits)) + units
    beyond = (size > np.uint64(element.largest_pattern)) | x.infinite
    fits = ~beyond | (x.infinite & element.has_infinity)
    size = np.where(beyond, np.uint64(element.largest_pattern + (not limit)), size)
    pattern = size | (x.negative.astype(np.uint64) << np.uint64(element.bits - 1))
    nan = x.nan if limit or element.has_infinity else x.nan | beyond
    pattern = np.where(nan, np.uint64(element.nan_pattern), pattern)
    return pattern.astype(f"u{element.bits // 8}"), fits | x.nan


def read(source: np.ndarray) -> Reals:
    """A contiguous array of native byte order, taken apart; a complex one has its two parts in a last axis."""
    name = name_of(source)
    return Reals(patterns_of(source), ELEMENTS[name].part or name)


def convert(
    source: np.ndarray,
    to: str,
    overflow: str = "saturate",
    rounding: str = "truncate",
    nan: float | None = None,
    *,
    reals: Reals | None = None,
) -> Converted:
    """``tensorbuf.convert`` of a contiguous array. `reals` is ``read(source)``, for a caller who has it."""
    target = ELEMENTS[to]
    if name_of(source) == to and target.kind != "bool":
        return Converted(source.copy(), np.ones(source.shape, bool))
    x = read(source) if reals is None else reals
    is_complex = source.dtype.kind == "c"
    if target.kind == "bool":
        patterns = ((x.significand != 0) | x.nan | x.infinite).astype(np.uint8)
        fits = np.ones(x.shape, bool)
        if is_complex:
            patterns, fits = patterns.max(-1), fits.all(-1)
    elif is_complex and target.kind != "complex":
        raise TypeError(f"{source.dtype} to {to}")
    elif target.kind == "integer":
        patterns = to_integer(x, to, overflow, rounding, nan)
        fits = fits_integer(x, to, rounding, nan)
    else:
        patterns, fits = to_float(x, target.part or to)
    return _assemble(patterns, fits, to, is_complex)


def _assemble(patterns: np.ndarray, fits: np.ndarray, to: str, is_complex: bool) -> Converted:
    shape = patterns.shape[:-1] if is_complex and ELEMENTS[to].kind == "complex" else patterns.shape
    if ELEMENTS[to].kind != "complex":
        return Converted(patterns.view(dtype_of(to)), np.broadcast_to(fits, shape))
    if not is_complex:
        fits = np.broadcast_to(fits, shape)[..., np.newaxis]
        patterns = np.stack([patterns, np.zeros_like(patterns)], -1)
    return Converted(patterns.view(dtype_of(to))[..., 0], fits.all(-1))


def real_part(source: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(source.real)


def cast(source: np.ndarray, to: str) -> np.ndarray:
    """``tensorbuf.cast`` of a contiguous array."""
    if source.dtype.kind == "c" and ELEMENTS[to].kind != "complex":
        source = real_part(source)
    return convert(source, to, "wrap").values


def saturate_cast(source: np.ndarray, to: str) -> np.ndarray:
    """``tensorbuf.saturate_cast`` of a contiguous array."""
    target = ELEMENTS[to]
    if source.dtype.kind == "c" and target.kind != "complex":
        source = real_part(source)
    if target.kind in ("bool", "integer"):
        return convert(source, to).values
    patterns, fits = to_float(read(source), target.part or to, limit=True)
    return _assemble(patterns, fits, to, source.dtype.kind == "c").values
