"""frombuffer and from_memory: every condition in its order, what is shared, and how long the owner stays locked."""

import array
import ctypes
import gc
import mmap
import operator
import sys
from multiprocessing import shared_memory

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import DataType, IntNdArray, NdArray, ReadOnlyError, ShapeError, from_memory, frombuffer

INT = np.dtype("int32")
SWAPPED = INT.newbyteorder("S")
NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def sixteen():
    return bytearray(range(16))


@pytest.mark.parametrize(
    ("count", "offset", "size"),
    [
        (-1, 0, 4), (-2, 0, 4), (-99, 0, 4), (-(2**70), 0, 4), (4, 0, 4), (1, 0, 1), (3, 1, 3), (1, 12, 1), (-1, 12, 1),
        (-1, 16, 0), (-7, 16, 0), (np.int64(2), Index(4), 2), (Index(-1), np.uint8(8), 2),
    ],
)  # fmt: skip
def test_counts_and_offsets(count, offset, size):
    owner = sixteen()
    result = frombuffer(owner, dtype="int32", count=count, offset=offset)
    assert type(result) is IntNdArray
    assert result.shape == (size,)
    start = operator.index(offset)
    assert result.to_numpy().tobytes() == bytes(owner[start : start + 4 * size])
    assert np.shares_memory(result.to_numpy(), np.frombuffer(owner, "uint8")) or size == 0


def test_an_empty_buffer():
    assert frombuffer(bytearray(), dtype="int32").shape == (0,)
    assert frombuffer(b"", dtype="float64", count=-5).shape == (0,)


@pytest.mark.parametrize(
    ("buffer", "count", "offset", "numbers"),
    [
        (bytearray(), -1, 5, ["5", "0"]),
        (sixteen(), -1, 17, ["17", "16"]),
        (sixteen(), -1, -1, ["-1", "16"]),
        (sixteen(), -1, 2**63 - 1, [str(2**63 - 1), "16"]),
        (sixteen(), -1, 2**70, [str(2**70), "16"]),
        (sixteen(), -1, -(2**70), ["16"]),
        (sixteen(), 3, 17, ["17", "16"]),
        (sixteen(), 0, 0, ["count"]),
        (sixteen(), 0, 99, ["count"]),
        (bytearray(), 0, 0, ["count"]),
        (sixteen(), -1, 15, ["1", "15", "16", "4"]),
        (sixteen(), -1, 1, ["15", "1", "16", "4"]),
        (sixteen(), -99, 2, ["14", "2", "16", "4"]),
        (sixteen(), 1, 16, ["1", "4", "16"]),
        (bytearray(), 3, 0, ["3", "12", "0"]),
        (sixteen(), 4, 1, ["4", "16", "1", "15", "3"]),
        (sixteen(), 5, 0, ["5", "20", "16"]),
        (sixteen(), 2**62, 0, [str(2**62), "16"]),
        (sixteen(), 2**62 + 1, 0, [str(2**62 + 1), "16"]),
        (sixteen(), 2**63 - 1, 0, [str(2**63 - 1), "16"]),
        (sixteen(), 2**100, 0, [str(2**100), "16"]),
    ],
)
def test_what_does_not_fit(buffer, count, offset, numbers):
    with pytest.raises(ValueError, match="count|offset|multiple") as caught:
        frombuffer(buffer, dtype="int32", count=count, offset=offset)
    assert all(number in str(caught.value) for number in numbers)


@pytest.mark.parametrize(
    "dtype", [None, "string", object, DataType.STRING, "text", 7, np.dtype("M8[s]"), [], np.dtype("i4,i4")]
)
def test_dtypes_that_are_none(dtype):
    with pytest.raises(TypeError):
        frombuffer(sixteen(), dtype=dtype)
    with pytest.raises(TypeError):
        from_memory(sixteen(), 4, dtype)


def test_arguments_by_keyword_only():
    with pytest.raises(TypeError):
        frombuffer(sixteen(), "int32")
    with pytest.raises(TypeError):
        frombuffer(sixteen())


@pytest.mark.parametrize("wrong", [None, 1.0, "1", True, np.bool(True), [1], np.float32(1)])
@pytest.mark.parametrize("name", ["count", "offset"])
def test_counts_and_offsets_of_a_wrong_kind(name, wrong):
    with pytest.raises(TypeError, match=name):
        frombuffer(sixteen(), dtype="int32", **{name: wrong})


