import collections
import copy
import pickle
import sys

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import ConversionError, NdArray, RankError, ReadOnlyError, Shape, ShapeError, databuffers, ndarrays
from tensorbuf import index as ix

CLASSES = {
    "ByteNdArray": np.int8,
    "ShortNdArray": np.int16,
    "IntNdArray": np.int32,
    "LongNdArray": np.int64,
    "FloatNdArray": np.float32,
    "DoubleNdArray": np.float64,
    "BooleanNdArray": np.bool,
}


@pytest.mark.parametrize(("name", "dtype"), CLASSES.items())
def test_subclass_follows_the_dtype(name, dtype):
    array = NdArray._wrap(np.zeros((2, 3), dtype))
    assert type(array) is getattr(tensorbuf, name)
    assert type(array[0]) is type(array)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, ml_dtypes.bfloat16, np.complex64, object])
def test_other_dtypes_are_plain(dtype):
    assert type(NdArray._wrap(np.zeros(3, dtype))) is NdArray


def test_byte_order_does_not_change_the_class():
    assert type(NdArray._wrap(np.zeros(3, ">f4"))) is tensorbuf.FloatNdArray


def test_properties():
    array = NdArray._wrap(np.zeros((2, 3), np.int16))
    assert (array.shape, array.rank, array.size, array.nbytes, array.dtype) == ((2, 3), 2, 6, 12, np.int16)
    assert type(array.shape) is tensorbuf.Shape
    assert not array.read_only


def test_get_object():
    array = NdArray._wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array.get_object(1, 2) == 5.0
    assert type(array.get_object(0, 0)) is float
    for coords in ((1, 3), (1, -1), (2, 0)):
        with pytest.raises(IndexError):
            array.get_object(*coords)
    with pytest.raises(RankError):
        array.get_object(1)


@pytest.mark.parametrize("dtype", [np.float32, ">i4", ml_dtypes.bfloat16, object, np.bool])
@pytest.mark.parametrize("out_of_band", [False, True])
def test_pickle_carries_the_visible_elements(dtype, out_of_band):
    source = np.arange(20).astype(dtype)[2:18:3]
    array = NdArray._wrap(source)
    buffers = []
    data = pickle.dumps(array, 5, buffer_callback=buffers.append if out_of_band else None)
    back = pickle.loads(data, buffers=buffers)
    assert back == array
    assert back.dtype == array.dtype
    assert type(back) is type(array)
    assert bool(buffers) == (out_of_band and dtype is not object)
    assert sum(buffer.raw().nbytes for buffer in buffers) in (0, array.nbytes)


@pytest.mark.parametrize("protocol", range(6))
def test_pickle_keeps_read_only(protocol):
    source = np.arange(4.0)
    source.flags.writeable = False
    assert pickle.loads(pickle.dumps(NdArray._wrap(source), protocol)).read_only
    assert not pickle.loads(pickle.dumps(NdArray._wrap(np.arange(4.0)), protocol)).read_only


