"""A plan: what one pass over memory reads, does and writes; and the order in which it walks.

Axes are dropped, ordered and merged until a tile, the part of the memory that is worked on at once, spans two of them.
"""

from libc.stdint cimport int64_t

from tensorbuf._kernels.blocks cimport magnitude
from tensorbuf._kernels.types cimport MOST_PARAMETERS, Bounds, Convert, Program, Scan

cdef enum:
    BLOCK = 8192            # bytes of a block: two or three stay in the L1 cache, beside what is read and written
    TURNED = 6 * BLOCK      # bytes of a block that is only filled, and transposed on its way out
    PATTERN = 2048          # bytes of a parameter's block
    LINE = 64               # bytes of a cache line
    MOST_AXES = 64          # numpy's own limit
    MOST_STEPS = 8
    NARROW = 16             # items of a side from which squares are transposed
    ALIGNED = 2048          # items from which a step is worth aligning

# What pixels become on their way into planes.
cdef enum:
    SCALED = 1
    NORMALIZED = 2

cdef struct Operand:
    char *data
    Py_ssize_t item
    bint plain              # native byte order and aligned
    bint swapped
    Py_ssize_t strides[MOST_AXES]

# `convert` or `program`; the other is NULL. It yields items of `item` bytes.
cdef struct Step:
    Convert convert
    Convert streamed        # the same past the caches, where the target lies on a cache line; or NULL
    Convert second          # the same from every second item, at any address; or NULL
    int64_t nan
    Program program
    int parameter           # the program's first
    Py_ssize_t item

cdef struct Plan:
    int rank
    Py_ssize_t shape[MOST_AXES]
    Operand source
    Operand target
    Operand parameters[MOST_PARAMETERS]
    int parameter_count
    # The last axis may be two that the target walks as one. In the source `fold` places of it, `strides` apart, are one
    # place of the outer axis; those are `fold_stride` apart. 1 where it is a single axis.
    Py_ssize_t fold, fold_stride
    Step steps[MOST_STEPS]
    int step_count
    int planes              # SCALED or NORMALIZED where pixels of three bytes may go into planes at once; else 0
    int turned              # the kind of transposition that does what the one step does; else 0
    bint mapped             # no steps: the parameter has a table of 256 results for each place
    bint staged             # load every block, even where a step could read in place
    Scan scan               # where the steps end in a scan, not in the target; else NULL
    Bounds bounds

cdef struct Tile:
    int inner, second       # the axes it spans; second is -1 where there is one axis only
    int third               # spanned, too, where the source's second axis is short: it is whole then; else -1
    Py_ssize_t n, rows      # its size on `inner` at the most, and on `third`, or else `second`
    bint by_row             # the steps run row by row: each has a place of its own in the target, or parameters
    bint direct             # the last step writes into the target
    bint at_once            # the source is transposed straight into the target
    bint late               # what the steps yield is transposed: rows lie along the source's fast axis
    bint along, across      # whether parameters differ within a row, from row to row
    bint together           # with a third axis: the steps run over all of it, and then all of it is stored
    bint streamed           # what is written passes the caches by
    bint fused              # pixels go into planes at once: the tile is no block
    bint apart              # the one step reads every second item where it is


cdef struct Blocks:
    char *source
    char *even              # what the first step yields, and the third
    char *odd
    char *target
    # The parameters' blocks keep what was loaded last: most tiles want the same again.
    char *parameter[MOST_PARAMETERS]
    const char *loaded[MOST_PARAMETERS]
    Py_ssize_t loaded_n[MOST_PARAMETERS]
    Py_ssize_t loaded_rows[MOST_PARAMETERS]
    char room[BLOCK + TURNED + MOST_PARAMETERS * PATTERN + LINE]


