import array

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    DataBuffer,
    DataBufferWindow,
    DataLayout,
    DataStorageVisitor,
    NdArray,
    ReadOnlyError,
    ShapeError,
    databuffers,
    ndarrays,
)

FACTORIES = {
    "of_bytes": np.int8,
    "of_shorts": np.int16,
    "of_ints": np.int32,
    "of_longs": np.int64,
    "of_floats": np.float32,
    "of_doubles": np.float64,
    "of_booleans": np.bool,
}


def of_bits(values):
    return databuffers.of_bits(len(values)).write(list(values))


@pytest.mark.parametrize(("name", "dtype"), FACTORIES.items())
def test_factories_give_zeros(name, dtype):
    buffer = getattr(databuffers, name)(3)
    assert type(buffer) is DataBuffer
    assert (buffer.size, buffer.dtype, buffer.read_only) == (3, dtype, False)
    assert buffer.to_numpy().tolist() == np.zeros(3, dtype).tolist()
    assert getattr(databuffers, name)(0).size == 0
    with pytest.raises(ShapeError):
        getattr(databuffers, name)(-1)
    with pytest.raises(TypeError):
        getattr(databuffers, name)(1.0)
    word = name.removeprefix("of_").removesuffix("s")
    value = np.ones((), dtype).item()
    assert getattr(buffer, f"set_{word}")(value, 1) is buffer
    assert getattr(buffer, f"get_{word}")(1) == value
    other = databuffers.of_objects(str, 3)
    with pytest.raises(TypeError):
        getattr(other, f"get_{word}")(1)
    with pytest.raises(TypeError):
        getattr(other, f"set_{word}")(value, 1)


def test_of_shares_arrays_and_copies_lists():
    source = np.arange(10, dtype=">i2")[::3]
    buffer = databuffers.of(source)
    buffer.set_short(-5, 1)
    assert source.tolist() == [0, -5, 6, 9]
    listed = [1, 2]
    databuffers.of(listed).set_long(7, 0)
    assert listed == [1, 2]
    assert databuffers.of(source, copy=True).set_short(1, 0).get_short(0) == 1
    assert source[0] == 0
    packed = array.array("f", [1, 2])
    databuffers.of(packed).set_float(3.5, 0)
    assert packed[0] == 3.5
    assert databuffers.of([True, False]).dtype == np.bool
    assert databuffers.of(["a", "b"]).get_object(1) == "b"
    with pytest.raises(ShapeError):
        databuffers.of(np.zeros((2, 2)))
    with pytest.raises(TypeError):
        databuffers.of(None)


def test_read_only():
    source = np.arange(3)
    protected = databuffers.of(source, read_only=True)
    assert protected.read_only
    assert source.flags.writeable
    assert not databuffers.of(b"abc", copy=True).read_only
    for buffer in (protected, databuffers.of(b"abc"), protected.slice(1, 2), protected.window(1).buffer):
        assert buffer.read_only
        assert memoryview(buffer).readonly
        with pytest.raises(ReadOnlyError):
            buffer.set_object(1, 0)
        with pytest.raises(ReadOnlyError):
            buffer.write([1])
        with pytest.raises(ReadOnlyError):
            databuffers.of(buffer.to_numpy(copy=True)).copy_to(buffer, 1)


@pytest.mark.parametrize("make", [lambda: databuffers.of_ints(3), lambda: databuffers.of_bits(3)])
def test_positions(make):
    buffer = make()
    for i in (-1, 3, 2**70):
        with pytest.raises(IndexError):
            buffer.get_object(i)
        with pytest.raises(IndexError):
            buffer.set_object(True, i)
    with pytest.raises(TypeError):
        buffer.get_object(1.0)
    assert buffer.offset(3).size == 0
    assert buffer.narrow(0).size == 0
    assert buffer.slice(3, 0).size == 0
    for call in (lambda: buffer.offset(4), lambda: buffer.offset(-1), lambda: buffer.slice(4, 0)):
        with pytest.raises(IndexError):
            call()
    for call in (lambda: buffer.narrow(4), lambda: buffer.narrow(-1), lambda: buffer.slice(2, 2)):
        with pytest.raises(ShapeError):
            call()


