"""Moving a two-dimensional tile between strided memory and a contiguous block, by item size only.

The steps that cameras and models have (neighbouring items, every second one, backwards, two to four channels) stand as
loops of their own: with a constant step the compiler makes vectors of them.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "channels.h":
    Py_ssize_t channels_apart(
        const uint8_t *src, uint8_t *first, uint8_t *second, uint8_t *third, Py_ssize_t n
    ) noexcept nogil
    Py_ssize_t channels_joined(
        const uint8_t *first, const uint8_t *second, const uint8_t *third, uint8_t *dst, Py_ssize_t n
    ) noexcept nogil

cdef extern from "level.h":
    void tb_use(int level) noexcept nogil

cdef extern from "loose.h":
    ctypedef uint16_t loose16
    ctypedef uint32_t loose32
    ctypedef uint64_t loose64
    ctypedef struct loose128:
        uint64_t real
        uint64_t imag

cdef extern from "moves.h":
    void copy_short_rows(
        const char *src, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t size, char *dst
    ) noexcept nogil
    bint copy_rows(
        const char *src, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t size, char *dst, Py_ssize_t dst_stride
    ) noexcept nogil
    bint every_second(
        Py_ssize_t item, const char *src, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t n, char *dst
    ) noexcept nogil
    Py_ssize_t swap_vectors(Py_ssize_t item, const char *src, char *dst, Py_ssize_t size) noexcept nogil

cdef extern from "rows.h":
    bint tb_runs(
        Py_ssize_t size, const char *view, Py_ssize_t rows, Py_ssize_t row_stride, const int64_t *table,
        Py_ssize_t stride, Py_ssize_t count, bint ahead, char *flat,
    ) noexcept nogil

cdef extern from "transpose.h":
    enum:
        TURN_1
        TURN_2
        TURN_4
        TURN_8
        TURN_16
        TURN_INT32_FLOAT
        TURN_UINT8_FLOAT
        TURN_FLOAT_UINT8
        TURN_FLOAT_INT8
        TURN_INT32_UINT8
        TURN_INT32_INT8
    bint turns_fast(int kind) noexcept nogil
    void turn(
        int kind, const char **lines, Py_ssize_t count, Py_ssize_t n, char *dst, Py_ssize_t stride
    ) noexcept nogil

ctypedef fused word:
    uint8_t
    loose16
    loose32
    loose64
    loose128

cdef enum:
    NARROW = 16             # rows, or items of one, up to which they are gone through one by one
    MOST_LINES = 256        # that are transposed at once
    SQUARE = 16             # bytes of a side of the squares that are transposed in registers


cdef inline Py_ssize_t magnitude(Py_ssize_t stride) noexcept nogil:
    return -stride if stride < 0 else stride


cdef inline void copy_words(const word *src, word *dst, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if n == 3:
        dst[0] = src[0]
        dst[1] = src[1]
        dst[2] = src[2]
    elif n <= NARROW:
        for i in range(n):
            dst[i] = src[i]
    else:
        memcpy(dst, src, n * <Py_ssize_t> sizeof(word))


# ---------------------------------------------------------------- rows

cdef inline void load_row(const char *src, Py_ssize_t stride, Py_ssize_t n, word *row) noexcept nogil:
    cdef Py_ssize_t i
    cdef const word *items = <const word *> src
    if stride == sizeof(word):
        copy_words(items, row, n)
    elif stride == 2 * <Py_ssize_t> sizeof(word):
        for i in range(n):
            row[i] = items[2 * i]
    elif stride == 3 * <Py_ssize_t> sizeof(word):
        for i in range(n):
            row[i] = items[3 * i]
    elif stride == -<Py_ssize_t> sizeof(word):
        for i in range(n):
            row[i] = items[-i]
    else:
        for i in range(n):
            row[i] = (<const word *> (src + i * stride))[0]


cdef inline void store_row(const word *row, Py_ssize_t stride, Py_ssize_t n, char *dst) noexcept nogil:
    """In order, so that of items that share memory the last one stays."""
    cdef Py_ssize_t i
    cdef word *items = <word *> dst
    if stride == sizeof(word):
        copy_words(row, items, n)
    elif stride == -<Py_ssize_t> sizeof(word):
        for i in range(n):
            items[-i] = row[i]
    else:
        for i in range(n):
            (<word *> (dst + i * stride))[0] = row[i]


# ---------------------------------------------------------------- channels

cdef inline void part_three(
    const word *src, word *first, word *second, word *third, Py_ssize_t n
) noexcept nogil:
    """From item by item to channel by channel."""
    cdef Py_ssize_t i, start = 0
    if word is uint8_t:
        start = channels_apart(src, first, second, third, n)
    for i in range(start, n):
        first[i] = src[3 * i]
        second[i] = src[3 * i + 1]
        third[i] = src[3 * i + 2]


cdef inline void part_four(
    const word *src, word *first, word *second, word *third, word *fourth, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        first[i] = src[4 * i]
        second[i] = src[4 * i + 1]
        third[i] = src[4 * i + 2]
        fourth[i] = src[4 * i + 3]


cdef inline void join_three(
    const word *first, const word *second, const word *third, word *joined, Py_ssize_t n
) noexcept nogil:
    """From channel by channel to item by item."""
    cdef Py_ssize_t i, start = 0
    if word is uint8_t:
        start = channels_joined(first, second, third, joined, n)
    for i in range(start, n):
        joined[3 * i] = first[i]
        joined[3 * i + 1] = second[i]
        joined[3 * i + 2] = third[i]


cdef inline void join_four(
    const word *first, const word *second, const word *third, const word *fourth, word *joined, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        joined[4 * i] = first[i]
        joined[4 * i + 1] = second[i]
        joined[4 * i + 2] = third[i]
        joined[4 * i + 3] = fourth[i]


# ---------------------------------------------------------------- columns

cdef struct Lines:
    # Line i begins `i // fold * fold_stride + i % fold * stride` bytes from `data`.
    const char *data
    Py_ssize_t stride, fold, fold_stride


cdef inline Lines lines_of(const char *data, Py_ssize_t stride) noexcept nogil:
    cdef Lines lines
    lines.data, lines.stride, lines.fold, lines.fold_stride = data, 0, 1, stride
    return lines


cdef inline int moving(Py_ssize_t item) noexcept nogil:
    """The kind of transposition that leaves items of so many bytes as they are."""
    return TURN_1 if item == 1 else TURN_2 if item == 2 else TURN_4 if item == 4 else TURN_8 if item == 8 else TURN_16


cdef inline void turn_lines(
    int kind, Py_ssize_t item, const Lines *lines, Py_ssize_t count, Py_ssize_t n, char *dst, Py_ssize_t dst_stride
) noexcept nogil:
    """Lines become columns: `count` lines of `n` items, side by side both here and, `item` bytes each, there."""
    cdef const char *starts[MOST_LINES]
    cdef const char *outer = lines.data
    cdef const char *start = lines.data
    cdef Py_ssize_t line, some, place = 0, done = 0
    while done < count:
        some = min(count - done, MOST_LINES)
        for line in range(some if lines.fold == 1 else 0):
            starts[line] = lines.data + (done + line) * lines.fold_stride
        for line in range(some if lines.fold > 1 else 0):
            starts[line] = start
            place += 1
            start += lines.stride
            if place == lines.fold:
                place = 0
                outer += lines.fold_stride
                start = outer
        turn(kind, starts, some, n, dst + done * item, dst_stride)
        done += some


# ---------------------------------------------------------------- tiles

cdef inline void load_words(
    const char *src, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows, word *block,
    Py_ssize_t pitch,
) noexcept nogil:
    """`rows` rows of `n` items into `block`, whose rows begin `pitch` bytes one after the other.

    The memory's own fast axis is walked innermost.
    """
    cdef Py_ssize_t i, j
    cdef Py_ssize_t item = sizeof(word)
    cdef bint crosswise = row_stride == item and rows > 1
    cdef char *into = <char *> block
    cdef Lines columns
    if crosswise and rows == 3 and stride == 3 * item:
        part_three(<const word *> src, block, <word *> (into + pitch), <word *> (into + 2 * pitch), n)
    elif crosswise and rows == 4 and stride == 4 * item and item < 4:
        part_four(
            <const word *> src, block, <word *> (into + pitch), <word *> (into + 2 * pitch),
            <word *> (into + 3 * pitch), n,
        )
    elif crosswise and n == 3 and pitch == 3 * item:
        join_three(
            <const word *> src, <const word *> (src + stride), <const word *> (src + 2 * stride), block, rows,
        )
    elif crosswise and n == 4 and pitch == 4 * item:
        join_four(
            <const word *> src, <const word *> (src + stride), <const word *> (src + 2 * stride),
            <const word *> (src + 3 * stride), block, rows,
        )
    elif crosswise and n * item >= SQUARE and rows * item >= SQUARE:
        columns = lines_of(src, stride)
        turn_lines(moving(item), item, &columns, n, rows, into, pitch)
    elif rows >= NARROW and n >= NARROW and magnitude(row_stride) < magnitude(stride):
        for i in range(n):
            for j in range(rows):
                (<word *> (into + j * pitch))[i] = (<const word *> (src + i * stride + j * row_stride))[0]
    elif stride == item and pitch == n * item and rows > NARROW and n * item < 16 and n * item <= magnitude(row_stride):
        copy_short_rows(src, row_stride, rows, n * item, into)
    elif stride == item and copy_rows(src, row_stride, rows, n * item, into, pitch):
        return
    elif pitch == n * item and stride == 2 * item and every_second(item, src, row_stride, rows, n, into):
        return
    elif pitch == n * item and tb_runs(item, src, rows, row_stride, NULL, stride, n, False, into):
        return
    else:
        for j in range(rows):
            load_row(src + j * row_stride, stride, n, <word *> (into + j * pitch))


cdef inline void store_words(
    const word *block, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows, char *dst
) noexcept nogil:
    """The reverse of `load_words`, row by row."""
    cdef Py_ssize_t j
    cdef Py_ssize_t item = sizeof(word)
    if rows == 3 and row_stride == item and stride == 3 * item:
        join_three(block, block + n, block + 2 * n, <word *> dst, n)
        return
    if rows == 4 and row_stride == item and stride == 4 * item:
        join_four(block, block + n, block + 2 * n, block + 3 * n, <word *> dst, n)
        return
    if stride == item and copy_rows(<const char *> block, n * item, rows, n * item, dst, row_stride):
        return
    for j in range(rows):
        store_row(block + j * n, stride, n, dst + j * row_stride)


cdef inline void map_words(
    const char *src, Py_ssize_t src_stride, const word *table, Py_ssize_t table_stride, char *dst,
    Py_ssize_t dst_stride, Py_ssize_t n,
) noexcept nogil:
    """Each byte gives the item that its table of 256 has for it; `table_stride` bytes lead to the next item's table."""
    cdef Py_ssize_t i
    if dst_stride == sizeof(word) and table_stride == 0:
        for i in range(n):
            (<word *> dst)[i] = table[<uint8_t> src[i * src_stride]]
    else:
        for i in range(n):
            (<word *> (dst + i * dst_stride))[0] = (
                <const word *> (<const char *> table + i * table_stride)
            )[<uint8_t> src[i * src_stride]]


# ---------------------------------------------------------------- byte order

cdef inline uint64_t swapped(uint64_t x) noexcept nogil:
    x = ((x >> 8) & 0x00FF00FF00FF00FFull) | ((x & 0x00FF00FF00FF00FFull) << 8)
    x = ((x >> 16) & 0x0000FFFF0000FFFFull) | ((x & 0x0000FFFF0000FFFFull) << 16)
    return (x >> 32) | (x << 32)


cdef inline word swapped_word(word x) noexcept nogil:
    if word is loose16:
        return <uint16_t> ((x >> 8) | (x << 8))
    elif word is loose32:
        return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24)
    elif word is loose64:
        return swapped(x)
    elif word is loose128:
        x.real = swapped(x.real)
        x.imag = swapped(x.imag)
        return x
    else:
        return x


cdef inline void swap_words(const word *src, word *dst, Py_ssize_t n) noexcept nogil:
    """Copies with the bytes of each item reversed; `dst` may be `src`."""
    cdef Py_ssize_t i
    cdef Py_ssize_t item = sizeof(word)
    for i in range(swap_vectors(min(item, 8), <const char *> src, <char *> dst, n * item) // item, n):
        dst[i] = swapped_word(src[i])