@pytest.mark.parametrize(
    "buffer",
    [None, "text", [1, 2, 3, 4], 5, np.array([None, 1]), (ctypes.py_object * 2)(), ml_dtypes.bfloat16(1), object()],
)
def test_what_exports_no_bytes(buffer):
    for make in (lambda: frombuffer(buffer, dtype="uint8"), lambda: from_memory(buffer, 1, "uint8")):
        with pytest.raises(TypeError):
            make()


def test_what_is_not_contiguous():
    whole = np.zeros((4, 6), "uint8")
    for buffer in (whole[:, ::2], whole[::-1], whole.T, memoryview(b"1234")[::2], NdArray._wrap(whole.T)):
        with pytest.raises(ValueError, match="contiguous"):
            frombuffer(buffer, dtype="uint8")
    view = memoryview(b"1234")
    view.release()
    with pytest.raises(ValueError, match="released"):
        frombuffer(view, dtype="uint8")


def test_the_order_of_the_checks():
    swapped = np.zeros(3, SWAPPED)
    with pytest.raises(ValueError, match="byte order"):
        frombuffer(swapped, dtype="int32", count=0)
    with pytest.raises(ValueError, match="contiguous"):
        frombuffer(swapped[::2], dtype="int32")
    with pytest.raises(ValueError, match="count"):
        frombuffer(sixteen(), dtype="int32", count=0, offset=-1, requires_grad=True)
    with pytest.raises(ValueError, match="offset"):
        frombuffer(sixteen(), dtype="int32", count=99, offset=99, requires_grad=True)
    with pytest.raises(TypeError, match="count"):
        frombuffer(None, dtype="int32", count=None)
    with pytest.raises(TypeError, match="bytes-like"):
        frombuffer([], dtype="int32", count=0)


def test_the_other_byte_order():
    values = np.array([1, 2], SWAPPED)
    name = SWAPPED.str
    big = type(
        "Big",
        (ctypes.BigEndianStructure if sys.byteorder == "little" else ctypes.LittleEndianStructure,),
        {"_fields_": [("a", ctypes.c_int32)]},
    )
    for buffer in (values, memoryview(values), big(1), np.zeros(2, [("a", SWAPPED)])):
        with pytest.raises(ValueError, match=f'dtype="{name}"'):
            frombuffer(buffer, dtype="int32")
        with pytest.raises(ValueError, match="byte order"):
            from_memory(buffer, 1, "int32")
        frombuffer(buffer, dtype="uint8")
        frombuffer(buffer, dtype="bool")
    with pytest.raises(ValueError, match="swap its bytes"):
        frombuffer(values, dtype="bfloat16")
    assert frombuffer(values, dtype=name).tolist() == [1, 2]
    assert frombuffer(values.tobytes(), dtype=name).tolist() == [1, 2]
    assert frombuffer(values, dtype="uint8").tolist() == list(values.tobytes())
    assert frombuffer(np.zeros(2, [("a>b", "int32")]), dtype="int32").tolist() == [0, 0]


@pytest.mark.parametrize(
    "buffer",
    [
        array.array("b", [1, 0, 0, 0]), np.zeros((2, 3), "float64"), (ctypes.c_double * 2)(), mmap.mmap(-1, 16),
        np.float64(1),
        memoryview(bytes(24)).cast("d", (3, 1)), np.array(7, "int64"), np.zeros(3, "S4"), np.zeros(3, "M8[s]"),
        np.zeros(8, ml_dtypes.bfloat16), NdArray._wrap(np.zeros(8, ml_dtypes.bfloat16)), NdArray._wrap(np.zeros(2)),
        np.zeros(1, "i4,f8"), array.array("u", "abcd") if sys.version_info < (3, 13) else array.array("w", "abcd"),
    ],
)  # fmt: skip
def test_the_format_of_the_buffer_plays_no_part(buffer):
    result = frombuffer(buffer, dtype="uint8")
    raw = (
        buffer.tobytes()
        if isinstance(buffer, np.ndarray)
        else np.asarray(buffer).tobytes()
        if isinstance(buffer, NdArray)
        else memoryview(buffer).tobytes()
    )
    assert result.to_numpy().tobytes() == raw


