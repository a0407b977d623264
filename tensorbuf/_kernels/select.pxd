cimport numpy as cnp
from libc.stdint cimport int64_t


# What a selector keeps.
cpdef enum:
    POINT  # one coordinate; the axis is dropped
    KEPT  # one coordinate; the axis stays, with length 1
    BOUNDED  # a run whose bounds have to be places on the axis
    CLIPPED  # a run whose bounds are clipped as Python clips those of a slice
    LISTED  # listed coordinates
    WRAPPED  # listed coordinates, the negative ones from the end
    BLOCKS  # blocks of coordinates, a stride apart
    NEW_AXIS
    ELLIPSIS


# What is wrong with a selector, or with coordinates.
cpdef enum:
    FITS
    OUTSIDE  # a coordinate that the axis does not have
    BOUND_OUTSIDE  # a bound that is no place on the axis
    TOO_MANY  # more selectors or coordinates than axes
    NOT_SCALAR  # another number of coordinates than axes
    TWO_ELLIPSES
    TOO_DEEP  # more axes than numpy carries
    NO_SELECTOR  # something else where a selector belongs


cdef struct Run:
    # The coordinates start, start + step, ..., count of them; start is 0 where there are none.
    Py_ssize_t start
    Py_ssize_t step
    Py_ssize_t count


cdef class Selector:
    cdef readonly str name
    cdef tuple given
    cdef readonly int kind
    cdef readonly object start_bound, end_bound
    cdef readonly cnp.ndarray coordinates
    cdef Py_ssize_t start, end, step, count, block, least, greatest

    cdef void span(self, const int64_t *coordinates, Py_ssize_t count) noexcept
    cdef bint is_run(self) noexcept
    cdef int resolve(self, Py_ssize_t length, Run *run) noexcept
    cdef int bounded(self, Py_ssize_t length, Run *run) noexcept
    cdef int blocks(self, Py_ssize_t length, Run *run) noexcept
    cdef object table(self, Py_ssize_t length)


cdef int point(Py_ssize_t coordinate, Py_ssize_t length, Run *run) noexcept
cdef Run clipped(Py_ssize_t start, Py_ssize_t end, Py_ssize_t step, Py_ssize_t length) noexcept
