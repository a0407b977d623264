"""TensorBuffer's protocols: buffer, numpy, DLPack, pickle, copy, threads."""

import copy
import ctypes
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import DataType, TensorBuffer, convert, from_dlpack

NUMERIC = [member for member in DataType if member is not DataType.STRING]
WITHOUT_FORMAT = [DataType.BFLOAT16, DataType.FLOAT8_E4M3FN, DataType.FLOAT8_E5M2]
WITH_FORMAT = [member for member in NUMERIC if member not in WITHOUT_FORMAT]
SHAPES = [(), (0,), (3,), (2, 3), (3, 0), (2, 1, 3)]


def filled(data_type, shape=(2, 3), dynamic=False):
    tensor = TensorBuffer.create_dynamic(data_type) if dynamic else TensorBuffer.create_fixed_size(shape, data_type)
    tensor.load_array(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2, shape)
    return tensor


def read_only(data_type, shape=(2, 3)):
    tensor = TensorBuffer.create_fixed_size(shape, data_type)
    tensor.load_buffer(bytes(filled(data_type, shape).buffer))
    return tensor


def address(tensor):
    return tensor.to_numpy().ctypes.data


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("shape", SHAPES)
def test_buffer_is_a_memoryview_of_bytes(data_type, shape):
    tensor = filled(data_type, shape)
    view = tensor.buffer
    assert (type(view), view.format, view.ndim, view.itemsize) == (memoryview, "B", 1, 1)
    assert view.nbytes == len(view) == tensor.nbytes
    assert not view.readonly
    assert view.tobytes() == tensor.to_numpy().tobytes()
    assert view is not tensor.buffer
    assert read_only(data_type, shape).buffer.readonly == (tensor.nbytes > 0) or shape in [(0,), (3, 0)]


def test_buffer_writes_through():
    tensor = filled("uint16")
    tensor.buffer[:] = b"\xff" * 12
    assert tensor.get_int_array().tolist() == [65535] * 6
    with pytest.raises(ValueError):
        tensor.buffer[:] = b"1"


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [filled, read_only])
def test_to_numpy(data_type, shape, make):
    tensor = make(data_type, shape)
    for view in (tensor.to_numpy(), tensor.to_numpy(copy=None), tensor.to_numpy(copy=False)):
        assert (view.shape, view.dtype, type(view)) == (shape, data_type.numpy_dtype, np.ndarray)
        assert view.flags.c_contiguous
        assert view.flags.writeable == (not tensor.buffer.readonly)
        assert view.ctypes.data == address(tensor)
    own = tensor.to_numpy(copy=True)
    assert own.flags.writeable
    assert own.flags.c_contiguous
    assert own.ctypes.data % 64 == 0
    assert (own.shape, own.dtype) == (shape, data_type.numpy_dtype)
    assert own.tobytes() == bytes(tensor.buffer)
    assert not np.shares_memory(own, tensor.to_numpy())


@pytest.mark.parametrize("data_type", WITH_FORMAT)
@pytest.mark.parametrize("shape", SHAPES)
def test_typed_memoryview(data_type, shape):
    tensor = filled(data_type, shape)
    view, expected = memoryview(tensor), memoryview(np.zeros(shape, data_type.numpy_dtype))
    assert (view.format, view.itemsize, view.shape) == (expected.format, data_type.byte_size, shape)
    assert view.c_contiguous
    assert not view.readonly
    assert view.tobytes() == bytes(tensor.buffer)
    assert memoryview(read_only(data_type)).readonly
    with memoryview(tensor):
        tensor.load_array(np.zeros(shape), shape)


@pytest.mark.parametrize("data_type", WITHOUT_FORMAT)
def test_types_without_a_format_refuse_the_buffer_protocol(data_type):
    for tensor in (filled(data_type), read_only(data_type), TensorBuffer.create_dynamic(data_type)):
        with pytest.raises(BufferError, match=data_type.value):
            memoryview(tensor)


