"""Selectors, and what they keep of an axis: a point, a run, or a table of coordinates.

An axis is resolved by its length alone. Every bound is compared with it before arithmetic is done on it, so that
nothing here overflows, and every coordinate handed out lies within 0 <= c < length. Integers that no Py_ssize_t holds
arrive clipped; no axis has a place for them.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, void *) except? -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t *start, Py_ssize_t *end, Py_ssize_t step) noexcept
    Py_ssize_t PY_SSIZE_T_MAX
    Py_ssize_t PY_SSIZE_T_MIN

cdef enum:
    NEW_VECTOR = (
        cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED | cnp.NPY_ARRAY_NOTSWAPPED
        | cnp.NPY_ARRAY_ENSURECOPY | cnp.NPY_ARRAY_ENSUREARRAY
    )


cdef class Selector:
    """What to keep of one axis: a frozen record, made by the functions of `tensorbuf.index`.

    `arguments` are those of the function that made it; None stands for the coordinates. A run has the bounds `start`
    and `end` (None where it is open), a point is its `start`. `coordinates`, a read-only int64 vector, is
    the list of a listed one, which is *copied*.
    """

    def __cinit__(
        self, str name, arguments, int kind, start=None, end=None, step=1, count=0, block=0, coordinates=None
    ):
        self.name = name
        self.given = arguments
        self.kind = kind
        # PySlice_AdjustIndices negates the step.
        self.step = max(PyNumber_AsSsize_t(step, NULL), -PY_SSIZE_T_MAX)
        self.start_bound = start
        self.end_bound = end
        self.start = _bound(start, PY_SSIZE_T_MAX if self.step < 0 else 0)
        self.end = _bound(end, PY_SSIZE_T_MIN if self.step < 0 else PY_SSIZE_T_MAX)
        self.count = PyNumber_AsSsize_t(count, NULL)
        self.block = PyNumber_AsSsize_t(block, NULL)
        self.least, self.greatest = 0, -1
        if coordinates is not None:
            # Tables are read by pointer: what a pickle brings is brought to this form too.
            self.coordinates = cnp.PyArray_FROMANY(coordinates, cnp.NPY_INT64, 1, 1, NEW_VECTOR)
            cnp.PyArray_CLEARFLAGS(self.coordinates, cnp.NPY_ARRAY_WRITEABLE)
            self.span(<const int64_t *>cnp.PyArray_DATA(self.coordinates), cnp.PyArray_SIZE(self.coordinates))

    cdef void span(self, const int64_t *coordinates, Py_ssize_t count) noexcept:
        cdef Py_ssize_t place
        if count:
            self.least = self.greatest = coordinates[0]
        for place in range(count):
            self.least = min(self.least, coordinates[place])
            self.greatest = max(self.greatest, coordinates[place])

    @property
    def arguments(self):
        return tuple(self.coordinates.tolist()) if self.given is None else self.given

    cdef bint is_run(self) noexcept:
        """True unless the coordinates have to be listed. A hyperslab is a run where its blocks are one, short or
        joined."""
        if self.kind == BLOCKS:
            return self.block <= 1 or self.count <= 1 or self.step == self.block
        return self.kind != LISTED and self.kind != WRAPPED

    cdef int resolve(self, Py_ssize_t length, Run *run) noexcept:
        """The run on an axis of `length`; of coordinates that have to be listed, only whether they lie on it."""
        if self.kind == CLIPPED:
            run[0] = clipped(self.start, self.end, self.step, length)
            return FITS
        if self.kind == BOUNDED:
            return self.bounded(length, run)
        if self.kind == BLOCKS:
            return self.blocks(length, run)
        if self.kind == LISTED or self.kind == WRAPPED:
            lowest = -length if self.kind == WRAPPED else 0
            return FITS if self.greatest < length and self.least >= lowest else OUTSIDE
        return point(self.start, length, run)

    cdef int bounded(self, Py_ssize_t length, Run *run) noexcept:
        # An open bound is at one of the limits of Py_ssize_t and is clipped; a given one has to lie on the axis.
        if self.start_bound is not None and not -length <= self.start <= length:
            return BOUND_OUTSIDE
        if self.end_bound is not None and not -length <= self.end <= length:
            return BOUND_OUTSIDE
        run[0] = clipped(self.start, self.end, self.step, length)
        # Backward, a start of `length` is one past the last coordinate, and clipping would hide that.
        if run.count > 0 and self.step < 0 and self.start_bound is not None and self.start == length:
            return OUTSIDE
        return FITS

    cdef int blocks(self, Py_ssize_t length, Run *run) noexcept:
        if not 0 <= self.start <= length:
            return OUTSIDE
        run[0] = Run(0, 1, 0)
        if self.count == 0 or self.block == 0:
            return FITS
        cdef Py_ssize_t room = length - self.start - self.block
        if room < 0 or (self.count - 1) > room // self.step:
            return OUTSIDE
        run.start = self.start
        if self.block == 1:
            run.step, run.count = self.step, self.count
        elif self.count == 1 or self.step == self.block:
            run.count = self.count * self.block
        return FITS

    cdef object table(self, Py_ssize_t length):
        """The coordinates of a selector that is no run, resolved on an axis of `length` before."""
        if self.kind == BLOCKS:
            starts = self.start + self.step * np.arange(self.count, dtype=np.int64)
            return (starts[:, None] + np.arange(self.block, dtype=np.int64)).ravel()
        if self.kind == WRAPPED:
            return np.where(self.coordinates < 0, self.coordinates + length, self.coordinates)
        return self.coordinates

    def kept(self, Py_ssize_t length):
        """What this keeps of an axis: an int where it is dropped, a range, or a table; with the problem if it does not
        fit."""
        cdef Run run
        problem = self.resolve(length, &run)
        if problem != FITS:
            return problem, None
        if not self.is_run():
            return problem, self.table(length)
        if self.kind == POINT:
            return problem, run.start
        # The end may lie beyond the limits of Py_ssize_t.
        return problem, range(run.start, run.start + run.step * <object>run.count, run.step)

    def __eq__(self, other):
        if not isinstance(other, Selector):
            return NotImplemented
        return self.name == other.name and self.arguments == other.arguments

    def __hash__(self):
        return hash((self.name, self.arguments))

    def __repr__(self):
        return f"{self.name}({', '.join(map(repr, self.arguments))})"

    def __reduce__(self):
        fields = (self.start_bound, self.end_bound, self.step, self.count, self.block, self.coordinates)
        return Selector, (self.name, self.given, self.kind, *fields)


cdef Py_ssize_t _bound(bound, Py_ssize_t where_open) except? -1:
    return where_open if bound is None else PyNumber_AsSsize_t(bound, NULL)


cdef int point(Py_ssize_t coordinate, Py_ssize_t length, Run *run) noexcept:
    """One coordinate, from the end where negative."""
    if not -length <= coordinate < length:
        return OUTSIDE
    run[0] = Run(coordinate + length if coordinate < 0 else coordinate, 1, 1)
    return FITS


cdef Run clipped(Py_ssize_t start, Py_ssize_t end, Py_ssize_t step, Py_ssize_t length) noexcept:
    """The run of Python's slice, as unpacked by PySlice_Unpack."""
    cdef Py_ssize_t count = PySlice_AdjustIndices(length, &start, &end, step)
    return Run(start if count else 0, step, count)