def test_numpy_door():
    source = np.arange(6.0).reshape(2, 3)
    array = NdArray._wrap(source)
    assert np.shares_memory(array.to_numpy(), source)
    assert np.shares_memory(array.to_numpy(copy=False), source)
    assert not np.shares_memory(array.to_numpy(copy=True), source)
    assert np.shares_memory(np.asarray(array), source)
    assert np.asarray(array, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        np.array(array, dtype=np.float32, copy=False)
    exported = array.to_numpy()
    exported.flags.writeable = False
    assert not array.read_only


def test_copies_are_independent():
    source = np.arange(6.0)
    source.flags.writeable = False
    for twin in (copy.copy(NdArray._wrap(source)), copy.deepcopy(NdArray._wrap(source))):
        assert twin == NdArray._wrap(source)
        assert not twin.read_only
        assert not np.shares_memory(twin.to_numpy(), source)


def test_equality():
    array = NdArray._wrap(np.array([1, 2], np.int32))
    assert array == NdArray._wrap(np.array([1, 2], ">i4"))
    assert array != NdArray._wrap(np.array([1, 2], np.int64))
    assert array != NdArray._wrap(np.array([1, 2], object))
    assert array != NdArray._wrap(np.array([[1, 2]], np.int32))
    assert NdArray._wrap(np.zeros((2, 0))) != NdArray._wrap(np.zeros((0, 2)))
    assert NdArray._wrap(np.zeros((2, 0))) == NdArray._wrap(np.zeros((2, 0)))
    assert NdArray._wrap(np.array([0.0])) == NdArray._wrap(np.array([-0.0]))
    nan = NdArray._wrap(np.array([np.nan]))
    assert nan != nan
    for other in (3, None, "12", [1, 2]):
        assert array != other
    with pytest.raises(TypeError):
        hash(array)


def test_repr_is_bounded():
    assert len(repr(NdArray(["x" * 10**6] * 20))) < 700
    assert repr(NdArray([])) == "DoubleNdArray(shape=(0,), dtype=float64, values=[])"
    assert repr(NdArray([[1, 2]]).elements(0)) == "NdArraySequence(1 of shape (2,), dtype=int64)"
    text = repr(NdArray._wrap(np.arange(10**6, dtype=np.float32)))
    assert text == "FloatNdArray(shape=(1000000,), dtype=float32, values=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ...])"


def numbers(dtype=np.int32, shape=(2, 3)):
    return NdArray(np.arange(int(np.prod(shape))).reshape(shape).astype(dtype))


def test_constructor_shares_arrays():
    source = np.arange(6.0)
    assert np.shares_memory(NdArray(source).to_numpy(), source)
    assert np.shares_memory(NdArray(source, copy=False).to_numpy(), source)
    assert np.shares_memory(NdArray(source, "float64").to_numpy(), source)
    assert not np.shares_memory(NdArray(source, copy=True).to_numpy(), source)
    assert NdArray(source, "float32").dtype == np.float32
    assert NdArray(bytearray(b"ab")).tolist() == [97, 98]
    view = NdArray(source).slice(ix.seq(2, 0))
    assert NdArray(view)._tables is not None
    NdArray(view).set_object(9.0, 0)
    assert source[2] == 9.0
    swapped = np.arange(3, dtype=">i4")
    assert np.shares_memory(NdArray(swapped, np.int32, copy=False).to_numpy(), swapped)
    for x, arguments in [([1], {}), (source, {"dtype": "int32"}), (view, {"dtype": "float32"})]:
        with pytest.raises(ValueError, match="copy"):
            NdArray(x, copy=False, **arguments)
    for x in (None, {}, object()):
        with pytest.raises(TypeError):
            NdArray(x)
    with pytest.raises(ConversionError):
        NdArray([1, 300], dtype="int8")
    with pytest.raises(ValueError, match="ragged"):
        NdArray([[1], [2, 3]])


def test_subclasses_make_their_own_dtype():
    assert tensorbuf.FloatNdArray([1, 2]).dtype == np.float32
    assert type(tensorbuf.FloatNdArray([1, 2])) is tensorbuf.FloatNdArray
    with pytest.raises(TypeError):
        tensorbuf.FloatNdArray([1, 2], dtype="int32")
    with pytest.raises(ConversionError):
        tensorbuf.ByteNdArray([300])


def test_get_is_a_view():
    array = numbers()
    row = array.get(1)
    assert type(row) is tensorbuf.IntNdArray
    row.set_int(-1, 0)
    assert array.get_int(1, 0) == -1
    scalar = array.get(1, 2)
    assert (scalar.rank, scalar.get_object(), scalar.get_int()) == (0, 5, 5)
    scalar.set_int(7)
    assert array[1, 2] == 7
    assert array.get() is array
    for coords, error in [((2,), IndexError), ((-1,), IndexError), ((0, 0, 0), RankError), ((2**70,), IndexError)]:
        with pytest.raises(error):
            array.get(*coords)
        with pytest.raises(error):
            array.set(1, *coords)
    for coords in ((1.0,), ("1",), (None,), (True,)):
        with pytest.raises(TypeError):
            array.get(*coords)
    assert array.get(np.int8(1), np.uint64(2)).get_object() == 7


def test_values_are_pythons():
    for dtype, kind in [
        (np.bool, bool),
        (np.uint64, int),
        (np.float16, float),
        (np.complex64, complex),
        (">f4", float),
    ]:
        assert type(numbers(dtype).get_object(1, 1)) is kind
        assert type(numbers(dtype)[1, 1]) is kind
        assert type(numbers(dtype).tolist()[0][0]) is kind
    assert type(numbers(ml_dtypes.bfloat16).get_object(1, 1)) is float
    assert NdArray(np.array(2**64 - 1, np.uint64)).get_object() == 2**64 - 1
    stored = NdArray(np.zeros(3, np.float32)).set_float(0.1, 0).set_object(np.inf, 1).set_object(-0.0, 2)
    assert repr(stored.tolist()) == "[0.10000000149011612, inf, -0.0]"


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (np.int32, 1.0, TypeError),
        (np.int32, float("nan"), TypeError),
        (np.int32, np.float32(1), TypeError),
        (np.int32, "1", TypeError),
        (np.int32, None, TypeError),
        (np.int32, 1j, TypeError),
        (np.int32, 2**31, ConversionError),
        (np.int32, -(2**31) - 1, ConversionError),
        (np.int32, np.uint64(2**63), ConversionError),
        (np.uint8, -1, ConversionError),
        (np.uint64, 2**64, ConversionError),
        (np.uint64, -1, ConversionError),
        (np.int64, 2**63, ConversionError),
        (np.float32, "1", TypeError),
        (np.float32, None, TypeError),
        (np.float32, 1j, TypeError),
        (np.float32, 1e300, ConversionError),
        (np.float32, 10**400, ConversionError),
        (np.float16, 70000, ConversionError),
        (np.bool, 1, TypeError),
        (np.bool, 0.0, TypeError),
        (np.bool, None, TypeError),
        (ml_dtypes.float8_e4m3fn, np.inf, ConversionError),
    ],
)
def test_values_that_an_element_does_not_take(dtype, value, error):
    array = numbers(dtype)
    before = array.tolist()
    for write in (
        lambda: array.set_object(value, 1, 1),
        lambda: array.__setitem__((1, 1), value),
        lambda: array.set(value, 1, 1),
        lambda: array.set([array.get_object(0, 0), value, array.get_object(0, 0)], 1),
    ):
        with pytest.raises(error):
            write()
    assert array.tolist() == before


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        (np.int8, -128, -128),
        (np.int8, np.int64(127), 127),
        (np.int32, True, 1),
        (np.uint64, 2**64 - 1, 2**64 - 1),
        (">u2", 65535, 65535),
        (np.float64, 2**70, 2.0**70),
        (np.float32, 2**24 + 1, 2.0**24),
        (np.float32, np.inf, np.inf),
        (np.float16, 65504, 65504.0),
        (ml_dtypes.bfloat16, 0.1, 0.10009765625),
        (np.complex64, 1.5, 1.5 + 0j),
        (np.bool, np.True_, True),
    ],
)
def test_values_that_an_element_takes(dtype, value, stored):
    array = numbers(dtype)
    assert array.set_object(value, 1, 1) is array
    array[0, 1] = value
    array.set(value, 1, 0)
    assert array.get_object(1, 1) == array.get_object(0, 1) == array.get_object(1, 0) == stored


