import numpy as np
import pytest

import tensorbuf
from tensorbuf import ConversionError, NdArray, Shape, ShapeError, databuffers, ndarrays
from tensorbuf import index as ix

FACTORIES = {
    "of_bytes": ("ByteNdArray", np.int8),
    "of_shorts": ("ShortNdArray", np.int16),
    "of_ints": ("IntNdArray", np.int32),
    "of_longs": ("LongNdArray", np.int64),
    "of_floats": ("FloatNdArray", np.float32),
    "of_doubles": ("DoubleNdArray", np.float64),
    "of_booleans": ("BooleanNdArray", np.bool),
}


@pytest.mark.parametrize(("factory", "name", "dtype"), [(name, *kind) for name, kind in FACTORIES.items()])
def test_typed_factories(factory, name, dtype):
    make = getattr(ndarrays, factory)
    array = make((2, 3))
    assert type(array) is getattr(tensorbuf, name)
    assert array.dtype == dtype
    assert array.tolist() == np.zeros((2, 3), dtype).tolist()
    assert make(Shape.of(2, 0)).shape == (2, 0)
    assert make(4).shape == (4,)
    assert make(()).rank == 0
    assert array.to_numpy().ctypes.data % 64 == 0
    for shape, error in [
        ((-1, 2), ShapeError),
        (-1, ShapeError),
        (Shape.unknown(), ShapeError),
        (Shape.of(-1), ShapeError),
        ((2**62, 2**62), ShapeError),
        (None, TypeError),
        ((1.5,), TypeError),
    ]:
        with pytest.raises(error):
            make(shape)
    word = factory.removeprefix("of_").removesuffix("s")
    value = np.ones((), dtype).item()
    assert getattr(array, f"set_{word}")(value, 1, 2) is array
    assert getattr(array, f"get_{word}")(1, 2) == value
    assert type(getattr(array, f"get_{word}")(1, 2)) is type(value)


def test_only_the_streams_of_java():
    for name, (_, dtype) in FACTORIES.items():
        word = name.removeprefix("of_")
        streams = hasattr(getattr(ndarrays, name)(3), f"stream_of_{word}")
        assert streams == (dtype in (np.int32, np.int64, np.float64))
    assert list(NdArray([[1, 2], [3, 4]]).stream_of_longs()) == [1, 2, 3, 4]


def test_zeros():
    assert type(ndarrays.zeros((2,), "uint8")) is NdArray
    assert ndarrays.zeros(2, "bfloat16").tolist() == [0.0, 0.0]
    assert ndarrays.zeros(2, object).tolist() == [None, None]
    assert ndarrays.zeros(2, ">f4").dtype == np.dtype(np.float32)
    with pytest.raises(TypeError):
        ndarrays.zeros(2, None)


def test_objects_keep_their_type():
    array = ndarrays.of_objects(str, (2, 2))
    assert array.tolist() == [[None, None], [None, None]]
    with pytest.raises(TypeError):
        ndarrays.of_objects("str", 2)
    array.set_object("a", 0, 0).set([["b", None]][0], 1)
    for view in (array, array.slice(ix.flip()), array.get(1), array.get(1, 1), array[::-1], array.slice(ix.seq(1, 0))):
        with pytest.raises(TypeError):
            view.slice(*[ix.at(0)] * view.rank).set_object(1)
    with pytest.raises(TypeError):
        array.set([["x", 1], ["y", "z"]])
    assert array.tolist() == [["a", None], ["b", None]]
    for nested in ([["a"]], [["a", "b"], ["c"]], ["a", "b"], "a"):
        with pytest.raises(ShapeError):
            array.set(nested)
    numbers = ndarrays.of_objects(int, 2)
    with pytest.raises(TypeError):
        numbers.set(array.get(0))
    with pytest.raises(TypeError):
        numbers.set(np.array([1, 2]))
    assert numbers.set(np.array([1, 2], object)).tolist() == [1, 2]
    assert ndarrays.of_objects(list, ()).set_object([1, 2]).get_object() == [1, 2]
    with pytest.raises(BufferError):
        memoryview(numbers)


