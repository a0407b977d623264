"""The choice of a tile: how much of which axes is loaded, worked on and stored at once.

Where source and target are fastest on different axes, a tile spans both, and is transposed on its way.
"""

from tensorbuf._kernels.blocks cimport magnitude
from tensorbuf._kernels.geometry cimport (
    BLOCK, LINE, NARROW, PATTERN, TURNED, Operand, Plan, Tile, fast_axis, next_axis, told_apart,
)

cdef enum:
    ROW = 64                # items of a row, of tiles whose fast axes differ in source and target
    LONG_ROW = 64           # items from which a row that has parameters of its own is worth a kernel call of its own
    LONG_RUN = 4096         # bytes of source and target from which any row is: that spares it a copy to or from a block
    FEW_ROWS = 8            # of a tile that so has long rows, although its fast axes differ
    STREAM = 2048           # bytes that are streamed at once: while they are written out, the next ones are read
    STREAMED = 1 << 24      # bytes of a target that are streamed where a kernel can do it from its registers,
    STREAMED_APART = 1 << 25    # and where it takes a block between


cdef inline bint row_ready(const Operand *operand, int axis) noexcept nogil:
    return operand.plain and operand.strides[axis] == operand.item


cdef inline bint lies_whole(const Operand *operand, const Plan *plan, const Tile *tile) noexcept nogil:
    """Whether all of the tile's two axes lies in memory without a gap."""
    return row_ready(operand, tile.inner) and (
        tile.second < 0 or operand.strides[tile.second] == plan.shape[tile.inner] * operand.item
    )


cdef inline bint has_pattern(const Tile *tile) noexcept nogil:
    """Whether steps are handed more than one value a parameter."""
    return tile.along or (tile.across and not tile.by_row)


cdef inline bint is_streamed(const Plan *plan, const Tile *tile) noexcept nogil:
    """Whether the target is so large, and so large a part of what is moved, that passing the caches by pays."""
    cdef int axis
    cdef Py_ssize_t nbytes = plan.target.item
    for axis in range(plan.rank):
        nbytes *= plan.shape[axis]
    return (
        plan.step_count > 0 and not plan.staged and plan.scan == NULL and tile.direct and not has_pattern(tile)
        and (plan.target.item >= plan.source.item or plan.steps[0].streamed != NULL)
        and nbytes >= (STREAMED if tile.fused or plan.steps[0].streamed != NULL else STREAMED_APART)
    )


