"""64-bit integers from and to floating types, and integers by wrapping: stretches of moderate values go a fast way.

Expected values come from Python's ints.
"""

import math

import numpy as np
import pytest

from tensorbuf import convert

LONG = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
DIGITS = {"float64": 53, "float32": 24, "bfloat16": 8}
LIMITS = {
    **LONG,
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32)},
}
# More than one stretch, and more than a vector behind the last whole one.
LENGTHS = (1, 3, 8, 511, 512, 513, 1100)


def rounded(value: int, digits: int) -> int:
    """To the nearest of so many binary digits, ties to even."""
    unit = 2 ** max(abs(value).bit_length() - digits, 0)
    whole, rest = divmod(abs(value), unit)
    whole += 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    return whole * unit * (1 if value >= 0 else -1)


def near_ties(digits: int) -> list[int]:
    """Halfway between two neighbours, and beside it by every bit below."""
    values = []
    for exponent in range(digits, 64):
        unit = 2 ** (exponent - digits + 1)
        for place in (0, 1, 2 ** (digits - 1) - 1):
            half = 2**exponent + place * unit + unit // 2
            values += [half, *(half + sign * 2**bit for bit in range(exponent - digits) for sign in (1, -1))]
    return values


@pytest.mark.levels
@pytest.mark.parametrize("of", LONG)
@pytest.mark.parametrize("to", DIGITS)
def test_integers_near_a_tie_are_rounded_once(of, to):
    least, most = LONG[of]
    values = [v for t in near_ties(DIGITS[to]) for v in (t, -t) if least <= v <= most] + [least, most, 0, 1]
    got = convert(np.array(values, of), to).astype("float64")
    assert [int(x) for x in got.tolist()] == [rounded(v, DIGITS[to]) for v in values]


@pytest.mark.levels
@pytest.mark.parametrize("of", LONG)
@pytest.mark.parametrize("to", DIGITS)
def test_one_large_integer_among_small_ones(of, to):
    least, most = LONG[of]
    edges = [most, most - 1, least, 2**51 - 1, 2**51, 2**51 + 1, -(2**51) - 1, -(2**51), 2**53 + 1, 2**62 + 2**38 + 1]
    for length in LENGTHS:
        small = [(i * 7919 % 2001 - 1000) % (most + 1) if least == 0 else i * 7919 % 2001 - 1000 for i in range(length)]
        for edge in (e for e in edges if least <= e <= most):
            for place in {0, length // 2, length - 1}:
                values = [*small[:place], edge, *small[place + 1 :]]
                got = convert(np.array(values, of), to).astype("float64")
                assert [int(x) for x in got.tolist()] == [rounded(v, DIGITS[to]) for v in values], (length, place, edge)


def fitted(value: float, to: str, overflow: str) -> int:
    least, most = LIMITS[to]
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return 0 if overflow == "wrap" else (most if value > 0 else least)
    whole = math.trunc(value)
    if overflow == "wrap":
        return (whole - least) % (most - least + 1) + least
    return min(max(whole, least), most)


@pytest.mark.levels
@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("to", LIMITS)
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_one_float_among_moderate_ones(of, to, overflow):
    exponents = (7, 8, 15, 16, 31, 32, 33, 51, 52, 53, 62, 63, 64, 65, 84, 96, 117, 127)
    powers = np.array([sign * 2.0**exponent for exponent in exponents for sign in (1, -1)], of)
    edges = [
        *powers.tolist(),
        *np.nextafter(powers, 0, dtype=of).tolist(),
        *np.nextafter(powers, np.copysign(np.inf, powers), dtype=of).tolist(),
        *(1.5 * powers).tolist(),
        *(math.nan, math.inf, -math.inf, -0.9, -0.0, 0.5, -1.0),
        *(2147483520.0, 2147483647.5, -2147483648.5, -2147483649.0),
    ]
    for length in LENGTHS:
        moderate = np.array([(i * 7919 % 2001 - 1000) / 4 for i in range(length)], of)
        want = [fitted(x, to, overflow) for x in moderate.tolist()]
        for number, edge in enumerate(edges):
            place = number * 31 % length
            values = moderate.copy()
            values[place] = edge
            expected = [*want[:place], fitted(values[place].item(), to, overflow), *want[place + 1 :]]
            assert convert(values, to, overflow=overflow).tolist() == expected, (length, place, edge)


@pytest.mark.levels
@pytest.mark.parametrize("to", LIMITS)
def test_bit_patterns_wrapped(to):
    """Floats of every exponent, modulo a power of two."""
    for of, bits, count in (("float32", "uint32", 40_000), ("float64", "uint64", 40_000)):
        patterns = np.random.default_rng(7).integers(0, np.iinfo(bits).max, count, bits, endpoint=True)
        values = patterns.view(of)
        got = convert(values, to, overflow="wrap").tolist()
        assert got == [fitted(x, to, "wrap") for x in values.tolist()]
