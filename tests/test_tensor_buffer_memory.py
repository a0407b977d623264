"""TensorBuffer.load_array: what happens to memory, also under overlap and when a call is refused."""

import gc
import weakref

import numpy as np
import pytest

from tensorbuf import DataType, ShapeError, TensorBuffer

NUMERIC = [member for member in DataType if member is not DataType.STRING]


def address(tensor):
    return tensor.to_numpy().ctypes.data


def state(tensor):
    """All that a refused call must leave alone."""
    return tensor.shape, tensor.is_dynamic, address(tensor), tensor.buffer.readonly, bytes(tensor.buffer)


def test_the_example_of_the_reference():
    tensor = TensorBuffer.create_dynamic(DataType.FLOAT32)
    tensor.load_array([1, 2, 3], (3,))
    tensor.load_array([1, 2, 3, 4, 5], (5,))
    tensor.load_array([5, 4, 3, 2, 1])
    before = state(tensor)
    with pytest.raises(ShapeError, match=r"5.*3"):
        tensor.load_array([3, 2, 1])
    assert state(tensor) == before
    assert list(tensor) == [5, 4, 3, 2, 1]


def make(dynamic, memory):
    """A uint8 buffer of shape (2, 3) that holds 1 to 6, and the owner of its memory (None for own memory)."""
    tensor = TensorBuffer.create_dynamic("uint8") if dynamic else TensorBuffer.create_fixed_size((2, 3), "uint8")
    if memory == "own":
        tensor.load_array([1, 2, 3, 4, 5, 6], (2, 3))
        return tensor, None
    owner = bytearray([1, 2, 3, 4, 5, 6])
    tensor.load_buffer(owner if memory == "writable" else memoryview(owner).toreadonly(), (2, 3))
    return tensor, owner


def is_locked(owner):
    try:
        owner.append(0)
    except BufferError:
        return True
    owner.pop()
    return False


@pytest.mark.parametrize("dynamic", [False, True])
def test_own_memory_is_written_in_place(dynamic):
    tensor, _ = make(dynamic, "own")
    where, view = address(tensor), tensor.to_numpy()
    tensor.load_array([9, 8, 7, 6, 5, 4], (2, 3))
    tensor.load_array([9, 8, 7, 6, 5, 3])
    assert address(tensor) == where
    assert view.tolist() == [[9, 8, 7], [6, 5, 3]]


@pytest.mark.parametrize("dynamic", [False, True])
def test_writable_owners_are_written(dynamic):
    tensor, owner = make(dynamic, "writable")
    tensor.load_array([9, 8, 7, 6, 5, 4])
    assert owner == bytes([9, 8, 7, 6, 5, 4])
    assert is_locked(owner)
    owner[0] = 77
    assert tensor[0] == 77


@pytest.mark.parametrize("dynamic", [False, True])
def test_read_only_owners_are_left_alone_and_released(dynamic):
    tensor, owner = make(dynamic, "read-only")
    assert is_locked(owner)
    tensor.load_array([9, 8, 7, 6, 5, 4])
    assert owner == bytes([1, 2, 3, 4, 5, 6])
    assert not is_locked(owner)
    assert list(tensor) == [9, 8, 7, 6, 5, 4]
    assert not tensor.buffer.readonly
    assert address(tensor) % 64 == 0


@pytest.mark.parametrize("memory", ["own", "writable"])
@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 2, 3, 1)])
def test_dynamic_takes_another_shape_of_the_same_size_in_place(memory, shape):
    tensor, owner = make(True, memory)
    where, view = address(tensor), tensor.to_numpy()
    tensor.load_array([9, 8, 7, 6, 5, 4], shape)
    assert tensor.shape == shape
    assert address(tensor) == where
    assert view.tolist() == [[9, 8, 7], [6, 5, 4]]
    assert owner is None or owner == bytes([9, 8, 7, 6, 5, 4])


def test_dynamic_read_only_takes_another_shape_into_own_memory():
    tensor, owner = make(True, "read-only")
    tensor.load_array([9, 8, 7, 6, 5, 4], (6,))
    assert (tensor.shape, owner, is_locked(owner)) == ((6,), bytes([1, 2, 3, 4, 5, 6]), False)


