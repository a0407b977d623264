"""TensorBuffer.load_buffer: memory by reference, copy-on-write, the owner's lock and life."""

import array
import copy
import ctypes
import mmap
import pickle

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import DataType, ShapeError, TensorBuffer

NUMERIC = [member for member in DataType if member is not DataType.STRING]


def fixed(shape=(4,), data_type="uint8"):
    return TensorBuffer.create_fixed_size(shape, data_type)


def address(tensor):
    return tensor.to_numpy().ctypes.data


def is_locked(owner):
    try:
        owner.append(0)
    except BufferError:
        return True
    owner.pop()
    return False


def readable(raw):
    """Read-only memory over the bytearray `raw`."""
    return memoryview(raw).toreadonly()


WRITABLE = {
    "bytearray": lambda: bytearray(8),
    "memoryview": lambda: memoryview(bytearray(8)),
    "typed memoryview": lambda: memoryview(bytearray(8)).cast("d"),
    "2-D memoryview": lambda: memoryview(bytearray(8)).cast("B", (2, 4)),
    "array.array": lambda: array.array("h", [0] * 4),
    "mmap": lambda: mmap.mmap(-1, 8),
    "ctypes": lambda: (ctypes.c_int32 * 2)(),
    "numpy": lambda: np.zeros(8, np.uint8),
    "numpy, 2-D": lambda: np.zeros((2, 1), np.float32),
    "numpy, 0-d": lambda: np.zeros((), np.float64),
    "numpy, native order": lambda: np.zeros(4, "=u2"),
    "numpy, one-byte items of the other order": lambda: np.zeros(8, ">i1"),
    "numpy dates": lambda: np.zeros(1, "M8[s]"),
    "numpy records": lambda: np.zeros(1, "i4,f4"),
    "numpy text": lambda: np.zeros(2, "U1"),
    "bfloat16": lambda: np.zeros(4, ml_dtypes.bfloat16),
    "float8": lambda: np.zeros((2, 4), ml_dtypes.float8_e4m3fn),
    "buffer of another": lambda: fixed((8,)).buffer,
    "another TensorBuffer": lambda: fixed((2,), "int32"),
    "another TensorBuffer of bfloat16": lambda: fixed((4,), "bfloat16"),
    "NdArray": lambda: tensorbuf.NdArray(np.zeros((2, 2), np.int16)),
    "NdArray of bfloat16": lambda: tensorbuf.NdArray(np.zeros((2, 2), ml_dtypes.bfloat16)),
}


def bytes_of(owner):
    """The bytes of any owner in WRITABLE."""
    if isinstance(owner, tensorbuf.NdArray | TensorBuffer):
        owner = owner.to_numpy()
    return owner.tobytes() if isinstance(owner, np.ndarray) else bytes(memoryview(owner))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", WRITABLE)
def test_writable_memory_is_shared_both_ways(kind, dynamic):
    owner = WRITABLE[kind]()
    tensor = TensorBuffer.create_dynamic("uint16") if dynamic else fixed((2, 2), "uint16")
    assert tensor.load_buffer(owner, (2, 2)) is None
    assert tensor.shape == (2, 2)
    tensor[3] = 0xFFFF
    assert bytes_of(owner) == bytes(6) + b"\xff\xff"
    tensor.load_array([1, 1, 1, 1])
    assert bytes_of(owner) == np.ones(4, np.uint16).tobytes()
    tensor.to_numpy()[...] = 2
    assert bytes_of(owner) == np.full(4, 2, np.uint16).tobytes()
    tensor.buffer[:] = bytes(8)
    assert bytes_of(owner) == bytes(8)


def test_writes_of_the_owner_are_seen_by_every_getter():
    owner = np.zeros(2, np.float32)
    tensor = fixed((2,), "float32")
    tensor.load_buffer(owner)
    owner[1] = 7.5
    assert tensor[1] == 7.5
    assert tensor.get_float_array().tolist() == [0.0, 7.5]
    assert tensor.get_int_array().tolist() == [0, 7]
    assert (tensor.get_float_value(1), tensor.get_int_value(1)) == (7.5, 7)
    assert list(tensor) == [0.0, 7.5]


def test_two_buffers_may_reference_one_owner():
    owner = bytearray(4)
    first, second = fixed(), fixed((1,), "float32")
    first.load_buffer(owner)
    second.load_buffer(owner)
    second[0] = 1.0
    assert bytes(first.buffer) == np.float32(1).tobytes() == owner


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_misaligned_memory_works_for_every_method(data_type, start):
    raw = bytearray(data_type.byte_size * 70 + start)
    tensor = TensorBuffer.create_dynamic(data_type)
    tensor.load_buffer(memoryview(raw)[start:], (70,))
    tensor.load_array([0, 1] * 35)
    tensor[0] = 1
    tensor[-1] = 0
    expected = [1, *[1, 0] * 34, 0]
    assert list(tensor) == expected
    assert raw[start:] == np.array(expected).astype(tensor.dtype).tobytes()
    if not data_type.is_complex:
        assert tensor.get_float_array().tolist() == expected
        assert tensor.get_int_array().tolist() == expected
        assert (tensor.get_float_value(1), tensor.get_int_value(68)) == (1.0, 0)
        assert np.from_dlpack(TensorBuffer.create_from(tensor, "int8")).tolist() == expected
    assert tensor == copy.copy(tensor) == pickle.loads(pickle.dumps(tensor, 5))
    assert TensorBuffer.create_from(tensor, "complex128").to_numpy().tolist() == expected
    assert data_type.name in repr(tensor)


