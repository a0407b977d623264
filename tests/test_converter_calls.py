"""Converter on arrays of every shape and layout: channels, permutations, out, overlap, kinds, dicts, copies."""

import copy
import itertools
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import plans
import pytest
import twin
from layouts import LAYOUTS, Layout, copy_bits, placed
from patterns import sample

from tensorbuf import ConversionError, Converter, NdArray, ShapedArray, TensorBuffer, convert, places

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def image(*shape: int, name: str = "uint8") -> np.ndarray:
    values = sample(name)
    return values[(np.arange(np.prod(shape)) * 7919 + 1) % values.size].reshape(shape)


def reference(plan: str, x: np.ndarray) -> np.ndarray:
    """What the plans of the same names in PLANS give, channels last and nothing moved."""
    if plan == "normalize":
        return plans.normalize(x, MEAN, STD)
    if plan == "affine":
        return plans.affine(x, "int16", [1.5, -2, 100], [0.25, 0, -7])
    if plan == "widening":
        return plans.affine(x, "float64", 0.1, [1, 2, 3])
    return plans.affine(x, "float16", [0.5, 0.1, 3], rounding="floor")


PLANS = {
    "normalize": lambda layout: Converter.normalize(MEAN, STD, layout=layout),
    "affine": lambda layout: Converter("int16", scale=[1.5, -2, 100], offset=[0.25, 0, -7], layout=layout),
    "widening": lambda layout: Converter("float64", scale=0.1, offset=[1, 2, 3], layout=layout),
    "half": lambda layout: Converter("float16", scale=[0.5, 0.1, 3], layout=layout),
}


@pytest.mark.levels
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", ["uint8", "float32", "float64", "bfloat16"])
def test_images_channels_first(plan, name):
    for shape in ((1, 1, 3), (2, 5, 3), (37, 41, 3), (3, 700, 3), (0, 4, 3)):
        x = image(*shape, name=name)
        want = np.ascontiguousarray(reference(plan, x).transpose(2, 0, 1))
        got = PLANS[plan]("HWC->CHW")(x)
        assert got.flags.c_contiguous
        assert got.ctypes.data % 64 == 0
        twin.assert_same(got, want, what=(plan, name, shape))
        twin.assert_same(PLANS[plan](None)(x), reference(plan, x), x, (plan, name, shape))
        twin.assert_same(PLANS[plan]("CHW->HWC")(x.transpose(2, 0, 1)), reference(plan, x), x, (plan, name, shape))


@pytest.mark.parametrize("target", ["".join(letters) for letters in itertools.permutations("NHWC")])
def test_every_permutation_of_a_batch(target):
    x = image(2, 5, 7, 3, name="float32")
    moved = [("NHWC").index(letter) for letter in target]
    for plan in ("normalize", "affine"):
        want = np.ascontiguousarray(reference(plan, x).transpose(moved))
        twin.assert_same(PLANS[plan](f"NHWC->{target}")(x), want, what=target)
        back = PLANS[plan](f"{target}->NHWC")(np.ascontiguousarray(x.transpose(moved)))
        twin.assert_same(back, reference(plan, x), what=target)


def test_a_layout_moves_axes_as_it_says():
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    y = Converter("int32", layout="HWC->CHW")(x)
    assert y.shape == (4, 2, 3)
    assert all(y[c, h, w] == x[h, w, c] for h, w, c in np.ndindex(2, 3, 4))
    batch = np.arange(120, dtype=np.int16).reshape(2, 3, 4, 5)
    assert Converter("int16", layout="NHWC->NCHW")(batch).tolist() == batch.transpose(0, 3, 1, 2).tolist()
    assert Converter("int16", layout="NCHW->NHWC")(batch).tolist() == batch.transpose(0, 2, 3, 1).tolist()
    assert Converter("int16", layout="ab->ba")(x[0]).tolist() == x[0].T.tolist()
    assert Converter("int16", layout="X->X")(x[0, 0]).tolist() == x[0, 0].tolist()
    assert Converter("float32", scale=[1, 10], layout="CHW->CHW")(x).tolist() == (x * [[[1]], [[10]]]).tolist()


@pytest.mark.levels
@pytest.mark.parametrize("plan", PLANS)
def test_every_memory_layout(plan):
    for shape in ((5, 6, 3), (50, 50, 3)):
        for number, layout in enumerate(LAYOUTS):
            for name in ("uint8", "float32", "int64"):
                values = image(*shape, name=name)
                want = np.ascontiguousarray(PLANS[plan](None)(values).transpose(2, 0, 1))
                source = placed(values, layout)
                converter = PLANS[plan]("HWC->CHW")
                assert converter(source).tobytes() == want.tobytes(), (plan, layout)
                other = LAYOUTS[(number * 7 + 2) % len(LAYOUTS)]
                buffer, out = other.place(want.shape, want.dtype)
                expected = buffer.copy()
                copy_bits(other.within(expected, want.shape, want.dtype), want)
                assert converter(source, out) is out
                assert buffer.tobytes() == expected.tobytes(), (plan, layout, other)
                assert converter(source, out=out) is out