@pytest.mark.parametrize("memory", ["own", "writable", "read-only"])
def test_dynamic_takes_new_memory_for_another_size(memory):
    tensor, owner = make(True, memory)
    where = address(tensor)
    tensor.load_array([9, 8], (2,))
    assert list(tensor) == [9, 8]
    assert not tensor.buffer.readonly
    assert address(tensor) % 64 == 0
    if owner is not None:
        assert address(tensor) != where
        assert owner == bytes([1, 2, 3, 4, 5, 6])
        assert not is_locked(owner)


def test_views_taken_earlier_keep_the_old_memory():
    tensor, owner = make(True, "writable")
    views = [tensor.to_numpy(), tensor.buffer, memoryview(tensor), np.from_dlpack(tensor)]
    tensor.load_array([9, 8], (2,))
    tensor[0] = 77
    assert all(bytes(view) == bytes([1, 2, 3, 4, 5, 6]) for view in views)
    assert is_locked(owner)
    views.clear()
    assert not is_locked(owner)


@pytest.mark.parametrize("memory", ["own", "writable", "read-only"])
@pytest.mark.parametrize("shape", [(6,), (3, 2), (2, 3, 1), (5,), ()])
def test_fixed_size_compares_shapes(memory, shape):
    tensor, owner = make(False, memory)
    before = state(tensor)
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        tensor.load_array([9] * 6, shape)
    assert state(tensor) == before
    assert owner is None or is_locked(owner)


def test_fixed_scalars_refuse_vectors():
    tensor = TensorBuffer.create_fixed_size((), "uint8")
    with pytest.raises(ShapeError):
        tensor.load_array([1], (1,))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("memory", ["own", "writable", "read-only"])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        (None, TypeError),
        ("123456", TypeError),
        ({1: 2}, TypeError),
        ({1, 2}, TypeError),
        ([1, 2, 3, 4, 5, "6"], TypeError),
        ([1, 2, 3, 4, 5, None], TypeError),
        ([1, 2, 3, 4, 5, 6j], TypeError),
        (np.array([1, 2, 3, 4, 5, 6], object), TypeError),
        (np.array(["a"] * 6), TypeError),
        (np.zeros(6, "M8[s]"), TypeError),
        (np.zeros(6, "f4,f4"), TypeError),
        (np.zeros(6, complex), TypeError),
        (object(), TypeError),
        ([[1, 2, 3], [4, 5]], ValueError),
        ([[1, 2, 3], 4, 5, 6], ValueError),
        ([1, 2, 3, 4, 5, [6]], ValueError),
        ([1, 2, 3, 4, 5], ShapeError),
        ([1, 2, 3, 4, 5, 6, 7], ShapeError),
        (np.zeros((2, 2)), ShapeError),
        ([], ShapeError),
        (b"12345", ShapeError),
    ],
)
def test_refused_sources_change_nothing(dynamic, memory, source, error):
    tensor, owner = make(dynamic, memory)
    before = state(tensor)
    with pytest.raises(error) as caught:
        tensor.load_array(source)
    assert caught.value.args[0]
    assert state(tensor) == before
    with pytest.raises(error):
        tensor.load_array(source, (2, 3))
    assert state(tensor) == before
    assert owner is None or is_locked(owner)


def test_an_explicit_none_is_no_shape():
    tensor, _ = make(True, "own")
    before = state(tensor)
    for call in (
        lambda: tensor.load_array([1, 2, 3, 4, 5, 6], None),
        lambda: tensor.load_array([1, 2, 3, 4, 5, 6], shape=None),
        lambda: tensor.load_buffer(bytes(6), None),
        lambda: tensor.load_buffer(bytes(6), shape=None),
    ):
        with pytest.raises(TypeError):
            call()
    assert state(tensor) == before


def test_what_cannot_be_allocated_changes_nothing():
    tensor, _ = make(True, "own")
    before = state(tensor)
    huge = np.broadcast_to(np.uint8(1), (2**30, 2**30))
    with pytest.raises((MemoryError, ShapeError)):
        tensor.load_array(huge, huge.shape)
    assert state(tensor) == before


def test_loading_itself_changes_nothing():
    tensor, _ = make(False, "own")
    before = state(tensor)
    tensor.load_array(tensor)
    tensor.load_array(tensor.to_numpy())
    tensor.load_array(tensor.buffer)
    assert state(tensor) == before