def test_writable_buffers_are_refused_where_memory_is_read_only():
    tensor = read_only("uint8")
    with pytest.raises(TypeError):
        (ctypes.c_char * 6).from_buffer(tensor)
    assert (ctypes.c_char * 6).from_buffer_copy(tensor).raw == bytes(tensor.buffer)
    target = filled("uint8")
    (ctypes.c_char * 6).from_buffer(target)[0] = b"\x09"
    assert target[0] == 9


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("shape", SHAPES)
def test_asarray_shares_and_array_copies(data_type, shape):
    tensor = filled(data_type, shape)
    for view in (np.asarray(tensor), np.array(tensor, copy=False), np.asarray(tensor, dtype=tensor.dtype)):
        assert (view.dtype, view.shape) == (data_type.numpy_dtype, shape)
        assert view.ctypes.data == address(tensor) or not view.size
        assert view.flags.writeable
    copied = np.array(tensor)
    assert (copied.dtype, copied.shape) == (data_type.numpy_dtype, shape)
    assert copied.tobytes() == bytes(tensor.buffer)
    assert not np.shares_memory(copied, tensor.to_numpy())
    assert not np.asarray(read_only(data_type)).flags.writeable


@pytest.mark.parametrize("data_type", NUMERIC)
def test_array_method_follows_numpy_2(data_type):
    tensor = filled(data_type)
    assert tensor.__array__().ctypes.data == address(tensor)
    assert tensor.__array__(copy=False).ctypes.data == address(tensor)
    assert tensor.__array__(tensor.dtype, copy=None).ctypes.data == address(tensor)
    assert not np.shares_memory(tensor.__array__(copy=True), tensor.to_numpy())
    assert tensor.__array__(copy=True).flags.writeable
    other = np.dtype("complex128" if data_type is not DataType.COMPLEX128 else "complex64")
    converted = tensor.__array__(other)
    assert (converted.dtype, converted.tolist()) == (other, [[0, 1, 0], [1, 0, 1]])
    with pytest.raises(ValueError):
        tensor.__array__(other, copy=False)


def test_numpy_functions_take_buffers():
    tensor = filled("bfloat16")
    assert np.add(tensor, 1).tolist() == [[1, 2, 1], [2, 1, 2]]
    assert np.sum(tensor) == 3


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [filled, read_only])
def test_dlpack_shares_memory_of_every_type(data_type, shape, make):
    tensor = make(data_type, shape)
    assert tensor.__dlpack_device__() == (1, 0)
    view = from_dlpack(tensor)
    assert (view.shape, view.dtype, view.read_only) == (shape, tensor.dtype, tensor.buffer.readonly)
    assert view.to_numpy().ctypes.data == address(tensor) or not tensor.flat_size
    assert view.to_numpy().tobytes() == bytes(tensor.buffer)
    if data_type not in WITHOUT_FORMAT:
        theirs = np.from_dlpack(tensor)
        assert (theirs.shape, theirs.dtype, theirs.flags.writeable) == (shape, tensor.dtype, not view.read_only)


def test_dlpack_options():
    tensor = filled("float32")
    assert np.from_dlpack(tensor, copy=True).ctypes.data != address(tensor)
    with pytest.raises(BufferError):
        read_only("float32").__dlpack__()
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_pickle_keeps_everything(protocol, dynamic, shape):
    for data_type in NUMERIC:
        tensor = filled(data_type, shape, dynamic)
        again = pickle.loads(pickle.dumps(tensor, protocol))
        assert again == tensor
        assert (again.is_dynamic, again.shape, again.data_type) == (dynamic, shape, data_type)
        assert bytes(again.buffer) == bytes(tensor.buffer)
        assert not again.buffer.readonly
        if again.flat_size:
            again[0] = 1 - tensor[0]
            assert again != tensor


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_unpickled_memory_is_aligned(protocol):
    again = pickle.loads(pickle.dumps(filled("float64", (100,)), protocol))
    assert address(again) % 64 == 0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_read_only_stays_read_only_through_pickle_until_written(protocol):
    tensor = read_only("int16")
    again = pickle.loads(pickle.dumps(tensor, protocol))
    assert again == tensor
    assert again.buffer.readonly
    again[0] = 9
    assert (again[0], tensor[0]) == (9, 0)
    assert not again.buffer.readonly
    assert tensor.buffer.readonly