@pytest.mark.levels
def test_every_length_and_start():
    for name, to, scale in (
        ("uint8", "float32", 0.1),
        ("float32", "int8", 3),
        ("float32", "float32", 0.3),
        ("int16", "bfloat16", 1.1),
    ):
        x = image(147, name=name)
        want = plans.affine(x, to, scale, 0.7)
        plan = Converter(to, scale=scale, offset=0.7)
        for length, start in itertools.product(range(131), (0, 1, 3, 8, 16)):
            part = slice(start, start + length)
            twin.assert_same(plan(x[part]), want[part], x[part], (name, to, length, start))


def test_per_channel_on_other_axes():
    x = image(4, 3, 6, name="int8")
    scales = [0.1, 0.2, 0.3]
    assert twin.same(Converter.dequantize(scales, [1, 2, 3])(x), plans.dequantize(x, scales, [1, 2, 3]))
    assert twin.same(Converter.dequantize(scales, axis=-2)(x), plans.dequantize(x, scales))
    assert twin.same(Converter.dequantize(scales * 2, axis=-1)(x), plans.dequantize(x, scales * 2, axis=2))
    assert twin.same(Converter.dequantize(0.1, [1, 2, 3, 4], axis=0)(x), plans.dequantize(x, 0.1, [1, 2, 3, 4], axis=0))
    y = image(4, 3, 6, name="float32")
    for axis, count in ((0, 4), (1, 3), (2, 6), (-1, 6), (-3, 4)):
        scale, zero_point = list(np.linspace(0.1, 9, count)), list(range(count))
        got = Converter.quantize(scale, zero_point, axis=axis)(y)
        twin.assert_same(got, plans.quantize(y, scale, zero_point, axis=axis), y, axis)
    assert twin.same(Converter.quantize([0.1, 0.2, 0.3])(y), plans.quantize(y, [0.1, 0.2, 0.3]))
    for shape in ((3, 2000), (2000, 3), (2, 3, 999)):
        z = image(*shape, name="float32")
        for axis in range(len(shape)):
            scale = np.linspace(0.01, 20, shape[axis])
            got = Converter.quantize(scale, axis=axis)(z)
            twin.assert_same(got, plans.quantize(z, scale, axis=axis), z, (shape, axis))
            affine = Converter("float32", scale=list(scale[: shape[-1]]))(z) if axis == len(shape) - 1 else None
            if affine is not None:
                twin.assert_same(affine, plans.affine(z, "float32", scale), z, shape)


def test_one_value_in_a_sequence_serves_every_channel():
    x = image(4, 5, name="float32")
    assert twin.same(
        Converter("float32", scale=[2.5], offset=[1, 2, 3, 4, 5])(x), plans.affine(x, "float32", 2.5, range(1, 6))
    )
    assert twin.same(Converter.quantize([0.5], [3])(x), plans.quantize(x, 0.5, 3))
    assert Converter("float32", scale=[2])(np.float32(3)).tolist() == 6


def test_rank_zero_and_empty():
    got = Converter("int16", scale=2.0)(np.array(3.7, np.float32))
    assert type(got) is np.ndarray
    assert got.shape == ()
    assert got.tolist() == 7
    assert Converter.quantize(0.5)(np.array(3.0)).shape == ()
    assert Converter.normalize(MEAN, STD, layout="HWC->CHW")(np.empty((0, 7, 3), np.uint8)).shape == (3, 0, 7)


@pytest.mark.levels
@pytest.mark.parametrize("shift", [0, 4, -4, 1, 900])
def test_out_may_overlap_the_source(shift):
    for of, to in (
        ("float32", "float32"),
        ("uint8", "float32"),
        ("float64", "float32"),
        ("float32", "float64"),
        ("int32", "int8"),
    ):
        for shape, layout in (((3000, 3), None), ((50, 60, 3), "HWC->CHW"), ((40, 40), "AB->BA"), ((40, 40), "AC->CA")):
            values = image(*shape, name=of)
            channels = "C" in (layout or "C") and shape[-1] == 3
            for scale in (0.3, [0.5, 0.1, 3]) if channels else (0.3,):
                plan = Converter(to, scale=scale, offset=1, layout=layout)
                want = plan(values)
                buffer = np.zeros(values.size * 8 + 4096, np.uint8)
                source = np.ndarray(shape, values.dtype, buffer, 1024)
                copy_bits(source, values)
                out = np.ndarray(want.shape, want.dtype, buffer, 1024 + shift)
                assert plan(source, out=out) is out
                assert out.tobytes() == want.tobytes(), (of, to, shape, layout, scale)


