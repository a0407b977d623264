"""What a ShapedArray can be made from, what may be assigned, and what is refused."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import ConversionError, NdArray, RankError, ShapeError
from tensorbuf.shaped_array import ShapedArray, ShapedArraySlice

KINDS = pytest.mark.parametrize("kind", [ShapedArray, ShapedArraySlice])


def lists(array):
    return np.asarray(array).tolist()


@KINDS
def test_the_five_initialisers(kind):
    made = [
        kind(shape=[2, 2], scalars=[0, 1, 2, 3]),
        kind(repeating=7, shape=(3, 2)),
        kind(5.0),
        kind([[0, 1], (2, 3)]),
        kind(np.arange(4).reshape(2, 2)),
    ]
    assert [type(array) for array in made] == [kind] * 5
    assert [lists(array) for array in made] == [[[0, 1], [2, 3]], [[7, 7]] * 3, 5.0, [[0, 1], [2, 3]], [[0, 1], [2, 3]]]
    assert [array.dtype for array in made] == ["int64", "int64", "float64", "int64", np.arange(4).dtype]
    assert [array.shape for array in made] == [(2, 2), (3, 2), (), (2, 2), (2, 2)]


@pytest.mark.parametrize(
    "scalars",
    [[1, 2, 3], (1, 2, 3), range(1, 4), iter([1, 2, 3]), np.arange(1, 4), ShapedArray([1, 2, 3]), {1: 0}.keys()],
)
def test_scalars_are_any_iterable(scalars):
    expected = [1, 2, 3] if not isinstance(scalars, type({}.keys())) else [1]
    assert lists(ShapedArray(shape=len(expected), scalars=scalars)) == expected


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([True, False], "bool"),
        ([1, True], "int64"),
        ([2**63], "uint64"),
        ([1, 2.5], "float64"),
        ([1, 2j], "complex128"),
        (True, "bool"),
        (np.float32(1.5), "float32"),
        ([np.float32(1.5)], "float32"),
        (ml_dtypes.bfloat16(1.5), "bfloat16"),
        (np.arange(3, dtype="int8"), "int8"),
        (np.arange(3, dtype=">i2"), "int16"),
        (b"ab", "uint8"),
        (memoryview(np.zeros(2, "float16")), "float16"),
        (NdArray._wrap(np.zeros(2, "complex64")), "complex64"),
    ],
)
def test_the_dtype_is_that_of_the_value(value, dtype):
    array = ShapedArray(value)
    assert array.dtype == tensorbuf.DataType.of(dtype).numpy_dtype
    assert array.dtype.isnative


def test_nothing_to_infer_from_is_float64():
    assert ShapedArray(shape=[0], scalars=[]).dtype == np.float64


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(6).reshape(2, 3)[::-1, ::-1],
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.frombuffer(b"x" + np.arange(6, dtype="int32").tobytes(), "int32", offset=1).reshape(2, 3),
        np.broadcast_to(np.arange(3), (2, 3)),
        np.zeros((0, 3), "int8"),
        np.array(5, "uint16"),
    ],
)
def test_arrays_keep_their_logical_order_and_become_independent(array):
    made = ShapedArray(array)
    expected = array.tolist()
    assert lists(made) == expected
    assert made.shape == array.shape
    if array.flags.writeable:
        array[...] = 9
        assert lists(made) == expected


@pytest.mark.parametrize("dtype", ["uint8", np.float32, "bfloat16", tensorbuf.DataType.INT16, complex])
def test_dtype_converts(dtype):
    made = ShapedArray([1, 2], dtype=dtype)
    assert made.dtype == tensorbuf.DataType.of(dtype).numpy_dtype
    assert made == ShapedArray(np.array([1, 2]), dtype=dtype) == ShapedArray(ShapedArray([1, 2]), dtype=dtype)
    assert made == ShapedArray(shape=2, scalars=range(1, 3), dtype=dtype)


def test_dtype_converts_checked():
    with pytest.raises(ConversionError):
        ShapedArray([300], dtype="uint8")
    with pytest.raises(ConversionError):
        ShapedArray(np.array([-1]), dtype="uint8")
    with pytest.raises(ConversionError):
        ShapedArray(repeating=1e10, shape=2, dtype="int32")
    with pytest.raises(ConversionError):
        ShapedArray([-1, 2**63])


@KINDS
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"shape": [2, 2], "scalars": [1, 2, 3]}, ShapeError),
        ({"shape": [2, 2], "scalars": [[1, 2], [3, 4]]}, ShapeError),
        ({"shape": [-1], "scalars": []}, ShapeError),
        ({"shape": [2**32, 2**32], "scalars": []}, ShapeError),
        ({"shape": [2**32, 2**32], "repeating": 0}, ShapeError),
        ({"shape": [-2], "repeating": 0}, ShapeError),
        ({"shape": [2]}, TypeError),
        ({"scalars": [2]}, TypeError),
        ({"repeating": 2}, TypeError),
        ({}, TypeError),
        ({"shape": [1], "scalars": [1], "repeating": 1}, TypeError),
        ({"shape": None, "scalars": [1]}, TypeError),
        ({"shape": [1.0], "scalars": [1]}, TypeError),
        ({"shape": [1], "scalars": None}, TypeError),
        ({"shape": [1], "scalars": 5}, TypeError),
        ({"shape": [2], "scalars": "ab"}, TypeError),
        ({"shape": [1], "scalars": {1: 2}}, TypeError),
        ({"shape": [1], "scalars": [None]}, TypeError),
        ({"shape": [1], "scalars": ["a"]}, TypeError),
        ({"shape": [1], "repeating": None}, TypeError),
        ({"shape": [1], "repeating": [1]}, TypeError),
        ({"shape": [1], "repeating": "a"}, TypeError),
        ({"shape": [1], "scalars": [1], "dtype": "text"}, TypeError),
        ({"shape": [1], "scalars": [1], "dtype": object}, TypeError),
    ],
)
def test_arguments_that_do_not_fit(kind, arguments, error):
    with pytest.raises(error):
        kind(**arguments)


@KINDS
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([], ValueError),
        ([[], []], ValueError),
        ((), ValueError),
        ([[1], []], ValueError),
        ([[1, 2], [3]], ValueError),
        ([1, [2]], ValueError),
        (None, TypeError),
        ("12", TypeError),
        ({1: 2}, TypeError),
        ([None], TypeError),
        (["a", "b"], TypeError),
        ([1, "b"], TypeError),
        (np.array(["a"], object), TypeError),
        (np.array(["a"]), TypeError),
        (object(), TypeError),
    ],
)
def test_values_that_are_no_array(kind, value, error):
    with pytest.raises(error):
        kind(value)
    with pytest.raises(TypeError):
        kind(value, shape=[1])


def test_an_array_of_an_array_shares_in_both_directions():
    for given in (ShapedArray, ShapedArraySlice):
        for kind in (ShapedArray, ShapedArraySlice):
            source = given([[1, 2], [3, 4]])
            made = kind(source)
            assert np.shares_memory(np.asarray(made), np.asarray(source))
            made[0] = [9, 9]
            assert lists(source) == [[1, 2], [3, 4]]
            assert lists(made) == [[9, 9], [3, 4]]


def test_holders_in_lists():
    array = ShapedArray([[1, 2], [3, 4]])
    assert lists(ShapedArray([array[1], array[0]])) == [[3, 4], [1, 2]]


# Assigning


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", [7, 8]),
        ("int64", (True, 8)),
        ("int64", np.array([7, 8], ">i8")),
        ("int64", np.array([7, 0, 8, 0])[::2]),
        ("int64", ShapedArray([7, 8])),
        ("int64", ShapedArray([[7, 8]])[0]),
        ("int64", NdArray._wrap(np.array([7, 8]))),
        ("float32", [7, 8.5]),
        ("bfloat16", [7, 8.5]),
        ("complex64", [7, 8.5j]),
        ("bool", [True, 0]),
        ("uint8", [0, 255]),
    ],
)
def test_values_that_are_taken(dtype, value):
    array = ShapedArray(repeating=0, shape=[3, 2], dtype=dtype)
    array[1] = value
    expected = np.asarray(value).astype(array.dtype)
    assert (np.asarray(array)[1] == expected).all()
    assert not np.asarray(array)[[0, 2]].any()


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("int64", [1, 2, 3], ShapeError),
        ("int64", 5, ShapeError),
        ("int64", [[1, 2]], ShapeError),
        ("int64", np.array([[1, 2]]), ShapeError),
        ("int64", ShapedArray([1]), ShapeError),
        ("int64", [[1], [2, 3]], ShapeError),
        ("int64", np.array([1, 2], "int32"), TypeError),
        ("float64", np.array([1, 2], "float32"), TypeError),
        ("int64", ShapedArray([1.0, 2.0]), TypeError),
        ("int64", [1.0, 2], TypeError),
        ("bool", [1.0, 0], TypeError),
        ("int64", [1, 2j], TypeError),
        ("float64", [1, 2j], TypeError),
        ("int64", "ab", TypeError),
        ("int64", ["a", "b"], TypeError),
        ("int64", None, TypeError),
        ("int64", [None, 1], TypeError),
        ("int64", np.array([1, 2], object), TypeError),
        ("int64", {1: 2}, TypeError),
        ("uint8", [1, 256], ConversionError),
        ("int64", [1, 2**63], ConversionError),
        ("float16", [1, 1e6], ConversionError),
    ],
)
def test_values_that_are_refused_change_and_copy_nothing(dtype, value, error):
    array = ShapedArray(repeating=1, shape=[3, 2], dtype=dtype)
    other = copy.copy(array)
    with pytest.raises(error):
        array[1] = value
    with pytest.raises(error):
        array[2, :] = value
    assert (np.asarray(array) == 1).all()
    assert np.shares_memory(np.asarray(array), np.asarray(other))


def test_scalar():
    array = ShapedArray([[1, 2], [3, 4]])
    assert array.scalar is None
    assert ShapedArray([5]).scalar is None
    element = array[1, 0]
    assert element.scalar == 3
    assert type(element.scalar) is int
    element.scalar = 7
    assert element.scalar == 7
    assert lists(array) == [[1, 2], [3, 4]]
    for value, error in ((None, TypeError), ([1], ShapeError), (1.5, TypeError), ("a", TypeError)):
        with pytest.raises(error):
            element.scalar = value
    for other in (array, ShapedArray([5])):
        with pytest.raises(RankError):
            other.scalar = 5


@pytest.mark.parametrize(
    ("value", "dtype"), [(True, "bool"), (2**63, "uint64"), (1.5, "bfloat16"), (0.1, "float64"), (1 + 2j, "complex64")]
)
def test_scalars_come_as_python_values(value, dtype):
    scalar = ShapedArray(value, dtype=dtype).scalar
    assert scalar == value
    assert type(scalar) is type(value)
    assert ShapedArray(0.1, dtype="float32").scalar == float(np.float32(0.1))


def test_scalars():
    array = ShapedArray([[1, 2], [3, 4]])
    scalars = array.scalars
    assert scalars.shape == (4,)
    assert scalars.flags.writeable
    assert scalars.__array_interface__["data"][0] % 64 == 0
    scalars[0] = 99
    assert lists(array) == [[1, 2], [3, 4]]
    array.scalars = range(10, 14)
    assert lists(array) == [[10, 11], [12, 13]]
    for value, error in (([1, 2, 3], ShapeError), ([[1, 2], [3, 4]], ShapeError), (5, ShapeError), (None, TypeError)):
        with pytest.raises(error):
            array.scalars = value
    empty = ShapedArray(shape=[0, 3], scalars=[])
    empty.scalars = []
    assert empty.scalars.shape == (0,)


def test_assignments_overlap_by_value():
    array = ShapedArray([1, 2, 3, 4])
    array[0:3] = array[1:4]
    assert lists(array) == [2, 3, 4, 4]
    array[1:4] = array[0:3]
    assert lists(array) == [2, 2, 3, 4]
    array[:] = array
    assert lists(array) == [2, 2, 3, 4]


def test_empty_assignments_do_nothing():
    array = ShapedArray([[1, 2], [3, 4]])
    array[1:1] = np.zeros((0, 2), "int64")
    array[2:] = ShapedArray(shape=[0, 2], scalars=[], dtype="int64")
    flat = ShapedArray([1])
    flat[0:0] = []
    hollow = ShapedArray(shape=[2, 0], scalars=[], dtype="int64")
    hollow[0] = []
    hollow[:] = hollow
    hollow.swap_at(0, 1)
    assert (lists(array), lists(flat), lists(hollow)) == ([[1, 2], [3, 4]], [1], [[], []])


# Doors


@pytest.mark.parametrize("dtype", ["bool", "int16", "float64", "bfloat16", "float8_e4m3fn", "complex64"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_class_dtype_and_shape(dtype, protocol):
    array = ShapedArray([[1, 0], [1, 1], [0, 1]], dtype=dtype)
    for each in (array, array[1:], array[2], array[2, 0], ShapedArray(shape=[0, 3], scalars=[], dtype=dtype)):
        loaded = pickle.loads(pickle.dumps(each, protocol))
        assert (type(loaded), loaded.dtype, loaded.shape) == (type(each), each.dtype, each.shape)
        assert loaded == each
        if isinstance(loaded, ShapedArraySlice):
            assert loaded.scalar_range == range(each.scalar_count)


def test_a_pickled_slice_is_small():
    array = ShapedArray(repeating=1, shape=[1000, 1000])
    assert len(pickle.dumps(array[5, :10], 5)) < 500


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_pickle_out_of_band_shares_what_it_is_given_until_a_mutation(kind):
    array = ShapedArray([[1, 2], [3, 4]], dtype="int32")[1]
    buffers = []
    text = pickle.dumps(array, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    given = kind(buffers[0].raw())
    loaded = pickle.loads(text, buffers=[given])
    assert np.shares_memory(np.asarray(loaded), np.frombuffer(given, "int32"))
    again = pickle.loads(text, buffers=[given])
    loaded[0] = 9
    assert (lists(loaded), lists(again)) == ([9, 4], [3, 4])
    assert given == array.scalars.tobytes()


def test_pickle_takes_misaligned_memory_and_refuses_a_wrong_amount():
    text = pickle.dumps(ShapedArray([1.0, 2.0]), 5, buffer_callback=lambda buffer: False)
    given = memoryview(b"x" + np.array([3.0, 4.0]).tobytes())[1:]
    loaded = pickle.loads(text, buffers=[given])
    assert lists(loaded) == [3.0, 4.0]
    assert hash(loaded) == hash(ShapedArray([3.0, 4.0]))
    with pytest.raises(ValueError, match="reshape"):
        pickle.loads(text, buffers=[bytes(24)])


def test_conversions_give_the_kind_back():
    array = ShapedArray([[1, 300], [-1, 4]])
    made = tensorbuf.convert(array, "uint8")
    assert type(made) is ShapedArray
    assert lists(made) == [[1, 255], [0, 4]]
    part = tensorbuf.convert(array[0], "float32")
    assert type(part) is ShapedArraySlice
    assert lists(part) == [1.0, 300.0]
    same = tensorbuf.convert(array, "int64")
    same[0] = [0, 0]
    assert lists(array) == [[1, 300], [-1, 4]]


def test_copies_keep_class_and_place():
    array = ShapedArray([[1, 2], [3, 4]])
    for make in (copy.copy, copy.deepcopy):
        assert type(make(array)) is ShapedArray
        assert type(make(array[1])) is ShapedArraySlice
        assert make(array[1]).scalar_range == range(2, 4)
        assert np.shares_memory(np.asarray(make(array)), np.asarray(array))


def test_subclasses():
    class Named(ShapedArray):
        pass

    array = Named([1, 2])
    array.name = "x"
    assert type(array[0]) is ShapedArraySlice
    assert type(copy.copy(array)) is Named
    assert array == ShapedArray([1, 2])


@pytest.mark.parametrize("name", ["shape", "rank", "dtype", "count", "scalar_count", "is_scalar", "indices", "first"])
def test_properties_are_read_only(name):
    with pytest.raises(AttributeError):
        setattr(ShapedArray([1]), name, 5)


def test_dlpack_shares_and_holds():
    array = ShapedArray([[1, 2], [3, 4]])
    view = np.from_dlpack(array)
    assert np.shares_memory(view, np.asarray(array))
    assert not view.flags.writeable
    array[0] = [9, 9]
    assert view.tolist() == [[1, 2], [3, 4]]
    assert lists(ShapedArray(np.from_dlpack(array[1]))) == [3, 4]
    with pytest.raises(BufferError):
        array.__dlpack__()
    assert array.requires_grad is False


def test_bitcast_shares_until_a_mutation():
    array = ShapedArray([1.0, -2.0], dtype="float32")
    bits = tensorbuf.bitcast(array, "uint32")
    assert type(bits) is ShapedArray
    assert np.shares_memory(np.asarray(bits), np.asarray(array))
    bits[0] = 0
    assert lists(array) == [1.0, -2.0]
    array[1] = 5.0
    assert lists(bits) == [0, 0xC0000000]
