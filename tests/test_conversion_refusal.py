"""``overflow="raise"`` names the first element in logical order, wherever it lies in memory."""

import numpy as np
import pytest
import twin
from layouts import LAYOUTS, placed
from patterns import sample
from test_conversion_layouts import HOT

from tensorbuf import ConversionError, convert


def refusal(x, to, **how) -> str:
    with pytest.raises(ConversionError) as caught:
        convert(x, to, overflow="raise", **how)
    return str(caught.value)


def words(message: str) -> list[str]:
    return message.replace(",", " ").replace(":", " ").replace(";", " ").split()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(6, 7), (3, 4, 5), (40, 50), (3, 2000), (2000, 3)])
def test_first_in_logical_order(layout, shape):
    random = np.random.default_rng(5)
    size = int(np.prod(shape))
    for _ in range(6):
        values = random.integers(0, 100, size).astype(np.float32)
        positions = np.sort(random.choice(size, 5, replace=False))
        values[positions] = 1000 + positions
        message = words(refusal(placed(values.reshape(shape), layout), "uint8"))
        assert str(positions[0]) in message
        assert any(word.rstrip(".").removesuffix(".0") == str(1000 + positions[0]) for word in message)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), [pair for pair in HOT if pair[0] != pair[1]])
def test_first_at_every_position(of, to):
    """One element that does not fit, at each place of arrays of many lengths, before another one."""
    source = sample(of)
    fits = twin.convert(source, to, "raise").fits
    if fits.all():
        assert convert(source, to, overflow="raise").size == source.size
        return
    good, bad = source[fits][:140], source[~fits][0]
    for length in (1, 2, 15, 16, 17, 64, 100, 131):
        for position in range(length):
            array = np.resize(good, length)
            array[position:] = bad
            assert str(position) in words(refusal(array, to)), (length, position)


def test_a_late_element_of_a_long_array():
    values = np.zeros(3_000_000, np.int32)
    values[[2_000_001, 2_500_000]] = -7, 300
    message = words(refusal(values, "uint8"))
    assert "2000001" in message
    assert "-7" in message
    assert "1999999" in words(refusal(values[2:], "uint8"))


@pytest.mark.parametrize("of", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
def test_nan_is_refused_unless_a_number_is_given(of):
    array = np.array([1, np.nan, 300], twin.dtype_of(of))
    message = words(refusal(array, "uint8"))
    assert "1" in message
    assert any("nan" in word for word in message)
    assert "2" in words(refusal(array, "uint8", nan=0))
    assert "1" in words(refusal(array, "uint8", nan=256))
    assert convert(array[:2], "uint8", overflow="raise", nan=0).tolist() == [1, 0]
    assert convert(array[:2], "uint8", overflow="raise", nan=255.9).tolist() == [1, 255]


def test_lists_are_judged_by_their_exact_values():
    assert {"1", "300"} <= set(words(refusal([1, 300, -1], "uint8")))
    assert {"0", str(10**40)} <= set(words(refusal([10**40, -1], "uint64")))
    assert {"2", "-1"} <= set(words(refusal([[1, 2], [-1, 2**64]], "uint64")))
    assert {"1", str(2**64)} <= set(words(refusal([2**64 - 1, 2**64], "uint64")))
    assert {"1", str(1 << 2000)} <= set(words(refusal([0, 1 << 2000], "uint64")))
    # Beyond the digits that Python writes out.
    assert {"1", "20001"} <= set(words(refusal([0, 1 << 20000], "uint64")))
    assert convert([2**64 - 1], "uint64", overflow="raise").tolist() == [2**64 - 1]


@pytest.mark.proof
def test_a_position_beyond_31_bits():
    # A window that slides over few bytes; only its very last element is the last of them.
    shape = 1 << 16, (1 << 15) + 1
    memory = np.zeros(sum(shape) - 1, np.int8)
    memory[-1] = -1
    source = np.lib.stride_tricks.as_strided(memory, shape, (1, 1), writeable=False)
    message = words(refusal(source, "uint8"))
    assert str(source.size - 1) in message
    assert source.size > 2**31
    assert "-1" in message
