"""Strides, alignment, byte order, memory order, length and rank change nothing."""

import numpy as np
import pytest
import twin
from layouts import LAYOUTS, Layout, copy_bits, has_byte_order, placed
from patterns import NAMES, sample
from test_conversion_values import targets

from tensorbuf import convert

HOT = (
    ("uint8", "float32"),
    ("float32", "uint8"),
    ("float32", "int8"),
    ("float32", "bfloat16"),
    ("float32", "float16"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float64", "float32"),
    ("int64", "float32"),
    ("float64", "int32"),
    ("int32", "uint8"),
    ("float32", "float32"),
    ("float64", "float8_e4m3fn"),
    ("complex128", "complex64"),
    ("bool", "float32"),
    ("float32", "bool"),
)


def values_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a shape, of the sample's elements in an order that mixes them."""
    array = sample(name)
    size = int(np.prod(shape))
    return array[(np.arange(size) * 7919 + 11) % array.size].reshape(shape)


def check_result(array: np.ndarray, shape: tuple[int, ...], name: str) -> None:
    assert type(array) is np.ndarray
    assert array.shape == shape
    assert array.dtype == twin.dtype_of(name)
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.ctypes.data % 64 == 0


def check_layouts(of: str, to: str, shape: tuple[int, ...]) -> None:
    """Each layout as the source's and, in another combination, as that of `out`."""
    values = values_of(of, shape)
    want = convert(values, to)
    twin.assert_same(want, twin.convert(values, to).values, values, f"{of} to {to}")
    for number, layout in enumerate(LAYOUTS):
        source = placed(values, layout)
        what = f"{of} to {to}, {shape}, {layout}"
        got = convert(source, to)
        check_result(got, shape, to)
        assert got.tobytes() == want.tobytes(), what
        out_layout = LAYOUTS[(number * 5 + 3) % len(LAYOUTS)]
        buffer, out = out_layout.place(shape, want.dtype)
        expected = buffer.copy()
        copy_bits(out_layout.within(expected, shape, want.dtype), want)
        assert convert(source, to, out=out) is out
        assert buffer.tobytes() == expected.tobytes(), f"{what} into {out_layout}"


@pytest.mark.levels
@pytest.mark.parametrize("of", NAMES)
def test_every_pair_in_every_layout(of):
    for to in targets(of):
        check_layouts(of, to, (3, 2, 11))


@pytest.mark.parametrize("shape", [(5000,), (9001, 1), (1, 6001), (70, 61), (17, 3, 300), (3, 1, 4099), (2,) * 12])
def test_hot_pairs_in_every_layout(shape):
    for of, to in HOT:
        check_layouts(of, to, shape)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), HOT)
def test_every_length_at_every_start(of, to):
    check_lengths(of, to, range(131), range(64))


@pytest.mark.levels
@pytest.mark.parametrize("of", NAMES)
def test_every_pair_at_telling_lengths(of):
    for to in targets(of):
        check_lengths(of, to, (0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 130), (0, 1, 8, 60))


@pytest.mark.proof
@pytest.mark.levels
@pytest.mark.parametrize("of", NAMES)
def test_every_pair_at_every_length_and_start(of):
    for to in targets(of):
        check_lengths(of, to, range(131), range(64))


def check_lengths(of: str, to: str, lengths, starts) -> None:
    """Source and target begin at every byte; the bytes around the target stay."""
    values = values_of(of, (131,))
    want = convert(values, to)
    twin.assert_same(want, twin.convert(values, to).values, values, f"{of} to {to}")
    memory = np.empty(values.nbytes + 64, np.uint8)
    buffer = np.empty(want.nbytes + 128, np.uint8)
    for start in starts:
        source = np.ndarray(131, values.dtype, memory, start)
        copy_bits(source, values)
        end = (start * 29) % 64
        for length in lengths:
            buffer[:] = 0xA5
            out = np.ndarray(length, want.dtype, buffer, end)
            convert(source[131 - length :], to, out=out)
            tail = want[131 - length :].tobytes()
            expected = b"\xa5" * end + tail + b"\xa5" * (buffer.size - end - len(tail))
            assert buffer.tobytes() == expected, f"{of} to {to}: {length} from byte {start} to byte {end}"


@pytest.mark.parametrize(("of", "to"), HOT)
def test_broadcast_sources(of, to):
    values = values_of(of, (7,))
    for shape, array in (
        ((5, 7), values),
        ((7, 900), values[:, np.newaxis]),
        ((3, 7, 5), values[:, np.newaxis]),
        ((4000,), values[:1]),
    ):
        source = np.broadcast_to(array, shape)
        want = convert(np.ascontiguousarray(source), to)
        assert convert(source, to).tobytes() == want.tobytes()


@pytest.mark.parametrize(("of", "to"), HOT)
def test_rank_zero(of, to):
    for value in values_of(of, (20,)):
        source = np.array(value, twin.dtype_of(of))
        want = twin.convert(source.reshape(1), to).values
        got = convert(source, to)
        check_result(got, (), to)
        assert twin.same(got.reshape(1), want)
        if has_byte_order(source.dtype):
            assert convert(placed(source, Layout(swapped=True, offset=1)), to).tobytes() == got.tobytes()
        out = np.empty((), twin.dtype_of(to))
        assert convert(source, to, out=out) is out
        assert out.tobytes() == got.tobytes()


@pytest.mark.parametrize("rank", [32, 33, 64])
def test_high_ranks(rank):
    values = values_of("float32", (2,) * 6)
    want = convert(values, "int16")
    shape = [1] * rank
    shape[::5] = [2] * len(shape[::5])
    shape = [n if list(shape[: i + 1]).count(2) <= 6 else 1 for i, n in enumerate(shape)]
    source = values.reshape(shape)
    assert convert(source, "int16").shape == tuple(shape)
    assert convert(source, "int16").tobytes() == want.tobytes()
    backward = source[tuple(slice(None, None, -1) for _ in shape)]
    assert convert(backward, "int16").tobytes() == want[(slice(None, None, -1),) * 6].tobytes()
    turned = source.T
    assert convert(turned, "int16").tobytes() == want.T.tobytes()
    out = np.empty(tuple(shape[::-1]), np.int16)
    assert convert(turned, "int16", out=out) is out
    assert out.tobytes() == want.T.tobytes()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (2, 0, 4), (0,) * 64])
def test_zero_size(shape):
    for of, to in HOT:
        source = np.empty(shape, twin.dtype_of(of))
        for array in (source, source.T, source[..., ::-1]):
            for overflow in ("saturate", "wrap", "raise"):
                got = convert(array, to, overflow=overflow)
                assert got.shape == array.shape
                assert got.dtype == twin.dtype_of(to)
        out = np.empty(shape, twin.dtype_of(to))
        assert convert(source, to, out=out) is out


def test_read_only_sources_are_left_alone():
    for of, to in HOT:
        values = values_of(of, (40,)).copy()
        before = values.tobytes()
        values.flags.writeable = False
        assert convert(values, to).flags.writeable
        assert values.tobytes() == before


def test_a_swapped_source_of_the_same_type_comes_out_native():
    for name in ("int16", "float32", "float64", "complex64", "complex128", "uint64"):
        values = values_of(name, (900,))
        swapped = values.astype(values.dtype.newbyteorder())
        got = convert(swapped, name)
        assert got.dtype.isnative
        assert got.tobytes() == values.tobytes()
        assert convert(swapped, swapped.dtype).dtype.isnative
        out = np.empty_like(swapped)
        assert convert(values, name, out=out) is out
        assert out.tobytes() == swapped.tobytes()
