"""Memory between two pages that nobody may touch: a process that reads a byte too many dies of it."""

import ctypes
import mmap
import os

import numpy as np

_PAGE = mmap.PAGESIZE


def guarded(size: int) -> np.ndarray:
    """At least `size` bytes that begin where one such page ends, and end where the other begins."""
    room = -(-max(size, 1) // _PAGE) * _PAGE
    pages = mmap.mmap(-1, room + 2 * _PAGE)
    whole = np.frombuffer(pages, np.uint8)
    for start in (0, room + _PAGE):
        _forbid(whole.ctypes.data + start)
    return whole[_PAGE : _PAGE + room]


def _forbid(address: int) -> None:
    if os.name == "nt":
        no_access, before = 1, ctypes.c_ulong()
        done = ctypes.windll.kernel32.VirtualProtect(
            ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), no_access, ctypes.byref(before)
        )
        assert done
    else:
        no_access = 0
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), no_access) == 0
