"""The arrays that conversions are tried on: every pattern of the small types; of the wide ones the boundary values of
every target, their neighbours, and random patterns."""

from __future__ import annotations

import functools

import numpy as np
from oracle import ELEMENTS, GRAIN, DoesNotFitError, Number, decode, to_float
from twin import dtype_of

NAMES = tuple(ELEMENTS)
REAL_NAMES = tuple(name for name in NAMES if ELEMENTS[name].kind != "complex")
INTEGERS = tuple(name for name in NAMES if ELEMENTS[name].kind == "integer")
FLOATS = tuple(name for name in NAMES if ELEMENTS[name].kind == "float")
COMPLEXES = tuple(name for name in NAMES if ELEMENTS[name].kind == "complex")


@functools.cache
def sample(name: str, random_count: int = 2000, seed: int = 1) -> np.ndarray:
    """A read-only array of a type: all its patterns where they have at most 16 bits, else the telling ones."""
    element = ELEMENTS[name]
    if element.kind == "complex":
        result = _complex_sample(name, random_count, seed)
    else:
        if element.bits <= 16:
            patterns = np.arange(1 << element.bits, dtype=np.uint64)
        else:
            patterns = np.concatenate([_boundary_patterns(name), random_patterns(name, random_count, seed)])
        result = from_patterns(patterns, name)
    result.setflags(write=False)
    return result


def from_patterns(patterns: np.ndarray, name: str) -> np.ndarray:
    return patterns.astype(f"u{ELEMENTS[name].bits // 8}").view(dtype_of(name))


def random_patterns(name: str, count: int, seed: int) -> np.ndarray:
    """Half any bits at all; half, of a float type, numbers between 2**-30 and 2**70, where the integers are."""
    element = ELEMENTS[name]
    random = np.random.default_rng([seed, *name.encode()])
    patterns = random.integers(0, 1 << 64, count, np.uint64, endpoint=False) >> np.uint64(64 - element.bits)
    if element.kind == "float":
        bias = 1 - element.smallest_exponent
        middle = patterns[: count // 2]
        field = random.integers(max(bias - 30, 0), bias + 70, middle.size, np.uint64)
        keep = np.uint64((1 << element.fraction_bits) - 1 | 1 << (element.bits - 1))
        middle[:] = (middle & keep) | (field << np.uint64(element.fraction_bits))
        # Few fraction bits make ties.
        middle[::3] &= ~np.uint64((1 << max(element.fraction_bits - 10, 0)) - 1)
    elif element.kind == "integer":
        # Numbers of every length.
        patterns[::2] >>= random.integers(0, element.bits, patterns[::2].size, np.uint64)
    return patterns


def _complex_sample(name: str, random_count: int, seed: int) -> np.ndarray:
    parts = sample(ELEMENTS[name].part, random_count, seed)
    other = np.random.default_rng(seed).permutation(parts)
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1e-45, 3e38], parts.dtype)
    real, imaginary = (x.ravel() for x in np.meshgrid(specials, specials))
    result = np.empty(parts.size + real.size, dtype_of(name))
    result.real = np.concatenate([real, parts])
    result.imag = np.concatenate([imaginary, other])
    return result


def _boundary_patterns(name: str) -> np.ndarray:
    """The patterns nearest to each value where a conversion to some type changes its mind, and two on either side."""
    element = ELEMENTS[name]
    near = set()
    for size in _telling_sizes():
        for negative in (False, True):
            pattern = _nearest_pattern(Number(negative, size), name)
            if pattern is not None:
                near.update(range(pattern - 2, pattern + 3))
    if element.kind == "float":
        for size in (0, 1 << element.fraction_bits, element.largest_pattern):
            for sign in (0, 1 << (element.bits - 1)):
                near.update(range(size + sign - 2, size + sign + 3))
        near.add(element.nan_pattern)
        near.add((1 << element.bits) - 1)
    return np.array(sorted(pattern % (1 << element.bits) for pattern in near), np.uint64)


def _nearest_pattern(x: Number, name: str) -> int | None:
    element = ELEMENTS[name]
    if element.kind == "integer":
        value = -(x.grains >> GRAIN) if x.negative else x.grains >> GRAIN
        fits = -(1 << (element.bits - 1)) <= value < 1 << element.bits
        return value if fits else None
    try:
        return to_float(x, name, "raise")
    except DoesNotFitError:
        return None


@functools.cache
def _telling_sizes() -> frozenset[int]:
    """In grains: the ends of the integer types, ties between integers, and the ends and ties of the float types."""
    one = 1 << GRAIN
    sizes = {quarters * one // 4 for quarters in range(13)}
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        sizes.update((one << bits) + halves * one // 2 for halves in range(-3, 4))
    for name in FLOATS:
        precision = ELEMENTS[name].fraction_bits + 1
        largest = ELEMENTS[name].largest_pattern
        smallest, top, below = (decode(pattern, name).grains for pattern in (1, largest, largest - 1))
        sizes.update((smallest // 2, smallest, 3 * smallest // 2, smallest << (precision - 1)))
        sizes.update((top, top + (top - below) // 2, top + (top - below)))
        sizes.update((one << (precision + shift)) + (odd * one << shift) for shift in (0, 6, 38) for odd in (1, 3))
        sizes.update(one + (odd * one >> precision) for odd in (1, 3))
    return frozenset(sizes)
