/* Lines become columns, by squares of 16 bytes of 16 / (item size) lines, or of twice as many lines where there is AVX2, in registers.

   Each round interleaves the items of a line and the line half the square below it; after as many rounds as the side has bits, lines are
   columns. Where no square fits any more, the last one lies over the one before it. */
#ifndef TENSORBUF_TRANSPOSE_H
#define TENSORBUF_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows.h"

/* All of these put item j of line i, for `count` lines of `n` items that lie side by side, to item i of the column that is j times `stride`
   bytes from `dst`. They begin with line `done`, and give the line that they got to. */
typedef ptrdiff_t (*turn_kind)(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride);

#define TENSORBUF_TURN(NAME, VECTOR, SIDE, LOAD, LOW, HIGH, STORE, TARGET)                                                          \
    TARGET static ptrdiff_t NAME(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) { \
        enum { ITEM = 16 / SIDE, LINES = sizeof(VECTOR) / ITEM };                                                                   \
        ptrdiff_t place;                                                                                                            \
        for (; n >= SIDE && count >= LINES && done < count; done += LINES) {                                                        \
            if (done > count - LINES) {                                                                                             \
                if (LINES > SIDE) break;                                                                                            \
                done = count - LINES;                                                                                               \
            }                                                                                                                       \
            for (place = 0; place < n; place += SIDE) {                                                                             \
                VECTOR rows[SIDE], mixed[SIDE];                                                                                     \
                int round, i;                                                                                                       \
                if (place > n - SIDE) place = n - SIDE;                                                                             \
                for (i = 0; i < SIDE; i++) rows[i] = LOAD(lines + done + i, SIDE, place * ITEM);                                   \
                for (round = 1; round < SIDE; round *= 2) {                                                                         \
                    for (i = 0; i < SIDE / 2; i++) {                                                                                \
                        mixed[2 * i] = LOW(rows[i], rows[i + SIDE / 2]);                                                            \
                        mixed[2 * i + 1] = HIGH(rows[i], rows[i + SIDE / 2]);                                                       \
                    }                                                                                                               \
                    for (i = 0; i < SIDE; i++) rows[i] = mixed[i];                                                                 \
                }                                                                                                                   \
                for (i = 0; i < SIDE; i++) STORE((VECTOR *)(dst + (place + i) * stride + done * ITEM), rows[i]);                   \
            }                                                                                                                       \
        }                                                                                                                           \
        return done;                                                                                                                \
    }

#define TENSORBUF_TURN_ONES(NAME, ITEM)                                                                                             \
    static ptrdiff_t NAME(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {    \
        ptrdiff_t place;                                                                                                            \
        for (; done < count; done++)                                                                                                \
            for (place = 0; place < n; place++) memcpy(dst + place * stride + done * ITEM, lines[done] + place * ITEM, ITEM);      \
        return count;                                                                                                               \
    }

TENSORBUF_TURN_ONES(turn_ones_1, 1)
TENSORBUF_TURN_ONES(turn_ones_2, 2)
TENSORBUF_TURN_ONES(turn_ones_4, 4)
TENSORBUF_TURN_ONES(turn_ones_8, 8)
TENSORBUF_TURN_ONES(turn_ones_16, 16)

#if defined(__SSE2__) || defined(_M_X64)

#include <emmintrin.h>
#define TURN_PLAIN

static inline __m128i turn_load(const char *const *line, int side, ptrdiff_t offset) {
    (void)side;
    return _mm_loadu_si128((const __m128i *)(*line + offset));
}
TENSORBUF_TURN(turn_1, __m128i, 16, turn_load, _mm_unpacklo_epi8, _mm_unpackhi_epi8, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_2, __m128i, 8, turn_load, _mm_unpacklo_epi16, _mm_unpackhi_epi16, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_4, __m128i, 4, turn_load, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_8, __m128i, 2, turn_load, _mm_unpacklo_epi64, _mm_unpackhi_epi64, _mm_storeu_si128, TURN_PLAIN)

#endif

#if defined(TB_AVX2)

/* Two squares side by side, the second one from `side` lines further on. */
TB_AVX2 static inline __m256i turn_load_two(const char *const *line, int side, ptrdiff_t offset) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(turn_load(line, side, offset)), turn_load(line + side, side, offset), 1);
}
TENSORBUF_TURN(turn_1_v3, __m256i, 16, turn_load_two, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_2_v3, __m256i, 8, turn_load_two, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_4_v3, __m256i, 4, turn_load_two, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_8_v3, __m256i, 2, turn_load_two, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64, _mm256_storeu_si256, TB_AVX2)

#endif

/* For items of 1, 2, 4, 8 and 16 bytes. */
static inline void turn(ptrdiff_t item, const char *const *lines, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {
    static const turn_kind ones[] = {turn_ones_1, turn_ones_2, turn_ones_4, turn_ones_8, turn_ones_16};
    ptrdiff_t done = 0;
    int kind = 0;
    while ((1 << kind) < item) kind++;
#if defined(TB_AVX2)
    static const turn_kind pairs[] = {turn_1_v3, turn_2_v3, turn_4_v3, turn_8_v3};
    if (tb_v3 && kind < 4) done = pairs[kind](lines, done, count, n, dst, stride);
#endif
#if defined(__SSE2__) || defined(_M_X64)
    static const turn_kind squares[] = {turn_1, turn_2, turn_4, turn_8};
    if (kind < 4) done = squares[kind](lines, done, count, n, dst, stride);
#endif
    ones[kind](lines, done, count, n, dst, stride);
}

#endif
