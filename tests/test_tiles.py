"""The geometry of the pipeline: shapes on both sides of a tile's sizes, channels on every axis, axes in every order."""

import itertools

import numpy as np
import plans
import pytest
import twin

from tensorbuf import Converter, convert

# A block has 8192 bytes, a parameter's block 2048; rows of 64 items and more are worth a call of their own.
SHAPES = [
    (3, 2731),
    (2731, 3),
    (1, 8193),
    (7, 64, 3),
    (63, 65, 4),
    (33, 31, 5),
    (5, 129, 2),
    (2, 3, 40, 41),
    (700, 1, 3),
    (64, 700),
]


def numbered(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Values that tell neighbours apart, in memory without a gap."""
    values = np.arange(int(np.prod(shape)), dtype=np.int64) * 2654435761 >> 7
    return (values % 251 - (0 if name == "uint8" else 120)).astype(name).reshape(shape)


def orders(array: np.ndarray) -> list[np.ndarray]:
    """The same values with every order of axes in memory, backwards, and with gaps."""
    ordered = [
        np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
        for order in itertools.permutations(range(array.ndim))
    ]
    backwards = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    spread = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
    spread[...] = array
    return [*ordered, backwards, spread]


@pytest.mark.levels
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("of", "to"), [("uint8", "float32"), ("float32", "uint8"), ("int16", "float64")])
def test_channels_on_every_axis(shape, of, to):
    x = numbered(shape, of)
    letters = "NHWC"[-x.ndim :]
    for axis in range(x.ndim):
        scale = np.linspace(0.5, 1.5, shape[axis]).tolist()
        offset = np.linspace(-3, 90, shape[axis]).tolist()
        want = plans.affine(x, to, scale, offset, axis=axis)
        # The letter C names the axis of the channels, wherever it stands.
        before = "".join(letters.replace("C", ""))
        before = before[:axis] + "C" + before[axis:]
        for after in ("".join(order) for order in itertools.permutations(before)):
            plan = Converter(to, scale=scale, offset=offset, layout=f"{before}->{after}")
            moved = want.transpose([before.index(letter) for letter in after])
            for source in orders(x)[: 1 if after != before else None]:
                twin.assert_same(plan(source), np.ascontiguousarray(moved), what=(shape, before, after, source.strides))
            out = np.zeros((*moved.shape[:-1], 2 * moved.shape[-1]), to)[..., 1::2]
            plan(x, out=out)
            twin.assert_same(np.ascontiguousarray(out), np.ascontiguousarray(moved), what=(shape, before, after, "out"))


@pytest.mark.levels
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("of", ["int8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("to", ["uint8", "float32", "int64"])
def test_axes_in_every_order(shape, of, to):
    x = numbered(shape, of)
    want = twin.convert(x, to).values
    for source, target in itertools.product(orders(x), orders(np.zeros(shape, to))):
        assert convert(source, to, out=target) is target
        twin.assert_same(np.ascontiguousarray(target), want, what=(source.strides, target.strides))
    swapped = x.astype(x.dtype.newbyteorder())
    for source in orders(swapped):
        twin.assert_same(convert(source, to), want, what=source.strides)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_more_channels_than_a_parameters_block_holds(axis):
    shape = [2, 3, 4]
    shape[axis] = 1500
    x = numbered(tuple(shape), "uint8")
    scale = np.linspace(0.1, 2, 1500).tolist()
    got = Converter.quantize(scale, axis=axis)(x.astype("float32"))
    twin.assert_same(got, plans.quantize(x.astype("float32"), scale, axis=axis))
    twin.assert_same(Converter.dequantize(scale, axis=axis)(x), plans.dequantize(x, scale, axis=axis))


def test_a_run_is_repeated_on_what_is_like_its_memory_only():
    """The second call of a kind takes a shorter way, which must judge as the first one did."""
    plan = Converter("int16", scale=[1.5, 2, 3], layout="HWC->CHW")
    first = numbered((40, 50, 3), "uint8")

    def want(x):
        native = x.astype(x.dtype.newbyteorder("="))
        return np.ascontiguousarray(plans.affine(native, "int16", [1.5, 2, 3]).transpose(2, 0, 1))

    twin.assert_same(plan(first), want(first))
    other = first[::-1].copy()
    got = plan(other)
    twin.assert_same(got, want(other))
    assert got.flags.c_contiguous
    assert got.ctypes.data % 64 == 0
    # Another shape, order, type, byte order or alignment is another kind.
    for x in (
        other[:39],
        np.asfortranarray(other),
        other.astype("int8"),
        other.astype(">i2"),
        np.frombuffer(bytearray(b"." + other.astype("int16").tobytes()), "int16", offset=1).reshape(other.shape),
        other[:, ::-1],
    ):
        for _ in range(2):
            twin.assert_same(plan(x), want(x), what=(x.dtype, x.strides))
    out = np.empty((3, 40, 50), "int16")
    for _ in range(2):
        assert plan(other, out=out) is out
        twin.assert_same(out, want(other))


def test_a_repeated_run_refuses_what_a_first_one_does():
    plan = Converter("float32", scale=2.0)
    x, out = np.arange(12.0, dtype="float32"), np.empty(12, "float32")
    for _ in range(2):
        plan(x, out=out)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        plan(x, out=out)
    with pytest.raises(ValueError, match="shape"):
        plan(x, out=np.empty(11, "float32"))
    with pytest.raises(TypeError, match="float64"):
        plan(x, out=np.empty(12))


def test_a_repeated_run_sees_shared_memory():
    plan = Converter("float32", scale=2.0)
    memory = np.arange(13.0, dtype="float32")
    for _ in range(2):
        plan(np.arange(12.0, dtype="float32"), out=np.empty(12, "float32"))
    plan(memory[:12], out=memory[1:])
    assert memory.tolist() == [0, *(2.0 * i for i in range(12))]
    plan(memory[1:], out=memory[:12])
    assert memory.tolist()[:3] == [0, 4, 8]
    plan(memory, out=memory)
    assert memory.tolist()[:3] == [0, 8, 16]


def test_a_repeated_conversion_keeps_its_choices_apart():
    x = np.array([1.5, -1.5, 300, np.nan] * 30, "float32")[::2]
    for _ in range(3):
        assert convert(x, "int8", rounding="nearest").tolist()[:2] == [2, 127]
        assert convert(x, "int8", rounding="floor").tolist()[:2] == [1, 127]
        assert convert(x, "int8", overflow="wrap").tolist()[:2] == [1, 44]
        assert convert(x, "int8").tolist()[:2] == [1, 127]
        assert convert(x, "uint8", nan=7).tolist()[:2] == [1, 255]
        assert convert(x[::-1], "int8").tolist()[-2:] == [127, 1]


def test_parameters_that_make_nan_of_finite_values():
    """Zero times an infinity, zero by zero: the result is the canonical NaN, on the quick ways too."""
    x = np.arange(256, dtype=np.uint8).repeat(40)
    for plan, where in (
        (Converter("float32", scale=1e39), x == 0),
        (Converter("float32", scale=1e39, offset=-1e39), x >= 0),
        (Converter.normalize(0, 1, divide_by=1e-46), x == 0),
        (Converter.dequantize(1e39, zero_point=7), x == 7),
    ):
        for values in (x, x[:256], x.view(np.int8) if where.all() else x):
            bits = plan(values).view(np.uint32)
            nan = np.isnan(bits.view(np.float32))
            assert (bits[nan] == 0x7FC00000).all()
            if values is x:
                assert nan.tolist() == where.tolist()


@pytest.mark.levels
@pytest.mark.parametrize(
    ("of", "to"), [("uint8", "float32"), ("float32", "uint8"), ("float32", "float16"), ("int16", "float64")]
)
def test_targets_anywhere_in_a_cache_line(of, to):
    """Rows of a thousand items and more are aligned to the target's cache lines first."""
    for count in (1023, 1024, 1025, 1087, 5000):
        values = numbered((count + 64,), of)
        want = convert(values, to)
        memory = np.full(8 * count + 256, 0xA5, np.uint8)
        for offset in range(0, 64, want.itemsize):
            memory.fill(0xA5)
            start = -memory.ctypes.data % 64 + offset
            out = memory[start : start + count * want.itemsize].view(to)
            convert(values[offset : offset + count], to, out=out)
            assert np.array_equal(out, want[offset : offset + count]), (count, offset)
            Converter(to, scale=1)(values[:count], out=out)
            assert np.array_equal(out, want[:count]), (count, offset)
            assert (memory[:start] == 0xA5).all()
            assert (memory[start + out.nbytes :] == 0xA5).all()


@pytest.mark.parametrize("offset", range(0, 64, 4))
def test_planes_anywhere_in_a_cache_line(offset):
    pixels = numbered((91, 97, 3), "uint8")
    memory = np.full(pixels.size * 4 + 256, 0xA5, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    out = memory[start : start + 4 * pixels.size].view(np.float32).reshape(3, 91, 97)
    Converter("float32", scale=[1, 2, 4], layout="HWC->CHW")(pixels, out=out)
    assert np.array_equal(out, pixels.transpose(2, 0, 1) * np.array([1, 2, 4], np.float32)[:, None, None])
    assert (memory[:start] == 0xA5).all()
    assert (memory[start + out.nbytes :] == 0xA5).all()


MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


@pytest.mark.levels
@pytest.mark.parametrize("width", [64, 65, 79, 127, 128, 129, 191, 193, 256, 700])
def test_pixels_to_planes_at_once(width):
    """Every byte on every channel; rows as far apart as they may be, planes in other places of a cache line."""
    scale, offset = 1 / (255 * STD), -MEAN / STD
    plans = (
        Converter("float32", scale=scale, offset=offset, layout="HWC->CHW"),
        Converter.normalize(MEAN, STD, layout="HWC->CHW"),
    )
    pixels = numbered((5, width, 3), "uint8")
    pixels[1] = np.arange(width * 3).reshape(width, 3) // 3 % 256
    values = pixels.astype(np.float32)
    wanted = values * scale + offset, (values / np.float32(255) - MEAN) / STD
    for plan, want in zip(plans, wanted, strict=True):
        for shift in range(0, 16, 3):
            memory = np.full((3, 5, width + 16), 7, np.float32)
            out = memory[:, :, shift : shift + width]
            for source in (pixels, pixels[::-1], np.repeat(pixels, 2, 0)[::2]):
                plan(source, out=out)
                assert np.array_equal(
                    out, (want[::-1] if source is not pixels and source.strides[0] < 0 else want).transpose(2, 0, 1)
                )
            assert (memory[:, :, :shift] == 7).all()
            assert (memory[:, :, shift + width :] == 7).all()
        assert np.array_equal(plan(pixels), want.transpose(2, 0, 1))
        assert np.array_equal(plan(pixels[..., ::-1]), plan(np.ascontiguousarray(pixels[..., ::-1])))
        assert np.array_equal(plan(pixels[:, ::2]), plan(np.ascontiguousarray(pixels[:, ::2])))


@pytest.mark.levels
@pytest.mark.parametrize("count", [1, 15, 63, 64, 65, 127, 128, 300])
def test_three_channels_apart_and_together(count):
    pixels = numbered((2, count, 3), "uint8")
    planes = Converter("uint8", layout="HWC->CHW")(pixels)
    assert np.array_equal(planes, pixels.transpose(2, 0, 1))
    assert np.array_equal(Converter("uint8", layout="CHW->HWC")(planes), pixels)
