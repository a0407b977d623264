"""An `out` that shares memory with the source gets the values that it would get without sharing."""

import numpy as np
import pytest
import twin
from layouts import LAYOUTS, Layout, copy_bits, has_byte_order
from patterns import NAMES, sample
from test_conversion_layouts import HOT
from test_conversion_values import targets

from tensorbuf import ConversionError, convert


def fill(array: np.ndarray, name: str) -> None:
    """Give every element a value of the sample, so that no two neighbours are alike."""
    values = sample(name)
    copy_bits(array, values[(np.arange(array.size) * 7919 + 3) % values.size].reshape(array.shape))


def check(buffer: np.ndarray, source: np.ndarray, out: np.ndarray, what: object) -> None:
    """Convert within `buffer`; the bytes of `out` must be those of a conversion from a copy, the others untouched."""
    name = twin.name_of(source)
    fill(source, name)
    to = twin.name_of(out)
    apart = np.empty(source.shape, twin.dtype_of(name))
    copy_bits(apart, source)
    want = convert(apart, to)
    expected = buffer.copy()
    address = out.__array_interface__["data"][0] - buffer.__array_interface__["data"][0]
    copy_bits(np.ndarray(out.shape, out.dtype, expected, address, out.strides), want)
    assert convert(source, to, out=out) is out
    assert buffer.tobytes() == expected.tobytes(), what


@pytest.mark.levels
@pytest.mark.parametrize("of", NAMES)
def test_in_place(of):
    """Source and target begin, or end, at the same byte, or a few bytes apart."""
    for to in targets(of):
        for count in (1, 40, 1500):
            old, new = twin.dtype_of(of), twin.dtype_of(to)
            widest = max(old.itemsize, new.itemsize) * count
            ends = widest - old.itemsize * count, widest - new.itemsize * count
            for from_start, to_start in ((0, 0), ends, (3, 0), (0, 3), (16, 0), (0, 64)):
                buffer = np.zeros(widest + 64, np.uint8)
                source = np.ndarray(count, old, buffer, from_start)
                out = np.ndarray(count, new, buffer, to_start)
                check(buffer, source, out, (of, to, count, from_start, to_start))


@pytest.mark.parametrize(("of", "to"), HOT)
@pytest.mark.parametrize("count", [7, 3000])
def test_shifted_reversed_and_interleaved(of, to, count):
    old, new = twin.dtype_of(of), twin.dtype_of(to)
    size = max(old.itemsize, new.itemsize)
    for step, shift in ((1, 1), (1, -1), (-1, 0), (-1, 3), (2, 1), (2, -1), (3, 500), (-2, 0)):
        buffer = np.zeros((3 * count + 1200) * size, np.uint8)
        middle = 600 * size
        strides = (size, step * size)
        starts = [middle, middle + shift * size + (0 if step > 0 else -step * (count - 1) * size)]
        for first, second in ((0, 1), (1, 0)):
            source = np.ndarray(count, old, buffer, starts[first], strides[first : first + 1])
            out = np.ndarray(count, new, buffer, starts[second], strides[second : second + 1])
            check(buffer, source, out, (of, to, count, step, shift, first))


@pytest.mark.parametrize(("of", "to"), [*HOT, ("int32", "float32"), ("float32", "int32"), ("int64", "float64")])
def test_transposed_onto_itself(of, to):
    old, new = twin.dtype_of(of), twin.dtype_of(to)
    for shape in ((9, 9), (4, 30), (70, 70), (3, 5, 7), (129, 65)):
        layouts = Layout(), Layout(order="F")
        buffer = np.zeros(int(np.prod(shape)) * max(old.itemsize, new.itemsize), np.uint8)
        for one, other in (layouts, layouts[::-1], (layouts[0], Layout(backward=True, order="F"))):
            source, out = one.within(buffer, shape, old), other.within(buffer, shape, new)
            check(buffer, source, out, (of, to, shape, one, other))


@pytest.mark.parametrize("seed", range(4))
def test_any_two_layouts_in_one_buffer(seed):
    """Types, shapes and layouts at random; the two arrays begin anywhere in one buffer."""
    random = np.random.default_rng(seed)
    for number in range(500):
        of = NAMES[random.integers(len(NAMES))]
        to = random.choice(targets(of))
        rank = random.integers(1, 5)
        limit = (300, 40, 9, 5)[rank - 1] * (20 if number % 50 == 0 and rank < 3 else 1)
        shape = tuple(int(n) for n in random.integers(1, limit, rank, endpoint=True))
        chosen = [
            LAYOUTS[i]._replace(offset=int(random.integers(0, 80))) for i in random.integers(len(LAYOUTS), size=2)
        ]
        types = twin.dtype_of(of), twin.dtype_of(to)
        extent = max(x.extent(shape, t.itemsize) for x, t in zip(chosen, types, strict=True))
        buffer = np.zeros(extent, np.uint8)
        source, out = (x.within(buffer, shape, t) for x, t in zip(chosen, types, strict=True))
        check(buffer, source, out, (seed, number, of, to, shape, chosen))


