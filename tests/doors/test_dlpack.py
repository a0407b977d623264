"""DLPack both ways, with numpy as the partner."""

import ctypes
import gc
import sys

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import DataType, NdArray, ShapedArray, TensorBuffer, from_dlpack, from_memory, frombuffer, index
from tensorbuf.doors import dlpack

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]
KNOWN_TO_NUMPY = [kind for kind in NUMERIC if kind.value not in ("bfloat16", "float8_e4m3fn", "float8_e5m2")]
CODES = {
    "bool": (6, 8), "int8": (0, 8), "uint8": (1, 8), "int16": (0, 16), "uint16": (1, 16), "int32": (0, 32),
    "uint32": (1, 32), "int64": (0, 64), "uint64": (1, 64), "float16": (2, 16), "bfloat16": (4, 16),
    "float32": (2, 32), "float64": (2, 64),
    "complex64": (5, 64), "complex128": (5, 128), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
}  # fmt: skip


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]  # fmt: skip


def struct_of(capsule, kind, name):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(pointer(capsule, name))


def versioned(x, **how):
    """The capsule, to be kept, and its struct."""
    capsule = x.__dlpack__(max_version=(1, 0), **how)
    return capsule, struct_of(capsule, Versioned, b"dltensor_versioned")


class Exporting:
    """Passes the capsules of `inner` on, in the way of an exporter before or since DLPack 1."""

    def __init__(self, inner, *, old=False, device=(1, 0)):
        self.inner, self.old, self.device = inner, old, device

    def __dlpack__(self, **how):
        if self.old and how:
            raise TypeError("unexpected keyword")
        return self.inner.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("kind", NUMERIC)
def test_the_struct_of_every_type(kind):
    array = np.ones((3, 4), kind.numpy_dtype)[::2]
    capsule, struct = versioned(NdArray(array))
    tensor = struct.tensor
    assert struct.major == 1
    assert (tensor.code, tensor.bits, tensor.lanes) == (*CODES[kind.value], 1)
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (1, 0, 2)
    assert tensor.data + tensor.byte_offset == array.ctypes.data
    assert tensor.shape[:2] == [2, 4]
    assert tensor.strides[:2] == [8, 1]
    assert struct.flags == 0
    plain = NdArray(array).__dlpack__()
    assert struct_of(plain, Plain, b"dltensor").tensor.strides[:2] == [8, 1]
    back = from_dlpack(NdArray(array))
    assert back.dtype == array.dtype
    assert np.shares_memory(back.to_numpy(), array)
    assert back.to_numpy().tobytes() == array.tobytes()
    del capsule


@pytest.mark.parametrize("kind", KNOWN_TO_NUMPY)
def test_numpy_as_the_partner(kind):
    array = np.ones((2, 3), kind.numpy_dtype)
    for facade in (NdArray(array), frombuffer(array.copy(), dtype=kind)):
        there = np.from_dlpack(facade)
        assert there.dtype == array.dtype
        assert np.shares_memory(there, facade.to_numpy())
    here = from_dlpack(array)
    assert np.shares_memory(here.to_numpy(), array)
    assert here.dtype == array.dtype


def test_flags():
    array = np.zeros(4)
    frozen = array.view()
    frozen.flags.writeable = False
    assert versioned(NdArray(array))[1].flags == 0
    assert versioned(NdArray(frozen))[1].flags == 1
    assert versioned(NdArray(array), copy=True)[1].flags == 2
    assert versioned(NdArray(frozen), copy=True)[1].flags == 2
    assert versioned(NdArray(array[::-1]))[1].flags == 2
    assert versioned(NdArray(array).slice(index.seq(3, 0, 1)))[1].flags == 2


def test_read_only_stays_read_only():
    owner = b"12345678"
    for facade in (frombuffer(owner, dtype="int32"), ShapedArray([1, 2])):
        there = np.from_dlpack(facade)
        assert not there.flags.writeable
        assert from_dlpack(facade).read_only
        with pytest.raises(BufferError, match="read-only"):
            facade.__dlpack__()
        with pytest.raises(BufferError, match="read-only"):
            facade.__dlpack__(max_version=(0, 8))
        assert not from_dlpack(facade, copy=True).read_only
        facade.__dlpack__(copy=True)


STRANGE = {
    "backward": lambda array: array[::-1],
    "misaligned": lambda array: np.frombuffer(b"0" + array.tobytes(), array.dtype, offset=1),
    "byte-swapped": lambda array: array.astype(array.dtype.newbyteorder("S")),
    "odd strides": lambda array: np.ndarray(3, "complex64", bytearray(100), strides=(12,)),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_goes_out_as_a_copy(name):
    array = STRANGE[name](np.arange(4, dtype="int32"))
    facade = NdArray(array)
    with pytest.raises(BufferError, match="copy"):
        facade.__dlpack__(copy=False, max_version=(1, 0))
    capsule, struct = versioned(facade)
    assert struct.flags == 2
    assert struct.tensor.data % 64 == 0
    there = np.from_dlpack(facade)
    assert (there == array).all()
    assert not np.shares_memory(there, array)
    with pytest.raises(BufferError):
        from_dlpack(facade, copy=False)
    del capsule


def test_index_tables_go_out_as_copies():
    view = NdArray([1, 2, 3]).slice(index.seq(2, 0))
    assert np.from_dlpack(view).tolist() == [3, 1]
    with pytest.raises(BufferError, match="copy"):
        view.__dlpack__(copy=False)


@pytest.mark.parametrize(
    ("array", "strides"),
    [
        (np.zeros((3, 1, 4))[:, ::-1], [4, 4, 1]),
        (np.zeros((1, 5))[::-1], [5, 1]),
        (np.zeros((2, 6))[:, ::6], [6, 1]),
        (np.zeros((3, 4)).T, [1, 4]),
        (np.broadcast_to(np.zeros(4), (3, 4)), [0, 1]),
        (np.zeros((1, 1, 1)), [1, 1, 1]),
        (np.zeros(()), []),
    ],
)
def test_strides(array, strides):
    capsule, struct = versioned(NdArray(array))
    assert struct.tensor.strides[: array.ndim] == strides
    assert struct.tensor.data == array.ctypes.data
    del capsule


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 32])
def test_scalars_and_empty_arrays(shape):
    array = np.zeros(shape, "float32")
    assert np.from_dlpack(NdArray(array)).shape == shape
    assert from_dlpack(NdArray(array)).shape == shape


