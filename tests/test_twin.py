"""The vectorised twin against the oracle: every pair, every mode."""

import itertools

import numpy as np
import oracle
import pytest
import twin
from oracle import ELEMENTS, OVERFLOWS, ROUNDINGS
from patterns import NAMES, sample

NANS = (None, 7, 300.5)


def pick(name: str, count: int) -> np.ndarray:
    """About `count` elements of the sample, spread over all of it."""
    array = sample(name)
    return array[:: max(1, array.size // count)].copy()


def patterns(array: np.ndarray) -> list[int]:
    """One int for each element; a complex number's real part is the low half."""
    words = twin.patterns_of(array)
    if array.dtype.kind != "c":
        return words.tolist()
    return [low | high << (array.itemsize * 4) for low, high in words.tolist()]


def judged(pattern: int, *how) -> bool:
    try:
        oracle.convert(pattern, *how)
    except oracle.DoesNotFitError:
        return False
    return True


def modes(of: str, to: str):
    """(overflow, rounding, nan) of a pair, without those that change nothing."""
    rounds = ELEMENTS[of].kind == "float" and ELEMENTS[to].kind == "integer"
    for overflow, rounding in itertools.product(OVERFLOWS, ROUNDINGS if rounds else ROUNDINGS[:1]):
        yield overflow, rounding, NANS[len(overflow + rounding) % 3] if rounds else None


def compare(of: str, to: str, count: int) -> None:
    array = pick(of, count)
    known = patterns(array)
    for overflow, rounding, nan in modes(of, to):
        values, fits = twin.convert(array, to, overflow, rounding, nan)
        if overflow == "raise":
            assert fits.tolist() == [judged(p, of, to, overflow, rounding, nan) for p in known]
        else:
            want = [oracle.convert(p, of, to, overflow, rounding, nan) for p in known]
            assert patterns(values) == want, (of, to, overflow, rounding)
    for of_facade, one in ((twin.cast, oracle.cast), (twin.saturate_cast, oracle.saturate_cast)):
        assert patterns(of_facade(array, to)) == [one(p, of, to) for p in known]


@pytest.mark.parametrize("of", NAMES)
def test_the_twin_is_the_oracle(of):
    for to in NAMES:
        if ELEMENTS[of].kind == "complex" and ELEMENTS[to].kind in ("integer", "float"):
            with pytest.raises(TypeError):
                twin.convert(sample(of), to)
        else:
            compare(of, to, 150)


@pytest.mark.proof
@pytest.mark.parametrize("of", NAMES)
def test_the_twin_is_the_oracle_on_thousands(of):
    for to in NAMES:
        if ELEMENTS[of].kind != "complex" or ELEMENTS[to].kind in ("bool", "complex"):
            compare(of, to, 2000)


def test_comparison_sees_what_differs():
    one = np.array([1.0, np.nan, -0.0], np.float32)
    other_nan = one.copy()
    other_nan.view(np.uint32)[1] = 0xFFC00001
    assert twin.same(one, other_nan)
    assert not twin.same(one, np.array([1.0, np.nan, 0.0], np.float32))
    assert not twin.same(one, one.astype(np.float64))
    assert not twin.same(one, one[:2])
    assert not twin.same(np.array([1j, 2]), np.array([1j, 2 - 0j]) * [1, -1])
    with pytest.raises(AssertionError, match="1 of 3 differ; at 0"):
        twin.assert_same(np.array([2, 0, 0]), np.array([1, 0, 0]))