@pytest.mark.parametrize("kind", NUMERIC)
def test_every_dtype(kind):
    owner = sixteen()
    result = frombuffer(owner, dtype=kind)
    assert result.dtype == kind.numpy_dtype
    assert result.shape == (16 // kind.byte_size,)
    assert result.to_numpy().tobytes() == bytes(owner)
    assert not result.requires_grad


def test_any_byte_is_a_bool():
    assert frombuffer(b"\x00\x01\x02\xff", dtype="bool").tolist() == [False, True, True, True]


def test_writes_reach_the_owner_and_back():
    owner = array.array("i", [1, 2, 3])
    result = frombuffer(owner, dtype="int32")
    result[0] = -1
    assert owner.tolist() == [-1, 2, 3]
    owner[2] = 9
    assert result.tolist() == [-1, 2, 9]
    assert frombuffer(array.array("b", [-1, 0, 0, 0]), dtype="<i4").tolist() == [255]


def test_read_only_stays_read_only():
    for buffer in (b"12345678", memoryview(sixteen()).toreadonly()):
        result = frombuffer(buffer, dtype="int32")
        assert result.read_only
        with pytest.raises(ReadOnlyError):
            result[0] = 1
        assert memoryview(result).readonly
        exported = result.to_numpy()
        assert not exported.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE|writeable"):
            exported.flags.writeable = True


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "float8_e5m2"])
def test_requires_grad(dtype):
    assert frombuffer(sixteen(), dtype=dtype, requires_grad=True).requires_grad
    with pytest.raises(AttributeError):
        frombuffer(sixteen(), dtype=dtype, requires_grad=True).requires_grad = False


@pytest.mark.parametrize("dtype", ["int32", "bool", "uint8"])
def test_integers_have_no_gradient(dtype):
    with pytest.raises(TypeError, match=dtype):
        frombuffer(sixteen(), dtype=dtype, requires_grad=True)


def owners():
    """Each owner with its bytes-like object, and with an attempt to resize or close it."""
    plain, viewed, cast = sixteen(), sixteen(), sixteen()
    typed = array.array("i", range(4))
    mapped = mmap.mmap(-1, 16)
    return {
        "bytearray": (plain, lambda: plain.append(1)),
        "array": (typed, lambda: typed.append(1)),
        "mmap": (mapped, mapped.close),
        "memoryview": (memoryview(viewed)[4:], viewed.clear),
        "memoryview cast": (memoryview(cast).cast("d"), cast.clear),
    }