def test_arguments():
    facade = NdArray([1, 2])
    assert facade.__dlpack_device__() == (1, 0)
    facade.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="device"):
        facade.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream"):
        facade.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="objects"):
        NdArray(["a"]).__dlpack__()
    with pytest.raises(TypeError):
        facade.__dlpack__(None)


def test_every_facade_exports():
    buffer = TensorBuffer.create_fixed_size((2, 2), "bfloat16")
    shaped = ShapedArray([[1.0, 2.0], [3.0, 4.0]])
    for facade in (buffer, shaped, shaped[0]):
        back = from_dlpack(facade)
        assert back.dtype == facade.dtype
        assert back.shape == facade.shape
    assert np.from_dlpack(shaped).tolist() == [[1, 2], [3, 4]]


def test_imported_unversioned_memory_is_read_only():
    array = np.arange(3)
    here = from_dlpack(Exporting(array, old=True))
    assert here.read_only
    assert np.shares_memory(here.to_numpy(), array)
    assert not from_dlpack(Exporting(array)).read_only
    assert not from_dlpack(Exporting(array, old=True), copy=True).read_only


def test_import_copies_on_request():
    array = np.arange(5, dtype="int16")[::2]
    here = from_dlpack(array, copy=True)
    assert here.tolist() == [0, 2, 4]
    assert not np.shares_memory(here.to_numpy(), array)
    assert here.to_numpy().ctypes.data % 64 == 0
    assert np.shares_memory(from_dlpack(array, copy=False).to_numpy(), array)


@pytest.mark.parametrize("x", [None, [1], "text", 5, bytearray(4), object(), NdArray])
def test_what_does_not_speak_dlpack(x):
    with pytest.raises(TypeError):
        from_dlpack(x)


def test_other_devices_and_types():
    with pytest.raises(BufferError, match="device"):
        from_dlpack(Exporting(np.zeros(3), device=(2, 0)))
    for field, value, error in [
        ("lanes", 4, TypeError), ("code", 99, TypeError), ("bits", 24, TypeError), ("device_type", 2, BufferError),
        ("ndim", 99, BufferError), ("ndim", -1, BufferError),
    ]:  # fmt: skip
        capsule, struct = versioned(NdArray(np.zeros(3)))
        setattr(struct.tensor, field, value)
        with pytest.raises(error):
            dlpack.memory_of(Handing(capsule))
    capsule, struct = versioned(NdArray(np.zeros(3)))
    struct.major = 2
    with pytest.raises(BufferError, match="DLPack 2"):
        dlpack.memory_of(Handing(capsule))


class Handing:
    """Hands out one capsule again and again."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **how):
        return self.capsule


def test_strides_may_be_left_out():
    array = np.arange(6.0).reshape(2, 3)
    capsule, struct = versioned(NdArray(array))
    struct.tensor.strides = None
    assert dlpack.memory_of(Handing(capsule)).tolist() == array.tolist()


def test_a_byte_offset_is_added():
    array = np.arange(6, dtype="int16")
    capsule, struct = versioned(NdArray(array))
    struct.tensor.byte_offset = 4
    struct.tensor.shape[0] = 4
    assert dlpack.memory_of(Handing(capsule)).tolist() == [2, 3, 4, 5]


def test_a_capsule_is_used_once():
    handing = Handing(NdArray(np.zeros(3)).__dlpack__())
    dlpack.memory_of(handing)
    for used in (handing, Handing(None), Handing(5)):
        with pytest.raises(TypeError, match="capsule"):
            dlpack.memory_of(used)


def test_the_owner_stays_locked_while_a_capsule_lives():
    owner = bytearray(16)
    for make in (
        lambda x: x.__dlpack__(),
        lambda x: x.__dlpack__(max_version=(1, 0)),
        np.from_dlpack,
        from_dlpack,
        lambda x: from_memory(owner, (2, 2), "uint8", row_stride=3).__dlpack__(),
    ):
        held = make(frombuffer(owner, dtype="int32"))
        gc.collect()
        with pytest.raises(BufferError):
            owner.append(1)
        del held
        gc.collect()
        owner.append(1)
        owner.pop()


def test_references_balance():
    array = np.zeros(3, ml_dtypes.bfloat16)
    facade = NdArray(array)
    before = sys.getrefcount(facade._array)
    for _ in range(1000):
        facade.__dlpack__()
        facade.__dlpack__(max_version=(1, 1))
        from_dlpack(facade)
        from_dlpack(Exporting(facade, old=True))
    after = sys.getrefcount(facade._array)
    assert after == before


@pytest.mark.parametrize("value", [(), (1,), (1, 0, 0), 1, "ab", (1.0, 0), (None, 0)])
def test_versions_and_devices_are_pairs_of_ints(value):
    for name in ("max_version", "dl_device"):
        with pytest.raises(TypeError, match=name):
            NdArray([1]).__dlpack__(**{name: value})
