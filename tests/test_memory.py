"""Allocation, shape arguments, and buffers held for as long as a view of them lives."""

import array
import ctypes
import gc
import mmap
import sys

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import ShapeError
from tensorbuf.memory import check_shape, empty, pinned, zeros

F4 = np.dtype("float32")


class Index:
    def __index__(self):
        return 3


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (5, (5,)),
        (np.int8(5), (5,)),
        (np.array(5), (5,)),
        (Index(), (3,)),
        ([], ()),
        ((2, np.int64(3)), (2, 3)),
        (np.array([2, 3]), (2, 3)),
        (range(3), (0, 1, 2)),
        ((n for n in (4, Index())), (4, 3)),
        (2**63 - 1, (2**63 - 1,)),
    ],
)
def test_shape_arguments(shape, expected):
    checked = check_shape(shape)
    assert checked == expected
    assert type(checked) is tuple
    assert all(type(size) is int for size in checked)


@pytest.mark.parametrize(
    "shape", [None, "23", b"23", 2.0, True, np.True_, [2.0], [None], [True], ["2"], np.array([2.0]), object()]
)
def test_shape_arguments_of_a_wrong_kind(shape):
    with pytest.raises(TypeError):
        check_shape(shape)


@pytest.mark.parametrize("shape", [-1, (2, -1), (-2, -3), 2**63, (0, 2**70), (1,) * 65])
def test_shapes_that_cannot_be(shape):
    with pytest.raises(ShapeError):
        check_shape(shape)


@pytest.mark.parametrize("allocate", [empty, zeros])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 5), (3, 4), (7, 1, 11), (1000, 3), (2,) * 12, (1,) * 64])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "complex128", ml_dtypes.bfloat16, ">i4"])
def test_allocation(allocate, shape, dtype):
    array_ = allocate(shape, np.dtype(dtype))
    assert array_.shape == shape
    assert array_.dtype == np.dtype(dtype)
    assert array_.ctypes.data % 64 == 0
    assert array_.flags.c_contiguous
    assert array_.flags.aligned
    assert array_.flags.writeable
    array_[...] = 1
    assert (array_ == 1).all()


def test_zeros_are_zero_where_memory_was_used():
    for _ in range(50):
        empty((500,), F4)[...] = 7
        assert not zeros((500,), F4).any()