@pytest.mark.parametrize("data_type", NUMERIC)
def test_loading_itself_reversed(data_type):
    tensor = TensorBuffer.create_dynamic(data_type)
    size = 2 if data_type is DataType.BOOL else 8
    tensor.load_array(range(size), (size,))
    tensor.load_array(tensor.to_numpy()[::-1])
    assert list(tensor) == list(range(size))[::-1]


OVERLAPS = {
    "reversed": lambda raw: raw[64:128][::-1],
    "shifted up": lambda raw: raw[65:129],
    "shifted down": lambda raw: raw[63:127],
    "strided": lambda raw: raw[32:160:2],
    "strided backward": lambda raw: raw[160:32:-2],
    "transposed": lambda raw: raw[64:128].reshape(8, 8).T,
    "broadcast": lambda raw: np.broadcast_to(raw[70:78], (8, 8)),
    "wider": lambda raw: raw[0:128].view("i2"),
    "wider, misaligned": lambda raw: raw[3:131].view("u2"),
    "wider, big-endian": lambda raw: raw[64:192].view(">i2"),
    "wider, reversed": lambda raw: raw[0:256].view("i4")[::-1],
    "doubles": lambda raw: raw.view("f8"),
    "signed": lambda raw: raw[60:124].view("i1"),
}


@pytest.mark.parametrize("kind", OVERLAPS)
@pytest.mark.parametrize("data_type", ["uint8", "int8", "bool"])
def test_overlapping_sources_load_as_if_copied_first(kind, data_type):
    raw = np.zeros(512, np.uint8)
    raw[:] = np.random.default_rng(7).integers(0, 256, 512)
    source = OVERLAPS[kind](raw)
    tensor, twin = (TensorBuffer.create_fixed_size((source.size,), data_type) for _ in range(2))
    twin.load_array(source.copy())
    tensor.load_buffer(raw[64 : 64 + source.size])
    tensor.load_array(source)
    assert bytes(tensor.buffer) == bytes(twin.buffer)


@pytest.mark.parametrize("target", ["float32", "int64", "bfloat16", "float64"])
@pytest.mark.parametrize("source", ["u1", "i2", "f4", ">f4", "f8", ">i8"])
@pytest.mark.parametrize("start", [0, 1, 24, 100])
def test_overlap_of_different_item_sizes(target, source, start):
    raw = np.random.default_rng(start).integers(0, 100, 2048).astype(np.uint8)
    values = raw[start : start + 100 * np.dtype(source).itemsize].view(source)
    tensor, twin = (TensorBuffer.create_fixed_size((100,), target) for _ in range(2))
    twin.load_array(values.copy())
    tensor.load_buffer(raw[40 : 40 + tensor.nbytes])
    tensor.load_array(values)
    assert bytes(tensor.buffer) == bytes(twin.buffer)


@pytest.mark.parametrize(
    "fail",
    [
        lambda tensor, owner: tensor.load_array(owner),
        lambda tensor, owner: tensor.load_array(memoryview(owner)),
        lambda tensor, owner: tensor.load_array(memoryview(owner)[::2], (2, 3)),
        lambda tensor, owner: tensor.load_array(np.frombuffer(owner, np.uint8), (99,)),
        lambda tensor, owner: tensor.load_array(memoryview(owner), (2, -3)),
        lambda tensor, owner: tensor.load_array(memoryview(owner).cast("d")),
        lambda tensor, owner: tensor.load_array([memoryview(owner), None]),
        lambda tensor, owner: tensor.load_array([memoryview(owner), bytes(3)]),
        lambda tensor, owner: tensor.load_array(np.frombuffer(owner, complex)),
        lambda tensor, owner: tensor.load_array(np.frombuffer(owner, "M8[s]")),
        lambda tensor, owner: tensor.__setitem__(0, memoryview(owner)),
    ],
)
def test_a_refused_load_leaves_the_source_unlocked(fail):
    owner = bytearray(16)
    tensor = TensorBuffer.create_fixed_size((2, 3), "uint8")
    with pytest.raises((ValueError, TypeError)) as caught:
        fail(tensor, owner)
    assert not is_locked(owner)
    assert caught.value.__traceback__ is not None


def test_a_load_leaves_the_source_unlocked_and_unreferenced():
    owner = bytearray(6)
    tensor = TensorBuffer.create_fixed_size((2, 3), "uint8")
    tensor.load_array(owner)
    assert not is_locked(owner)
    values = np.arange(6)
    reference = weakref.ref(values)
    tensor.load_array(values)
    del values
    gc.collect()
    assert reference() is None