@pytest.mark.parametrize(
    ("buffer", "value", "error"),
    [
        (databuffers.of_ints(1), 1.0, TypeError),
        (databuffers.of_ints(1), "1", TypeError),
        (databuffers.of_ints(1), None, TypeError),
        (databuffers.of_ints(1), 2**31, ConversionError),
        (databuffers.of_floats(1), "1", TypeError),
        (databuffers.of_floats(1), 1e300, ConversionError),
        (databuffers.of_booleans(1), 1, TypeError),
        (databuffers.of_bits(1), 1, TypeError),
        (databuffers.of_objects(str, 1), 1, TypeError),
    ],
)
def test_values_that_do_not_fit(buffer, value, error):
    before = buffer.to_numpy(copy=True).tolist()
    with pytest.raises(error):
        buffer.set_object(value, 0)
    assert buffer.to_numpy().tolist() == before


def test_views_share_and_are_bounded():
    buffer = databuffers.of([0, 1, 2, 3, 4])
    part = buffer.slice(1, 3).offset(1)
    part.set_long(-2, 0)
    assert buffer.get_long(2) == -2
    assert part.size == 2
    with pytest.raises(IndexError):
        part.get_long(2)


def test_write():
    buffer = databuffers.of_ints(4)
    assert buffer.write(np.array([9, 8, 7], np.int32), 1) is buffer
    assert buffer.to_numpy().tolist() == [8, 7, 0, 0]
    buffer.write([1, 2, 3, 4, 5, 6], 2, 3)
    assert buffer.to_numpy().tolist() == [3, 4, 5, 0]
    buffer.write([1.5, 5], 1)
    assert buffer.to_numpy().tolist() == [5, 4, 5, 0]
    before = buffer.to_numpy(copy=True).tolist()
    for arguments, error in [
        (([1] * 5,), ShapeError),
        (([1], 2), IndexError),
        (([1], -1), IndexError),
        (([1], 0, -1), ShapeError),
        (([1], 0, 2), ShapeError),
        (([1, 2**40],), ConversionError),
        (([1, 1.5],), TypeError),
        ((np.array([1, 2]),), TypeError),
        ((np.zeros((1, 2), np.int32),), ShapeError),
        ((None,), TypeError),
    ]:
        with pytest.raises(error):
            buffer.write(*arguments)
    assert buffer.to_numpy().tolist() == before


def test_read():
    buffer = databuffers.of(np.array([1, 2, 3], np.int32))
    target = np.full(5, 9, np.int32)
    assert buffer.read(target, 3) is buffer
    assert target.tolist() == [9, 9, 9, 1, 2]
    buffer.read(target, 1, 1)
    assert target.tolist() == [9, 1, 9, 1, 2]
    listed = ["x"] * 3
    buffer.read(listed, 1)
    assert listed == ["x", 1, 2]
    packed = array.array("i", [0, 0])
    buffer.read(packed)
    assert packed.tolist() == [1, 2]
    protected = np.zeros(2, np.int32)
    protected.flags.writeable = False
    for arguments, error in [
        ((np.zeros(4, np.int32),), ShapeError),
        ((target, 6), IndexError),
        ((target, 0, 4), ShapeError),
        ((np.zeros(2),), TypeError),
        ((protected,), ReadOnlyError),
        ((b"1234",), TypeError),
    ]:
        with pytest.raises(error):
            buffer.read(*arguments)


def test_copy_to():
    buffer = databuffers.of([1, 2, 3, 4])
    target = databuffers.of_longs(3)
    assert buffer.copy_to(target, 2) is buffer
    assert target.to_numpy().tolist() == [1, 2, 0]
    buffer.slice(0, 3).copy_to(buffer.slice(1, 3), 3)
    assert buffer.to_numpy().tolist() == [1, 1, 2, 3]
    for dst, size, error in [
        (target, 4, ShapeError),
        (target, -1, ShapeError),
        (databuffers.of_ints(4), 1, TypeError),
        (buffer, 1, ValueError),
        (np.zeros(4, int), 1, TypeError),
    ]:
        with pytest.raises(error):
            buffer.copy_to(dst, size)


def test_bits_bytes_and_layouts_copy_to_each_other():
    values = [True, False, True, True, False, True, False, False, True, True]
    stores = [
        lambda: databuffers.of_bits(10),
        lambda: databuffers.of_booleans(10),
        lambda: databuffers.BOOL.apply_to(databuffers.of_bytes(10)),
    ]
    for source in stores:
        for target in stores:
            full, into = source().write(values), target()
            full.slice(1, 8).copy_to(into.offset(2), 8)
            assert into.to_numpy().tolist() == [False, False, *values[1:9]]
            assert full == target().write(values)
            assert full != target()