cdef inline Py_ssize_t most_items(const Plan *plan, const Tile *tile, Py_ssize_t block) noexcept nogil:
    """The items of a tile at the most: each block of `block` bytes that it needs has room for them."""
    cdef Py_ssize_t most, widest = plan.source.item
    cdef int k
    for k in range(plan.step_count):
        if k < plan.step_count - 1 or plan.scan != NULL:
            widest = max(widest, plan.steps[k].item)
    if not tile.direct and plan.scan == NULL:
        widest = max(widest, plan.target.item)
    most = block // widest
    if has_pattern(tile) and not plan.mapped:
        most = min(most, PATTERN // plan.parameters[0].item)
    return most


cdef inline Py_ssize_t whole_lines(Py_ssize_t items, Py_ssize_t size) noexcept nogil:
    """As many of `size` items or fewer, so that the next tile begins on a cache line where this one does."""
    return items - items % LINE if LINE < items < size else items


cdef inline bint turns(const Plan *plan, int fast) noexcept nogil:
    """Whether lines of the source's fast axis may become rows of the target: long ones, along which nothing differs."""
    cdef int last = plan.rank - 1
    return (
        not plan.staged and not plan.mapped and min(plan.shape[fast], plan.shape[last]) >= NARROW
        and plan.target.strides[last] == plan.target.item
        and magnitude(plan.target.strides[fast]) >= plan.shape[last] * plan.target.item
        and not told_apart(plan, fast) and not told_apart(plan, last)
    )


cdef inline bint turns_at_once(const Plan *plan, int fast) noexcept nogil:
    """Whether a transposition alone does all, for lines that `turns` allows."""
    return (
        (plan.step_count == 0 or (plan.step_count == 1 and plan.turned != 0))
        and plan.source.strides[fast] == plan.source.item and not plan.source.swapped and not plan.target.swapped
    )


cdef inline void choose_tile_at_once(const Plan *plan, Tile *tile, int fast) noexcept nogil:
    """Lines that fill some cache lines of the target, and are read by some cache lines."""
    cdef int last = plan.rank - 1
    cdef Py_ssize_t lines = plan.fold * (LINE // plan.target.item)
    tile.inner, tile.second = last, fast
    tile.n = min(max(lines, 3 * ROW // lines * lines), plan.shape[last])
    tile.rows = min(4 * LINE // plan.source.item, plan.shape[fast])
    tile.at_once = True
    tile.along = tile.across = tile.by_row = tile.direct = False


cdef inline void choose_late_tile(const Plan *plan, Tile *tile, int fast) noexcept nogil:
    """Columns of the source, as many as fill cache lines of the target; whole ones where there is room."""
    cdef int last = plan.rank - 1
    cdef Py_ssize_t column = plan.shape[fast]
    cdef Py_ssize_t rows = min(plan.fold * (LINE // plan.target.item), plan.shape[last])
    cdef Py_ssize_t room = TURNED if plan.step_count == 1 else TURNED - 2 * BLOCK   # behind the blocks of other steps
    cdef Py_ssize_t most = room // plan.target.item // rows
    cdef Py_ssize_t step = plan.fold_stride if plan.fold > 1 else plan.source.strides[last]
    cdef bint ready = plan.step_count == 1 and row_ready(&plan.source, fast)
    tile.inner, tile.second = fast, last
    tile.n, tile.rows = min(column, most), rows
    tile.late = True
    tile.along = tile.across = tile.direct = False
    tile.by_row = ready and tile.n * plan.source.item >= LONG_RUN // 2
    if not tile.by_row and not (ready and tile.n == column and step == column * plan.source.item):
        tile.n = min(tile.n, most_items(plan, tile, BLOCK) * plan.fold // rows)
    if tile.n < column:
        tile.n = max(1, tile.n - tile.n % NARROW if tile.n > NARROW else tile.n)


cdef inline bint joins(const Plan *plan, int fast) noexcept nogil:
    """Whether three or four planes of the source may be joined to pixels last: the steps make them narrower."""
    cdef int last = plan.rank - 1
    return (
        plan.step_count > 0 and not plan.staged and plan.fold == 1 and plan.target.item < plan.source.item
        and 3 <= plan.shape[last] <= 4 and row_ready(&plan.source, fast) and not told_apart(plan, fast)
        and plan.shape[fast] * plan.source.item >= LONG_RUN // 2
        and plan.target.strides[last] == plan.target.item
        and plan.target.strides[fast] == plan.shape[last] * plan.target.item
    )


cdef inline void choose_joined_tile(const Plan *plan, Tile *tile, int fast) noexcept nogil:
    """Parts of all planes; each has parameters of its own."""
    tile.inner, tile.second = fast, plan.rank - 1
    tile.late = tile.by_row = True
    tile.along = tile.direct = False
    tile.across = told_apart(plan, tile.second)
    tile.n, tile.rows = min(plan.shape[fast], most_items(plan, tile, BLOCK)), plan.shape[tile.second]


cdef inline Py_ssize_t block_size(const Plan *plan, const Tile *tile) noexcept nogil:
    """The bytes of a block. The source's may go on into the one behind it, which a single step leaves free."""
    if (
        plan.scan == NULL and tile.direct and plan.step_count == 1
        and plan.source.strides[tile.inner] == plan.source.item
    ):
        return 2 * BLOCK    # not where more is read than goes into the block
    return BLOCK


cdef inline bint is_fused(const Plan *plan, const Tile *tile) noexcept nogil:
    """Whether the tile is rows of pixels of three bytes that become planes."""
    return (
        plan.planes != 0 and plan.fold == 1 and not plan.staged and tile.by_row and tile.direct and not tile.along
        and plan.shape[tile.second] == 3 and plan.source.strides[tile.second] == 1
        and plan.source.strides[tile.inner] == 3
    )


cdef inline bint rows_pay(const Plan *plan, const Tile *tile, bint crosswise) noexcept nogil:
    """Whether steps that run row by row, straight into the target, spare more than their calls take."""
    cdef Py_ssize_t size = plan.shape[tile.inner]
    if not row_ready(&plan.target, tile.inner) or (not crosswise and lies_whole(&plan.target, plan, tile)):
        return False
    return plan.step_count == 0 or (
        size * (plan.source.item + plan.target.item) >= LONG_RUN
        and (not crosswise or plan.shape[tile.second] <= FEW_ROWS)
    )


cdef inline void choose_axes(const Plan *plan, Tile *tile, int fast) noexcept nogil:
    """What the tile spans, and whether its steps run row by row and into the target."""
    cdef bint crosswise = fast != plan.rank - 1
    cdef Py_ssize_t inner_size = plan.shape[plan.rank - 1]
    tile.inner = plan.rank - 1
    tile.second = fast if crosswise else plan.rank - 2
    tile.along = told_apart(plan, tile.inner)
    tile.across = told_apart(plan, tile.second)
    tile.by_row = inner_size >= LONG_ROW and (tile.across or rows_pay(plan, tile, crosswise))
    tile.direct = (tile.by_row and row_ready(&plan.target, tile.inner)) or (
        lies_whole(&plan.target, plan, tile) and (not crosswise or inner_size <= ROW)
    )


cdef inline bint choose_three_axes(const Plan *plan, Tile *tile) noexcept nogil:
    """A third axis, where that makes longer runs of the source; False where it does not."""
    cdef Tile spanning = tile[0]
    cdef Py_ssize_t size
    spanning.third = next_axis(plan, tile.second)
    if spanning.third < 0 or plan.staged or plan.mapped:
        return False
    spanning.together = not (tile.along or tile.across or told_apart(plan, spanning.third))
    if spanning.together:
        spanning.by_row = spanning.direct = False
    spanning.n = min(plan.shape[tile.inner], ROW - ROW % plan.fold)
    size = most_items(plan, &spanning, BLOCK) // (spanning.n * plan.shape[tile.second])
    if size < 2:
        return False
    spanning.rows = min(size, plan.shape[spanning.third])
    tile[0] = spanning
    return True


cdef inline void choose_crosswise(const Plan *plan, Tile *tile) noexcept nogil:
    """Both fast axes: of the source and of the target."""
    cdef Py_ssize_t inner_size = plan.shape[tile.inner]
    cdef Py_ssize_t most = most_items(plan, tile, BLOCK)
    tile.rows = min(plan.shape[tile.second], max(1, most // min(inner_size, ROW)))
    tile.n = min(inner_size, most // tile.rows)
    if plan.fold == 1:
        tile.n = whole_lines(tile.n, inner_size)
    elif tile.n < inner_size:
        tile.n -= tile.n % (plan.fold * NARROW if plan.fold * NARROW < tile.n else plan.fold)


cdef inline bint reads_second(const Plan *plan, const Tile *tile) noexcept nogil:
    """Whether rows are long, and every second item of the source."""
    return (
        plan.step_count == 1 and plan.steps[0].second != NULL and not plan.staged
        and plan.source.strides[tile.inner] == 2 * plan.source.item and row_ready(&plan.target, tile.inner)
        and (plan.rank == 1 or plan.shape[tile.inner] * (plan.source.item + plan.target.item) >= LONG_RUN)
    )


cdef inline void choose_straight(const Plan *plan, Tile *tile) noexcept nogil:
    """Rows that source and target walk alike; all of memory where both lie without gaps and there is one step."""
    cdef Py_ssize_t inner_size = plan.shape[tile.inner]
    cdef Py_ssize_t most = most_items(plan, tile, block_size(plan, tile))
    cdef bint in_place = (
        plan.step_count <= 1 and not plan.staged and plan.scan == NULL
        and row_ready(&plan.target, tile.inner) and row_ready(&plan.source, tile.inner)
    )
    tile.n, tile.rows = inner_size, 1
    if (
        in_place and not tile.across and tile.second >= 0 and inner_size <= most
        and lies_whole(&plan.target, plan, tile) and lies_whole(&plan.source, plan, tile)
    ):
        tile.rows = plan.shape[tile.second]
    elif in_place and (plan.rank == 1 or inner_size * (plan.source.item + plan.target.item) >= LONG_RUN):
        tile.n = min(inner_size, most) if tile.along else inner_size
    elif inner_size >= most // 2 or tile.second < 0:
        tile.n = whole_lines(min(inner_size, most), inner_size)
    else:
        tile.rows = min(plan.shape[tile.second], most // inner_size)


cdef inline void choose_tile(const Plan *plan, Tile *tile) noexcept nogil:
    cdef int fast = fast_axis(plan) if plan.scan == NULL else plan.rank - 1
    cdef bint crosswise = fast != plan.rank - 1
    tile.third = -1
    tile.at_once = tile.late = tile.streamed = tile.fused = tile.apart = False
    if crosswise and turns(plan, fast):
        if turns_at_once(plan, fast):
            choose_tile_at_once(plan, tile, fast)
            return
        if plan.step_count > 0 and plan.target.item <= plan.source.item:
            choose_late_tile(plan, tile, fast)
            return
    if crosswise and joins(plan, fast):
        choose_joined_tile(plan, tile, fast)
        return
    choose_axes(plan, tile, fast)
    tile.fused = is_fused(plan, tile)
    if tile.fused:
        tile.n, tile.rows = plan.shape[tile.inner], 3
    elif not crosswise and reads_second(plan, tile):
        tile.n, tile.rows, tile.apart = plan.shape[tile.inner], 1, True
        return
    elif not crosswise:
        choose_straight(plan, tile)
    elif not choose_three_axes(plan, tile):
        choose_crosswise(plan, tile)
    tile.streamed = is_streamed(plan, tile)
