"""Carrying a plan out, tile by tile: load a block, run its steps, store it.

What makes the unchecked loops safe: a tile never holds more than BLOCK items unless it is read and written in place,
and every block has room for BLOCK items of 16 bytes.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tensorbuf._kernels.blocks cimport load_words, map_words, store_words, swap_words
from tensorbuf._kernels.geometry cimport (
    LONG_ROW, MOST_AXES, Blocks, Operand, Plan, Step, Tile, arrange, choose_tile, row_ready,
)
from tensorbuf._kernels.types cimport MOST_PARAMETERS, Span, double_pair

cdef extern from "environment.h":
    ctypedef struct environment:
        pass
    environment environment_enter() noexcept nogil
    void environment_leave(environment saved) noexcept nogil


cdef inline bint lies_as_block(
    const Operand *operand, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Whether the tile lies in memory just as a block would."""
    return operand.plain and (n == 1 or stride == operand.item) and (rows == 1 or row_stride == n * operand.item)


cdef inline void load(
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
        swap(operand.item, block, n * rows)


cdef inline void store(
    const Operand *operand, char *block, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *data,
) noexcept nogil:
    if operand.swapped:
        swap(operand.item, block, n * rows)
    if operand.item == 1:
        store_words(<const uint8_t *> block, stride, row_stride, n, rows, data)
    elif operand.item == 2:
        store_words(<const uint16_t *> block, stride, row_stride, n, rows, data)
    elif operand.item == 4:
        store_words(<const uint32_t *> block, stride, row_stride, n, rows, data)
    else:
        store_words(<const uint64_t *> block, stride, row_stride, n, rows, data)


cdef inline void swap(Py_ssize_t item, char *block, Py_ssize_t n) noexcept nogil:
    # complex64 (eight bytes) comes out with its parts exchanged, which its one kernel, to BOOL, does not tell apart.
    if item == 2:
        swap_words(<uint16_t *> block, n)
    elif item == 4:
        swap_words(<uint32_t *> block, n)
    elif item == 8:
        swap_words(<uint64_t *> block, n)
    elif item == 16:
        swap_words(<double_pair *> block, n)


cdef inline void load_parameter(
    const Plan *plan, const Tile *tile, Blocks *blocks, int k, const char *data, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Fill the block of parameter `k` for a tile, unless it has the same values from the tile before."""
    cdef const Operand *operand = &plan.parameters[k]
    cdef Py_ssize_t row_stride = operand.strides[tile.second] if tile.second >= 0 else 0
    if blocks.loaded[k] != data or blocks.loaded_n[k] != n or blocks.loaded_rows[k] < rows:
        load(operand, data, operand.strides[tile.inner], row_stride, n, rows, <char *> blocks.parameter[k])
        blocks.loaded[k] = data
        blocks.loaded_n[k] = n
        blocks.loaded_rows[k] = rows


cdef inline void map_tile(
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
            advance(plan, at, tile.second, 1)


cdef inline void run_step(
    const Step *step, char *values, char *result, Blocks *blocks, Py_ssize_t skipped, Py_ssize_t n
) noexcept nogil:
    """One kernel over `n` values; `skipped` bytes of each parameter's block belong to values before them."""
    cdef Span src, dst, parameters
    src.shape[0] = dst.shape[0] = parameters.shape[0] = n
    src.data = values
    dst.data = result
    if step.convert != NULL:
        step.convert(src, dst, n, step.nan)
    elif step.operation != NULL:
        parameters.data = <char *> blocks.parameter[step.parameter] + skipped
        step.operation(src, parameters, n)
    else:
        parameters.data = <char *> blocks.parameter[0] + skipped
        parameters.shape[0] = MOST_PARAMETERS
        parameters.shape[1] = n
        parameters.strides[0] = sizeof(blocks.parameter[0])
        step.program(src, dst, parameters, n)


cdef inline Py_ssize_t run_tile(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Loads, steps, stores. `corner` has the tile's offsets in bytes: source, target, parameters.

    Gives the scan's answer, without one `n * rows`.
    """
    cdef const Operand *source = &plan.source
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t source_rows = source.strides[tile.second] if tile.second >= 0 else 0
    cdef Py_ssize_t target_rows = target.strides[tile.second] if tile.second >= 0 else 0
    cdef Py_ssize_t stride = target.strides[tile.inner]
    cdef char *into = target.data + corner[1]
    cdef char *values = source.data + corner[0]
    cdef char *result
    cdef Py_ssize_t item = source.item
    cdef int k, last = plan.step_count - 1
    cdef Py_ssize_t row
    cdef Span scanned
    if plan.mapped:
        map_tile(plan, tile, corner, n, rows)
        return n * rows
    for k in range(plan.parameter_count):
        load_parameter(plan, tile, blocks, k, plan.parameters[k].data + corner[2 + k], n, rows)
    if plan.staged or not lies_as_block(source, source.strides[tile.inner], source_rows, n, rows):
        load(source, values, source.strides[tile.inner], source_rows, n, rows, <char *> blocks.first)
        values = <char *> blocks.first
    for k in range(plan.step_count):
        if k == last and plan.scan == NULL:
            break
        if plan.steps[k].operation != NULL:
            run_step(&plan.steps[k], values, values, blocks, 0, n * rows)
            continue
        result = <char *> blocks.other if values == <char *> blocks.first else <char *> blocks.first
        run_step(&plan.steps[k], values, result, blocks, 0, n * rows)
        values = result
        item = plan.steps[k].item
    if plan.scan != NULL:
        scanned.data = values
        scanned.shape[0] = n * rows
        return plan.scan(scanned, n * rows, &plan.bounds)
    if last < 0:
        store(target, values, stride, target_rows, n, rows, into)
    elif lies_as_block(target, stride, target_rows, n, rows):
        run_step(&plan.steps[last], values, into, blocks, 0, n * rows)
    elif row_ready(target, tile.inner) and n >= LONG_ROW:
        for row in range(rows):
            run_step(
                &plan.steps[last], values + row * n * item, into + row * target_rows, blocks,
                row * n * plan.parameters[0].item, n,
            )
    else:
        result = <char *> blocks.other if values == <char *> blocks.first else <char *> blocks.first
        run_step(&plan.steps[last], values, result, blocks, 0, n * rows)
        store(target, result, stride, target_rows, n, rows, into)
    return n * rows


# ---------------------------------------------------------------- all tiles

cdef inline void advance(const Plan *plan, Py_ssize_t *corner, int axis, Py_ssize_t steps) noexcept nogil:
    cdef int k
    corner[0] += plan.source.strides[axis] * steps
    corner[1] += plan.target.strides[axis] * steps
    for k in range(plan.parameter_count):
        corner[2 + k] += plan.parameters[k].strides[axis] * steps


cdef inline Py_ssize_t run_plane(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner
) noexcept nogil:
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
                advance(plan, at, tile.second, row)
            advance(plan, at, tile.inner, column)
            done = run_tile(plan, tile, blocks, at, n, rows)
            passed += done
            if done < n * rows:
                return passed
            column += n
        row += rows
    return passed


cdef inline Py_ssize_t run_all(const Plan *plan, const Tile *tile, Blocks *blocks) noexcept nogil:
    cdef Py_ssize_t corner[2 + MOST_PARAMETERS]
    cdef Py_ssize_t index[MOST_AXES]
    cdef Py_ssize_t plane = plan.shape[tile.inner] * (plan.shape[tile.second] if tile.second >= 0 else 1)
    cdef Py_ssize_t done, passed = 0
    cdef int axis
    memset(corner, 0, sizeof(corner))
    memset(index, 0, sizeof(index))
    while True:
        done = run_plane(plan, tile, blocks, corner)
        passed += done
        if done < plane:
            return passed
        axis = plan.rank - 2
        while axis >= 0:
            if axis != tile.second:
                index[axis] += 1
                advance(plan, corner, axis, 1)
                if index[axis] < plan.shape[axis]:
                    break
                advance(plan, corner, axis, -index[axis])
                index[axis] = 0
            axis -= 1
        if axis < 0:
            return passed


cdef inline Py_ssize_t run(Plan *plan) noexcept nogil:
    """The number of items before the first that the scan refuses; without a scan, or with no refusal, all."""
    cdef Blocks blocks
    cdef Tile tile
    cdef environment saved
    cdef Py_ssize_t passed
    cdef int k
    for k in range(MOST_PARAMETERS):
        blocks.loaded[k] = NULL
    arrange(plan)
    choose_tile(plan, &tile)
    saved = environment_enter()
    passed = run_all(plan, &tile, &blocks)
    environment_leave(saved)
    return passed