def test_scalar_of():
    assert type(ndarrays.scalar_of(3)) is tensorbuf.LongNdArray
    assert type(ndarrays.scalar_of(True)) is tensorbuf.BooleanNdArray
    assert type(ndarrays.scalar_of(2.5)) is tensorbuf.DoubleNdArray
    assert ndarrays.scalar_of(2**63).dtype == np.uint64
    assert ndarrays.scalar_of("a").get_object() == "a"
    assert ndarrays.scalar_of(1j).dtype == np.complex128
    assert ndarrays.scalar_of(7, dtype="int8").dtype == np.int8
    for value, dtype in ((300, "int8"), (2**70, None)):
        with pytest.raises(ConversionError):
            ndarrays.scalar_of(value, dtype)
    for value in (None, [1], (), np.zeros(1)):
        with pytest.raises(TypeError):
            ndarrays.scalar_of(value)


def test_vector_of():
    assert ndarrays.vector_of(1, 2.5).tolist() == [1.0, 2.5]
    assert ndarrays.vector_of(dtype="int16").shape == (0,)
    assert ndarrays.vector_of(dtype="int16").dtype == np.int16
    assert ndarrays.vector_of("a", "b").tolist() == ["a", "b"]
    assert ndarrays.vector_of(1, 2, dtype=np.float32).dtype == np.float32
    source = np.array([1, 2], np.int32)
    copied = ndarrays.vector_of(source)
    copied.set_object(9, 0)
    assert source.tolist() == [1, 2]
    assert copied.dtype == np.int32
    assert ndarrays.vector_of([1, 2]).tolist() == [1, 2]
    with pytest.raises(ShapeError):
        ndarrays.vector_of([[1, 2]])
    with pytest.raises(ConversionError):
        ndarrays.vector_of(1, 300, dtype="uint8")


def test_nested_lists():
    assert ndarrays.nd_copy_of([[1, 2.5], (3, 4)]).tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert ndarrays.nd_copy_of(5).rank == 0
    assert ndarrays.nd_copy_of([[[[[[[1]]]]]]]).rank == 7
    source = np.zeros((2, 2), np.float16)
    copied = ndarrays.nd_copy_of(source)
    copied.set_object(1.0, 0, 0)
    assert copied.dtype == np.float16
    assert not source.any()
    with pytest.raises(ValueError, match="ragged"):
        ndarrays.nd_copy_of([[1, 2], [3]])
    array = NdArray([[1, 2], [3, 4]])
    nested = ndarrays.array_copy_of(array.slice(ix.flip()))
    nested[0][0] = 77
    assert array.tolist() == [[1, 2], [3, 4]]
    assert ndarrays.array_copy_of(ndarrays.scalar_of(3)) == 3


def test_shape_of():
    assert ndarrays.shape_of([[1, 2, 3], [4, 5, 6]]) == (2, 3)
    assert ndarrays.shape_of([[1, 2, 3], [4]]) == (2, -1)
    assert ndarrays.shape_of([[[1], [2]], [[3]]]) == (2, -1, 1)
    assert ndarrays.shape_of([]) == (0,)
    assert ndarrays.shape_of([[], []]) == (2, 0)
    assert ndarrays.shape_of(3) == Shape.scalar()
    assert ndarrays.shape_of(np.zeros((2, 1))) == (2, 1)
    assert type(ndarrays.shape_of([1])) is Shape
    with pytest.raises(ValueError, match="side by side"):
        ndarrays.shape_of([1, [2]])


def test_wrap_counts_only_its_own_values():
    buffer = databuffers.of([0, 1, 2, 3, 4])
    wrapped = ndarrays.wrap((2, 2), buffer)
    assert wrapped == ndarrays.nd_copy_of([[0, 1], [2, 3]])
    assert ndarrays.nd_copy_of([[0, 1], [2, 3]]) == wrapped
