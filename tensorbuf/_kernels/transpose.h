/* Squares of 16 bytes by 16 / (item size) rows, transposed in registers.

   Each round interleaves the items of a row and the row half the square below it; after as many rounds as the side has bits, rows are
   columns. */
#ifndef TENSORBUF_TRANSPOSE_H
#define TENSORBUF_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)

#include <emmintrin.h>

#define TENSORBUF_TRANSPOSE(NAME, SIDE, LOW, HIGH)                                                             \
    static inline void NAME(const char *src, ptrdiff_t stride, char *dst, ptrdiff_t dst_stride) {                \
        __m128i rows[SIDE], mixed[SIDE];                                                                         \
        int round, i;                                                                                            \
        for (i = 0; i < SIDE; i++) rows[i] = _mm_loadu_si128((const __m128i *)(src + i * stride));              \
        for (round = 1; round < SIDE; round *= 2) {                                                              \
            for (i = 0; i < SIDE / 2; i++) {                                                                     \
                mixed[2 * i] = LOW(rows[i], rows[i + SIDE / 2]);                                                 \
                mixed[2 * i + 1] = HIGH(rows[i], rows[i + SIDE / 2]);                                            \
            }                                                                                                    \
            for (i = 0; i < SIDE; i++) rows[i] = mixed[i];                                                      \
        }                                                                                                        \
        for (i = 0; i < SIDE; i++) _mm_storeu_si128((__m128i *)(dst + i * dst_stride), rows[i]);                \
    }

TENSORBUF_TRANSPOSE(transpose_1, 16, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
TENSORBUF_TRANSPOSE(transpose_2, 8, _mm_unpacklo_epi16, _mm_unpackhi_epi16)
TENSORBUF_TRANSPOSE(transpose_4, 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32)
TENSORBUF_TRANSPOSE(transpose_8, 2, _mm_unpacklo_epi64, _mm_unpackhi_epi64)

#else

#define TENSORBUF_TRANSPOSE(NAME, SIDE)                                                                        \
    static inline void NAME(const char *src, ptrdiff_t stride, char *dst, ptrdiff_t dst_stride) {                \
        enum { ITEM = 16 / SIDE };                                                                               \
        int i, j;                                                                                                \
        for (i = 0; i < SIDE; i++)                                                                               \
            for (j = 0; j < SIDE; j++) memcpy(dst + j * dst_stride + i * ITEM, src + i * stride + j * ITEM, ITEM); \
    }

TENSORBUF_TRANSPOSE(transpose_1, 16)
TENSORBUF_TRANSPOSE(transpose_2, 8)
TENSORBUF_TRANSPOSE(transpose_4, 4)
TENSORBUF_TRANSPOSE(transpose_8, 2)

#endif
#endif
