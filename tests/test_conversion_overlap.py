"""An `out` that shares memory with the source gets the values that it would get without sharing."""

import numpy as np
import pytest
import twin
from layouts import LAYOUTS, Layout, copy_bits, has_byte_order
from patterns import NAMES, sample
from test_conversion_layouts import HOT
from test_conversion_values import targets

from tensorbuf import ConversionError, Converter, convert, overlap, places

# Bytes that may be moved by way of other memory. Small ones take arrays of a few items every way that large ones go.
ROOMS = (places.ROOM, 1000, 150, 50)


@pytest.fixture(params=ROOMS)
def room(request, monkeypatch):
    """Sources of more than twice as many bytes must not be copied."""
    copied = overlap._copied

    def copied_small(distinct, shape):
        assert distinct.nbytes <= 2 * request.param
        return copied(distinct, shape)

    monkeypatch.setattr(places, "ROOM", request.param)
    monkeypatch.setattr(overlap, "_copied", copied_small)
    return request.param


def fill(array: np.ndarray, name: str) -> None:
    """Give every element a value of the sample, so that no two neighbours are alike."""
    values = sample(name)
    copy_bits(array, values[(np.arange(array.size) * 7919 + 3) % values.size].reshape(array.shape))


def check(buffer: np.ndarray, source: np.ndarray, out: np.ndarray, what: object) -> None:
    """Convert within `buffer`; the bytes of `out` must be those of a conversion from a copy, the others untouched."""
    name = twin.name_of(source)
    fill(source[tuple(slice(None if stride else 1) for stride in source.strides)], name)
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
def test_shifted_reversed_and_interleaved(of, to, count, room):
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
def test_transposed_onto_itself(of, to, room):
    old, new = twin.dtype_of(of), twin.dtype_of(to)
    for shape in ((9, 9), (4, 30), (70, 70), (3, 5, 7), (129, 65)):
        layouts = Layout(), Layout(order="F")
        buffer = np.zeros(int(np.prod(shape)) * max(old.itemsize, new.itemsize), np.uint8)
        for one, other in (layouts, layouts[::-1], (layouts[0], Layout(backward=True, order="F"))):
            source, out = one.within(buffer, shape, old), other.within(buffer, shape, new)
            check(buffer, source, out, (of, to, shape, one, other))