def test_blocks_of_a_few_bytes_are_as_good_as_others():
    blocks = []
    for size in [*range(260), *range(260)]:
        block = zeros((size,), np.dtype(np.uint8))
        assert block.ctypes.data % 64 == 0
        assert not block.any()
        block[...] = 1 + size % 250
        if size % 3:
            blocks.append(block[size // 2 :])
    for block in blocks:
        size = block.base.size
        assert (block.base == 1 + size % 250).all()


def test_a_view_keeps_the_block():
    view = zeros((1000, 1000), F4)[::2, 1]
    gc.collect()
    view[...] = 5
    assert view.sum() == 2500


def test_objects_start_as_none():
    for allocate in (empty, zeros):
        assert allocate((2, 2), np.dtype(object)).tolist() == [[None, None], [None, None]]


@pytest.mark.parametrize("shape", [(2**62, 2), (2**32, 2**32), (2**61,), (2**61 - 1,), (2**62, 0, 2**62)])
def test_bytes_beyond_63_bits(shape):
    with pytest.raises(ShapeError):
        zeros(shape, F4)


def test_memory_that_does_not_exist():
    with pytest.raises(MemoryError):
        zeros((2**60,), F4)


def owners():
    """Each owner with an attempt to resize or close it."""
    grown = bytearray(range(16))
    typed = array.array("i", range(4))
    mapped = mmap.mmap(-1, 16)
    counted = np.arange(4, dtype="int32")
    return {
        "bytearray": (grown, lambda: grown.append(1)),
        "bytearray cleared": (grown, grown.clear),
        "memoryview": (memoryview(grown), lambda: grown.append(1)),
        "memoryview cast": (memoryview(grown).cast("i", (2, 2)), lambda: grown.append(1)),
        "array": (typed, lambda: typed.append(1)),
        "mmap": (mapped, mapped.close),
        "numpy on a bytearray": (np.ndarray((4,), "int32", grown), lambda: grown.append(1)),
        "bfloat16 on a bytearray": (np.ndarray((8,), ml_dtypes.bfloat16, grown), lambda: grown.append(1)),
        "numpy on a mmap": (np.ndarray((4,), "int32", mapped)[:3], mapped.close),
        "frombuffer": (np.frombuffer(grown, "int32")[1:], lambda: grown.append(1)),
        "numpy": (counted, None),
    }


@pytest.mark.parametrize("name", owners())
def test_the_owner_stays_locked(name):
    owner, change = owners()[name]
    view = pinned(owner)[4:].view("uint16")
    del owner
    if change is not None:
        with pytest.raises(BufferError):
            change()
    view[...] = 258
    assert view.tobytes() == (258).to_bytes(2, sys.byteorder) * view.size
    del view
    if change is not None:
        change()


def test_a_memoryview_cannot_be_released_under_a_view():
    view = memoryview(bytearray(4))
    held = pinned(view)
    with pytest.raises(BufferError):
        view.release()
    assert held.tolist() == [0, 0, 0, 0]


def test_pinned_shares_and_keeps_read_only():
    owner = bytearray(8)
    pinned(owner)[3] = 9
    assert owner[3] == 9
    assert not pinned(bytes(8)).flags.writeable
    assert not pinned(memoryview(owner).toreadonly()).flags.writeable
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    assert not pinned(frozen).flags.writeable


@pytest.mark.parametrize(
    "exporter",
    [
        b"01234567",
        np.zeros((2, 3), "float16"),
        np.float64(1.5),
        np.array(7),
        np.zeros(3, ml_dtypes.float8_e4m3fn),
        np.zeros(3, "datetime64[s]"),
        np.zeros(3, [("a:b", "int32"), ("O", "uint8")]),
        np.zeros(3, ">f4"),
        np.zeros(3, "S5"),
        (ctypes.c_int * 5)(),
        memoryview(bytes(24)).cast("d", (3, 1)),
        b"",
        bytearray(),
    ],
)
def test_the_format_plays_no_part(exporter):
    array_ = pinned(exporter)
    assert array_.dtype == np.uint8
    assert array_.ndim == 1
    assert array_.tobytes() == (exporter if isinstance(exporter, np.ndarray) else memoryview(exporter)).tobytes()


@pytest.mark.parametrize(
    "exporter",
    [
        None,
        "text",
        5,
        [1, 2],
        {},
        np.array([None, 1]),
        np.zeros(2, [("a", object)]),
        ml_dtypes.bfloat16(1),
        (ctypes.py_object * 2)(),
    ],
)
def test_what_exports_no_bytes(exporter):
    with pytest.raises(TypeError):
        pinned(exporter)


def test_what_is_not_c_contiguous():
    owner = bytearray(24)
    whole = np.frombuffer(owner, "uint8").reshape(4, 6)
    for exporter in (whole[:, ::2], whole[::-1], whole.T, memoryview(owner)[::2], memoryview(whole.T)):
        with pytest.raises(ValueError, match="strides"):
            pinned(exporter)


def test_released_and_closed_exporters():
    view = memoryview(b"1234")
    view.release()
    mapped = mmap.mmap(-1, 16)
    mapped.close()
    for exporter in (view, mapped):
        with pytest.raises(ValueError, match="released|closed"):
            pinned(exporter)


def test_a_failed_call_leaves_nothing_locked():
    owner = bytearray(24)
    kept = []
    for make in (lambda: memoryview(owner)[::2], lambda: np.frombuffer(owner, "uint8").reshape(4, 6).T):
        with pytest.raises(ValueError, match="contiguous") as caught:
            pinned(make())
        kept.append(caught)
    owner.append(1)
    assert len(kept) == 2


def test_a_million_bytes_are_given_back():
    owner = bytearray(10**6)
    references = sys.getrefcount(owner)
    for _ in range(1000):
        pinned(owner)
        zeros((10**6,), F4)
    assert sys.getrefcount(owner) == references