def test_equality():
    assert databuffers.of([1, 2]) == databuffers.of(np.array([1, 5, 2], ">i8")[::2])
    assert databuffers.of(np.array([1, 2], np.int32)) != databuffers.of([1, 2])
    assert databuffers.of([1, 2]) != databuffers.of([1, 2, 3])
    assert databuffers.of([float("nan")]) != databuffers.of([float("nan")])
    assert databuffers.of([0.0]) == databuffers.of([-0.0])
    assert databuffers.of([1]) != [1]
    with pytest.raises(TypeError):
        hash(databuffers.of([1]))


@pytest.mark.parametrize("kind", ["memory", "bits", "layout", "objects"])
def test_windows(kind):
    buffer = {
        "memory": lambda: databuffers.of(np.arange(20) % 2 == 0),
        "bits": lambda: of_bits([i % 2 == 0 for i in range(20)]),
        "layout": lambda: databuffers.BOOL.apply_to(databuffers.of((np.arange(20) % 2 == 0).view(np.int8))),
        "objects": lambda: databuffers.of(np.array([i % 2 == 0 for i in range(20)], object)),
    }[kind]()
    window = buffer.window(4)
    assert isinstance(window, DataBufferWindow)
    inside = window.buffer
    assert (window.offset, window.size) == (0, 4)
    assert window.slide_to(16) is window
    with pytest.raises(IndexError):
        window.slide(1)
    assert window.offset == 16
    assert window.slide(-3) is window
    assert window.offset == 13
    assert window.buffer is inside
    assert inside.to_numpy().tolist() == [False, True, False, True]
    inside.set_object(True, 0)
    assert buffer.get_object(13) is True
    buffer.set_object(False, 14)
    assert inside.get_object(1) is False
    for i in (-1, 17):
        with pytest.raises(IndexError):
            window.slide_to(i)
    for n in (21, -1):
        with pytest.raises(ShapeError):
            buffer.window(n)
    assert buffer.window(20).slide_to(0).size == 20
    assert buffer.window(0).slide_to(20).offset == 20


def test_visitors():
    class Kind(DataStorageVisitor):
        def visit(self, storage):
            return storage

        def fallback(self):
            return "other"

    source = np.arange(6)
    seen = databuffers.of(source).slice(2, 3).accept(Kind())
    assert seen.tolist() == [2, 3, 4]
    assert np.shares_memory(seen, source)
    assert not databuffers.of(b"abc").accept(Kind()).flags.writeable
    assert databuffers.of_bits(3).accept(Kind()) == "other"
    assert databuffers.FLOAT16.apply_to(databuffers.of_shorts(3)).accept(Kind()) == "other"
    assert databuffers.of(source).accept(DataStorageVisitor()) is None
    for stranger in (None, {}, 1.0):
        with pytest.raises(TypeError, match="DataStorageVisitor is needed"):
            databuffers.of(source).accept(stranger)


def test_the_functions_make_buffers():
    for arguments in ((), (5,), ([1, 2],)):
        with pytest.raises(TypeError, match="databuffers"):
            DataBuffer(*arguments)


def test_bytes_read_as_other_types():
    memory = bytearray(16)
    buffer = databuffers.of(memory)
    buffer.as_ints().set_int(-2, 1)
    assert np.frombuffer(memory, np.int32).tolist() == [0, -2, 0, 0]
    assert buffer.as_doubles().size == 2
    assert databuffers.of(np.full(3, 2, np.int8)).as_booleans().get_boolean(0) is True
    assert databuffers.of(bytes(8)).as_longs().read_only
    with pytest.raises(ShapeError):
        buffer.slice(0, 6).as_ints()
    with pytest.raises(ShapeError):
        databuffers.of(np.zeros(8, np.uint8)[::2]).as_ints()
    for other in (databuffers.of_ints(2), databuffers.of_bits(32)):
        with pytest.raises(TypeError):
            other.as_longs()
    odd = np.zeros(9, np.uint8)[1:]
    databuffers.of(odd).as_longs().set_long(5, 0)
    assert odd.view(np.int64)[0] == 5


def test_buffer_protocol():
    buffer = databuffers.of_floats(4)
    view = memoryview(buffer)
    assert (view.format, view.shape, view.readonly) == ("f", (4,), False)
    view[1] = 2.5
    assert buffer.get_float(1) == 2.5
    for refusing in (
        databuffers.of_bits(8),
        databuffers.FLOAT16.apply_to(databuffers.of_shorts(4)),
        databuffers.of_objects(str, 2),
        databuffers.of(np.zeros(2, ml_dtypes.bfloat16)),
    ):
        with pytest.raises(BufferError):
            memoryview(refusing)
    assert np.asarray(of_bits([True, False])).tolist() == [True, False]
    with pytest.raises(ValueError, match="copy"):
        databuffers.of_bits(2).to_numpy(copy=False)