@pytest.mark.parametrize("room", [60, 700, 1600])
@pytest.mark.parametrize("shift", [0, 5, 1200])
def test_out_may_overlap_a_larger_source_in_another_order(shift, room, monkeypatch):
    """The sources are larger than what is copied."""
    monkeypatch.setattr(places, "ROOM", room)
    orders = (
        (slice(None),),
        (slice(None, None, -1),),
        (slice(None), slice(None, None, -1)),
        (..., slice(None, None, -1)),
    )
    for of, to, plan in (
        ("float32", "float32", Converter("float32", scale=0.5, offset=1)),
        ("float64", "float32", Converter("float32", scale=0.5, layout="HWC->CHW")),
        ("float32", "float64", Converter("float64", offset=7, layout="HWC->WHC")),
        ("int32", "int16", Converter("int16", layout="HWC->CWH")),
        ("uint8", "float32", Converter.normalize(MEAN, STD)),
        ("uint8", "float32", Converter.normalize(MEAN, STD, layout="HWC->CHW")),
        ("float32", "float32", Converter.normalize(MEAN, STD, layout="HWC->CHW")),
        ("float32", "int8", Converter.quantize([0.1, 0.2, 0.3], [1, 2, 3], axis=-1)),
        ("float32", "float32", Converter("float32", scale=np.arange(37) / 8, offset=np.arange(37), layout="CHW->HWC")),
        ("float64", "uint8", Converter("uint8", scale=np.arange(31) / 8, layout="HCW->CWH")),
    ):
        values = image(37, 31, 3, name=of)
        for order in orders:
            buffer = (np.arange(values.size * 8 + 4096) % 251).astype(np.uint8)
            source = np.ndarray(values.shape, values.dtype, buffer, 1200)[order]
            copy_bits(source, values)
            want = plan(values)
            expected = buffer.copy()
            np.ndarray(want.shape, want.dtype, expected, 1200 + shift)[...] = want
            out = np.ndarray(want.shape, to, buffer, 1200 + shift)
            assert plan(source, out=out) is out
            assert buffer.tobytes() == expected.tobytes(), (of, to, order)


@pytest.mark.parametrize("room", [60, 3000])
def test_channels_may_read_one_plane_under_their_own_result(room, monkeypatch):
    monkeypatch.setattr(places, "ROOM", room)
    plan = Converter("float32", scale=[1, 2, 4], layout="CHW->CHW")
    values = image(40, 50, name="float32")
    buffer = np.zeros((3, 40, 50), np.float32)
    for plane in range(3):
        buffer[plane] = values
        plan(np.broadcast_to(buffer[plane], buffer.shape), out=buffer)
        assert buffer.tobytes() == plan(np.broadcast_to(values, buffer.shape)).tobytes()


def test_raise_checks_before_it_writes():
    x = np.full((30, 40, 3), 2, np.float32)
    x[7, 8, 1] = 900
    x[20, 1, 0] = 900
    out = np.full((3, 30, 40), 9, np.uint8)
    plan = Converter("uint8", scale=[1, 1, 1], layout="HWC->CHW", overflow="raise")
    with pytest.raises(ConversionError, match="900"):
        plan(x, out)
    assert (out == 9).all()
    flat = Converter("uint8", scale=10.0, overflow="raise")
    with pytest.raises(ConversionError, match=r"\b1\b"):
        flat(np.float32([1, 26, 3, 100]))
    with pytest.raises(ConversionError):
        flat(np.float32([np.nan]))
    assert Converter("uint8", scale=10.0, overflow="raise", nan=4)(np.float32([np.nan, 2])).tolist() == [4, 20]
    with pytest.raises(ConversionError):
        Converter("uint8", overflow="raise")(np.int16([0, -1]))
    with pytest.raises(ConversionError):
        Converter("float16", scale=1e3, overflow="raise")(np.float32([1000]))


def test_kinds_come_back():
    plan = Converter("int16", scale=2.0)
    assert type(plan(np.float32([1, 2]))) is np.ndarray
    assert type(plan(NdArray(np.float32([1, 2])))).__name__ == "ShortNdArray"
    assert plan([1.5, 2]).tolist() == [3, 4]
    assert isinstance(plan([1.5, 2]), NdArray)
    assert isinstance(plan(b"\x01\x02"), NdArray)
    assert plan(3).tolist() == 6
    assert type(plan(ShapedArray(shape=[2], scalars=[1.0, 2.0]))) is ShapedArray
    buffer = TensorBuffer.create_fixed_size((2,), "float32")
    buffer.load_array([1, 2])
    got = plan(buffer)
    assert type(got) is TensorBuffer
    assert got.to_numpy().tolist() == [2, 4]
    out = TensorBuffer.create_fixed_size((2,), "int16")
    assert plan(buffer, out=out) is out
    assert out.to_numpy().tolist() == [2, 4]


