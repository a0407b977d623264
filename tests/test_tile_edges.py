"""Tiles at their edges: sides around the squares, lines and blocks that they are moved by, in every layout."""

import itertools

import numpy as np
import pytest
from guarded import guarded
from layouts import Layout, placed

from tensorbuf import Converter, convert

# Squares have 2 to 16 items a side, or twice as many in one direction; columns are taken by 48, rows by 64.
SIDES = (1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 70)
CHANNELS = (1, 2, 3, 4, 5, 7, 15, 16, 17)

# To narrower items, to wider ones, to as wide ones, and to the same ones, of every size.
PAIRS = (
    ("float32", "uint8"),
    ("float32", "int8"),
    ("int32", "uint8"),
    ("int32", "int8"),
    ("float64", "uint8"),
    ("float64", "float16"),
    ("float64", "int32"),
    ("float32", "float16"),
    ("uint8", "float32"),
    ("int16", "float64"),
    ("int32", "float32"),
    ("complex128", "complex64"),
    ("uint8", "uint8"),
    ("int16", "int16"),
    ("float32", "float32"),
    ("float64", "float64"),
    ("complex128", "complex128"),
)


# Those that read a source that is misaligned, swapped or (items of four bytes) every second item where it is.
HOT_PAIRS = (
    ("float32", "uint8"),
    ("float32", "int8"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float16", "float32"),
    ("int32", "uint8"),
    ("int32", "int8"),
    ("int32", "float32"),
    ("int64", "int32"),
)

# About the limits of bytes, beyond those of every integer type, and what is no number.
SPECIAL = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.9, -0.9, 127, 128, -128.9, -129, 254.9, 255, 256, 1e30, -1e30, 2**31]
)


def of_bits(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Values of arbitrary bits: of integers, and where they are only moved. A signalling NaN must stay one."""
    dtype = np.dtype(name)
    return np.random.default_rng(5).integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]


def values_of(shape: tuple[int, ...], of: str, to: str) -> np.ndarray:
    if of == to or np.dtype(of).kind in "iu":
        return of_bits(shape, of)
    rng = np.random.default_rng(5)
    values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), rng.uniform(-300, 300, shape))
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(of)


def layouts(values: np.ndarray) -> list[np.ndarray]:
    """The same values with every order of axes in memory, and in the reverse one at every alignment, step and order."""
    gap = values.itemsize
    return [
        *(
            np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
            for order in itertools.permutations(range(values.ndim))
        ),
        placed(values, Layout(order="F", swapped=True)),
        placed(values, Layout(order="F", offset=1)),
        placed(values, Layout(order="F", gap=gap, offset=3)),
        placed(values, Layout(order="F", backward=True, swapped=True)),
    ]


def check(values: np.ndarray, to: str) -> None:
    want = convert(values, to)
    for source in layouts(values):
        got = convert(source, to)
        assert got.tobytes() == want.tobytes(), (source.dtype, source.shape, source.strides)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_two_axes(of, to):
    for shape in itertools.product(SIDES, repeat=2):
        check(values_of(shape, of, to), to)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_channels_last(of, to):
    for height, width, channels in itertools.product((1, 15, 17, 33, 64), (1, 16, 21, 70), CHANNELS):
        check(values_of((height, width, channels), of, to), to)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), PAIRS)
@pytest.mark.parametrize(
    "shape",
    [
        (700, 40, 3),
        (2100, 19),
        (19, 2100),
        (3, 130, 30, 3),
        (340, 25, 3),
        (16, 16, 9, 7),
        (1537, 33),
        (5000, 17),
        (64, 1000),
    ],
)
def test_columns_longer_than_a_block(of, to, shape):
    values = values_of(shape, of, to)
    check(values, to)
    memory = np.zeros((shape[0] + 3, *shape[1:]), of, order="F")
    memory[1:-2] = values
    assert convert(memory[1:-2], to).tobytes() == convert(values, to).tobytes()


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_short_axes(of, to):
    """Three axes are spanned at once where the source's fastest is short, with or without gaps between them."""
    for shape in ((2, 3, 70), (3, 40, 33), (7, 130, 65), (15, 5, 20), (2, 7, 9, 66), (5, 40, 17, 3), (2, 3, 4, 5, 6)):
        values = values_of(shape, of, to)
        check(values, to)
        want = convert(values, to)
        for order in itertools.permutations(range(len(shape))):
            memory = np.zeros([shape[axis] + 1 for axis in order], of)
            window = memory[tuple(slice(-1) for _ in order)].transpose(np.argsort(order))
            window[...] = values
            assert convert(window, to).tobytes() == want.tobytes(), (shape, order)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), [("uint8", "float32"), ("float32", "float32"), ("float32", "int8")])