@pytest.mark.parametrize("name", [name for name in NAMES if has_byte_order(twin.dtype_of(name))])
def test_byte_order_is_changed_in_place(name):
    native = twin.dtype_of(name)
    for one, other in ((native, native.newbyteorder()), (native.newbyteorder(), native)):
        for shift in (0, 1, native.itemsize):
            buffer = np.zeros(5000 * native.itemsize + 64, np.uint8)
            source, out = np.ndarray(5000, one, buffer), np.ndarray(5000, other, buffer, shift)
            check(buffer, source, out, (one, other, shift))


@pytest.mark.parametrize("shift", [0, 1, 4, 4000, -1, -4, -4000])
def test_the_same_type_moves_like_memmove(shift):
    buffer = np.zeros(60000, np.uint8)
    source = np.ndarray(10000, np.float32, buffer, 8000)
    check(buffer, source, np.ndarray(10000, np.float32, buffer, 8000 + shift), shift)


@pytest.mark.parametrize("to", ["int32", "uint32", "float32"])
@pytest.mark.parametrize("order", ["C", "F", "M"])
def test_a_window_moves_within_its_frame(order, to):
    """Strided, in every direction, by less than its own size."""
    for rows, columns, gap, backward in ((40, 30, 0, False), (3, 800, 8, False), (800, 3, 0, True), (60, 60, 4, True)):
        layout = Layout(order=order, gap=gap, backward=backward)
        frame = (rows + 4, columns + 5, 2)
        for down, right in ((0, 1), (1, 0), (2, -3), (-1, 2), (-2, -5), (0, 0)):
            buffer, whole = layout.place(frame, np.dtype(np.float32))
            target = whole.view(to) if whole.dtype != to else whole
            source = whole[2 : rows + 2, 5 : columns + 5] if right < 0 else whole[2 : rows + 2, :columns]
            corner = 2 + down, (5 if right < 0 else 0) + right
            out = target[corner[0] : corner[0] + rows, corner[1] : corner[1] + columns]
            check(buffer, source, out, (order, rows, columns, gap, backward, down, right))


def test_a_broadcast_source_under_its_own_result():
    buffer = np.zeros(4000, np.uint8)
    row = np.ndarray(50, np.float32, buffer)
    row[:] = np.arange(50)
    want = convert(np.broadcast_to(row.copy(), (20, 50)), "int32")
    out = np.ndarray((20, 50), np.int32, buffer)
    assert convert(np.broadcast_to(row, (20, 50)), "int32", out=out) is out
    assert out.tolist() == want.tolist()


@pytest.mark.parametrize("shift", [0, 4, -4])
def test_a_refusal_leaves_shared_memory_alone(shift):
    buffer = np.zeros(50000, np.uint8)
    source = np.ndarray(5000, np.float32, buffer, 16)
    source[:] = np.arange(5000)
    source[4999] = 3e9
    before = buffer.tobytes()
    with pytest.raises(ConversionError, match="4999"):
        convert(source, "int32", overflow="raise", out=np.ndarray(5000, np.int32, buffer, 16 + shift))
    assert buffer.tobytes() == before


def test_long_arrays_overlap_too():
    """Longer than any block or any scratch memory of a conversion."""
    count = 400_000
    for of, to, from_start, to_start in (
        ("float32", "float64", 0, 0),
        ("float64", "float32", 0, 0),
        ("float32", "float64", 4 * count, 0),
        ("int32", "float32", 0, 100),
        ("int32", "float32", 100, 0),
        ("uint8", "float32", 0, 0),
        ("uint8", "float32", 3 * count, 0),
        ("uint8", "complex128", 7 * count, 8),
    ):
        buffer = np.zeros(count * 16 + 1024, np.uint8)
        source = np.ndarray(count, of, buffer, from_start)
        out = np.ndarray(count, to, buffer, to_start)
        check(buffer, source, out, (of, to, from_start, to_start))
        check(buffer, source[::-1], out, (of, to, from_start, to_start, "reversed"))
        square = count // 512
        source, out = (x[: square * 512].reshape(512, square) for x in (source, out))
        check(buffer, source, out.reshape(square, 512).T, (of, to, from_start, to_start, "transposed"))