def test_dicts_come_back_with_their_keys():
    plan = Converter("int16", scale=2.0)
    got = plan({"b": np.float32([1]), "a": [2, 3], 7: NdArray(np.float32([4]))})
    assert type(got) is dict
    assert list(got) == ["b", "a", 7]
    assert type(got["b"]) is np.ndarray
    assert isinstance(got["a"], NdArray)
    assert [x.tolist() for x in got.values()] == [[2], [4, 6], [8]]
    assert plan({}) == {}


ALL = {
    "bare": Converter("uint8"),
    "affine": Converter("float16", scale=[0.1, 0.2, 0.3], offset=np.float32(0.1), layout="HWC->CHW"),
    "modes": Converter("int8", scale=0.1, rounding="ceil", overflow="wrap", nan=5),
    "normalize": Converter.normalize(MEAN, STD, layout="HWC->CHW"),
    "quantize": Converter.quantize([0.1, 0.2, 0.3], [1, 2, 3], axis=2, rounding="nearest_away"),
    "dequantize": Converter.dequantize(np.array([0.1, 0.2, 0.3]), axis=-1, dtype="bfloat16"),
}


@pytest.mark.parametrize("name", ALL)
def test_pickle_and_copy_give_the_same_plan(name):
    plan = ALL[name]
    x = image(5, 6, 3, name="float32")
    want = plan(x).tobytes()
    copies = [pickle.loads(pickle.dumps(plan, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for other in (*copies, copy.copy(plan), copy.deepcopy(plan)):
        assert type(other) is Converter
        assert other(x).tobytes() == want


def test_a_pickled_plan_knows_whether_nan_was_given():
    x = np.float32([np.nan, 3])
    for plan, refuses in (
        (Converter("uint8", overflow="raise"), True),
        (Converter("uint8", overflow="raise", nan=0), False),
    ):
        for one in (plan, pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
            if refuses:
                with pytest.raises(ConversionError):
                    one(x)
            else:
                assert one(x).tolist() == [0, 3]


@pytest.mark.parametrize("name", ALL)
def test_a_plan_is_frozen(name):
    plan = ALL[name]
    for attribute in ("dtype", "scale", "offset", "layout", "rounding", "something"):
        with pytest.raises(AttributeError):
            setattr(plan, attribute, 1)
    with pytest.raises(AttributeError):
        del plan.dtype


def test_array_parameters_are_copied():
    scale = np.float32([1, 2, 3])
    x = np.ones((2, 3), np.float32)
    plan = Converter("float32", scale=scale)
    listed = [1.0, 2.0, 3.0]
    other = Converter("float32", offset=listed)
    scale[:] = 100
    listed[:] = [7, 7, 7]
    assert plan(x).tolist() == [[1, 2, 3]] * 2
    assert other(x).tolist() == [[2, 3, 4]] * 2


def test_a_plan_keeps_no_source():
    import gc
    import weakref

    class Array(np.ndarray):
        pass

    plan = Converter("float32", scale=2.0)
    x = np.arange(5.0).view(Array)
    gone = weakref.ref(x)
    got = plan(x)
    del x
    gc.collect()
    assert gone() is None
    assert got.tolist() == [0, 2, 4, 6, 8]


def test_threads_share_a_plan():
    frames = [image(200, 100 + i, 3) for i in range(8)]
    plan = Converter.normalize(MEAN, STD, layout="HWC->CHW")
    want = [plan(frame).tobytes() for frame in frames]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: plan(frames[i % 8]).tobytes(), range(80)))
    assert got == want * 10


def test_read_only_sources_are_left_alone():
    x = image(5, 6, 3)
    before = x.tobytes()
    for plan in ALL.values():
        assert plan(x).flags.writeable
    assert x.tobytes() == before


def test_a_swapped_misaligned_frame():
    x = image(9, 10, 3, name="float32")
    source = placed(x, Layout(swapped=True, offset=1, padding=5))
    plan = Converter.normalize(MEAN, STD, divide_by=1, layout="HWC->CHW")
    assert plan(source).tobytes() == plan(x).tobytes()
    assert plan(source).dtype.isnative


def test_without_operations_only_the_axes_move():
    x = image(4, 5, name="float32")
    assert Converter("float32", layout="AB->BA")(x).tobytes() == x.T.tobytes()
    assert Converter("float32")(x).tobytes() == convert(x, "float32").tobytes()
    assert not np.shares_memory(Converter("float32")(x), x)


@pytest.mark.release
def test_extra_memory_stays_under_a_megabyte():
    script = Path(__file__).with_name("peak_memory.py")
    done = subprocess.run([sys.executable, script, "plans"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
