"""Copies between a view and contiguous memory, item by item: gather reads the view, scatter writes it.

The other side is C-contiguous, has the view's shape, and overlaps neither the view nor its tables; every coordinate of
a table lies on its axis; the dtype has no Python objects. Items are moved by their size alone, at any alignment. Both
walk the view in row-major order, so that of several writes to one place the last one stays.

Axes are made few first: those of length 1 go, neighbours that one stride describes become one, and what then lies
together in the last axes is one larger item.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

from tensorbuf._kernels.rows cimport Axis, place, rows, tb_use_v3

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    GIL_LIMIT = 4096


cdef struct Plan:
    char *view
    int rank
    Py_ssize_t item
    Axis axes[MAX_RANK]


def use(str level):
    """Take the copies of an instruction-set level."""
    tb_use_v3(level == "v3")


cpdef int gather(cnp.ndarray view, tuple tables, cnp.ndarray out) except -1:
    """Copies the elements of `view`, under a table (or None) an axis, into the contiguous `out`."""
    cdef Plan plan
    if cnp.PyArray_SIZE(out) == 0:
        return 0
    make(&plan, view, tables)
    if cnp.PyArray_SIZE(out) < GIL_LIMIT:
        walk(&plan, plan.view, 0, cnp.PyArray_BYTES(out), True)
    else:
        with nogil:
            walk(&plan, plan.view, 0, cnp.PyArray_BYTES(out), True)
    return 0


def scatter(cnp.ndarray values, cnp.ndarray view, tuple tables):
    """Copies the contiguous `values` into the elements of `view`, under a table (or None) an axis."""
    cdef Plan plan
    if cnp.PyArray_SIZE(values) == 0:
        return
    make(&plan, view, tables)
    if cnp.PyArray_SIZE(values) < GIL_LIMIT:
        walk(&plan, plan.view, 0, cnp.PyArray_BYTES(values), False)
    else:
        with nogil:
            walk(&plan, plan.view, 0, cnp.PyArray_BYTES(values), False)


cpdef bint may_overlap(cnp.ndarray a, cnp.ndarray b):
    """True unless the two lie in memory apart from one another."""
    cdef char *a_start
    cdef char *a_end
    cdef char *b_start
    cdef char *b_end
    extent(a, &a_start, &a_end)
    extent(b, &b_start, &b_end)
    return a_start < b_end and b_start < a_end


cdef void extent(cnp.ndarray array, char **start, char **end) noexcept:
    """The addresses between which the elements of an array lie; nothing for an empty one."""
    cdef int axis
    cdef Py_ssize_t reach
    start[0] = end[0] = cnp.PyArray_BYTES(array)
    if cnp.PyArray_SIZE(array) == 0:
        return
    for axis in range(cnp.PyArray_NDIM(array)):
        reach = (cnp.PyArray_DIM(array, axis) - 1) * cnp.PyArray_STRIDE(array, axis)
        if reach < 0:
            start[0] += reach
        else:
            end[0] += reach
    end[0] += cnp.PyArray_ITEMSIZE(array)


cdef int make(Plan *plan, cnp.ndarray view, tuple tables) except -1:
    cdef int axis
    cdef Axis entry
    cdef Axis *last
    plan.view = cnp.PyArray_BYTES(view)
    plan.rank = 0
    plan.item = cnp.PyArray_ITEMSIZE(view)
    for axis in range(cnp.PyArray_NDIM(view)):
        entry.count = cnp.PyArray_DIM(view, axis)
        entry.stride = cnp.PyArray_STRIDE(view, axis)
        entry.table = NULL
        if tables is not None and tables[axis] is not None:
            entry.count = cnp.PyArray_DIM(tables[axis], 0)
            entry.table = <const int64_t *>cnp.PyArray_DATA(tables[axis])
        if entry.count == 1:
            plan.view += entry.table[0] * entry.stride if entry.table else 0
            continue
        last = &plan.axes[plan.rank - 1] if plan.rank else NULL
        if last and not last.table and not entry.table and last.stride == entry.count * entry.stride:
            last.count *= entry.count
            last.stride = entry.stride
        else:
            plan.axes[plan.rank] = entry
            plan.rank += 1
    if plan.rank:
        last = &plan.axes[plan.rank - 1]
        if not last.table and last.stride == plan.item:
            plan.item *= last.count
            plan.rank -= 1
    return 0


cdef char *walk(const Plan *plan, char *view, int axis, char *flat, bint reading) noexcept nogil:
    """Copies the axes from `axis` on, and returns where in the contiguous memory it stopped."""
    cdef Py_ssize_t entry
    cdef Axis single
    if axis + 2 < plan.rank:
        for entry in range(plan.axes[axis].count):
            flat = walk(plan, view + place(&plan.axes[axis], entry), axis + 1, flat, reading)
        return flat
    if axis + 2 == plan.rank:
        return rows(plan.item, view, &plan.axes[axis], &plan.axes[axis + 1], flat, reading)
    single.count, single.stride, single.table = 1, 0, NULL
    if axis + 1 == plan.rank:
        return rows(plan.item, view, &single, &plan.axes[axis], flat, reading)
    return rows(plan.item, view, &single, &single, flat, reading)