VIEWS = {
    "itself": lambda x: x,
    "slice": lambda x: x[1:],
    "numpy": lambda x: x.to_numpy()[::-1],
    "asarray": np.asarray,
    "memoryview": memoryview,
    "bitcast by numpy": lambda x: x.to_numpy().view("uint8")[2:],
    "frombuffer again": lambda x: frombuffer(x, dtype="uint8", offset=3),
    "from_memory again": lambda x: from_memory(x, (2, 2), "uint8", row_stride=4),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", owners())
def test_the_owner_is_locked_by_every_view(name, view):
    buffer, change = owners()[name]
    held = VIEWS[view](frombuffer(buffer, dtype="int32"))
    if isinstance(buffer, memoryview):
        with pytest.raises(BufferError):
            buffer.release()
    del buffer
    gc.collect()
    with pytest.raises(BufferError):
        change()
    del held
    gc.collect()
    change()


def test_shared_memory_cannot_be_closed():
    memory = shared_memory.SharedMemory(create=True, size=16)
    try:
        view = frombuffer(memory.buf, dtype="float32")
        with pytest.raises(BufferError):
            memory.close()
        view[0] = 1.5
        assert view.tolist()[0] == 1.5
        del view
        memory.close()
    finally:
        memory.unlink()


FAILURES = {
    "count": {"dtype": "int32", "count": 99},
    "count 0": {"dtype": "int32", "count": 0},
    "offset": {"dtype": "int32", "offset": 99},
    "rest": {"dtype": "int32", "offset": 1},
    "grad": {"dtype": "int32", "requires_grad": True},
    "kind": {"dtype": "int32", "count": 1.5},
    "dtype": {"dtype": "text"},
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_call_locks_nothing_while_its_exception_lives(name):
    owner = sixteen()
    kept = []
    for make in (lambda: owner, lambda: memoryview(owner), lambda: memoryview(owner).cast("i")):
        try:
            frombuffer(make(), **FAILURES[name])
        except (TypeError, ValueError) as error:
            kept.append(error)
    try:
        frombuffer(memoryview(owner)[::2], dtype="int32")
    except ValueError as error:
        kept.append(error)
    for shape, how in [((99, 99), {}), ((2, 2), {"row_stride": 1}), ((1,), {"offset": 99}), (-1, {})]:
        try:
            from_memory(memoryview(owner), shape, "int32", **how)
        except ValueError as error:
            kept.append(error)
    assert len(kept) == 8
    owner.append(1)


def test_rows_that_are_padded():
    frame = bytes(range(23))
    rows = from_memory(frame, (3, 5), "uint8", offset=2, row_stride=8)
    assert rows.tolist() == [[2, 3, 4, 5, 6], [10, 11, 12, 13, 14], [18, 19, 20, 21, 22]]
    assert rows.read_only
    with pytest.raises(ShapeError, match=r"23.*22"):
        from_memory(frame[:-1], (3, 5), "uint8", offset=2, row_stride=8)
    with pytest.raises(ShapeError, match=r"4.*5"):
        from_memory(frame, (3, 5), "uint8", row_stride=4)


def test_rows_of_any_rank_and_alignment():
    owner = bytearray(range(100))
    pixels = from_memory(owner, (2, 3, 4), "uint16", offset=1, row_stride=31)
    assert pixels.to_numpy().strides == (31, 8, 2)
    expected = [
        [[int.from_bytes(owner[1 + 31 * i + 8 * j + 2 * k :][:2], sys.byteorder) for k in range(4)] for j in range(3)]
        for i in range(2)
    ]
    assert pixels.tolist() == expected
    pixels[1, 2, 3] = 0
    assert owner[1 + 31 + 16 + 6 :][:2] == b"\0\0"
    assert from_memory(owner, (3,), "uint8", row_stride=40).tolist() == [0, 40, 80]
    assert from_memory(owner, (), "uint8", offset=99).tolist() == 99
    assert from_memory(owner, 5, ">u2").tolist() == [1, 515, 1029, 1543, 2057]
    assert from_memory(owner, (1, 4), "uint8", row_stride=2**70).tolist() == [[0, 1, 2, 3]]
    assert from_memory(owner, (2, 2), "bfloat16").shape == (2, 2)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (0, 2**40), (2**40, 0)])
def test_zero_sizes_need_no_bytes(shape):
    assert from_memory(b"", shape, "float64").shape == shape
    assert from_memory(bytearray(8), shape, "float64", offset=8).shape == shape
    assert from_memory(bytearray(8), shape, "float64", row_stride=2**44).shape == shape


@pytest.mark.parametrize("shape", [(17,), (2, 9), (-1,), (2**62,), (2**32, 2**32), (0, 2**40, 2**40), (-2, -8)])
def test_shapes_that_do_not_fit(shape):
    with pytest.raises(ShapeError):
        from_memory(sixteen(), shape, "uint8")


def test_from_memory_arguments():
    for wrong in ({"shape": None}, {"shape": "4"}, {"offset": 1.0}, {"offset": None}, {"row_stride": 4.0}):
        with pytest.raises(TypeError):
            from_memory(sixteen(), **{"shape": 4, "dtype": "uint8", **wrong})
    for offset in (-1, 17, 2**70):
        with pytest.raises(ValueError, match="offset"):
            from_memory(sixteen(), 1, "uint8", offset=offset)
    with pytest.raises(ValueError, match="contiguous"):
        from_memory(memoryview(sixteen())[::2], 1, "uint8")


def test_from_memory_locks_the_owner():
    owner = sixteen()
    rows = from_memory(owner, (2, 3), "uint8", row_stride=8)
    tail = rows.to_numpy()[1]
    del rows
    with pytest.raises(BufferError):
        owner.clear()
    del tail
    owner.clear()


def test_public_names():
    assert tensorbuf.frombuffer is frombuffer
    assert tensorbuf.from_memory is from_memory
