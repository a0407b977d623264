/* Rows moved between memory and blocks, and the bytes of items reversed: what plain loops are slow at. Where there is no AVX2 or AVX-512, the functions
   that need it do nothing, and the caller's loops do all. */
#ifndef TENSORBUF_MOVES_H
#define TENSORBUF_MOVES_H

#include <stddef.h>
#include <string.h>

#include "rows.h"

/* `rows` rows of fewer than 16 bytes, `stride` bytes apart, one behind the other: 16 bytes at once, of which those behind the row are the
   next one's, or will be. Of the rows that have no such neighbours here or there, only their own bytes are moved. */
static inline void copy_short_rows(const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t size, char *dst) {
    ptrdiff_t apart = stride < 0 ? -stride : stride, beyond = (15 - size + apart) / apart, behind = 15 / size, row = 0;
    ptrdiff_t last = rows - (stride > 0 && beyond > behind ? beyond : behind);
    for (; row < rows && stride < 0 && row < beyond; row++) memcpy(dst + row * size, src + row * stride, (size_t)size);
    for (; row < last; row++) memcpy(dst + row * size, src + row * stride, 16);
    for (; row < rows; row++) memcpy(dst + row * size, src + row * stride, (size_t)size);
}

#if defined(TB_AVX2)

/* Bytes ahead of what is read that the next is asked for, as in hot.h. */
enum { AHEAD = 4096 };

/* The bytes of items of 2, 4 or 8 bytes, `size` in all. Gives how many are done; `dst` may be `src`. */
TB_AVX2 static ptrdiff_t swap_v3(ptrdiff_t item, const char *src, char *dst, ptrdiff_t size) {
    __m128i as_they_are = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m256i places = _mm256_broadcastsi128_si256(_mm_xor_si128(as_they_are, _mm_set1_epi8((char)(item - 1))));
    ptrdiff_t done;
    for (done = 0; done + 64 <= size; done += 64) {
        tb_prefetch(src + done + AHEAD);
        __m256i first = _mm256_shuffle_epi8(tb_words(src + done), places);
        __m256i second = _mm256_shuffle_epi8(tb_words(src + done + 32), places);
        _mm256_storeu_si256((__m256i *)(dst + done), first);
        _mm256_storeu_si256((__m256i *)(dst + done + 32), second);
    }
    return done;
}
/* A long row, whose next part is asked for. */
TB_AVX2 static void copy_long_v3(const char *src, ptrdiff_t size, char *dst) {
    ptrdiff_t done;
    for (done = 0; done + 64 <= size; done += 64) {
        tb_prefetch(src + done + AHEAD);
        _mm256_storeu_si256((__m256i *)(dst + done), tb_words(src + done));
        _mm256_storeu_si256((__m256i *)(dst + done + 32), tb_words(src + done + 32));
    }
    memcpy(dst + done, src + done, (size_t)(size - done));
}
/* A row's first and last vectors may lie over the others, which end where cache lines do. */
TB_AVX2 static void copy_rows_v3(const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t size, char *dst, ptrdiff_t dst_stride) {
    ptrdiff_t done;
    for (; rows > 0; rows--, src += stride, dst += dst_stride) {
        _mm256_storeu_si256((__m256i *)dst, tb_words(src));
        for (done = 32 - ((uintptr_t)dst & 31); done + 32 <= size; done += 32)
            _mm256_storeu_si256((__m256i *)(dst + done), tb_words(src + done));
        if (done < size) _mm256_storeu_si256((__m256i *)(dst + size - 32), tb_words(src + size - 32));
    }
}

__attribute__((target("avx512f"))) static void every_second_512(const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t n, char *dst) {
    __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), low, high;
    ptrdiff_t i;
    for (; rows > 0; rows--, src += stride, dst += 4 * n) {
        for (i = 0; i + 16 < n; i += 16) {
            low = _mm512_loadu_si512(src + 8 * i), high = _mm512_loadu_si512(src + 8 * i + 64);
            _mm512_storeu_si512(dst + 4 * i, _mm512_permutex2var_epi32(low, even, high));
        }
        /* The last sixteen may lie over those before them; nothing is read behind them. */
        i = n - 16;
        low = _mm512_loadu_si512(src + 8 * i), high = _mm512_maskz_loadu_epi32(0x7FFF, src + 8 * i + 64);
        _mm512_storeu_si512(dst + 4 * i, _mm512_permutex2var_epi32(low, even, high));
    }
}

/* Every second item, `n` of each row, one behind the other: 1 where they were copied, 0 where they were left alone. */
static inline int every_second(ptrdiff_t item, const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t n, char *dst) {
    if (tb_level < 4 || item != 4 || n < 16) return 0;
    every_second_512(src, stride, rows, n, dst);
    return 1;
}

/* 1 where the rows of `size` bytes were copied, 0 where they were left alone: longer ones are for memcpy. */
static inline int copy_rows(const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t size, char *dst, ptrdiff_t dst_stride) {
    if (tb_level < 3 || size < 32) return 0;
    if (size > 1024) {
        if (rows > 1) return 0;
        copy_long_v3(src, size, dst);
        return 1;
    }
    copy_rows_v3(src, stride, rows, size, dst, dst_stride);
    return 1;
}
static inline ptrdiff_t swap_vectors(ptrdiff_t item, const char *src, char *dst, ptrdiff_t size) {
    return tb_level >= 3 ? swap_v3(item, src, dst, size) : 0;
}

#else

static inline int every_second(ptrdiff_t item, const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t n, char *dst) {
    (void)item, (void)src, (void)stride, (void)rows, (void)n, (void)dst;
    return 0;
}
static inline int copy_rows(const char *src, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t size, char *dst, ptrdiff_t dst_stride) {
    (void)src, (void)stride, (void)rows, (void)size, (void)dst, (void)dst_stride;
    return 0;
}
static inline ptrdiff_t swap_vectors(ptrdiff_t item, const char *src, char *dst, ptrdiff_t size) {
    (void)item, (void)src, (void)dst, (void)size;
    return 0;
}

#endif
#endif
