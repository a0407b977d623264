"""The long proofs: millions of values a pair and mode against the twin, and every float32 to every integer type."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest
import twin
from oracle import ELEMENTS, ROUNDINGS
from patterns import INTEGERS, NAMES, from_patterns, random_patterns
from test_conversion_values import rounds, targets

from tensorbuf import ConversionError, cast, convert, saturate_cast

pytestmark = pytest.mark.proof

BLOCK = 1 << 20
BLOCKS_A_PAIR = 2
WIDE = [name for name in NAMES if ELEMENTS[name].bits > 16]


def random_values(name: str, seed: int) -> np.ndarray:
    part = ELEMENTS[name].part
    if not part:
        return from_patterns(random_patterns(name, BLOCK, seed), name)
    real, imaginary = (from_patterns(random_patterns(part, BLOCK, 2 * seed + k), part) for k in (0, 1))
    return np.stack([real, imaginary], -1).view(twin.dtype_of(name))[:, 0]


@pytest.mark.parametrize("of", WIDE)
@pytest.mark.parametrize("seed", range(BLOCKS_A_PAIR))
def test_a_million_random_values(of, seed):
    source = random_values(of, 100 + seed)
    reals = twin.read(source)
    for to in targets(of):
        for rounding in ROUNDINGS if rounds(of, to) else ROUNDINGS[:1]:
            for overflow in ("saturate", "wrap"):
                want = twin.convert(source, to, overflow, rounding, reals=reals).values
                got = convert(source, to, overflow=overflow, rounding=rounding)
                twin.assert_same(got, want, source, f"{of} to {to}, {overflow}, {rounding}")
            check_judgement(source, reals, to, rounding)
    for to in NAMES:
        twin.assert_same(cast(source, to), twin.cast(source, to), source, f"cast {of} to {to}")
        twin.assert_same(
            saturate_cast(source, to), twin.saturate_cast(source, to), source, f"saturate_cast {of} to {to}"
        )


def check_judgement(source: np.ndarray, reals: twin.Reals, to: str, rounding: str) -> None:
    values, fits = twin.convert(source, to, "raise", rounding, reals=reals)
    got = convert(source[fits], to, overflow="raise", rounding=rounding)
    twin.assert_same(got, values[fits], source[fits], f"to {to}, {rounding}, raise")
    refused = np.flatnonzero(~fits)
    for position in refused[:: 1 + refused.size // 50]:
        third = np.concatenate([np.zeros(2, source.dtype), source[[position]]])
        with pytest.raises(ConversionError, match=r"\b2\b"):
            convert(third, to, overflow="raise", rounding=rounding)


@pytest.mark.parametrize("sign", [0, 1])
def test_every_float32_to_every_integer_type(sign):
    """Blocks of one sign and exponent, in which the significands are consecutive."""
    starts = range(sign << 31, (sign + 1) << 31, BLOCK)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(check_block, starts):
            pass


def check_block(start: int) -> None:
    patterns = np.arange(start, start + BLOCK, dtype=np.uint64).astype(np.uint32)
    source = patterns.view(np.float32)
    if np.isfinite(source[0]):
        reals = twin.read(source[:1])
        reals.significand = reals.significand + np.arange(BLOCK, dtype=np.uint64)
    else:
        reals = twin.read(source)
    for to in INTEGERS:
        out = np.empty(BLOCK, to)
        for overflow, rounding in (*(("saturate", rounding) for rounding in ROUNDINGS), ("wrap", "truncate")):
            convert(source, to, overflow=overflow, rounding=rounding, out=out)
            check_block_of(start, reals, to, overflow, rounding, out)


def check_block_of(start: int, reals: twin.Reals, to: str, overflow: str, rounding: str, got: np.ndarray) -> None:
    got = twin.patterns_of(got)
    how = (overflow, rounding, None)
    # Conversion keeps the order of values, the wrapped one that of the magnitude as long as 64 bits hold it: where the
    # first and the last of a block become the same, all between do. What begins with infinity goes on with NaN.
    ends = [start, start + BLOCK - 1]
    widest = to if overflow == "saturate" else "uint64"
    first, last = (oracle.convert(end, "float32", widest, *how) for end in ends)
    if first == last and reals.significand.size == BLOCK and not reals.nan.any():
        same = got == oracle.convert(start, "float32", to, *how)
    else:
        same = got == twin.to_integer(reals, to, *how)
    assert same.all(), (to, *how, hex(start + int(np.argmin(same))))


@pytest.mark.parametrize("layout", ["C", "F"])
def test_more_than_2_to_the_31_elements(layout):
    """A window that slides over few bytes, so that only the result takes memory."""
    shape = (1 << 16) + 1, 1 << 15
    memory = np.random.default_rng(1).integers(-128, 128, sum(shape), np.int8)
    source = np.lib.stride_tricks.as_strided(memory, shape, (1, 1), writeable=False)
    source = source.T if layout == "F" else source
    got = convert(source, "uint8")
    assert got.size > 2**31
    want = convert(memory, "uint8")
    for row in (0, 1, 777, got.shape[0] - 2, got.shape[0] - 1):
        assert got[row].tobytes() == want[row : row + got.shape[1]].tobytes()
    total = np.concatenate([[0], np.cumsum(want, dtype=np.int64)])
    rows, columns = got.shape
    assert int(got.sum(dtype=np.int64)) == int((total[columns : columns + rows] - total[:rows]).sum())
