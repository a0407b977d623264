"""The one pipeline of all conversion: load a block, run its steps, store it.

Load and store know the geometry and the item size; the steps (kernels of one instruction-set level) know the types.
Memory that is already what a step wants, contiguous, aligned and in native order, is not moved: then the step works
on it directly, and a single step runs over whole rows.

What makes the unchecked loops safe: the arrays have equal shapes and item sizes as their codes say (checked by
`_operand`), a tile never holds more than BLOCK items, and every block has room for BLOCK items of 16 bytes.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tensorbuf._kernels.blocks cimport load_words, magnitude, map_words, store_words, swap_words
from tensorbuf._kernels.types cimport (
    ARITHMETICS, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, SATURATE, TRUNCATE, UINT8, UINT16, UINT32,
    UINT64, Arithmetic, Bounds, Convert, Kernels, Scan, Span, double_pair,
)

cnp.import_array()

cdef extern from "environment.h":
    ctypedef struct environment:
        pass
    environment environment_enter() noexcept nogil
    void environment_leave(environment saved) noexcept nogil

cdef extern from "processor.h":
    bint processor_has_v3() noexcept nogil

cdef enum:
    BLOCK = 1024            # items of a tile: four blocks of eight bytes an item stay in the L1 cache
    SQUARE = 32             # side of a tile whose fast axes differ in source and target
    MOST_AXES = 64          # numpy's own limit
    MOST_STEPS = 8
    MOST_PARAMETERS = 3
    LONG_ROW = 64           # items from which a row is worth a kernel call of its own
    WITHOUT_GIL = 4096      # items from which the GIL is released

cdef struct Operand:
    char *data
    Py_ssize_t item
    bint plain              # native byte order and aligned
    bint swapped
    Py_ssize_t strides[MOST_AXES]

cdef struct Step:
    Convert convert         # NULL where the step is arithmetic
    int64_t nan
    Arithmetic arithmetic
    int parameter

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

# Cython defines the struct behind Span only in a module that has a memoryview.
cdef const char[::1] _nothing = None

cdef Kernels *kernels = NULL

cdef Py_ssize_t[17] ITEM_SIZES = [1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 8, 16]


def processor_levels():
    """The names of the instruction-set levels that this processor can run, the best one last."""
    return ("baseline", "v3") if processor_has_v3() else ("baseline",)


def use(table):
    """Take the kernels of one level: the capsule that its module calls `table`."""
    global kernels
    kernels = <Kernels *> PyCapsule_GetPointer(table, "tensorbuf._kernels.Kernels")


# ---------------------------------------------------------------- geometry

cdef inline bint _mergeable(const Operand *operand, int axis, const Plan *plan) noexcept nogil:
    return operand.strides[axis] == operand.strides[axis + 1] * plan.shape[axis + 1]


cdef void _move_axis(Plan *plan, int to, int axis) noexcept nogil:
    """Axis `axis` of every operand takes the place `to`."""
    cdef int k
    plan.shape[to] = plan.shape[axis]
    plan.source.strides[to] = plan.source.strides[axis]
    plan.target.strides[to] = plan.target.strides[axis]
    for k in range(plan.parameter_count):
        plan.parameters[k].strides[to] = plan.parameters[k].strides[axis]


cdef void _swap_axes(Plan *plan, int a, int b) noexcept nogil:
    # The place behind the last axis is free: a plan has MOST_AXES - 1 axes at the most when this is called.
    _move_axis(plan, plan.rank, a)
    _move_axis(plan, a, b)
    _move_axis(plan, b, plan.rank)


cdef void _drop_single_axes(Plan *plan) noexcept nogil:
    cdef int axis, kept = 0
    for axis in range(plan.rank):
        if plan.shape[axis] != 1:
            _move_axis(plan, kept, axis)
            kept += 1
    plan.rank = kept


cdef void _order_axes(Plan *plan) noexcept nogil:
    """The target's fastest axis last; axes that it does not tell apart stay as they are."""
    cdef int axis, place
    for axis in range(1, plan.rank):
        place = axis
        while place > 0 and magnitude(plan.target.strides[place - 1]) < magnitude(plan.target.strides[place]):
            _swap_axes(plan, place - 1, place)
            place -= 1