READ_ONLY = {
    "bytes": lambda raw: bytes(raw),
    "ShapedArray": lambda raw: tensorbuf.ShapedArray(raw),
    "memoryview": lambda raw: readable(raw),
    "numpy": lambda raw: np.frombuffer(readable(raw), np.uint8),
    "numpy flag": lambda raw: np.lib.stride_tricks.as_strided(np.frombuffer(raw, np.uint8), writeable=False),
}
FIRST_WRITES = {
    "load_array": lambda tensor: tensor.load_array([9, 2, 3, 4]),
    "item": lambda tensor: tensor.__setitem__(0, 9),
    "negative item": lambda tensor: tensor.__setitem__(-4, 9),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("write", FIRST_WRITES)
@pytest.mark.parametrize("kind", READ_ONLY)
def test_read_only_memory_is_copied_on_the_first_write(kind, write, dynamic):
    raw = bytearray([1, 2, 3, 4])
    owner = READ_ONLY[kind](raw)
    tensor = TensorBuffer.create_dynamic("uint8") if dynamic else fixed()
    tensor.load_buffer(owner, (4,))
    assert tensor.buffer.readonly
    assert memoryview(tensor).readonly
    assert not tensor.to_numpy().flags.writeable
    views = [tensor.to_numpy(), tensor.buffer, memoryview(tensor)]
    FIRST_WRITES[write](tensor)
    assert list(tensor) == [9, 2, 3, 4]
    assert bytes(owner) == bytes(raw) == bytes([1, 2, 3, 4])
    assert all(bytes(view) == bytes([1, 2, 3, 4]) for view in views)
    assert not tensor.buffer.readonly
    assert tensor.to_numpy().flags.writeable
    assert address(tensor) % 64 == 0
    where = address(tensor)
    FIRST_WRITES[write](tensor)
    assert address(tensor) == where
    del owner
    views.clear()
    assert not is_locked(raw)


def test_writing_refuses_read_only_views():
    tensor = fixed()
    tensor.load_buffer(b"1234")
    with pytest.raises(TypeError):
        tensor.buffer[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        tensor.to_numpy()[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        tensor.to_numpy().flags.writeable = True
    assert bytes(tensor.buffer) == b"1234"


def test_a_frozen_view_of_ours_does_not_freeze_the_buffer():
    tensor = fixed()
    tensor.to_numpy().flags.writeable = False
    tensor[0] = 1
    assert (tensor[0], tensor.shape, tensor.buffer.readonly) == (1, (4,), False)


def test_changes_underneath_read_only_memory_are_seen_until_the_copy():
    raw = bytearray(4)
    tensor = fixed()
    tensor.load_buffer(readable(raw))
    raw[0] = 5
    assert tensor[0] == 5
    tensor[1] = 6
    raw[0] = 7
    assert list(tensor) == [5, 6, 0, 0]


def test_reading_never_copies():
    tensor = fixed((2,), "float32")
    tensor.load_buffer(np.float32([1, 2]).tobytes())
    where = address(tensor)
    copy.copy(tensor), copy.deepcopy(tensor), repr(tensor), list(tensor), tensor[0]
    tensor.get_float_array(), tensor.get_int_array(), tensor.get_float_value(0), tensor.get_int_value(1)
    for protocol in range(2, 6):
        pickle.dumps(tensor, protocol)
    assert tensor == TensorBuffer.create_from(tensor, "float32")
    np.asarray(tensor), np.array(tensor), memoryview(tensor), tensor.to_numpy(copy=True)
    assert address(tensor) == where
    assert tensor.buffer.readonly


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda t: t.load_array([1, 2, 3]), ShapeError),
        (lambda t: t.load_array([1, 2, 3, 4], (2, 2)), ShapeError),
        (lambda t: t.load_array(None), TypeError),
        (lambda t: t.load_array([1, 2, 3, 1j]), TypeError),
        (lambda t: t.load_array(np.zeros(4, complex)), TypeError),
        (lambda t: t.__setitem__(4, 1), IndexError),
        (lambda t: t.__setitem__(0, "1"), TypeError),
        (lambda t: t.__setitem__(0, 1j), TypeError),
        (lambda t: t.load_buffer(bytes(3)), ShapeError),
        (lambda t: t.load_buffer(None), TypeError),
    ],
)
def test_a_failed_write_does_not_copy(write, error):
    raw = bytearray(4)
    tensor = fixed()
    tensor.load_buffer(readable(raw))
    where = address(tensor)
    with pytest.raises(error):
        write(tensor)
    assert address(tensor) == where
    assert tensor.buffer.readonly
    assert is_locked(raw)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("length", "shape"), [(3, (4,)), (5, (4,)), (0, (4,)), (4, (2, 3)), (4, (0,)), (1, (2**40,))])