cdef inline void place(Blocks *blocks) noexcept nogil:
    """The blocks' places in their room, each on a cache line."""
    cdef int k
    cdef char *start = blocks.room + (LINE - <size_t> blocks.room % LINE) % LINE
    blocks.source, blocks.even = start, start + BLOCK       # from here on the block that is transposed
    blocks.odd, blocks.target = start + 2 * BLOCK, start + 3 * BLOCK
    for k in range(MOST_PARAMETERS):
        blocks.parameter[k] = start + BLOCK + TURNED + k * PATTERN
        blocks.loaded[k] = NULL


cdef inline Py_ssize_t after_line(const char *data, Py_ssize_t item) noexcept nogil:
    """The items between the last cache line's beginning and `data`."""
    return <Py_ssize_t> (<size_t> data % LINE) // item


cdef inline void advance(const Plan *plan, Py_ssize_t *corner, int axis, Py_ssize_t steps) noexcept nogil:
    cdef int k
    if plan.fold > 1 and axis == plan.rank - 1:
        corner[0] += steps // plan.fold * plan.fold_stride + steps % plan.fold * plan.source.strides[axis]
    else:
        corner[0] += plan.source.strides[axis] * steps
    corner[1] += plan.target.strides[axis] * steps
    for k in range(plan.parameter_count):
        corner[2 + k] += plan.parameters[k].strides[axis] * steps


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


cdef inline int fast_axis(const Plan *plan) noexcept nogil:
    """The axis on which the source is walked with the smallest steps; the inner one where it is among several."""
    cdef int axis, best = plan.rank - 1
    cdef Py_ssize_t step
    for axis in range(plan.rank - 1):
        step = magnitude(plan.source.strides[axis])
        if 0 < step < magnitude(plan.source.strides[best]):
            best = axis
    return best


cdef inline int next_axis(const Plan *plan, int fast) noexcept nogil:
    """The axis that the source walks next after `fast`, where that is short, and before the last one; else -1."""
    cdef int axis, best = plan.rank - 1
    cdef Py_ssize_t step, least = magnitude(plan.source.strides[best])
    if plan.fold > 1:
        least = min(least, magnitude(plan.fold_stride))
    for axis in range(plan.rank - 1):
        step = magnitude(plan.source.strides[axis])
        if axis != fast and 0 < step < least:
            best, least = axis, step
    return best if best < plan.rank - 1 and plan.shape[fast] < NARROW else -1


cdef inline bint told_apart(const Plan *plan, int axis) noexcept nogil:
    """Whether a parameter has a value for each place on `axis`."""
    cdef int k
    for k in range(plan.parameter_count):
        if axis >= 0 and plan.parameters[k].strides[axis] != 0:
            return True
    return False


cdef inline void fold_axes(Plan *plan) noexcept nogil:
    """The last two axes become one where the last is short, as channels are, and the source is fastest on neither."""
    cdef int fast, third, last = plan.rank - 1
    cdef Py_ssize_t size
    plan.fold, plan.fold_stride = 1, 0
    if plan.rank < 3 or plan.mapped or plan.staged or plan.scan != NULL or plan.shape[last] >= NARROW:
        return
    fast = fast_axis(plan)
    third = next_axis(plan, fast)
    if (
        fast >= last - 1 or plan.source.strides[fast] != plan.source.item
        or (plan.shape[fast] < NARROW and (third < 0 or third == last - 1))
        or plan.target.strides[last] != plan.target.item or not mergeable(&plan.target, last - 1, plan)
        or told_apart(plan, last - 1) or told_apart(plan, last)
    ):
        return
    size = plan.shape[last - 1]
    plan.fold, plan.fold_stride = plan.shape[last], plan.source.strides[last - 1]
    move_axis(plan, last - 1, last)
    plan.shape[last - 1] *= size
    plan.rank -= 1


cdef inline void arrange(Plan *plan) noexcept nogil:
    drop_single_axes(plan)
    if plan.rank < MOST_AXES:
        order_axes(plan)
    merge_axes(plan)
    if plan.rank == 0:
        plan.rank = 1
        plan.shape[0] = 1
        plan.source.strides[0] = plan.target.strides[0] = 0
    fold_axes(plan)