def test_set_takes_exactly_the_element():
    array = numbers()
    assert array.set(np.array([7, 8, 9], ">i4"), 1) is array
    assert array.set([[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert array.set(range(7, 10), 0).set(collections.UserList([1, 2, 3]), 1).tolist() == [[7, 8, 9], [1, 2, 3]]
    assert array.set(numbers().slice(ix.flip(), ix.seq(2, 0, 1))).tolist() == [[5, 3, 4], [2, 0, 1]]
    before = array.tolist()
    for src, coords, error in [
        (np.zeros(3), (0,), TypeError),
        (np.zeros(3, np.int64), (0,), TypeError),
        (np.zeros((1, 3), np.int32), (0,), ShapeError),
        (np.zeros((), np.int32), (0,), ShapeError),
        (5, (0,), ShapeError),
        ([1, 2], (0,), ShapeError),
        ([[1], [2, 3]], (), ShapeError),
        ([1, 2, 2**40], (0,), ConversionError),
        ([1, 2, 2.0], (0,), TypeError),
        ([1, 2, "3"], (0,), TypeError),
        (None, (0,), TypeError),
        (None, (0, 0), TypeError),
    ]:
        with pytest.raises(error):
            array.set(src, *coords)
        assert array.tolist() == before
    assert numbers(np.float32).set([1, 2, 3], 0).tolist()[0] == [1.0, 2.0, 3.0]
    assert numbers(np.int32, (2, 0)).set([[], []]).shape == (2, 0)


def test_read_only_arrays_refuse_every_write():
    source = np.arange(6, dtype=np.int32).reshape(2, 3)
    source.flags.writeable = False
    array = NdArray(source)
    views = [
        array,
        array.get(0),
        array.get(0, 0),
        array.slice(ix.seq(1, 0)),
        array.with_shape(6),
        array[:, ::2],
        array[0],
    ]
    for view in views:
        assert view.read_only
        for write in (
            lambda v=view: v.set(v.to_numpy(copy=True)),
            lambda v=view: v.set_object(1, *[0] * v.rank),
            lambda v=view: v.copy_from(databuffers.of_ints(6)),
            lambda v=view: v.__setitem__(..., v.to_numpy(copy=True)),
            lambda v=view: NdArray(v, copy=True).copy_to(v),
        ):
            with pytest.raises(ReadOnlyError):
                write()
        assert not view.to_numpy(copy=None).flags.writeable or view._tables is not None
    assert memoryview(array).readonly
    assert source.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copy_to_and_from():
    array = numbers()
    for dst, error in [
        (ndarrays.of_ints((3, 2)), ShapeError),
        (ndarrays.of_longs((2, 3)), TypeError),
        (databuffers.of_ints(5), ShapeError),
        (databuffers.of_longs(6), TypeError),
        (databuffers.of(bytes(24)), TypeError),
        (np.zeros((2, 3), np.int32), TypeError),
        (None, TypeError),
    ]:
        with pytest.raises(error):
            array.copy_to(dst)
        if not isinstance(dst, (np.ndarray, NdArray)):
            with pytest.raises(error):
                array.copy_from(dst)
    target = ndarrays.of_ints((2, 3))
    assert array.copy_to(target) is array
    assert target == array
    buffer = databuffers.of_ints(7)
    assert array.read(buffer) is array
    assert ndarrays.of_ints((2, 3)).write(buffer) == array


def test_with_shape():
    array = numbers()
    for shape in ((3, 2), (6,), 6, (1, 6, 1), (2, 3)):
        view = array.with_shape(shape)
        assert view.to_numpy().tolist() == array.to_numpy().reshape(shape).tolist()
        assert np.shares_memory(view.to_numpy(), array.to_numpy())
    assert ndarrays.scalar_of(3).with_shape((1, 1)).with_shape(()).get_object() == 3
    assert numbers(shape=(2, 0)).with_shape((0, 5)).shape == (0, 5)
    listed = array.slice(ix.seq(1, 0))
    assert listed.with_shape((2, 3)) == listed
    assert listed.with_shape((2, 1, 3)).tolist() == [[[3, 4, 5]], [[0, 1, 2]]]
    for view, shape, error in [
        (array, (2, 2), ShapeError),
        (array, (-1, 3), ShapeError),
        (array, Shape.unknown(), ShapeError),
        (array, None, TypeError),
        (array.slice(ix.all(), ix.even()), (4,), ShapeError),
        (listed, (6,), ShapeError),
    ]:
        with pytest.raises(error):
            view.with_shape(shape)


def test_elements():
    array = numbers(shape=(2, 3, 2))
    assert len(array.elements(1)) == 6
    assert next(iter(array.elements(1))).shape == (2,)
    assert len(array.scalars()) == 12
    for dim in (3, -1):
        with pytest.raises(ValueError, match="axis"):
            array.elements(dim)
    with pytest.raises(ValueError, match="axis"):
        ndarrays.scalar_of(1).elements(0)
    scalar = ndarrays.scalar_of(5)
    assert [(coords, element.get_object()) for coords, element in scalar.scalars().indexed()] == [((), 5)]
    assert len(scalar.scalars()) == 1
    empty = numbers(shape=(2, 0))
    assert [element.shape for element in empty.elements(0)] == [(0,), (0,)]
    assert len(empty.scalars()) == len(numbers(shape=(0, 3)).elements(0)) == 0
    rows = array.elements(0)
    rows.as_slices().for_each(lambda row: row.set(np.zeros((3, 2), np.int32)))
    assert not array.to_numpy().any()
    assert len(list(rows)) == len(list(rows)) == 2


def test_kept_elements_are_not_used_again():
    array = numbers(shape=(2, 3))
    kept, exported = [], []
    array.elements(0).for_each(kept.append)
    array.scalars().for_each(lambda scalar: exported.append(memoryview(scalar)))
    assert [row.tolist() for row in kept] == [[0, 1, 2], [3, 4, 5]]
    assert [view.tolist() for view in exported] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ZeroDivisionError):
        array.scalars().for_each(lambda scalar: 1 // scalar.get_object())


def test_square_brackets():
    array = numbers(shape=(4, 6))
    assert array[[3, 0], [1, 1, 4]].shape == (2, 3)
    array[[3, 0], [1, 1, -2]] = np.array([[1, 2, 3], [4, 5, 6]], np.int32) + 100
    assert array[-1].tolist() == [18, 102, 20, 21, 103, 23]
    assert array[np.int64(0), np.array(1)] == 105
    assert array[NdArray([0, -1]), ix.at(0)].tolist() == [0, 18]
    assert array[1:99, None, ..., -2:].shape == (3, 1, 2)
    assert array[...] == array
    assert array[()] == array
    assert ndarrays.scalar_of(3)[()] == 3
    assert ndarrays.scalar_of(3)[...].rank == 0
    array[0, 0] = np.array(7, np.int32)
    assert array[0, 0] == 7
    array[1] = [0] * 6
    array[0, ::2] = (7, 8, 9)
    assert array[:2].tolist() == [[7, 105, 8, 3, 9, 5], [0] * 6]
    for key, error in [
        ((0, 0, 0), RankError),
        (4, IndexError),
        (-5, IndexError),
        ((0, [6]), IndexError),
        ((0, [-7]), IndexError),
        (1.0, TypeError),
        ("a", TypeError),
        (True, TypeError),
        ([True, False, True, False], TypeError),
        ((..., ...), ValueError),
        (np.zeros((1, 1), int), RankError),
    ]:
        with pytest.raises(error):
            array[key]
    for key, place in (([0, 9, 1], "9 .* axis 0"), ((..., [0, -7]), "-7 .* axis 1"), (np.array([-5]), "-5 .* axis 0")):
        with pytest.raises(IndexError, match=rf"{place} of shape \(4, 6\)"):
            array[key]
    for key, value, error in [
        (0, 1, ShapeError),
        (0, [1, 2], ShapeError),
        ((0, 0), 1.5, TypeError),
        ((0, 0), [1], ShapeError),
        ((0, 0), np.array(7), TypeError),
        ((0, 0), None, TypeError),
        ((slice(None), 0), np.zeros(4), TypeError),
    ]:
        with pytest.raises(error):
            array[key] = value
    assert [row.rank for row in array] == [1] * 4
    assert len(array) == 4
    assert list(array[1]) == [0] * 6
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(ndarrays.scalar_of(1))


def test_exports():
    array = numbers(shape=(3, 4))
    part = array.slice(ix.flip(), ix.hyperslab(0, 2, 2, 1))
    assert memoryview(part).strides == (-16, 8)
    assert np.shares_memory(np.asarray(part), array.to_numpy())
    listed = array.slice(ix.seq(0, 2))
    assert not np.shares_memory(np.asarray(listed), array.to_numpy())
    assert np.asarray(listed).tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    for call in (lambda: listed.to_numpy(copy=False), lambda: np.array(listed, copy=False)):
        with pytest.raises(ValueError, match="copy"):
            call()
    with pytest.raises(BufferError):
        memoryview(listed)
    for refusing in (numbers(ml_dtypes.bfloat16), numbers(object)):
        with pytest.raises(BufferError):
            memoryview(refusing)
        assert np.asarray(refusing).tolist() == refusing.tolist()
    assert pickle.loads(pickle.dumps(listed)) == listed
    assert len(pickle.dumps(NdArray(np.zeros(10**6)).slice(ix.seq(1, 2)), 5)) < 1000


def test_views_keep_what_they_carry():
    array = NdArray._wrap(np.zeros((2, 3), np.float32), requires_grad=True)
    for view in (array.get(0), array.slice(ix.seq(1)), array[0], array.with_shape(6), next(iter(array.scalars()))):
        assert view.requires_grad
        assert type(view) is tensorbuf.FloatNdArray
    assert not copy.copy(array).requires_grad
    assert not pickle.loads(pickle.dumps(array)).requires_grad
    with pytest.raises(AttributeError):
        array.name = 1


def test_objects_are_counted():
    class Thing:
        pass

    things = np.array([Thing() for _ in range(4)])
    before = [sys.getrefcount(thing) for thing in things.tolist()]
    array = NdArray(things)
    view = array.slice(ix.seq(3, 0, 3))
    copied = view.to_numpy()
    view.set(copied)
    assert array.tolist() == things.tolist()
    del copied, view, array
    assert [sys.getrefcount(thing) for thing in things.tolist()] == before
    with_copy = NdArray(things).__deepcopy__({})
    assert with_copy.get_object(0) is not things[0]
