"""Copies between a view and contiguous memory, item by item: gather reads the view, scatter writes it.

The other side is C-contiguous, has the view's shape, and overlaps neither the view nor its tables; every coordinate of
a table lies on its axis; the dtype has no Python objects. Items are moved by their size alone, at any alignment. Both
walk the view in row-major order, so that of several writes to one place the last one stays.

Axes are made few first: those of length 1 go, neighbours that one stride describes become one, and what then lies
together in the last axes is one larger item.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cnp.import_array()

cdef extern from "shuffle.h":
    bint TB_SHUFFLES
    void tb_shuffle(const char *source, const uint8_t *order, char *target) noexcept nogil

cdef enum:
    MAX_RANK = 64
    GIL_LIMIT = 4096
    VECTOR = 16  # bytes


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


cdef struct Shuffle:
    # Takes `together` entries of a run from the vector that begins `start` bytes before the first of them.
    Py_ssize_t together
    Py_ssize_t start
    uint8_t order[VECTOR]


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
    cdef Shuffle shuffle = shuffle_of(inner, sizeof(Item))
    for row in range(outer.count):
        if not reading:
            write(flat, view + place(outer, row), inner)
        elif wide(sizeof(Item)) > sizeof(Item) and not inner.table:
            read_odd(view + place(outer, row), inner.stride, inner.count, &shuffle, flat)
        else:
            read(view + place(outer, row), inner, flat)
        flat += inner.count
    return <char *>flat


cdef inline void read(const char *view, const Axis *axis, Item *flat) noexcept nogil:
    # The bytes written may be those of `axis` for all that the compiler knows: its fields are kept in locals.
    cdef Py_ssize_t entry, count = axis.count, stride = axis.stride, size = sizeof(Item)
    cdef const int64_t *table = axis.table
    if table:
        for entry in range(count):
            memcpy(&flat[entry], view + table[entry] * stride, sizeof(Item))
    elif stride == 2 * size:
        read_run(view, 2, count, flat)
    elif stride == 3 * size:
        read_run(view, 3, count, flat)
    elif stride == 4 * size:
        read_run(view, 4, count, flat)
    elif stride == -size:
        read_back(view + (count - 1) * stride, 1, count, flat)
    elif stride == -2 * size:
        read_back(view + (count - 1) * stride, 2, count, flat)
    elif stride == -3 * size:
        read_back(view + (count - 1) * stride, 3, count, flat)
    else:
        for entry in range(count):
            memcpy(&flat[entry], view + entry * stride, sizeof(Item))


cdef inline Py_ssize_t wide(Py_ssize_t size) noexcept nogil:
    """The size of the one move that takes an item of an odd size, and some bytes more."""
    return 4 if size == 3 else 8 if size == 6 else 16 if size == 12 else size


cdef Shuffle shuffle_of(const Axis *axis, Py_ssize_t size) noexcept nogil:
    """How one shuffle takes several entries of a run; `together` is 0 where it cannot."""
    cdef Shuffle shuffle
    cdef Py_ssize_t byte, apart = -axis.stride if axis.stride < 0 else axis.stride
    shuffle.together = 0
    if TB_SHUFFLES and 0 < apart <= VECTOR - size:
        shuffle.together = (VECTOR - size) // apart + 1
        shuffle.start = VECTOR - size if axis.stride < 0 else 0
        for byte in range(VECTOR):
            shuffle.order[byte] = 0
        for byte in range(min(shuffle.together * size, VECTOR)):
            shuffle.order[byte] = <uint8_t>(shuffle.start + byte // size * axis.stride + byte % size)
    return shuffle


cdef inline void read_odd(
    const char *view, Py_ssize_t stride, Py_ssize_t count, const Shuffle *shuffle, Item *flat
) noexcept nogil:
    """A run of items that no one move takes: several in a shuffle, the others one by one in a move that takes more."""
    cdef Py_ssize_t entry = 0, size = sizeof(Item), spill = wide(sizeof(Item)) - <Py_ssize_t>sizeof(Item)
    cdef Py_ssize_t apart = -stride if stride < 0 else stride
    if shuffle.together:
        # As long as a whole vector lies within the run, and within the rest of `flat`.
        while entry * apart + VECTOR <= (count - 1) * apart + size and (count - entry) * size >= VECTOR:
            tb_shuffle(view + entry * stride - shuffle.start, shuffle.order, <char *>&flat[entry])
            entry += shuffle.together
    if entry == 0:
        memcpy(flat, view, sizeof(Item))
        entry = 1
    if apart >= spill:
        # The bytes too many that are read belong to a neighbour, those that are written are written over with the next
        # entry: all but the first entry and the last have both.
        while entry < count - 1:
            memcpy(&flat[entry], view + entry * stride, wide(sizeof(Item)))
            entry += 1
    while entry < count:
        memcpy(&flat[entry], view + entry * stride, sizeof(Item))
        entry += 1


# Loops vectorise where the step is a constant and the view is read forward: the callers give both.
cdef inline void read_run(const char *view, Py_ssize_t step, Py_ssize_t count, Item *flat) noexcept nogil:
    cdef Py_ssize_t entry
    for entry in range(count):
        memcpy(&flat[entry], view + entry * step * <Py_ssize_t>sizeof(Item), sizeof(Item))


cdef inline void read_back(const char *view, Py_ssize_t step, Py_ssize_t count, Item *flat) noexcept nogil:
    cdef Py_ssize_t entry
    for entry in range(count):
        memcpy(&flat[count - 1 - entry], view + entry * step * <Py_ssize_t>sizeof(Item), sizeof(Item))


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