def repeated(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Writable, as what `np.broadcast_to` gives is not."""
    return np.lib.stride_tricks.as_strided(array, shape, np.broadcast_to(array, shape).strides)


# Two arrays in the memory of `x` and of `y`, of two types; at least 47 * 31 * 3 items begin at the same byte.
FLAT = {
    "reversed": lambda x, y: (x[::-1], y),
    "shifted and reversed": lambda x, y: (x[:-1][::-1], y[1:]),
    "shifted back and reversed": lambda x, y: (x[900:], y[:-900][::-1]),
    "every second, reversed": lambda x, y: (x[::2][::-1], y[::2]),
    "gathered at the front": lambda x, y: (x[::2][::-1], y[: x[::2].size]),
    "gathered at the end": lambda x, y: (x[::2], y[-x[::2].size :][::-1]),
    "gathered in the middle": lambda x, y: (x[::3], y[900 : 900 + x[::3].size][::-1]),
    "spread": lambda x, y: (x[: x[::2].size][::-1], y[::2]),
    "spread from the middle": lambda x, y: (x[900 : 900 + x[::3].size], y[::-3]),
    "by other steps": lambda x, y: (x[::3], y[1::2][: x[::3].size][::-1]),
}
FRAMES = {
    "rows reversed": lambda x, y: (x[::-1], y),
    "columns reversed": lambda x, y: (x[:, ::-1], y),
    "both reversed": lambda x, y: (x[::-1, ::-1], y),
    "window reversed": lambda x, y: (x[3:40, 5:21][::-1, ::-1], y[3:40, 5:21]),
    "window moved and reversed": lambda x, y: (x[3:40, 5:21][:, ::-1], y[2:39, 6:22]),
    "transposed": lambda x, y: (x.T, y.reshape(x.T.shape)),
    "transposed back": lambda x, y: (x, y.reshape(x.T.shape).T),
    "transposed and reversed": lambda x, y: (x.T[::-1], y.reshape(x.T.shape)[:, ::-1]),
    "square": lambda x, y: (x[:31].T, y[:31]),
    "square in a frame": lambda x, y: (x[2:31, 1:30].T, y[2:31, 1:30]),
    "squares moved": lambda x, y: (x[:30, :30].T, y[1:31, 1:31]),
    "window transposed": lambda x, y: (x[:25, :17].T, y[:17, :25]),
    "window transposed and moved": lambda x, y: (x[3:28, 2:19].T[:, ::-1], y[7:24, 4:29]),
    "window gathered": lambda x, y: (x[:, :9].T, y.reshape(-1)[: 9 * len(x)].reshape(9, -1)),
    "window spread": lambda x, y: (x.reshape(-1)[: 9 * len(x)].reshape(9, -1), y[:, :9].T),
    "rows repeated": lambda x, y: (repeated(x[7:17], (3, 10, 31)), y[1:31].reshape(3, 10, 31)),
    "columns repeated": lambda x, y: (repeated(x[:, 3:13], (3, 47, 10)), y[:, :30].reshape(47, 3, 10).swapaxes(0, 1)),
    "items repeated": lambda x, y: (repeated(x[:, :10], (3, 47, 10)).transpose(1, 2, 0), y[:, 1:].reshape(47, 10, 3)),
}
IMAGES = {
    "to channels first": lambda x, y: (x.transpose(2, 0, 1), y.reshape(3, 47, 31)),
    "to channels last": lambda x, y: (x.reshape(3, 47, 31).transpose(1, 2, 0), y),
    "to channels first in order": lambda x, y: (x, y.reshape(3, 47, 31).transpose(1, 2, 0)),
    "rows for columns": lambda x, y: (x.swapaxes(0, 1), y.reshape(31, 47, 3)),
    "last two exchanged": lambda x, y: (x.swapaxes(1, 2), y.reshape(47, 3, 31)),
    "all turned around": lambda x, y: (x.transpose(2, 1, 0)[::-1], y.reshape(3, 31, 47)),
    "square": lambda x, y: (x[:31].swapaxes(0, 1), y[:31]),
    "square window": lambda x, y: (x[4:24, 5:25].swapaxes(0, 1), y[4:24, 5:25]),
    "window mirrored": lambda x, y: (x[4:24, 5:25][::-1, :, ::-1], y[3:23, 5:25]),
    "window gathered": lambda x, y: (x[4:24, 5:28].transpose(2, 1, 0), y.reshape(-1)[400:1780].reshape(3, 23, 20)),
    "four axes": lambda x, y: (
        x[:46].reshape(2, 23, 31, 3).transpose(3, 1, 0, 2),
        y[:46].reshape(3, 23, 2, 31),
    ),
    "four axes, reversed": lambda x, y: (
        x[:46].reshape(23, 2, 31, 3).transpose(1, 0, 3, 2)[:, ::-1],
        y[:46].reshape(2, 23, 3, 31)[..., ::-1],
    ),
}
SHAPES = (((47 * 31 * 3,), FLAT), ((47, 31), FRAMES), ((47, 31, 3), IMAGES))


@pytest.mark.parametrize(
    ("of", "to"),
    [
        ("float32", "int32"),
        ("float64", "float32"),
        ("float32", "float64"),
        ("uint8", "float32"),
        ("int16", "uint8"),
        ("bool", "complex128"),
        ("complex128", "complex64"),
        ("complex64", "complex128"),
        ("complex128", "bool"),
        ("bfloat16", "float16"),
    ],
)
def test_any_two_views_of_one_memory(of, to, room):
    old, new = twin.dtype_of(of), twin.dtype_of(to)
    for shape, cases in SHAPES:
        for number, (name, views) in enumerate(cases.items()):
            offsets = ((0, 0), (1, 1), (0, 8 * new.itemsize), (8 * old.itemsize, 3))[number % 4]
            first = old.newbyteorder() if number % 3 == 0 and has_byte_order(old) else old
            second = new.newbyteorder() if number % 3 == 1 and has_byte_order(new) else new
            buffer = (np.arange(np.prod(shape) * max(old.itemsize, new.itemsize) + 200) % 251).astype(np.uint8)
            source, out = views(
                np.ndarray(shape, first, buffer, offsets[0]), np.ndarray(shape, second, buffer, offsets[1])
            )
            check(buffer, source, out, (name, of, to, room))


@pytest.mark.parametrize("seed", range(4))
def test_any_two_layouts_in_one_buffer(seed, room):
    """Types, shapes and layouts at random; the two arrays begin anywhere in one buffer."""
    random = np.random.default_rng(seed)
    for number in range(500 if room == ROOMS[0] else 150):
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
def test_a_window_moves_within_its_frame(order, to, room):
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


def test_arrays_that_overlap_themselves(monkeypatch):
    monkeypatch.setattr(places, "ROOM", 50)
    windows = np.lib.stride_tricks.sliding_window_view
    values = np.arange(100, dtype=np.float32)
    buffer = np.zeros(294, np.float32)
    for plan, want in (
        (Converter("float32"), windows(values, 3)),
        (Converter("float32", scale=2.0), windows(values, 3) * np.float32(2)),
        (Converter("float32", scale=[1, 2, 3]), windows(values, 3) * np.float32([1, 2, 3])),
    ):
        buffer[:100] = values
        assert plan(windows(buffer[:100], 3), out=buffer.reshape(98, 3)).tolist() == want.tolist()
    buffer[:100] = values
    convert(windows(buffer[:99], 3), "int32", out=windows(buffer.view(np.int32)[1:100], 3, writeable=True))
    assert buffer.view(np.int32)[1:100].tolist() == list(range(99))
    buffer[:14] = values[:14]
    convert(
        np.broadcast_to(buffer[:14, np.newaxis], (14, 20)), "int32", out=buffer[:280].view(np.int32).reshape(14, 20)
    )
    assert buffer[:280].view(np.int32).tolist() == np.repeat(range(14), 20).tolist()


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
