"""A plan: what one pass over memory reads, does and writes; and the order in which it walks.

Axes are dropped, ordered and merged until a tile, the part of the memory that is worked on at once, spans two of them.
"""

from libc.stdint cimport int64_t, uint64_t

from tensorbuf._kernels.blocks cimport magnitude
from tensorbuf._kernels.types cimport MOST_PARAMETERS, Arithmetic, Bounds, Convert, Program, Scan

cdef enum:
    BLOCK = 1024            # items of a tile: four blocks of eight bytes an item stay in the L1 cache
    SQUARE = 32             # side of a tile whose fast axes differ in source and target
    MOST_AXES = 64          # numpy's own limit
    MOST_STEPS = 8
    LONG_ROW = 64           # items from which a row is worth a kernel call of its own

cdef struct Operand:
    char *data
    Py_ssize_t item
    bint plain              # native byte order and aligned
    bint swapped
    Py_ssize_t strides[MOST_AXES]

# One of the three kernels; the other two are NULL. All but an operation, which works in place, yield items of `item`
# bytes.
cdef struct Step:
    Convert convert
    int64_t nan
    Arithmetic operation
    Program program
    int parameter           # the operation's, the program's first
    Py_ssize_t item

cdef struct Plan:
    int rank
    Py_ssize_t shape[MOST_AXES]
    Operand source
    Operand target
    Operand parameters[MOST_PARAMETERS]
    int parameter_count
    Step steps[MOST_STEPS]
    int step_count
    bint mapped             # no steps: the parameter has a table of 256 results for each place
    bint staged             # load every block, even where a step could read in place
    Scan scan               # where the steps end in a scan, not in the target; else NULL
    Bounds bounds

cdef struct Tile:
    int inner, second       # the axes it spans; second is -1 where there is one axis only
    Py_ssize_t n, rows      # its size on them at the most

cdef struct Blocks:
    # The parameters' blocks keep what was loaded last: most tiles want the same again.
    uint64_t first[2 * BLOCK]
    uint64_t other[2 * BLOCK]
    uint64_t parameter[MOST_PARAMETERS][BLOCK]
    const char *loaded[MOST_PARAMETERS]
    Py_ssize_t loaded_n[MOST_PARAMETERS]
    Py_ssize_t loaded_rows[MOST_PARAMETERS]


cdef inline bint mergeable(const Operand *operand, int axis, const Plan *plan) noexcept nogil:
    return operand.strides[axis] == operand.strides[axis + 1] * plan.shape[axis + 1]


cdef inline void move_axis(Plan *plan, int to, int axis) noexcept nogil:
    """Axis `axis` of every operand takes the place `to`."""
    cdef int k
    plan.shape[to] = plan.shape[axis]
    plan.source.strides[to] = plan.source.strides[axis]
    plan.target.strides[to] = plan.target.strides[axis]
    for k in range(plan.parameter_count):
        plan.parameters[k].strides[to] = plan.parameters[k].strides[axis]


cdef inline void swap_axes(Plan *plan, int a, int b) noexcept nogil:
    # The place behind the last axis is free: a plan has MOST_AXES - 1 axes at the most when this is called.
    move_axis(plan, plan.rank, a)
    move_axis(plan, a, b)
    move_axis(plan, b, plan.rank)


cdef inline void drop_single_axes(Plan *plan) noexcept nogil:
    cdef int axis, kept = 0
    for axis in range(plan.rank):
        if plan.shape[axis] != 1:
            move_axis(plan, kept, axis)
            kept += 1
    plan.rank = kept


cdef inline void order_axes(Plan *plan) noexcept nogil:
    """The target's fastest axis last; axes that it does not tell apart stay as they are."""
    cdef int axis, place
    for axis in range(1, plan.rank):
        place = axis
        while place > 0 and magnitude(plan.target.strides[place - 1]) < magnitude(plan.target.strides[place]):
            swap_axes(plan, place - 1, place)
            place -= 1


cdef inline void merge_axes(Plan *plan) noexcept nogil:
    """Neighbouring axes that every operand walks as one become one."""
    cdef int axis = plan.rank - 2
    cdef int k, later
    cdef bint together
    cdef Py_ssize_t size
    while axis >= 0:
        together = mergeable(&plan.source, axis, plan) and mergeable(&plan.target, axis, plan)
        for k in range(plan.parameter_count):
            together = together and mergeable(&plan.parameters[k], axis, plan)
        if together:
            size = plan.shape[axis] * plan.shape[axis + 1]
            for later in range(axis + 1, plan.rank):
                move_axis(plan, later - 1, later)
            plan.shape[axis] = size
            plan.rank -= 1
        axis -= 1


cdef inline void arrange(Plan *plan) noexcept nogil:
    drop_single_axes(plan)
    if plan.rank < MOST_AXES:
        order_axes(plan)
    merge_axes(plan)
    if plan.rank == 0:
        plan.rank = 1
        plan.shape[0] = 1
        plan.source.strides[0] = plan.target.strides[0] = 0


cdef inline int fast_axis(const Plan *plan) noexcept nogil:
    """The axis on which the source is walked with the smallest steps; the inner one where it is among several."""
    cdef int axis, best = plan.rank - 1
    cdef Py_ssize_t step
    for axis in range(plan.rank - 1):
        step = magnitude(plan.source.strides[axis])
        if 0 < step < magnitude(plan.source.strides[best]):
            best = axis
    return best


cdef inline bint row_ready(const Operand *operand, int axis) noexcept nogil:
    return operand.plain and operand.strides[axis] == operand.item


cdef inline void choose_tile(const Plan *plan, Tile *tile) noexcept nogil:
    cdef int fast = fast_axis(plan)
    cdef Py_ssize_t inner_size
    tile.inner = plan.rank - 1
    inner_size = plan.shape[tile.inner]
    tile.second = plan.rank - 2
    tile.rows = 1
    if plan.scan == NULL and fast != tile.inner:
        tile.second = fast
        tile.rows = min(plan.shape[fast], BLOCK // min(inner_size, SQUARE))
        tile.n = min(inner_size, BLOCK // tile.rows)
        if LONG_ROW < tile.n < inner_size:
            # Whole cache lines: the next tile's rows begin where these end.
            tile.n -= tile.n % LONG_ROW
    elif (
        plan.step_count == 1 and plan.parameter_count == 0 and plan.scan == NULL and not plan.staged
        and (inner_size >= LONG_ROW or plan.rank == 1)
        and row_ready(&plan.source, tile.inner) and row_ready(&plan.target, tile.inner)
    ):
        tile.n = inner_size
    elif inner_size >= BLOCK // 2 or tile.second < 0:
        tile.n = min(inner_size, BLOCK)
    else:
        tile.n = inner_size
        tile.rows = min(plan.shape[tile.second], BLOCK // inner_size)