cdef void _merge_axes(Plan *plan) noexcept nogil:
    """Neighbouring axes that every operand walks as one become one."""
    cdef int axis = plan.rank - 2
    cdef int k, later
    cdef bint together
    cdef Py_ssize_t size
    while axis >= 0:
        together = _mergeable(&plan.source, axis, plan) and _mergeable(&plan.target, axis, plan)
        for k in range(plan.parameter_count):
            together = together and _mergeable(&plan.parameters[k], axis, plan)
        if together:
            size = plan.shape[axis] * plan.shape[axis + 1]
            for later in range(axis + 1, plan.rank):
                _move_axis(plan, later - 1, later)
            plan.shape[axis] = size
            plan.rank -= 1
        axis -= 1


cdef void _arrange(Plan *plan) noexcept nogil:
    _drop_single_axes(plan)
    if plan.rank < MOST_AXES:
        _order_axes(plan)
    _merge_axes(plan)
    if plan.rank == 0:
        plan.rank = 1
        plan.shape[0] = 1
        plan.source.strides[0] = plan.target.strides[0] = 0


cdef int _fast_axis(const Plan *plan) noexcept nogil:
    """The axis on which the source is walked with the smallest steps; the inner one where it is among several."""
    cdef int axis, best = plan.rank - 1
    cdef Py_ssize_t step
    for axis in range(plan.rank - 1):
        step = magnitude(plan.source.strides[axis])
        if 0 < step < magnitude(plan.source.strides[best]):
            best = axis
    return best


cdef inline bint _row_ready(const Operand *operand, int axis) noexcept nogil:
    return operand.plain and operand.strides[axis] == operand.item


