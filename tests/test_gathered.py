"""Slices by index tables that are too large to be copied as a whole: converted part by part, as their copy would be."""

from functools import partial

import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    Converter,
    NdArray,
    ReadOnlyError,
    ShapeError,
    cast,
    convert,
    index,
    saturate_cast,
)
from tensorbuf.places import ROOM

SHAPE = (90, 70, 50)
# Of some a part is many rows, of others a piece of one; some places are listed more than once.
COORDINATES = [
    [[*range(89, -1, -1), 5, 5, 0], [*range(70)], [*range(50)]],
    [[*range(90)], [*range(0, 70, 2), *range(69, 0, -1)], [*range(49, -1, -1)]],
    [[*range(1, 80)], [*range(70)], [*range(50), *range(50)]],
    [[*range(90)], [*range(69, -1, -1)], [*range(0, 50, 3), *range(50)]],
    [[*range(1)], [*range(1)], [*range(50)] * 6000],
]


def sliced(memory: np.ndarray, coordinates: list[list[int]]):
    view = NdArray(memory).slice(*(index.seq(*axis) for axis in coordinates))
    assert view.size * 2 > ROOM
    return view


def values_of(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.standard_normal(SHAPE) * 300).astype(dtype)


def slices(memory: np.ndarray):
    return (sliced(memory, coordinates) for coordinates in COORDINATES)


@pytest.mark.parametrize(
    ("of", "to"),
    [("float32", "uint8"), ("int32", "float64"), (">f8", "int16"), ("float32", "float32"), ("complex64", "complex128")],
)
def test_as_its_copy(of, to):
    for view in slices(values_of(of)):
        copy = view.to_numpy()
        got = convert(view, to)
        assert isinstance(got, NdArray)
        assert got.to_numpy().tobytes() == convert(copy, to).tobytes()
        out = np.zeros(copy.shape, to)[..., ::-1]
        assert convert(view, to, out=out, rounding="floor", overflow="wrap") is out
        assert out.tobytes() == convert(copy, to, rounding="floor", overflow="wrap").tobytes()


def test_casts():
    for view in slices(values_of("complex64")):
        copy = view.to_numpy()
        assert cast(view, "int16").to_numpy().tobytes() == cast(copy, "int16").tobytes()
        assert saturate_cast(view, "float16").to_numpy().tobytes() == saturate_cast(copy, "float16").tobytes()
        with pytest.raises(TypeError):
            convert(view, "float32")


@pytest.mark.parametrize("place", [(0, 0, 0), (45, 33, 21), (-1, -1, -1)])
def test_a_misfit_is_named_as_in_its_copy(place):
    memory = np.zeros(SHAPE, np.float32)
    for view in slices(memory):
        memory[...] = 0
        coordinates = tuple(at % size for size, at in zip(view.shape, place, strict=True))
        view.set_object(1000.0, *coordinates)
        position = int(np.argmax(view.to_numpy() > 999))
        out = np.full(view.shape, 7, np.uint8)
        plans = (
            partial(convert, dtype="uint8", overflow="raise"),
            Converter("uint8", scale=1, overflow="raise"),
            Converter("uint8", layout="HWC->HWC", overflow="raise"),
        )
        for plan in plans:
            with pytest.raises(ConversionError, match=f"element {position} is 1000.0"):
                plan(view, out=out)
        assert (out == 7).all()


def written(memory: np.ndarray, coordinates: list[list[int]], values: np.ndarray) -> np.ndarray:
    """What is in `memory` after values were written there in row-major order: of several to one place, the last."""
    last = [{place: number for number, place in enumerate(axis)} for axis in coordinates]
    after = memory.copy()
    after[np.ix_(*map(list, last))] = values[np.ix_(*(list(axis.values()) for axis in last))]
    return after


@pytest.mark.parametrize("to", ["int32", ">i2", "float64"])
def test_out_is_written_through_its_tables(to):
    source = values_of("float32")
    for coordinates in COORDINATES:
        memory = np.full(SHAPE, 99, to)
        out = sliced(memory, coordinates)
        given = np.resize(source, out.shape)
        native = np.dtype(to).newbyteorder("=")
        want = written(memory, coordinates, convert(given, native))
        if native.kind == "i":
            with pytest.raises(ConversionError):
                convert(np.where(np.arange(given.shape[2]) == 7, 1e30, given), native, out=out, overflow="raise")
            assert (memory == 99).all()
        assert convert(given, native, out=out) is out
        assert memory.tobytes() == want.astype(to).tobytes()
        memory[...] = 99
        assert convert(NdArray(given).slice(index.seq(*range(len(given)))), native, out=out) is out
        assert memory.tobytes() == want.astype(to).tobytes()
        # From the same memory.
        again = out.to_numpy()
        want = written(memory, coordinates, again[::-1])
        assert convert(out.slice(index.flip()), native, out=out) is out
        assert memory.tobytes() == want.tobytes()


def test_what_is_refused_changes_nothing():
    memory = np.full(SHAPE, 99, np.int16)
    out = sliced(memory, COORDINATES[0])
    source = np.zeros(out.shape, np.float32)
    with pytest.raises(ShapeError):
        convert(source[1:], "int16", out=out)
    with pytest.raises(TypeError):
        convert(source, "int32", out=out)
    with pytest.raises(TypeError):
        Converter("int32", scale=2)(source, out=out)
    with pytest.raises(ShapeError):
        Converter("int16", scale=2, layout="HWC->WHC")(source, out=out)
    with pytest.raises(ShapeError):
        Converter("int16", scale=[1, 2, 3], layout="HWC->HWC")(source, out=out)
    memory.flags.writeable = False
    locked = sliced(memory, COORDINATES[0])
    for plan in (partial(convert, dtype="int16"), Converter("int16", scale=2)):
        with pytest.raises(ReadOnlyError):
            plan(source, out=locked)
    assert (memory == 99).all()


@pytest.mark.parametrize("channels", [0, 1, 2])
@pytest.mark.parametrize("after", ["HWC", "CHW", "WCH"])
def test_a_converter(channels, after):
    """With one value, or one a channel, whichever axis that is, cut or whole."""
    names = {0: "CHW", 1: "HCW", 2: "HWC"}[channels]
    for view in slices(values_of("float32")):
        copy = view.to_numpy()
        some = np.linspace(1, 2, copy.shape[channels])
        layout = f"{names}->{after}"
        for plan in (
            Converter("uint8", scale=some, offset=3, layout=layout),
            Converter("float32", scale=0.5, layout=layout),
            Converter("float64", layout=layout, overflow="raise"),
            Converter("int16", scale=some, layout=layout, overflow="raise", rounding="nearest"),
        ):
            want = plan(copy)
            got = plan(view)
            assert isinstance(got, NdArray)
            assert got.to_numpy().tobytes() == want.tobytes()
            out = np.zeros_like(want)
            assert plan(view, out=out) is out
            assert out.tobytes() == want.tobytes()
            through = NdArray(out).slice(index.seq(*range(len(out) - 1, -1, -1)))
            assert plan(view, out=through) is through
            assert out[::-1].tobytes() == want.tobytes()


def test_quantising_each_channel():
    for view in slices(values_of("float32")):
        copy = view.to_numpy()
        for axis in range(3):
            plan = Converter.quantize(np.linspace(1, 3, copy.shape[axis]), axis=axis)
            assert plan(view).to_numpy().tobytes() == plan(copy).tobytes()
