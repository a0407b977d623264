"""Recycled blocks: the first write to a fresh large one costs page faults, so a few are kept for the next arrays.

A lock, not the GIL, guards the list; it is held for a few instructions, and never while memory is got or given back.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from libc.string cimport memmove

cdef extern from "pages.h":
    void want_huge_pages(void *start, size_t size) noexcept nogil

cdef enum:
    SLOTS = 8
    LEAST = 1 << 20         # bytes from which a block is kept; smaller ones are cheap to get
    MOST = 1 << 28          # bytes kept at the most, in all

cdef struct Spare:
    void *start
    size_t capacity

cdef Spare spares[SLOTS]    # the oldest first
cdef int count = 0
cdef size_t kept = 0        # bytes
cdef PyThread_type_lock lock = PyThread_allocate_lock()


cdef Spare _remove(int slot) noexcept:
    """With the lock held."""
    global count, kept
    cdef Spare spare = spares[slot]
    count -= 1
    kept -= spare.capacity
    memmove(&spares[slot], &spares[slot + 1], (count - slot) * sizeof(Spare))
    return spare


cdef void *take(size_t *capacity) noexcept:
    """A block of at least `capacity` bytes, which becomes what it really has; NULL where there is none to be had."""
    cdef Spare spare
    cdef int slot
    spare.start = NULL
    if capacity[0] >= LEAST:
        PyThread_acquire_lock(lock, WAIT_LOCK)
        for slot in range(count - 1, -1, -1):
            if capacity[0] <= spares[slot].capacity <= capacity[0] + capacity[0] // 4:
                spare = _remove(slot)
                break
        PyThread_release_lock(lock)
    if spare.start != NULL:
        capacity[0] = spare.capacity
        return spare.start
    spare.start = PyMem_RawMalloc(capacity[0])
    if spare.start != NULL:
        want_huge_pages(spare.start, capacity[0])
    return spare.start


cdef void give(void *start, size_t capacity) noexcept:
    """Keep a block for later, in the place of the oldest ones, or free it."""
    global count, kept
    cdef Spare surplus[SLOTS]
    cdef int surplus_count = 0
    if start == NULL or not LEAST <= capacity <= MOST:
        PyMem_RawFree(start)
        return
    PyThread_acquire_lock(lock, WAIT_LOCK)
    while count == SLOTS or kept + capacity > MOST:
        surplus[surplus_count] = _remove(0)
        surplus_count += 1
    spares[count].start = start
    spares[count].capacity = capacity
    count += 1
    kept += capacity
    PyThread_release_lock(lock)
    for slot in range(surplus_count):
        PyMem_RawFree(surplus[slot].start)


def clear():
    """Give every kept block back to the system. The number of bytes that were kept."""
    cdef Spare surplus[SLOTS]
    cdef int surplus_count = 0
    cdef size_t freed
    PyThread_acquire_lock(lock, WAIT_LOCK)
    freed = kept
    while count > 0:
        surplus[surplus_count] = _remove(count - 1)
        surplus_count += 1
    PyThread_release_lock(lock)
    for slot in range(surplus_count):
        PyMem_RawFree(surplus[slot].start)
    return freed


def forget():
    """Start anew in a forked child, where a thread that is gone may hold the lock; what was kept is left alone."""
    global count, kept, lock
    count = 0
    kept = 0
    lock = PyThread_allocate_lock()
