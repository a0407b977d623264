"""Carrying a plan out, tile by tile: load a block, run its steps, store it.

What makes the unchecked loops safe: a tile never holds more items than a block has room for, in each type that goes
through a block (tiling.most_items); what is read and written in place may be larger.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from tensorbuf._kernels.blocks cimport Lines, loose16, loose32, loose64, map_words, moving, turn_lines
from tensorbuf._kernels.geometry cimport (
    LINE, MOST_AXES, NARROW, NORMALIZED, Blocks, Operand, Plan, Step, Tile, advance, after_line, place,
)
from tensorbuf._kernels.operands cimport (
    lies_as_block, lies_ready, load, load_apart, load_folded, load_source, row_step, source_lines, store, swap,
)
from tensorbuf._kernels.steps cimport finish, load_parameters, run_aligned, run_steps
from tensorbuf._kernels.types cimport MOST_PARAMETERS

cdef extern from "environment.h":
    ctypedef struct environment:
        pass
    environment environment_enter() noexcept nogil
    void environment_leave(environment saved) noexcept nogil

cdef extern from "planes.h":
    void planes_fill(
        const uint8_t *src, float *const *dst, const float (*parameters)[5], bint normalized, Py_ssize_t n,
        bint streamed,
    ) noexcept nogil

cdef extern from "stream.h":
    void stream_end() noexcept nogil


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
            map_words(src, stride, <const loose16 *> table, table_stride, dst, into_stride, n)
        elif plan.target.item == 4:
            map_words(src, stride, <const loose32 *> table, table_stride, dst, into_stride, n)
        else:
            map_words(src, stride, <const loose64 *> table, table_stride, dst, into_stride, n)
        if tile.second >= 0:
            advance(plan, at, tile.second, 1)


cdef inline void fuse_tile(const Plan *plan, const Tile *tile, const Py_ssize_t *corner, Py_ssize_t n) noexcept nogil:
    """Pixels of three bytes into planes of float32."""
    cdef float *planes[3]
    cdef float parameters[3][5]
    cdef const char *src = plan.source.data + corner[0]
    cdef const char *value
    cdef int channel, k
    memset(parameters, 0, sizeof(parameters))
    for channel in range(3):
        planes[channel] = <float *> (plan.target.data + corner[1] + channel * plan.target.strides[tile.second])
        for k in range(plan.parameter_count):
            value = plan.parameters[k].data + corner[2 + k] + channel * plan.parameters[k].strides[tile.second]
            parameters[channel][k] = (<const float *> value)[0]
    planes_fill(<const uint8_t *> src, planes, parameters, plan.planes == NORMALIZED, n, tile.streamed)


cdef inline void move_tile(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """A tile without steps: the bits stay."""
    cdef const Operand *source = &plan.source
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t stride = source.strides[tile.inner]
    cdef Py_ssize_t source_rows = row_step(source, tile)
    cdef Py_ssize_t target_rows = row_step(target, tile)
    cdef char *block = blocks.source
    cdef char *values = source.data + corner[0]
    cdef char *into = target.data + corner[1]
    if tile.direct and tile.by_row and plan.fold > 1:
        load_folded(plan, values, n, rows, into, target_rows)
    elif tile.direct and tile.by_row and not plan.staged and not source.swapped:
        load_apart(source, values, stride, source_rows, n, rows, into, target_rows)
    elif tile.direct and not tile.by_row and not plan.staged:
        load_source(plan, tile, values, n, rows, into)
    else:
        if lies_ready(plan, tile, n, rows) and not target.swapped:
            block = values
        else:
            load_source(plan, tile, values, n, rows, block)
        store(target, block, target.strides[tile.inner], target_rows, n, rows, into)


cdef inline void turn_tile(
    const Plan *plan, const Tile *tile, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Lines of the source into columns of the target, moved or converted."""
    cdef const Operand *target = &plan.target
    cdef int kind = moving(target.item) if plan.step_count == 0 else plan.turned
    cdef Lines lines = source_lines(plan, plan.source.data + corner[0])
    turn_lines(kind, target.item, &lines, n, rows, target.data + corner[1], row_step(target, tile))


