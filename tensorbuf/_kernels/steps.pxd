"""The steps of a tile: what they take their parameters from, and each step over values that lie as a block."""

from tensorbuf._kernels.geometry cimport (
    ALIGNED, PATTERN, Blocks, Operand, Plan, Step, Tile,
)
from tensorbuf._kernels.operands cimport load, row_step, store
from tensorbuf._kernels.tiling cimport STREAM, has_pattern
from tensorbuf._kernels.types cimport MOST_PARAMETERS, Span, point

cdef extern from "stream.h":
    # Stores that straddle two cache lines take twice as long.
    Py_ssize_t before_line(const void *dst, Py_ssize_t item) noexcept nogil
    void stream_bytes(char *dst, const char *src, Py_ssize_t n) noexcept nogil
    void fetch_bytes(const char *src, Py_ssize_t n) noexcept nogil


cdef inline Py_ssize_t load_parameters(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, Py_ssize_t row, Py_ssize_t n,
    Py_ssize_t rows,
) noexcept nogil:
    """Fill the parameters' blocks for `rows` rows from `row` on, unless they are as the tile before left them.

    Gives the number of values after which they repeat.
    """
    cdef const Operand *operand
    cdef const char *data
    cdef Py_ssize_t row_stride
    cdef int k
    if not has_pattern(tile):
        n = rows = 1
    elif tile.along:
        rows = min(rows, max(1, PATTERN // plan.parameters[0].item // n))
        rows -= rows % 32 if rows > 32 else 0       # so that vectors do not straddle two of them
    for k in range(plan.parameter_count):
        operand = &plan.parameters[k]
        row_stride = operand.strides[tile.second] if tile.second >= 0 else 0
        data = operand.data + corner[2 + k] + row * row_stride
        if blocks.loaded[k] != data or blocks.loaded_n[k] != n or blocks.loaded_rows[k] < rows:
            load(operand, data, operand.strides[tile.inner], row_stride, n, rows, blocks.parameter[k])
            blocks.loaded[k] = data
            blocks.loaded_n[k] = n
            blocks.loaded_rows[k] = rows
    return n * rows


cdef inline void run_step(
    const Step *step, char *values, char *result, const Blocks *blocks, Py_ssize_t n, Py_ssize_t period, bint streamed
) noexcept nogil:
    cdef Span src, dst, parameters
    point(&src, values, n)
    point(&dst, result, n)
    if step.convert != NULL:
        (step.streamed if streamed else step.convert)(src, dst, n, step.nan)
        return
    point(&parameters, blocks.parameter[step.parameter], MOST_PARAMETERS - step.parameter)
    parameters.shape[1] = period
    parameters.strides[0] = PATTERN
    step.program(src, dst, parameters, n, blocks.target if streamed else NULL)


cdef inline void run_aligned(
    const Step *step, char *values, Py_ssize_t item, char *result, const Blocks *blocks, Py_ssize_t n,
    Py_ssize_t period,
) noexcept nogil:
    """A step from values of `item` bytes into memory that may begin anywhere."""
    cdef Py_ssize_t lead = before_line(result, step.item) if n >= ALIGNED and period == 1 else 0
    if lead > 0:
        run_step(step, values, result, blocks, lead, period, False)
    run_step(step, values + lead * item, result + lead * step.item, blocks, n - lead, period, False)


cdef inline void run_streamed(
    const Step *step, char *values, Py_ssize_t item, char *result, const Blocks *blocks, Py_ssize_t n
) noexcept nogil:
    """A step without a pattern past the caches, by a kernel that can do so, or piece by piece."""
    cdef Py_ssize_t most = STREAM // step.item
    cdef Py_ssize_t start = min(n, before_line(result, step.item))
    cdef Py_ssize_t count
    if start > 0:
        run_step(step, values, result, blocks, start, 1, False)
    if start < n and (step.streamed != NULL or step.program != NULL):
        run_step(step, values + start * item, result + start * step.item, blocks, n - start, 1, True)
        return
    while start < n:
        count = min(most, n - start)
        fetch_bytes(values + (start + count) * item, count * item)
        run_step(step, values + start * item, blocks.target, blocks, count, 1, False)
        stream_bytes(result + start * step.item, blocks.target, count * step.item)
        start += count


cdef inline Py_ssize_t run_steps(
    const Plan *plan, const Tile *tile, const Blocks *blocks, char *values, char *into, Py_ssize_t n, Py_ssize_t period
) noexcept nogil:
    """All steps over `n` values, the last one into `into`. Gives the scan's answer, without one `n`."""
    cdef Span scanned
    cdef char *result
    cdef Py_ssize_t item = plan.source.item
    cdef int k, last = plan.step_count - 1
    for k in range(plan.step_count if plan.scan != NULL else last):
        result = blocks.odd if k % 2 else blocks.even
        run_step(&plan.steps[k], values, result, blocks, n, period, False)
        values = result
        item = plan.steps[k].item
    if plan.scan != NULL:
        point(&scanned, values, n)
        return plan.scan(scanned, n, &plan.bounds)
    if tile.streamed:
        run_streamed(&plan.steps[last], values, item, into, blocks, n)
    elif values == blocks.source:   # aligned itself, which counts more
        run_step(&plan.steps[last], values, into, blocks, n, period, False)
    else:
        run_aligned(&plan.steps[last], values, item, into, blocks, n, period)
    return n


cdef inline Py_ssize_t finish(
    const Plan *plan, const Tile *tile, Blocks *blocks, const Py_ssize_t *corner, char *values, Py_ssize_t n,
    Py_ssize_t rows,
) noexcept nogil:
    """Steps and store, for values that lie as a block. Gives the scan's answer, without one `n * rows`."""
    cdef const Operand *target = &plan.target
    cdef Py_ssize_t target_rows = row_step(target, tile)
    cdef char *into = target.data + corner[1] if tile.direct else blocks.target
    cdef Py_ssize_t row, period, passed
    if tile.by_row:
        for row in range(rows):
            period = load_parameters(plan, tile, blocks, corner, row, n, 1)
            passed = run_steps(
                plan, tile, blocks, values + row * n * plan.source.item,
                into + row * (target_rows if tile.direct else n * target.item), n, period,
            )
            if passed < n:
                return row * n + passed
        passed = n * rows
    else:
        period = load_parameters(plan, tile, blocks, corner, 0, n, rows)
        passed = run_steps(plan, tile, blocks, values, into, n * rows, period)
    if not tile.direct and plan.scan == NULL:
        store(target, blocks.target, target.strides[tile.inner], target_rows, n, rows, target.data + corner[1])
    return passed