cdef void _choose_tile(const Plan *plan, Tile *tile) noexcept nogil:
    cdef int fast = _fast_axis(plan)
    cdef Py_ssize_t inner_size
    tile.inner = plan.rank - 1
    inner_size = plan.shape[tile.inner]
    tile.second = plan.rank - 2
    tile.rows = 1
    if plan.scan == NULL and fast != tile.inner:
        tile.second = fast
        tile.rows = min(plan.shape[fast], SQUARE)
        tile.n = min(inner_size, BLOCK // tile.rows)
    elif (
        plan.step_count == 1 and plan.scan == NULL and not plan.staged and (inner_size >= LONG_ROW or plan.rank == 1)
        and _row_ready(&plan.source, tile.inner) and _row_ready(&plan.target, tile.inner)
    ):
        tile.n = inner_size
    elif inner_size >= BLOCK // 2 or tile.second < 0:
        tile.n = min(inner_size, BLOCK)
    else:
        tile.n = inner_size
        tile.rows = min(plan.shape[tile.second], BLOCK // inner_size)


# ---------------------------------------------------------------- a tile

cdef inline bint _in_place(
    const Operand *operand, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Whether the tile lies in memory just as a block would."""
    return operand.plain and (n == 1 or stride == operand.item) and (rows == 1 or row_stride == n * operand.item)


cdef void _load(
    const Operand *operand, const char *data, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *block,
) noexcept nogil:
    if operand.item == 1:
        load_words(data, stride, row_stride, n, rows, <uint8_t *> block)
    elif operand.item == 2:
        load_words(data, stride, row_stride, n, rows, <uint16_t *> block)
    elif operand.item == 4:
        load_words(data, stride, row_stride, n, rows, <uint32_t *> block)
    elif operand.item == 8:
        load_words(data, stride, row_stride, n, rows, <uint64_t *> block)
    else:
        load_words(data, stride, row_stride, n, rows, <double_pair *> block)
    if operand.swapped:
        _swap(operand.item, block, n * rows)


cdef void _store(
    const Operand *operand, char *block, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *data,
) noexcept nogil:
    if operand.swapped:
        _swap(operand.item, block, n * rows)
    if operand.item == 1:
        store_words(<const uint8_t *> block, stride, row_stride, n, rows, data)
    elif operand.item == 2:
        store_words(<const uint16_t *> block, stride, row_stride, n, rows, data)
    elif operand.item == 4:
        store_words(<const uint32_t *> block, stride, row_stride, n, rows, data)
    else:
        store_words(<const uint64_t *> block, stride, row_stride, n, rows, data)


cdef void _swap(Py_ssize_t item, char *block, Py_ssize_t n) noexcept nogil:
    # complex64 (eight bytes) comes out with its parts exchanged, which its one kernel, to BOOL, does not tell apart.
    if item == 2:
        swap_words(<uint16_t *> block, n)
    elif item == 4:
        swap_words(<uint32_t *> block, n)
    elif item == 8:
        swap_words(<uint64_t *> block, n)
    elif item == 16:
        swap_words(<double_pair *> block, n)


cdef char *_parameter(
    const Plan *plan, const Tile *tile, Blocks *blocks, int k, const char *data, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """The block with parameter `k` for a tile; loaded anew only where the tile before had other values."""
    cdef const Operand *operand = &plan.parameters[k]
    cdef Py_ssize_t row_stride = operand.strides[tile.second] if tile.second >= 0 else 0
    if blocks.loaded[k] != data or blocks.loaded_n[k] != n or blocks.loaded_rows[k] < rows:
        _load(operand, data, operand.strides[tile.inner], row_stride, n, rows, <char *> blocks.parameter[k])
        blocks.loaded[k] = data
        blocks.loaded_n[k] = n
        blocks.loaded_rows[k] = rows
    return <char *> blocks.parameter[k]


cdef void _map_tile(
    const Plan *plan, const Tile *tile, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Looks up every byte, from the source straight into the target."""
    cdef Py_ssize_t stride = plan.source.strides[tile.inner]
    cdef Py_ssize_t into_stride = plan.target.strides[tile.inner]
    cdef Py_ssize_t table_stride = plan.parameters[0].strides[tile.inner]
    cdef Py_ssize_t at[2 + MOST_PARAMETERS]
    cdef Py_ssize_t _
    cdef const char *src
    cdef const char *table
    cdef char *dst
    memcpy(at, corner, sizeof(at))
    for _ in range(rows):
        src = plan.source.data + at[0]
        dst = plan.target.data + at[1]
        table = plan.parameters[0].data + at[2]
        if plan.target.item == 1:
            map_words(src, stride, <const uint8_t *> table, table_stride, dst, into_stride, n)
        elif plan.target.item == 2:
            map_words(src, stride, <const uint16_t *> table, table_stride, dst, into_stride, n)
        elif plan.target.item == 4:
            map_words(src, stride, <const uint32_t *> table, table_stride, dst, into_stride, n)
        else:
            map_words(src, stride, <const uint64_t *> table, table_stride, dst, into_stride, n)
        if tile.second >= 0:
            _advance(plan, at, tile.second, 1)


cdef Py_ssize_t _run_tile(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Loads, steps, stores. `corner` has the tile's offsets in bytes: source, target, parameters.

    Gives the scan's answer, without one `n * rows`.
    """
    cdef const Operand *source = &plan.source
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t source_rows = source.strides[tile.second] if tile.second >= 0 else 0
    cdef Py_ssize_t target_rows = target.strides[tile.second] if tile.second >= 0 else 0
    cdef char *into = target.data + corner[1]
    cdef bint write_through = plan.scan == NULL and _in_place(target, target.strides[tile.inner], target_rows, n, rows)
    cdef int k
    cdef Span values, result, operand
    if plan.mapped:
        _map_tile(plan, tile, corner, n, rows)
        return n * rows
    values.shape[0] = result.shape[0] = operand.shape[0] = n * rows
    values.data = source.data + corner[0]
    if plan.staged or not _in_place(source, source.strides[tile.inner], source_rows, n, rows):
        _load(source, values.data, source.strides[tile.inner], source_rows, n, rows, <char *> blocks.first)
        values.data = <char *> blocks.first
    for k in range(plan.step_count):
        if plan.steps[k].convert == NULL:
            operand.data = _parameter(
                plan, tile, blocks, plan.steps[k].parameter,
                plan.parameters[plan.steps[k].parameter].data + corner[2 + plan.steps[k].parameter], n, rows,
            )
            plan.steps[k].arithmetic(values, operand, n * rows)
            continue
        result.data = <char *> blocks.other if values.data == <char *> blocks.first else <char *> blocks.first
        if write_through and k == plan.step_count - 1:
            result.data = into
        plan.steps[k].convert(values, result, n * rows, plan.steps[k].nan)
        values.data = result.data
    if plan.scan != NULL:
        return plan.scan(values, n * rows, &plan.bounds)
    if not write_through:
        _store(target, values.data, target.strides[tile.inner], target_rows, n, rows, into)
    return n * rows


# ---------------------------------------------------------------- all tiles

cdef void _advance(const Plan *plan, Py_ssize_t *corner, int axis, Py_ssize_t steps) noexcept nogil:
    cdef int k
    corner[0] += plan.source.strides[axis] * steps
    corner[1] += plan.target.strides[axis] * steps
    for k in range(plan.parameter_count):
        corner[2 + k] += plan.parameters[k].strides[axis] * steps


cdef Py_ssize_t _run_plane(const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner) noexcept nogil:
    """All tiles over the two axes of a tile. The number of items before the scan's first answer, else all."""
    cdef Py_ssize_t at[2 + MOST_PARAMETERS]
    cdef Py_ssize_t rows_size = plan.shape[tile.second] if tile.second >= 0 else 1
    cdef Py_ssize_t inner_size = plan.shape[tile.inner]
    cdef Py_ssize_t row, column, n, rows, done, passed = 0
    row = 0
    while row < rows_size:
        rows = min(tile.rows, rows_size - row)
        column = 0
        while column < inner_size:
            n = min(tile.n, inner_size - column)
            memcpy(at, corner, sizeof(at))
            if tile.second >= 0:
                _advance(plan, at, tile.second, row)
            _advance(plan, at, tile.inner, column)
            done = _run_tile(plan, tile, blocks, at, n, rows)
            passed += done
            if done < n * rows:
                return passed
            column += n
        row += rows
    return passed


cdef Py_ssize_t _run_all(const Plan *plan, const Tile *tile, Blocks *blocks) noexcept nogil:
    cdef Py_ssize_t corner[2 + MOST_PARAMETERS]
    cdef Py_ssize_t index[MOST_AXES]
    cdef Py_ssize_t plane = plan.shape[tile.inner] * (plan.shape[tile.second] if tile.second >= 0 else 1)
    cdef Py_ssize_t done, passed = 0
    cdef int axis
    memset(corner, 0, sizeof(corner))
    memset(index, 0, sizeof(index))
    while True:
        done = _run_plane(plan, tile, blocks, corner)
        passed += done
        if done < plane:
            return passed
        axis = plan.rank - 2
        while axis >= 0:
            if axis != tile.second:
                index[axis] += 1
                _advance(plan, corner, axis, 1)
                if index[axis] < plan.shape[axis]:
                    break
                _advance(plan, corner, axis, -index[axis])
                index[axis] = 0
            axis -= 1
        if axis < 0:
            return passed


cdef Py_ssize_t _run(Plan *plan) noexcept nogil:
    """The number of items before the first that the scan refuses; without a scan, or with no refusal, all."""
    cdef Blocks blocks
    cdef Tile tile
    cdef environment saved
    cdef Py_ssize_t passed
    cdef int k
    for k in range(MOST_PARAMETERS):
        blocks.loaded[k] = NULL
    _arrange(plan)
    _choose_tile(plan, &tile)
    saved = environment_enter()
    passed = _run_all(plan, &tile, &blocks)
    environment_leave(saved)
    return passed


# ---------------------------------------------------------------- from arrays to a plan

cdef int _operand(Operand *operand, cnp.ndarray array, int code) except -1:
    cdef int axis
    if cnp.PyArray_ITEMSIZE(array) != ITEM_SIZES[code]:
        raise SystemError(f"element type {code} does not have items of {cnp.PyArray_ITEMSIZE(array)} bytes")
    operand.data = <char *> cnp.PyArray_DATA(array)
    operand.item = ITEM_SIZES[code]
    operand.swapped = operand.item > 1 and cnp.PyArray_ISBYTESWAPPED(array)
    operand.plain = not operand.swapped and cnp.PyArray_ISALIGNED(array)
    for axis in range(cnp.PyArray_NDIM(array)):
        operand.strides[axis] = cnp.PyArray_STRIDES(array)[axis]
    return 0


cdef int _open(Plan *plan, cnp.ndarray source, int source_code) except -1:
    """A plan that reads `source` and has no steps yet."""
    cdef int axis
    plan.rank = cnp.PyArray_NDIM(source)
    for axis in range(plan.rank):
        plan.shape[axis] = cnp.PyArray_DIMS(source)[axis]
    _operand(&plan.source, source, source_code)
    plan.parameter_count = plan.step_count = 0
    plan.mapped = plan.staged = False
    plan.scan = NULL
    return 0


cdef int _write_to(Plan *plan, cnp.ndarray target, int target_code) except -1:
    cdef int axis
    if cnp.PyArray_NDIM(target) != plan.rank:
        raise SystemError("source and target differ in rank")
    for axis in range(plan.rank):
        if cnp.PyArray_DIMS(target)[axis] != plan.shape[axis]:
            raise SystemError("source and target differ in shape")
    return _operand(&plan.target, target, target_code)


cdef void _scan_with(Plan *plan, Scan scan, const Bounds *bounds):
    """End in a scan instead of a target; walking as a contiguous target would be written makes positions row-major."""
    cdef int axis
    cdef Py_ssize_t stride = 1
    plan.scan = scan
    plan.bounds = bounds[0]
    plan.target.data = plan.source.data     # never written
    plan.target.item = 1
    plan.target.plain = True
    for axis in range(plan.rank - 1, -1, -1):
        plan.target.strides[axis] = stride
        stride *= plan.shape[axis]


cdef void _add_convert(Plan *plan, Convert kernel, int64_t nan) noexcept:
    plan.steps[plan.step_count].convert = kernel
    plan.steps[plan.step_count].nan = nan
    plan.step_count += 1


cdef int _add_operations(Plan *plan, int source_code, bint wide, operations) except -1:
    """Steps to the arithmetic type, float32 or (`wide`) float64, and through `operations`.

    Those are pairs: the number of an arithmetic operation and its operand, or ARITHMETICS plus the number of a rounding
    and None.
    """
    cdef int number
    cdef Step *step
    # Always a step, if only a copy: arithmetic changes its block in place.
    _add_convert(plan, kernels.convert[SATURATE][source_code][FLOAT64 if wide else FLOAT32], 0)
    for number, operand in operations:
        if plan.step_count == MOST_STEPS - 1:
            raise SystemError("more operations than a plan has room for")
        if number >= ARITHMETICS:
            _add_convert(plan, kernels.round[number - ARITHMETICS][wide], 0)
            continue
        if plan.parameter_count == MOST_PARAMETERS:
            raise SystemError("more parameters than a plan has room for")
        step = &plan.steps[plan.step_count]
        step.convert = NULL
        step.arithmetic = kernels.arithmetic[number][wide]
        step.parameter = plan.parameter_count
        _operand(&plan.parameters[plan.parameter_count], operand, FLOAT64 if wide else FLOAT32)
        plan.parameter_count += 1
        plan.step_count += 1
    return 0


cdef Bounds _bounds(int code, least, most, bint nan_fits, bint infinity_fits):
    cdef Bounds bounds
    memset(&bounds, 0, sizeof(bounds))
    bounds.nan_fits = nan_fits
    bounds.infinity_fits = infinity_fits
    if code in (INT8, INT16, INT32, INT64):
        bounds.least_signed, bounds.most_signed = least, most
    elif code in (UINT8, UINT16, UINT32, UINT64):
        bounds.least_unsigned, bounds.most_unsigned = least, most
    else:
        bounds.least_floating, bounds.most_floating = least, most
    return bounds


cdef Py_ssize_t _execute(Plan *plan, Py_ssize_t size):
    cdef Py_ssize_t passed
    if size == 0:
        return 0
    if size < WITHOUT_GIL:
        return _run(plan)
    with nogil:
        passed = _run(plan)
    return passed


def convert(
    cnp.ndarray source not None, int source_code, cnp.ndarray target not None, int target_code, int mode, int rounding,
    int64_t nan, bint staged,
):
    """Convert every value of `source` into `target`: same shape, any strides, alignment and byte order.

    `staged` loads each block before a byte of it is written, for memory that both share.
    """
    cdef Plan plan
    cdef bint wide = source_code == FLOAT64
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    plan.staged = staged
    if rounding == TRUNCATE:
        _add_convert(&plan, kernels.convert[mode][source_code][target_code], nan)
    else:
        _add_operations(&plan, source_code, wide, ((ARITHMETICS + rounding, None),))
        _add_convert(&plan, kernels.convert[mode][FLOAT64 if wide else FLOAT32][target_code], nan)
    _execute(&plan, cnp.PyArray_SIZE(source))


def first_outside(cnp.ndarray source not None, int source_code, least, most, bint nan_fits, bint infinity_fits):
    """The row-major position of the first value that is not within `least` and `most` (inclusive), or the size."""
    cdef Plan plan
    cdef Bounds bounds = _bounds(source_code, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _scan_with(&plan, kernels.scan[source_code], &bounds)
    return _execute(&plan, cnp.PyArray_SIZE(source))


def apply(
    cnp.ndarray source not None, int source_code, bint wide, operations, cnp.ndarray target not None, int target_code,
    int mode, int64_t nan, bint staged,
):
    """Convert `source` to the arithmetic type, do the operations, convert into `target`; one pass.

    Each operation's operand is an array of the arithmetic type and of the source's shape (broadcast by strides).
    """
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Convert last = kernels.canonical[wide] if target_code == middle else kernels.convert[mode][middle][target_code]
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    plan.staged = staged
    _add_operations(&plan, source_code, wide, operations)
    _add_convert(&plan, last, nan)
    _execute(&plan, cnp.PyArray_SIZE(source))


def first_outside_after(
    cnp.ndarray source not None, int source_code, bint wide, operations, least, most, bint nan_fits, bint infinity_fits
):
    """`first_outside` of what `apply` would convert into its target."""
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Bounds bounds = _bounds(middle, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _add_operations(&plan, source_code, wide, operations)
    _scan_with(&plan, kernels.scan[middle], &bounds)
    return _execute(&plan, cnp.PyArray_SIZE(source))


def look_up(
    cnp.ndarray source not None, int source_code, cnp.ndarray tables not None, cnp.ndarray target not None,
    int target_code,
):
    """Give every byte of `source` the item that its table has for it.

    `tables` has the source's shape (broadcast by strides): at each place the first of the 256 items, of the target's
    dtype and byte order, that lie there one after the other.
    """
    cdef Plan plan
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    _operand(&plan.parameters[0], tables, target_code)
    plan.parameter_count = 1
    plan.mapped = True
    _execute(&plan, cnp.PyArray_SIZE(source))