def test_objects():
    buffer = databuffers.of_objects(str, 2)
    assert buffer.get_object(0) is None
    buffer.set_object("a", 0).set_object(None, 1).write(["b"])
    assert buffer.to_numpy().tolist() == ["b", None]
    with pytest.raises(TypeError):
        buffer.write(["c", 1])
    assert buffer.to_numpy().tolist() == ["b", None]


def test_arrays_wrap_buffers():
    buffer = databuffers.of([0, 1, 2, 3, 4, 5, 6])
    wrapped = ndarrays.wrap((2, 3), buffer)
    wrapped.set_long(-1, 1, 2)
    buffer.set_long(-7, 0)
    assert buffer.to_numpy().tolist() == [-7, 1, 2, 3, 4, -1, 6]
    assert wrapped.tolist() == [[-7, 1, 2], [3, 4, -1]]
    assert wrapped == NdArray(wrapped, copy=True)
    objects = databuffers.of_objects(str, 2)
    ndarrays.wrap(2, objects).set_object("x", 1)
    assert objects.get_object(1) == "x"
    with pytest.raises(TypeError):
        ndarrays.wrap(2, objects).set_object(1, 1)
    spread = databuffers.of(np.arange(12)[::2])
    assert ndarrays.wrap((2, 3), spread).tolist() == [[0, 2, 4], [6, 8, 10]]
    with pytest.raises(ShapeError):
        ndarrays.wrap((2, 4), buffer)
    for other in (databuffers.of_bits(6), databuffers.FLOAT16.apply_to(databuffers.of_shorts(6)), np.zeros(6)):
        with pytest.raises(TypeError):
            ndarrays.wrap((2, 3), other)


def test_arrays_copy_to_and_from_every_storage():
    values = NdArray(np.array([[True, False, True], [False, True, True]]))
    for buffer in (databuffers.of_bits(8), databuffers.BOOL.apply_to(databuffers.of_bytes(8))):
        values.copy_to(buffer)
        assert buffer.to_numpy().tolist() == [True, False, True, False, True, True, False, False]
        assert ndarrays.of_booleans((2, 3)).copy_from(buffer) == values


@pytest.mark.parametrize(
    ("layout", "value", "bits"),
    [
        ("FLOAT16", 65519.996, 0x7BFF),
        ("FLOAT16", 65520.0, 0x7C00),
        ("FLOAT16", 2.0**-25, 0x0000),
        ("FLOAT16", float(np.nextafter(np.float32(2.0**-25), np.float32(1))), 0x0001),
        ("FLOAT16", float(np.nextafter(2.0**-25, 1)), 0x0001),
        ("FLOAT16", 3 * 2.0**-25, 0x0002),
        ("FLOAT16", 1 + 2.0**-11, 0x3C00),
        ("FLOAT16", 1 + 3 * 2.0**-11, 0x3C02),
        ("FLOAT16", 0.1, 0x2E66),
        ("FLOAT16", -0.0, 0x8000),
        ("BFLOAT16", 0.1, 0x3DCD),
        ("BFLOAT16", 1 + 3 * 2.0**-9, 0x3F81),
        ("BFLOAT16", 1 + 2.0**-8, 0x3F80),
        ("BFLOAT16", float(np.finfo(np.float32).max), 0x7F80),
        ("BFLOAT16", 1e-40, 0x0001),
        ("BFLOAT16", 65600.0, 0x4780),
    ],
)
@pytest.mark.parametrize("dtype", [np.int16, np.uint16, ">i2"])
def test_half_layouts(layout, value, bits, dtype):
    storage = databuffers.of(np.zeros(3, dtype))
    halves = getattr(databuffers, layout).apply_to(storage)
    assert (halves.size, halves.dtype) == (3, np.float32)
    halves.set_float(value, 0)
    halves.offset(1).write(np.array([value], np.float32))
    stored = storage.to_numpy().astype(np.uint16).tolist()
    assert stored[0] == bits
    if float(np.float32(value)) == value:
        assert stored == [bits, bits, 0]


