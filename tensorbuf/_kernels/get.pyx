"""Copies between a view and contiguous memory, item by item: gather reads the view, scatter writes it.

The other side is C-contiguous, has the view's shape, and overlaps neither the view nor its tables; every coordinate of
a table lies on its axis; the dtype has no Python objects. Items are moved by their size alone, at any alignment. Both
walk the view in row-major order, so that of several writes to one place the last one stays.

Axes are made few first: those of length 1 go, neighbours that one stride describes become one, and what then lies
together in the last axes is one larger item.

`transpose_runs` moves items within one array. No two of its items overlap, and all the numbers that it forms are
below the array's size.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from tensorbuf._kernels.outlines cimport apart
from tensorbuf._kernels.rows cimport Axis, place, rows, tb_use

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    GIL_LIMIT = 4096


cdef struct Plan:
    char *view
    int rank
    Py_ssize_t item
    Axis axes[MAX_RANK]


def use(int level):
    """Take the copies of an instruction-set level, by its number."""
    tb_use(level)


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
    return not apart(a, b)


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


# ---------------------------------------------------------------- runs of items, within one array

cdef struct Matrix:
    # Of runs of items, in row-major order. Run k begins at item `start + k * pitch` of the array, counted in row-major
    # order too, and is `pieces` pieces, each of `together` items, or `size` bytes, without a gap.
    char *data
    int rank
    const cnp.npy_intp *shape
    const cnp.npy_intp *strides
    Py_ssize_t start, height, width, pitch, pieces, together, size


def transpose_runs(
    cnp.ndarray array not None, Py_ssize_t start, Py_ssize_t height, Py_ssize_t width, Py_ssize_t pitch,
    Py_ssize_t size, Py_ssize_t together, cnp.ndarray seen not None, cnp.ndarray kept not None,
):
    """Transpose, in place, a matrix of `height` rows and `width` columns, whose entries are runs of `size` items.

    They begin at item `start`, `pitch` items from one another; each `together` of a run lie without a gap. Memory to
    work with: `kept` has room for a run; the more bytes `seen` has, at least one, the faster it goes.
    """
    cdef Matrix matrix
    matrix.data = cnp.PyArray_BYTES(array)
    matrix.rank = cnp.PyArray_NDIM(array)
    matrix.shape = cnp.PyArray_DIMS(array)
    matrix.strides = cnp.PyArray_STRIDES(array)
    matrix.start, matrix.height, matrix.width, matrix.pitch = start, height, width, pitch
    matrix.pieces, matrix.together, matrix.size = size // together, together, together * cnp.PyArray_ITEMSIZE(array)
    with nogil:
        transpose(&matrix, <uint8_t *> cnp.PyArray_BYTES(seen), 8 * cnp.PyArray_NBYTES(seen), cnp.PyArray_BYTES(kept))


cdef void transpose(const Matrix *matrix, uint8_t *seen, Py_ssize_t window, char *kept) noexcept nogil:
    """Window after window of runs; `seen` has a bit for each run of the window, set where its cycle is known."""
    cdef Py_ssize_t start = 0, stop, run
    while start < matrix.height * matrix.width:
        stop = min(start + window, matrix.height * matrix.width)
        memset(seen, 0, (stop - start + 7) // 8)
        for run in range(start, stop):
            if not seen[(run - start) >> 3] >> ((run - start) & 7) & 1 and leads(matrix, run, seen, start, stop):
                rotate(matrix, run, kept)
        start = stop


cdef bint leads(
    const Matrix *matrix, Py_ssize_t first, uint8_t *seen, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Whether no run of the cycle lies before the window; its runs in the window are seen now."""
    cdef Py_ssize_t run = first
    while True:
        if run < stop:
            seen[(run - start) >> 3] |= 1 << ((run - start) & 7)
        run = origin(matrix, run)
        if run == first:
            return True
        if run < start:
            return False


cdef void rotate(const Matrix *matrix, Py_ssize_t first, char *kept) noexcept nogil:
    cdef Py_ssize_t run = first
    cdef Py_ssize_t following = origin(matrix, first)
    cdef Py_ssize_t piece
    if following == first:
        return
    for piece in range(matrix.pieces):
        copy(piece_at(matrix, first, piece), kept + piece * matrix.size, matrix.size)
    while following != first:
        for piece in range(matrix.pieces):
            copy(piece_at(matrix, following, piece), piece_at(matrix, run, piece), matrix.size)
        run = following
        following = origin(matrix, run)
    for piece in range(matrix.pieces):
        copy(kept + piece * matrix.size, piece_at(matrix, run, piece), matrix.size)


cdef inline Py_ssize_t origin(const Matrix *matrix, Py_ssize_t run) noexcept nogil:
    """Where the run lies that belongs to where `run` lies."""
    return run % matrix.height * matrix.width + run // matrix.height


cdef inline char *piece_at(const Matrix *matrix, Py_ssize_t run, Py_ssize_t piece) noexcept nogil:
    cdef Py_ssize_t item = matrix.start + run * matrix.pitch + piece * matrix.together
    cdef int axis = matrix.rank - 1
    cdef char *at = matrix.data
    while axis > 0:
        at += item % matrix.shape[axis] * matrix.strides[axis]
        item //= matrix.shape[axis]
        axis -= 1
    return at + item * matrix.strides[0]


cdef inline void copy(const char *source, char *target, Py_ssize_t size) noexcept nogil:
    # With a size that the compiler knows, memcpy is a move.
    if size == 4:
        memcpy(target, source, 4)
    elif size == 1:
        memcpy(target, source, 1)
    elif size == 2:
        memcpy(target, source, 2)
    elif size == 8:
        memcpy(target, source, 8)
    else:
        memcpy(target, source, size)