cdef inline void convert_apart(const Plan *plan, const Py_ssize_t *corner, Py_ssize_t n) noexcept nogil:
    """A row of every second item, where it is."""
    cdef Step step = plan.steps[0]
    step.convert = step.second
    run_aligned(&step, plan.source.data + corner[0], 2 * plan.source.item, plan.target.data + corner[1], NULL, n, 1)


cdef inline void run_late(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Steps over columns of the source, for each place of the fold, and one store that turns all of them."""
    cdef const Operand *source = &plan.source
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t stride = plan.fold_stride if plan.fold > 1 else source.strides[tile.second]
    cdef Py_ssize_t count = rows // plan.fold
    cdef Py_ssize_t size = n * count
    cdef Py_ssize_t period = load_parameters(plan, tile, blocks, corner, 0, n, rows)
    # What one step takes and gives is not limited by the blocks between steps.
    cdef bint whole = not tile.across and (plan.step_count == 1 or not tile.by_row)
    cdef Py_ssize_t part, column
    cdef char *block = blocks.even if plan.step_count == 1 else blocks.target
    cdef char *values
    cdef char *into
    cdef Lines lines
    for part in range(plan.fold):
        values = source.data + corner[0] + part * source.strides[tile.second]
        into = block + part * size * target.item
        if whole and lies_as_block(source, source.strides[tile.inner], stride, n, count):
            run_steps(plan, tile, blocks, values, into, size, period)
        elif tile.by_row:
            for column in range(count):
                load_parameters(plan, tile, blocks, corner, column, n, 1)
                run_steps(plan, tile, blocks, values + column * stride, into + column * n * target.item, n, period)
        else:
            load(source, values, source.strides[tile.inner], stride, n, count, blocks.source)
            run_steps(plan, tile, blocks, blocks.source, into, size, period)
    if rows == plan.shape[tile.second] < NARROW:     # channels, which `store` joins
        store(target, block, target.strides[tile.inner], target.item, n, rows, target.data + corner[1])
        return
    if target.swapped:
        swap(target.item, block, block, n * rows)
    lines.data, lines.stride = block, size * target.item
    lines.fold, lines.fold_stride = plan.fold, n * target.item
    turn_lines(moving(target.item), target.item, &lines, rows, n, target.data + corner[1], target.strides[tile.inner])


cdef inline void load_places(
    const Plan *plan, const Tile *tile, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t places, char *block
) noexcept nogil:
    """Rows at some places of a third axis: at once where the source walks both as one."""
    cdef const Operand *source = &plan.source
    cdef Py_ssize_t rows = plan.shape[tile.second]
    cdef Py_ssize_t step = source.strides[tile.third]
    cdef Py_ssize_t run = places if step == rows * source.strides[tile.second] else 1
    cdef Py_ssize_t done = 0
    while done < places:
        load_source(
            plan, tile, source.data + corner[0] + done * step, n, rows * run, block + done * rows * n * source.item
        )
        done += run


cdef inline void run_places(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t places
) noexcept nogil:
    """Rows at some places of a third axis; steps and stores go place by place only where they have to."""
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t rows = plan.shape[tile.second]
    cdef Py_ssize_t size = n * rows
    cdef Py_ssize_t at[2 + MOST_PARAMETERS]
    cdef Py_ssize_t step, period
    cdef char *values = blocks.source
    cdef bint together = tile.together
    memcpy(at, corner, sizeof(at))
    load_places(plan, tile, corner, n, places, values)
    if together and plan.step_count > 0:
        period = load_parameters(plan, tile, blocks, corner, 0, n, rows)
        run_steps(plan, tile, blocks, values, blocks.target, size * places, period)
        values = blocks.target
    for step in range(places):
        if together:
            store(
                target, values + step * size * target.item, target.strides[tile.inner], row_step(target, tile), n,
                rows, target.data + at[1],
            )
        else:
            finish(plan, tile, blocks, at, values + step * size * plan.source.item, n, rows)
        advance(plan, at, tile.third, 1)


cdef inline Py_ssize_t run_tile(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Loads, steps, stores. `corner` has the tile's offsets in bytes: source, target, parameters.

    Gives the scan's answer, without one `n * rows`.
    """
    cdef char *values = plan.source.data + corner[0]
    if plan.mapped:
        map_tile(plan, tile, corner, n, rows)
        return n * rows
    if tile.fused:
        fuse_tile(plan, tile, corner, n)
        return n * rows
    if tile.at_once:
        turn_tile(plan, tile, corner, n, rows)
        return n * rows
    if tile.apart:
        convert_apart(plan, corner, n)
        return n
    if tile.third >= 0:
        run_places(plan, tile, blocks, corner, n, rows)
        return n * rows
    if plan.step_count == 0 and plan.scan == NULL:
        move_tile(plan, tile, blocks, corner, n, rows)
        return n * rows
    if tile.late:
        run_late(plan, tile, blocks, corner, n, rows)
        return n * rows
    if not lies_ready(plan, tile, n, rows):
        load_source(plan, tile, values, n, rows, blocks.source)
        values = blocks.source
    return finish(plan, tile, blocks, corner, values, n, rows)


# ---------------------------------------------------------------- all tiles

cdef inline Py_ssize_t up_to_line(
    const Plan *plan, const Tile *tile, const Py_ssize_t *at, Py_ssize_t n
) noexcept nogil:
    """Of `n` items of a row as many, in whole folds, as let the next ones begin on a cache line.

    It is one of the target's, but where the source is read by larger steps: there it reads more than it writes.
    """
    cdef Py_ssize_t item = plan.target.item
    cdef Py_ssize_t step = plan.source.strides[tile.inner]
    cdef Py_ssize_t fewer = n
    if plan.source.item < step <= LINE // 4 and plan.fold == 1 and row_step(&plan.source, tile) != plan.source.item:
        fewer -= after_line(plan.source.data + at[0] + n * step, step)
    else:
        fewer -= after_line(plan.target.data + at[1] + n * item, item)
    while fewer % plan.fold > 0 and fewer > n // 2:
        fewer -= LINE // item
    return fewer if fewer > n // 2 else n


cdef inline Py_ssize_t run_plane(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner
) noexcept nogil:
    """All tiles over the axes of a tile. The number of items before the scan's first answer, else all."""
    cdef Py_ssize_t at[2 + MOST_PARAMETERS]
    cdef int outer = tile.third if tile.third >= 0 else tile.second
    cdef Py_ssize_t rows_size = plan.shape[outer] if outer >= 0 else 1
    cdef Py_ssize_t inner_size = plan.shape[tile.inner]
    cdef Py_ssize_t row, column, n, rows, done, passed = 0
    row = 0
    while row < rows_size:
        rows = min(tile.rows, rows_size - row)
        column = 0
        while column < inner_size:
            n = min(tile.n, inner_size - column)
            memcpy(at, corner, sizeof(at))
            if outer >= 0:
                advance(plan, at, outer, row)
            advance(plan, at, tile.inner, column)
            if not tile.late and column == 0 and LINE <= n < inner_size:
                n = up_to_line(plan, tile, at, n)
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
    cdef int outer = tile.third if tile.third >= 0 else tile.second
    cdef Py_ssize_t plane = plan.shape[tile.inner] * (plan.shape[outer] if outer >= 0 else 1)
    cdef Py_ssize_t done, passed = 0
    cdef int axis
    memset(corner, 0, sizeof(corner))
    memset(index, 0, sizeof(index))
    while True:
        done = run_plane(plan, tile, blocks, corner)
        passed += done
        if done < plane:
            return passed
        axis = plan.rank - 1
        while axis >= 0:
            if axis not in (tile.inner, tile.second, tile.third):
                index[axis] += 1
                advance(plan, corner, axis, 1)
                if index[axis] < plan.shape[axis]:
                    break
                advance(plan, corner, axis, -index[axis])
                index[axis] = 0
            axis -= 1
        if axis < 0:
            return passed


cdef inline Py_ssize_t run(const Plan *plan, const Tile *tile) noexcept nogil:
    """The number of items before the first that the scan refuses; without a scan, or with no refusal, all."""
    cdef Blocks blocks
    cdef environment saved
    cdef Py_ssize_t passed
    place(&blocks)
    saved = environment_enter()
    passed = run_all(plan, tile, &blocks)
    if tile.streamed:
        stream_end()
    environment_leave(saved)
    return passed