def test_half_layouts_read_and_keep_nan():
    for layout, quiet in ((databuffers.FLOAT16, 0x7E00), (databuffers.BFLOAT16, 0x7FC0)):
        storage = databuffers.of_shorts(2)
        halves = layout.apply_to(storage)
        halves.set_float(float("nan"), 0)
        assert storage.get_short(0) & 0x7FFF == quiet
        halves.write(np.array([0x7F800001], np.uint32).view(np.float32))
        assert np.isnan(halves.get_float(0))
        assert np.isnan(halves.to_numpy()[0])
    storage = databuffers.of(np.array([0x3FCF], np.uint16))
    assert databuffers.BFLOAT16.apply_to(storage).get_float(0) == 1.6171875
    for layout in (databuffers.FLOAT16, databuffers.BFLOAT16):
        with pytest.raises(TypeError):
            layout.apply_to(databuffers.of_ints(2))
        with pytest.raises(TypeError):
            layout.apply_to(np.zeros(2, np.int16))
        with pytest.raises(TypeError):
            layout.apply_to(databuffers.of_shorts(1)).set_float("1", 0)


def test_every_half_survives_a_round_trip():
    patterns = np.arange(2**16, dtype=np.uint16)
    for layout, kept in ((databuffers.FLOAT16, np.float16), (databuffers.BFLOAT16, ml_dtypes.bfloat16)):
        with np.errstate(invalid="ignore"):
            numbers = patterns[~np.isnan(patterns.view(kept))]
        halves = layout.apply_to(databuffers.of(numbers))
        target = databuffers.of(np.zeros(numbers.size, np.uint16))
        halves.copy_to(layout.apply_to(target), numbers.size)
        assert (target.to_numpy() == numbers).all()


def test_bool_layout():
    storage = databuffers.of(np.array([0, 1, -128, 5], np.int8))
    flags = databuffers.BOOL.apply_to(storage)
    assert flags.to_numpy().tolist() == [False, True, True, True]
    assert flags.get_boolean(2) is True
    flags.set_boolean(True, 0).set_boolean(False, 3)
    assert storage.to_numpy().tolist() == [1, 1, -128, 0]
    with pytest.raises(TypeError):
        flags.set_boolean(1, 0)
    with pytest.raises(TypeError):
        databuffers.BOOL.apply_to(databuffers.of_shorts(1))


def test_string_layout():
    storage = databuffers.of_objects(bytes, 3)
    text = databuffers.strings("utf-8").apply_to(storage)
    assert text.dtype == object
    text.set_object("hé", 1)
    assert storage.get_object(1) == b"h\xc3\xa9"
    assert [text.get_object(i) for i in range(3)] == [None, "hé", None]
    for value in (1, None, b"x"):
        with pytest.raises(TypeError):
            text.set_object(value, 0)
    ascii_text = databuffers.strings("ascii").apply_to(storage)
    with pytest.raises(UnicodeEncodeError):
        ascii_text.set_object("é", 0)
    assert storage.get_object(0) is None
    # "hex" is a codec, but none of text.
    for encoding in ("no such encoding", "hex", "", "\0"):
        with pytest.raises(ValueError, match="encoding"):
            databuffers.strings(encoding)
    with pytest.raises(TypeError, match="encoding"):
        databuffers.strings(None)
    with pytest.raises(TypeError):
        databuffers.strings("utf-8").apply_to(databuffers.of_ints(1))


class Pairs(DataLayout):
    """Complex numbers as two floats."""

    dtype = np.complex64
    scale = 2

    def read_object(self, buffer, index):
        return complex(buffer.get_object(index), buffer.get_object(index + 1))

    def write_object(self, buffer, value, index):
        buffer.set_object(value.real, index).set_object(value.imag, index + 1)


def test_own_layouts():
    storage = databuffers.of_floats(7)
    pairs = Pairs().apply_to(storage)
    assert pairs.size == 3
    pairs.write([1 + 2j, 3 + 4j])
    assert storage.to_numpy().tolist() == [1, 2, 3, 4, 0, 0, 0]
    assert pairs.slice(1, 2).get_object(0) == 3 + 4j
    assert pairs.window(1).slide_to(2).buffer.set_object(5j, 0).size == 1
    assert storage.to_numpy().tolist() == [1, 2, 3, 4, 0, 5, 0]
    assert pairs.to_numpy().tolist() == [1 + 2j, 3 + 4j, 5j]
    protected = databuffers.of(np.zeros(2, np.float32), read_only=True)
    assert Pairs().apply_to(protected).read_only


def test_repr_is_bounded():
    assert repr(databuffers.of_bits(2)) == "DataBuffer(size=2, dtype=bool, values=[False, False])"
    assert len(repr(databuffers.of_ints(10**6))) < 100
    window = databuffers.of([1, 2, 3]).window(2).slide_to(1)
    assert repr(window) == "DataBufferWindow(offset=1, DataBuffer(size=2, dtype=int64, values=[2, 3]))"
