"""Moving a two-dimensional tile between strided memory and a contiguous block, by item size only."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tensorbuf._kernels.types cimport double_pair

ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    double_pair

cdef enum:
    NARROW = 16


cdef inline Py_ssize_t magnitude(Py_ssize_t stride) noexcept nogil:
    return -stride if stride < 0 else stride


cdef inline void load_words(
    const char *src, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows, word *block
) noexcept nogil:
    """Row-major into `block`: `rows` rows of `n` items. The memory's own fast axis is walked innermost."""
    cdef Py_ssize_t i, j
    # Few rows, or items, are gone through one by one: the strided walk stays in the cache.
    cdef bint across = rows >= NARROW and n >= NARROW and magnitude(row_stride) < magnitude(stride)
    if row_stride == sizeof(word) and rows == 3 and stride == 3 * sizeof(word):
        for i in range(n):
            memcpy(block + i, src + i * 3 * sizeof(word), sizeof(word))
            memcpy(block + n + i, src + (i * 3 + 1) * sizeof(word), sizeof(word))
            memcpy(block + 2 * n + i, src + (i * 3 + 2) * sizeof(word), sizeof(word))
    elif row_stride == sizeof(word) and rows > 1 and n == 3:
        for j in range(rows):
            memcpy(block + 3 * j, src + j * sizeof(word), sizeof(word))
            memcpy(block + 3 * j + 1, src + stride + j * sizeof(word), sizeof(word))
            memcpy(block + 3 * j + 2, src + 2 * stride + j * sizeof(word), sizeof(word))
    elif stride == sizeof(word) and n > 1:
        for j in range(rows):
            memcpy(block + j * n, src + j * row_stride, n * sizeof(word))
    elif across:
        for i in range(n):
            for j in range(rows):
                memcpy(block + j * n + i, src + i * stride + j * row_stride, sizeof(word))
    else:
        for j in range(rows):
            for i in range(n):
                memcpy(block + j * n + i, src + i * stride + j * row_stride, sizeof(word))


cdef inline void store_words(
    const word *block, Py_ssize_t stride, Py_ssize_t row_stride, Py_ssize_t n, Py_ssize_t rows, char *dst
) noexcept nogil:
    """The reverse of `load_words`, row-major, so that of items that share memory the last one stays."""
    cdef Py_ssize_t i, j
    if stride == sizeof(word) and n > 1:
        for j in range(rows):
            memcpy(dst + j * row_stride, block + j * n, n * sizeof(word))
    else:
        for j in range(rows):
            for i in range(n):
                memcpy(dst + i * stride + j * row_stride, block + j * n + i, sizeof(word))


cdef inline void map_words(
    const char *src, Py_ssize_t src_stride, const word *table, Py_ssize_t table_stride, char *dst,
    Py_ssize_t dst_stride, Py_ssize_t n,
) noexcept nogil:
    """Each byte gives the item that its table of 256 has for it; `table_stride` bytes lead to the next item's table."""
    cdef Py_ssize_t i
    if dst_stride == sizeof(word) and table_stride == 0:
        for i in range(n):
            memcpy(dst + i * <Py_ssize_t> sizeof(word), table + <uint8_t> src[i * src_stride], sizeof(word))
    else:
        for i in range(n):
            memcpy(
                dst + i * dst_stride,
                <const char *> table + i * table_stride + <uint8_t> src[i * src_stride] * sizeof(word), sizeof(word),
            )


cdef inline uint64_t swapped(uint64_t x) noexcept nogil:
    x = ((x >> 8) & 0x00FF00FF00FF00FFull) | ((x & 0x00FF00FF00FF00FFull) << 8)
    x = ((x >> 16) & 0x0000FFFF0000FFFFull) | ((x & 0x0000FFFF0000FFFFull) << 16)
    return (x >> 32) | (x << 32)


cdef inline void swap_words(word *block, Py_ssize_t n) noexcept nogil:
    """Reverses the bytes of each item."""
    cdef Py_ssize_t i
    cdef word x
    for i in range(n):
        x = block[i]
        if word is uint16_t:
            block[i] = <uint16_t> ((x >> 8) | (x << 8))
        elif word is uint32_t:
            block[i] = (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24)
        elif word is uint64_t:
            block[i] = swapped(x)
        elif word is double_pair:
            block[i].real = swapped(x.real)
            block[i].imag = swapped(x.imag)