@pytest.mark.parametrize("shape", [(3, 40, 33), (2, 70, 7), (3, 4, 20, 66), (66, 5, 3)])
def test_parameters_along_short_axes(of, to, shape):
    values = values_of(shape, of, of)
    for axis, size in enumerate(shape):
        some = np.linspace(0.5, 2, size)
        names = "ABDE"[:axis] + "C" + "ABDE"[axis : values.ndim - 1]
        plan = Converter(to, scale=some, offset=-some, layout=f"{names}->{names}")
        want = plan(values)
        for source in layouts(values):
            assert plan(source).tobytes() == want.tobytes(), (axis, source.strides)


@pytest.mark.levels
@pytest.mark.parametrize(
    ("of", "to"), [("uint8", "float32"), ("float32", "int8"), ("float64", "float64"), ("int16", "float16")]
)
@pytest.mark.parametrize("shape", [(1537, 33), (340, 25, 3), (70, 130), (20, 16, 9), (5000, 17)])
def test_operations_in_fortran_order(of, to, shape):
    values = values_of(shape, of, of)
    for plan in (Converter(to, scale=0.5), Converter(to, scale=0.5, offset=-3, rounding="nearest")):
        want = plan(values)
        for source in layouts(values):
            assert plan(source).tobytes() == want.tobytes(), source.strides


@pytest.mark.levels
@pytest.mark.parametrize("size", [1, 3, 63, 64, 65, 200, 409, 410, 600])
def test_rows_of_a_window(size):
    """Rows go through blocks until they are long enough for calls of their own."""
    for of, to in PAIRS:
        memory = values_of((40, size + 9), of, to)
        values = memory[3:37, 4 : size + 4]
        want = convert(np.ascontiguousarray(values), to)
        assert convert(values, to).tobytes() == want.tobytes(), (of, to)
        target = np.zeros((36, size + 5), to)
        convert(values, to, out=target[1:-1, 2:-3])
        assert target[1:-1, 2:-3].tobytes() == want.tobytes(), (of, to)
        target[1:-1, 2:-3] = 0
        assert not target.any()


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_targets_in_other_layouts(of, to):
    for shape in ((33, 47), (70, 130), (40, 33, 3)):
        values = values_of(shape, of, to)
        want = convert(values, to)
        for source, target in itertools.product(layouts(values), layouts(np.zeros_like(want))):
            assert convert(source, to, out=target) is target
            assert target.astype(want.dtype).tobytes() == want.tobytes(), (source.strides, target.strides)


@pytest.mark.levels
@pytest.mark.parametrize("name", ["uint8", "int16", "float32", "float64", "complex128"])
def test_steps_of_every_length_from_every_start(name):
    values = of_bits((4200,), name)
    for step, backward, swapped in itertools.product((1, 2, 3, 4, 5), (False, True), (False, True)):
        for length in (*range(1, 71), 2030, 2048, 2049, 4100):
            layout = Layout(
                gap=(step - 1) * values.itemsize, backward=backward, offset=length * 5 % 16, swapped=swapped
            )
            got = convert(placed(values[:length], layout), name)
            assert got.tobytes() == values[:length].tobytes(), (layout, length)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), HOT_PAIRS)
def test_every_length_in_every_form(of, to):
    """One after the other or every second one, aligned or not, native or swapped: bit for bit as the plain memory."""
    item = np.dtype(of).itemsize
    values = values_of((4200,), of, to)
    for length in (*range(1, 71), 500, 1023, 2047, 2048, 2049, 4100):
        want = convert(values[:length], to)
        for gap, offset, swapped in itertools.product((0, item), (0, 1, item), (False, True)):
            source = placed(values[:length], Layout(gap=gap, offset=offset, swapped=swapped))
            got = convert(source, to)
            assert got.tobytes() == want.tobytes(), (length, gap, offset, swapped)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), HOT_PAIRS)
