"""Moving a tile between the memory of an operand and a block, in native byte order there.

What makes the unchecked loops safe: a block has room for every tile (tiling.most_items).
"""

from libc.stdint cimport uint8_t

from tensorbuf._kernels.blocks cimport (
    Lines, lines_of, load_words, loose16, loose32, loose64, loose128, moving, store_words, swap_words, turn_lines,
)
from tensorbuf._kernels.geometry cimport Operand, Plan, Tile


cdef inline bint lies_as_block(
    const Operand *operand, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows
) noexcept nogil:
    """Whether the tile lies in memory just as a block would."""
    return operand.plain and (n == 1 or stride == operand.item) and (rows == 1 or row_stride == n * operand.item)


cdef inline bint lies_ready(const Plan *plan, const Tile *tile, Py_ssize_t n, Py_ssize_t rows) noexcept nogil:
    """Whether the steps can read the source's tile where it is."""
    return plan.fold == 1 and not plan.staged and lies_as_block(
        &plan.source, plan.source.strides[tile.inner], row_step(&plan.source, tile), n, rows
    )


cdef inline Py_ssize_t row_step(const Operand *operand, const Tile *tile) noexcept nogil:
    """From one row of a tile to the next, in bytes."""
    return operand.strides[tile.second] if tile.second >= 0 else 0


cdef inline void load(
    const Operand *operand, const char *data, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *block,
) noexcept nogil:
    if operand.swapped and rows == 1 and stride == operand.item:
        swap(operand.item, data, block, n)
        return
    load_apart(operand, data, stride, row_stride, n, rows, block, n * operand.item)
    if operand.swapped:
        swap(operand.item, block, block, n * rows)


cdef inline void load_source(
    const Plan *plan, const Tile *tile, const char *data, Py_ssize_t n, Py_ssize_t rows, char *block
) noexcept nogil:
    cdef const Operand *source = &plan.source
    if plan.fold > 1:
        load_folded(plan, data, n, rows, block, n * source.item)
    else:
        load(source, data, source.strides[tile.inner], row_step(source, tile), n, rows, block)


cdef inline Lines source_lines(const Plan *plan, const char *data) noexcept nogil:
    """What lies side by side in the source, for each place of the target's last axis."""
    cdef Lines lines = lines_of(data, plan.source.strides[plan.rank - 1])
    if plan.fold > 1:
        lines.stride, lines.fold, lines.fold_stride = lines.fold_stride, plan.fold, plan.fold_stride
    return lines


cdef inline void load_folded(
    const Plan *plan, const char *data, Py_ssize_t n, Py_ssize_t rows, char *block, Py_ssize_t pitch
) noexcept nogil:
    """Places of the source's folded axis, side by side in rows that begin `pitch` bytes one after the other."""
    cdef const Operand *source = &plan.source
    cdef Py_ssize_t row
    cdef Lines lines = source_lines(plan, data)
    turn_lines(moving(source.item), source.item, &lines, n, rows, block, pitch)
    if source.swapped:
        for row in range(rows):
            swap(source.item, block + row * pitch, block + row * pitch, n)


cdef inline void load_apart(
    const Operand *operand, const char *data, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *block, Py_ssize_t pitch,
) noexcept nogil:
    """The items as they are, in rows that begin `pitch` bytes one after the other."""
    if operand.item == 1:
        load_words(data, stride, row_stride, n, rows, <uint8_t *> block, pitch)
    elif operand.item == 2:
        load_words(data, stride, row_stride, n, rows, <loose16 *> block, pitch)
    elif operand.item == 4:
        load_words(data, stride, row_stride, n, rows, <loose32 *> block, pitch)
    elif operand.item == 8:
        load_words(data, stride, row_stride, n, rows, <loose64 *> block, pitch)
    else:
        load_words(data, stride, row_stride, n, rows, <loose128 *> block, pitch)


cdef inline void store(
    const Operand *operand, char *block, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows,
    char *data,
) noexcept nogil:
    if operand.swapped:
        swap(operand.item, block, block, n * rows)
    if operand.item == 1:
        store_words(<const uint8_t *> block, stride, row_stride, n, rows, data)
    elif operand.item == 2:
        store_words(<const loose16 *> block, stride, row_stride, n, rows, data)
    elif operand.item == 4:
        store_words(<const loose32 *> block, stride, row_stride, n, rows, data)
    else:
        store_words(<const loose64 *> block, stride, row_stride, n, rows, data)


cdef inline void swap(Py_ssize_t item, const char *src, char *dst, Py_ssize_t n) noexcept nogil:
    # complex64 (eight bytes) comes out with its parts exchanged, which its one kernel, to BOOL, does not tell apart.
    if item == 2:
        swap_words(<const loose16 *> src, <loose16 *> dst, n)
    elif item == 4:
        swap_words(<const loose32 *> src, <loose32 *> dst, n)
    elif item == 8:
        swap_words(<const loose64 *> src, <loose64 *> dst, n)
    elif item == 16:
        swap_words(<const loose128 *> src, <loose128 *> dst, n)
