"""Copies between a view and contiguous memory, item by item: gather reads the view, scatter writes it.

The other side is C-contiguous, has the view's shape, and overlaps neither the view nor its tables; every coordinate of
a table lies on its axis; the dtype has no Python objects. Items are moved by their size alone, at any alignment. Both
walk the view in row-major order, so that of several writes to one place the last one stays.

Axes are made few first: those of length 1 go, neighbours that one stride describes become one, and what then lies
together in the last axes is one larger item.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memcpy

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    GIL_LIMIT = 4096


cdef struct Axis:
    # Entry i is `table[i] * stride` bytes from entry 0 of the axis; `i * stride` without a table.
    Py_ssize_t count
    Py_ssize_t stride
    const int64_t *table


cdef struct Plan:
    char *view
    int rank
    Py_ssize_t item
    Axis axes[MAX_RANK]


# Only the sizes of these matter: with a size that the compiler knows, memcpy is a move.
cdef struct Item1:
    char bytes[1]
cdef struct Item2:
    char bytes[2]
cdef struct Item3:
    char bytes[3]
cdef struct Item4:
    char bytes[4]
cdef struct Item6:
    char bytes[6]
cdef struct Item8:
    char bytes[8]
cdef struct Item12:
    char bytes[12]
cdef struct Item16:
    char bytes[16]

ctypedef fused Item:
    Item1
    Item2
    Item3
    Item4
    Item6
    Item8
    Item12
    Item16


def gather(cnp.ndarray view, tuple tables, cnp.ndarray out):
    """Copies the elements of `view`, under a table (or None) an axis, into the contiguous `out`."""
    cdef Plan plan
    if out.size == 0:
        return
    make(&plan, view, tables)
    if out.size < GIL_LIMIT:
        walk(&plan, plan.view, 0, cnp.PyArray_BYTES(out), True)
    else:
        with nogil:
            walk(&plan, plan.view, 0, cnp.PyArray_BYTES(out), True)


def scatter(cnp.ndarray values, cnp.ndarray view, tuple tables):
    """Copies the contiguous `values` into the elements of `view`, under a table (or None) an axis."""
    cdef Plan plan
    if values.size == 0:
        return
    make(&plan, view, tables)
    if values.size < GIL_LIMIT:
        walk(&plan, plan.view, 0, cnp.PyArray_BYTES(values), False)
    else:
        with nogil:
            walk(&plan, plan.view, 0, cnp.PyArray_BYTES(values), False)


cdef int make(Plan *plan, cnp.ndarray view, tuple tables) except -1:
    cdef int axis
    cdef Axis entry
    cdef Axis *last
    plan.view = cnp.PyArray_BYTES(view)
    plan.rank = 0
    plan.item = view.itemsize
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
        last = &plan.axes[plan.rank - 1]
        if plan.rank and not last.table and not entry.table and last.stride == entry.count * entry.stride:
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


cdef Py_ssize_t place(const Axis *axis, Py_ssize_t entry) noexcept nogil:
    return (axis.table[entry] if axis.table else entry) * axis.stride


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


cdef char *rows(
    Py_ssize_t item, char *view, const Axis *outer, const Axis *inner, char *flat, bint reading
) noexcept nogil:
    if item == 1:
        return typed_rows(view, outer, inner, <Item1 *>flat, reading)
    if item == 2:
        return typed_rows(view, outer, inner, <Item2 *>flat, reading)
    if item == 3:
        return typed_rows(view, outer, inner, <Item3 *>flat, reading)
    if item == 4:
        return typed_rows(view, outer, inner, <Item4 *>flat, reading)
    if item == 6:
        return typed_rows(view, outer, inner, <Item6 *>flat, reading)
    if item == 8:
        return typed_rows(view, outer, inner, <Item8 *>flat, reading)
    if item == 12:
        return typed_rows(view, outer, inner, <Item12 *>flat, reading)
    if item == 16:
        return typed_rows(view, outer, inner, <Item16 *>flat, reading)
    return blocks(item, view, outer, inner, flat, reading)


cdef char *typed_rows(char *view, const Axis *outer, const Axis *inner, Item *flat, bint reading) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(outer.count):
        if reading:
            read(view + place(outer, row), inner, flat)
        else:
            write(flat, view + place(outer, row), inner)
        flat += inner.count
    return <char *>flat


cdef inline void read(const char *view, const Axis *axis, Item *flat) noexcept nogil:
    # The bytes written may be those of `axis` for all that the compiler knows: its fields are kept in locals. The
    # strides of even, odd and flip are spelled out because a loop vectorises where the stride is a constant.
    cdef Py_ssize_t entry, count = axis.count, stride = axis.stride, size = sizeof(Item)
    cdef const int64_t *table = axis.table
    if table:
        for entry in range(count):
            memcpy(&flat[entry], view + table[entry] * stride, sizeof(Item))
    elif stride == 2 * size:
        for entry in range(count):
            memcpy(&flat[entry], view + entry * 2 * <Py_ssize_t>sizeof(Item), sizeof(Item))
    elif stride == -size:
        for entry in range(count):
            memcpy(&flat[entry], view - entry * <Py_ssize_t>sizeof(Item), sizeof(Item))
    else:
        for entry in range(count):
            memcpy(&flat[entry], view + entry * stride, sizeof(Item))


cdef inline void write(const Item *flat, char *view, const Axis *axis) noexcept nogil:
    cdef Py_ssize_t entry, count = axis.count, stride = axis.stride
    cdef const int64_t *table = axis.table
    if table:
        for entry in range(count):
            memcpy(view + table[entry] * stride, &flat[entry], sizeof(Item))
    else:
        for entry in range(count):
            memcpy(view + entry * stride, &flat[entry], sizeof(Item))


cdef char *blocks(
    Py_ssize_t item, char *view, const Axis *outer, const Axis *inner, char *flat, bint reading
) noexcept nogil:
    """The rows of items of any other size."""
    cdef Py_ssize_t row, entry
    cdef char *start
    for row in range(outer.count):
        start = view + place(outer, row)
        for entry in range(inner.count):
            if reading:
                memcpy(flat, start + place(inner, entry), item)
            else:
                memcpy(start + place(inner, entry), flat, item)
            flat += item
    return flat