@pytest.mark.parametrize("data_type", NUMERIC)
def test_pickle_out_of_band_shares_both_sides(data_type):
    tensor = filled(data_type, dynamic=True)
    buffers = []
    data = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    (out,) = buffers
    raw = out.raw()
    assert raw.nbytes == tensor.nbytes
    assert np.frombuffer(raw, np.uint8).ctypes.data == address(tensor)
    assert len(data) < 300
    received = bytearray(raw)
    again = pickle.loads(data, buffers=[received])
    assert again == tensor
    assert again.is_dynamic
    again[0] = 1
    assert received[: tensor.type_size] == bytes(again.buffer[: tensor.type_size])
    assert tensor[0] == 0
    with pytest.raises(BufferError):
        received.append(0)
    frozen = pickle.loads(data, buffers=[bytes(raw)])
    assert frozen.buffer.readonly
    frozen[0] = 1
    assert (frozen[0], tensor[0]) == (1, 0)
    shared = pickle.loads(data, buffers=buffers)
    assert address(shared) == address(tensor)


def test_pickle_of_empty_buffers_needs_no_out_of_band_buffer():
    buffers = []
    tensor = TensorBuffer.create_fixed_size((3, 0), "bfloat16")
    data = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    assert buffers == []
    assert pickle.loads(data) == tensor


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("dynamic", [False, True])
def test_copies_are_deep(make_copy, dynamic):
    for data_type in NUMERIC:
        tensor = filled(data_type, dynamic=dynamic)
        again = make_copy(tensor)
        assert again == tensor
        assert again.is_dynamic == dynamic
        assert address(again) % 64 == 0
        again[0] = 1
        assert tensor[0] == 0
        assert not make_copy(read_only(data_type)).buffer.readonly


def test_deepcopy_remembers():
    tensor = filled("uint8")
    first, second = copy.deepcopy([tensor, tensor])
    assert first is second


def test_subclasses_survive_copy_and_pickle():
    class Named(TensorBuffer):
        pass

    tensor = Named.create_dynamic("uint8")
    assert type(copy.copy(tensor)) is type(copy.deepcopy(tensor)) is Named
    assert type(Named.create_from(tensor, "int8")) is Named


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("data_type", NUMERIC)
def test_convert_gives_a_tensor_buffer_back(dynamic, data_type):
    tensor = filled("float32", dynamic=dynamic)
    result = convert(tensor, data_type)
    assert type(result) is TensorBuffer
    assert (result.shape, result.data_type, result.is_dynamic) == ((2, 3), data_type, dynamic)
    assert list(result) == [0, 1, 0, 1, 0, 1]
    assert address(result) % 64 == 0
    assert not np.shares_memory(result.to_numpy(), tensor.to_numpy())


def test_reading_from_many_threads():
    tensor = TensorBuffer.create_fixed_size((20_000,), "float64")
    tensor.load_array(np.arange(20_000) / 3)
    expected = tensor.get_float_array().tobytes(), tensor.get_int_array().tobytes(), bytes(tensor.buffer)
    wrong = []

    def read():
        for _ in range(20):
            got = tensor.get_float_array().tobytes(), tensor.get_int_array().tobytes(), bytes(copy.copy(tensor).buffer)
            if got != expected or tensor[3] != 1.0 or tensor.get_int_value(9) != 3:
                wrong.append(got)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_ml_dtypes_arrays_stay_themselves():
    assert np.asarray(filled("bfloat16")).dtype == ml_dtypes.bfloat16
    assert np.asarray(filled("float8_e5m2")).dtype == ml_dtypes.float8_e5m2