def test_long_rows_in_every_form(of, to):
    """Rows of their own, whose end is not the end of the memory, of sources and of targets."""
    item = np.dtype(of).itemsize
    values = values_of((4, 1100), of, to)
    want = convert(values, to)
    for gap, offset, swapped in itertools.product((0, item), (0, 1), (False, True)):
        source = placed(values, Layout(gap=gap, offset=offset, padding=4 * item, swapped=swapped))
        target = np.zeros((6, 1107), want.dtype)
        convert(source, to, out=target[1:-1, 3:-4])
        assert target[1:-1, 3:-4].tobytes() == want.tobytes(), (gap, offset, swapped)
        target[1:-1, 3:-4] = 0
        assert not target.view(np.uint8).any()


@pytest.mark.levels
def test_nothing_beside_the_target_changes():
    """Vectors may lie over one another, but never over what is not the target's."""
    for shape in itertools.product((16, 17, 33, 47), (16, 19, 33, 50)):
        for of, to in (("float32", "uint8"), ("uint8", "float32"), ("float32", "float32"), ("int16", "int16")):
            values = np.asfortranarray(values_of(shape, of, to))
            memory = np.full((shape[0] + 2, shape[1] + 2), 77, to)
            expected = memory.copy()
            expected[1:-1, 1:-1] = convert(np.ascontiguousarray(values), to)
            convert(values, to, out=memory[1:-1, 1:-1])
            assert memory.tobytes() == expected.tobytes()


@pytest.mark.levels
@pytest.mark.parametrize("name", ["uint8", "int16", "float32", "float64"])
def test_short_rows(name):
    """Pixels flipped, cropped and skipped: rows of a few bytes, moved by more than they have, but within the memory."""
    item = np.dtype(name).itemsize
    memory = guarded(2**14)
    for channels, count in itertools.product(range(1, 16 // item + 2), (1, 2, 16, 17, 18, 25, 32, 33, 90)):
        values = of_bits((count, channels), name)
        for together, step in itertools.product((channels, channels + 1), (1, 2, 3, -1, -2)):
            # From the first byte of one pixel to the last one of another there is nothing else.
            extent = ((count - 1) * abs(step) * together + channels) * item
            for start in (0, memory.size - extent):
                first = start if step > 0 else start + extent - channels * item
                source = np.ndarray(values.shape, name, memory, first, (step * together * item, item))
                source[...] = values
                assert convert(source, name).tobytes() == values.tobytes(), (channels, count, source.strides, start)


@pytest.mark.levels
@pytest.mark.parametrize(("of", "to"), [pair for pair in PAIRS if "complex" not in pair[0]])
def test_nothing_beyond_the_source_is_read_or_beyond_the_target_written(of, to):
    """The memory ends at pages that nobody may touch, on either side."""
    item, wide = np.dtype(of).itemsize, np.dtype(to).itemsize
    memory, results = guarded(2**15), guarded(2**15)
    for shape, step in itertools.product(((40, 3), (3, 40), (17, 33), (50, 7), (16, 20, 3), (700,)), (1, 2, 3, -1, -2)):
        values = values_of(shape, of, to)
        want = convert(values, to)
        size = values.size * item * abs(step)
        for axes, at_end, swapped in itertools.product((1, -1), (False, True), (False, item > 1)):
            # The last item ends where the memory does, or the first one begins there; between two of them is a gap.
            start = memory.size - size + (abs(step) - 1) * item if at_end else 0
            extent = memory[start : start + size - (abs(step) - 1) * item]
            flat = np.ndarray(values.size, np.dtype(of), extent, 0 if step > 0 else extent.size - item, (step * item,))
            turned = flat.reshape(shape, order="C" if axes > 0 else "F")
            turned[...] = values.byteswap() if swapped else values
            source = turned.view(turned.dtype.newbyteorder()) if swapped else turned
            target = np.ndarray(shape, np.dtype(to), results, results.size - want.size * wide if at_end else 0)
            convert(source, to, out=target)
            assert target.tobytes() == want.tobytes(), (shape, step, axes, at_end, swapped)
