"""TensorBuffer: how long the owner of referenced memory stays locked and alive."""

import copy
import gc
import mmap
import pickle
import weakref

import numpy as np
import pytest

from tensorbuf import TensorBuffer

SWAPPED = np.dtype("f4").newbyteorder()


def fixed(shape=(4,), data_type="uint8"):
    return TensorBuffer.create_fixed_size(shape, data_type)


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


RELEASES = {
    "another load_buffer": lambda tensor: tensor.load_buffer(bytes(4), (4,)),
    "load of another size": lambda tensor: tensor.load_array([1, 2], (2,)),
    "load_buffer of another size": lambda tensor: tensor.load_buffer(bytes(2), (2,)),
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_bytearray_is_locked_until_its_memory_is_given_up(release):
    owner = bytearray(4)
    tensor = TensorBuffer.create_dynamic("uint8")
    tensor.load_buffer(owner, (4,))
    assert is_locked(owner)
    RELEASES[release](tensor)
    assert not is_locked(owner)
    assert owner == bytes(4)


@pytest.mark.parametrize("release", RELEASES)
def test_an_mmap_is_locked_until_its_memory_is_given_up(release):
    owner = mmap.mmap(-1, 4)
    tensor = TensorBuffer.create_dynamic("uint8")
    tensor.load_buffer(owner, (4,))
    with pytest.raises(BufferError):
        owner.close()
    RELEASES[release](tensor)
    owner.close()


@pytest.mark.parametrize("wrap", [lambda raw: raw, readable])
def test_death_releases_the_owner(wrap):
    owner = bytearray(4)
    tensor = fixed()
    tensor.load_buffer(wrap(owner))
    assert is_locked(owner)
    del tensor
    assert not is_locked(owner)


@pytest.mark.parametrize(
    "export", [TensorBuffer.to_numpy, lambda t: t.buffer, memoryview, np.asarray, np.from_dlpack, iter]
)
@pytest.mark.parametrize("data_type", ["uint8", "float32"])
def test_views_keep_the_owner_locked(export, data_type):
    owner = bytearray(4)
    tensor = TensorBuffer.create_dynamic(data_type)
    tensor.load_buffer(owner, (4 // tensor.type_size,))
    view = export(tensor)
    del tensor
    gc.collect()
    assert is_locked(owner)
    del view
    assert not is_locked(owner)


def test_copies_do_not_keep_the_owner():
    owner = bytearray(4)
    tensor = fixed()
    tensor.load_buffer(owner)
    copies = [copy.copy(tensor), copy.deepcopy(tensor), tensor.to_numpy(copy=True), np.array(tensor)]
    copies += [TensorBuffer.create_from(tensor, "uint8"), tensor.get_int_array(), pickle.loads(pickle.dumps(tensor))]
    del tensor
    assert not is_locked(owner)
    assert len(copies) == 7


def test_the_owner_is_kept_alive_and_no_longer():
    owner = np.zeros(4, np.uint8)
    reference = weakref.ref(owner)
    tensor = fixed()
    tensor.load_buffer(owner)
    del owner
    gc.collect()
    assert reference() is not None
    tensor.load_buffer(b"1234")
    assert reference() is None


@pytest.mark.parametrize(
    "fail",
    [
        lambda tensor, owner: tensor.load_buffer(owner),
        lambda tensor, owner: tensor.load_buffer(memoryview(owner)),
        lambda tensor, owner: tensor.load_buffer(memoryview(owner)[1:]),
        lambda tensor, owner: tensor.load_buffer(memoryview(owner)[::2]),
        lambda tensor, owner: tensor.load_buffer(np.frombuffer(owner, np.uint8)),
        lambda tensor, owner: tensor.load_buffer(np.frombuffer(owner, np.uint8)[::2]),
        lambda tensor, owner: tensor.load_buffer(np.frombuffer(owner, SWAPPED)),
        lambda tensor, owner: tensor.load_buffer(memoryview(np.frombuffer(owner, SWAPPED))),
        lambda tensor, owner: tensor.load_buffer(owner, (2, -4)),
        lambda tensor, owner: tensor.load_buffer(memoryview(owner), None),
        lambda tensor, owner: tensor.load_buffer(memoryview(owner), (8,)),
    ],
)
def test_a_failed_call_locks_nothing_even_while_its_exception_lives(fail):
    owner = bytearray(8)
    tensor = fixed()
    with pytest.raises((ValueError, TypeError)) as caught:
        fail(tensor, owner)
    assert not is_locked(owner)
    assert caught.value is not None
