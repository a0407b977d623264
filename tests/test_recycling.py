"""Large blocks are kept for the next arrays: how many, for whom, and until when."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tensorbuf import clear_cache
from tensorbuf.memory import empty

MEGABYTE = 1 << 20
U1 = np.dtype("uint8")


@pytest.fixture(autouse=True)
def emptied():
    clear_cache()
    yield
    clear_cache()


def use(nbytes: int) -> int:
    """The address of an array that is gone when this returns."""
    return empty((nbytes,), U1).ctypes.data


def test_the_next_array_of_that_size_gets_the_block():
    address = use(3 * MEGABYTE)
    assert use(3 * MEGABYTE) == address


def test_not_while_a_view_lives():
    whole = empty((3 * MEGABYTE,), U1)
    view = whole[5:]
    address = whole.ctypes.data
    del whole
    assert use(3 * MEGABYTE) != address
    assert view.ctypes.data == address + 5


def test_small_blocks_are_not_kept():
    use(MEGABYTE // 2)
    assert clear_cache() == 0


def test_eight_blocks_at_the_most():
    arrays = [empty((2 * MEGABYTE,), U1) for _ in range(12)]
    del arrays
    assert 8 * 2 * MEGABYTE <= clear_cache() < 9 * 2 * MEGABYTE


def test_256_megabytes_at_the_most():
    arrays = [empty((100 * MEGABYTE,), U1) for _ in range(4)]
    del arrays
    assert 2 * 100 * MEGABYTE <= clear_cache() <= 256 * MEGABYTE
    use(300 * MEGABYTE)
    assert clear_cache() == 0


def test_clearing_gives_all_back_once():
    use(5 * MEGABYTE)
    assert clear_cache() >= 5 * MEGABYTE
    assert clear_cache() == 0


def test_threads_never_share_a_block():
    def fill(number: int) -> bool:
        for _ in range(200):
            array = empty((MEGABYTE + number % 3 * 1000,), U1)
            array[:: MEGABYTE // 16] = number
            if not (array[:: MEGABYTE // 16] == number).all():
                return False
            del array
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fill, range(8)))


_FORKING = """
import os
import numpy as np
from tensorbuf import clear_cache
from tensorbuf.memory import empty
empty((5 << 20,), np.dtype("uint8"))
child = os.fork()
if child == 0:
    os._exit(0 if clear_cache() == 0 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), clear_cache() >= 5 << 20)
"""

if hasattr(os, "fork"):

    def test_a_forked_child_starts_without_them():
        """In a process of its own, which has no other threads."""
        done = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, text=True, check=True, timeout=300)
        assert done.stdout.split() == ["0", "True"]