def test_byte_lengths_must_agree(length, shape, dynamic):
    tensor = TensorBuffer.create_dynamic("uint8") if dynamic else fixed(shape if shape != (2**40,) else (4,))
    before = tensor.shape
    owner = bytearray(length)
    with pytest.raises(ShapeError, match=str(length)):
        tensor.load_buffer(owner, shape if dynamic else tensor.shape)
    assert tensor.shape == before
    assert not is_locked(owner)


def test_the_message_gives_both_numbers_of_bytes():
    with pytest.raises(ShapeError, match=r"24.*10"):
        fixed((2, 3), "float32").load_buffer(bytes(10))


def test_fixed_buffers_keep_their_shape():
    tensor = fixed((2, 3))
    for shape in ((6,), (3, 2), (2, 3, 1), ()):
        with pytest.raises(ShapeError, match=r"\(2, 3\)"):
            tensor.load_buffer(bytes(6), shape)
    tensor.load_buffer(bytes(range(6)), [2, 3])
    assert list(tensor) == [0, 1, 2, 3, 4, 5]


def test_without_shape_dynamic_buffers_keep_theirs():
    tensor = TensorBuffer.create_dynamic("int16")
    tensor.load_buffer(b"")
    assert tensor.shape == (0,)
    with pytest.raises(ShapeError):
        tensor.load_buffer(bytes(2))
    tensor.load_buffer(bytes(8), (2, 2))
    tensor.load_buffer(bytes([1, 0] * 4))
    assert tensor.to_numpy().tolist() == np.frombuffer(bytes([1, 0] * 4), np.int16).reshape(2, 2).tolist()
    tensor.load_buffer(b"", (3, 0))
    assert (tensor.shape, tensor.flat_size) == ((3, 0), 0)


@pytest.mark.parametrize(
    "strided",
    [
        memoryview(bytes(8))[::2],
        memoryview(bytes(4))[::-1],
        np.zeros(8, np.uint8)[::2],
        np.asfortranarray(np.zeros((2, 2), np.uint8)),
        np.broadcast_to(np.uint8(1), (4,)),
        np.zeros(8, ml_dtypes.float8_e5m2)[::-2],
        memoryview(np.zeros((2, 4), np.uint8)[:, ::2]),
        tensorbuf.NdArray(np.zeros(8, np.uint8))[::2],
    ],
)
def test_memory_must_be_c_contiguous(strided):
    tensor = fixed()
    with pytest.raises(ValueError, match=r"strides?\b.*\d"):
        tensor.load_buffer(strided)
    assert bytes(tensor.buffer) == bytes(4)


def test_not_contiguous_is_no_shape_error():
    with pytest.raises(ValueError, match="strides") as caught:
        fixed().load_buffer(memoryview(bytes(8))[::2])
    assert not isinstance(caught.value, ShapeError)


SWAPPED = np.dtype("f4").newbyteorder()


@pytest.mark.parametrize(
    "swapped",
    [
        np.zeros(2, SWAPPED),
        np.zeros(4, np.dtype("u2").newbyteorder()),
        np.zeros(1, np.dtype("c8").newbyteorder()),
        np.zeros(1, np.dtype("M8[s]").newbyteorder()),
        np.zeros(1, [("x", SWAPPED), ("y", "u4")]),
        memoryview(np.zeros(2, SWAPPED)),
        (ctypes.c_float.__ctype_be__ if np.little_endian else ctypes.c_float.__ctype_le__)(1.0),
    ],
)
@pytest.mark.parametrize("data_type", ["uint8", "float32"])
def test_the_other_byte_order_is_refused(swapped, data_type):
    size = np.asarray(swapped).nbytes
    tensor = TensorBuffer.create_dynamic(data_type)
    with pytest.raises(ValueError, match="byte order") as caught:
        tensor.load_buffer(swapped, (size // tensor.type_size,))
    assert not isinstance(caught.value, ShapeError)
    tensor.load_buffer(np.frombuffer(swapped, np.uint8), (size // tensor.type_size,))


def test_raw_bytes_of_swapped_memory_are_taken_and_load_array_swaps():
    swapped = np.zeros(2, SWAPPED)
    swapped[:] = [1, 2]
    tensor = fixed((2,), "float32")
    tensor.load_buffer(swapped.view(np.uint8))
    assert bytes(tensor.buffer) == swapped.tobytes()
    tensor.load_array(swapped)
    assert bytes(tensor.buffer) == np.float32([1, 2]).tobytes()


@pytest.mark.parametrize(
    "wrong", [None, [1, 2, 3, 4], (1, 2), "1234", 4, 1.5, {}, object(), np.array([1, "a"], object), np.zeros(2, "O,f4")]
)
def test_what_is_no_buffer(wrong):
    tensor = fixed()
    with pytest.raises(TypeError):
        tensor.load_buffer(wrong)
    assert bytes(tensor.buffer) == bytes(4)


def test_a_released_memoryview_is_refused():
    view = memoryview(bytearray(4))
    view.release()
    with pytest.raises(ValueError, match="released"):
        fixed().load_buffer(view)
