/* Lines become columns, by squares of 4 to 16 bytes of as many lines as fill a vector of 16 bytes, or of twice as many lines where there is AVX2, in
   registers. What two types have in common with a move is done on the way: int32 or uint8 to float32.

   Each round interleaves the items of a line and the line half the square below it; after as many rounds as the side has bits, lines are
   columns. As many squares lie side by side as fill a cache line of a column: it would else be written in parts, and may leave the cache between
   them. Where no square fits any more, the last one lies over the one before it. */
#ifndef TENSORBUF_TRANSPOSE_H
#define TENSORBUF_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows.h"

/* What is moved, by the size of its items, or converted. */
enum { TURN_1, TURN_2, TURN_4, TURN_8, TURN_16, TURN_INT32_FLOAT, TURN_UINT8_FLOAT };

/* All of these put item j of line i, for `count` lines of `n` items that lie side by side, to item i of the column that is j times `stride`
   bytes from `dst`. They begin with line `done`, and give the line that they got to. */
typedef ptrdiff_t (*turn_lines_kind)(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride);

#define TENSORBUF_TURN(NAME, VECTOR, SIDE, WIDE, LOAD, LOW, HIGH, STORE, TARGET)                                                            \
    TARGET static inline void NAME##_squares(const char *const *lines, ptrdiff_t place, char *dst, ptrdiff_t stride) {                      \
        VECTOR rows[WIDE * SIDE], mixed[SIDE];                                                                                              \
        int round, i, k;                                                                                                                    \
        for (i = 0; i < SIDE; i++)                                                                                                          \
            for (k = 0; k < WIDE; k++) rows[k * SIDE + i] = LOAD(lines + i, SIDE, place + k * SIDE);                                        \
        for (k = 0; k < WIDE; k++) {                                                                                                        \
            for (round = 1; round < SIDE; round *= 2) {                                                                                     \
                for (i = 0; i < SIDE / 2; i++) {                                                                                            \
                    mixed[2 * i] = LOW(rows[k * SIDE + i], rows[k * SIDE + i + SIDE / 2]);                                                  \
                    mixed[2 * i + 1] = HIGH(rows[k * SIDE + i], rows[k * SIDE + i + SIDE / 2]);                                             \
                }                                                                                                                           \
                for (i = 0; i < SIDE; i++) rows[k * SIDE + i] = mixed[i];                                                                   \
            }                                                                                                                               \
        }                                                                                                                                   \
        for (i = 0; i < WIDE * SIDE; i++) STORE((VECTOR *)(dst + i * stride), rows[i]);                                                     \
    }                                                                                                                                       \
    TARGET static ptrdiff_t NAME(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {     \
        enum { ITEM = 16 / SIDE, LINES = sizeof(VECTOR) / ITEM, MOST = 64 / ITEM, STEP = WIDE * SIDE };                                     \
        ptrdiff_t place, line, end;                                                                                                         \
        for (; n >= STEP && count >= LINES && done < count; done = end) {                                                                   \
            if (done > count - LINES) {                                                                                                     \
                if (LINES > SIDE) break;                                                                                                    \
                done = count - LINES;                                                                                                       \
            }                                                                                                                               \
            end = done + MOST <= count ? done + MOST : done + (count - done) / LINES * LINES;                                               \
            for (place = 0; place < n; place += STEP) {                                                                                     \
                if (place > n - STEP) place = n - STEP;                                                                                     \
                for (line = done; line < end; line += LINES)                                                                                \
                    NAME##_squares(lines + line, place, dst + place * stride + line * ITEM, stride);                                        \
            }                                                                                                                               \
        }                                                                                                                                   \
        return done;                                                                                                                        \
    }

#define TENSORBUF_TURN_ONES(NAME, FROM, INTO, CONVERT)                                                                                      \
    static ptrdiff_t NAME(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {            \
        ptrdiff_t place;                                                                                                                    \
        for (; done < count; done++)                                                                                                        \
            for (place = 0; place < n; place++) {                                                                                           \
                FROM given;                                                                                                                 \
                INTO made;                                                                                                                  \
                memcpy(&given, lines[done] + place * (ptrdiff_t)sizeof(FROM), sizeof(FROM));                                                \
                made = CONVERT(given);                                                                                                      \
                memcpy(dst + place * stride + done * (ptrdiff_t)sizeof(INTO), &made, sizeof(INTO));                                         \
            }                                                                                                                               \
        return count;                                                                                                                       \
    }

TENSORBUF_TURN_ONES(turn_ones_1, uint8_t, uint8_t, )
TENSORBUF_TURN_ONES(turn_ones_2, uint16_t, uint16_t, )
TENSORBUF_TURN_ONES(turn_ones_4, uint32_t, uint32_t, )
TENSORBUF_TURN_ONES(turn_ones_8, uint64_t, uint64_t, )
typedef struct { uint64_t real, imag; } turn_pair;
TENSORBUF_TURN_ONES(turn_ones_16, turn_pair, turn_pair, )
TENSORBUF_TURN_ONES(turn_ones_int32, int32_t, float, (float))
TENSORBUF_TURN_ONES(turn_ones_uint8, uint8_t, float, (float))

#if defined(__SSE2__) || defined(_M_X64)

#include <emmintrin.h>
#define TURN_PLAIN

static inline __m128i turn_load(const char *const *line, int side, ptrdiff_t place) {
    return _mm_loadu_si128((const __m128i *)(*line + place * (16 / side)));
}
static inline __m128i turn_load_int32(const char *const *line, int side, ptrdiff_t place) {
    return _mm_castps_si128(_mm_cvtepi32_ps(turn_load(line, side, place)));
}
static inline __m128i turn_load_uint8(const char *const *line, int side, ptrdiff_t place) {
    int32_t four;
    (void)side;
    memcpy(&four, *line + place, 4);
    return _mm_castps_si128(_mm_cvtepi32_ps(
        _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(four), _mm_setzero_si128()), _mm_setzero_si128())));
}
TENSORBUF_TURN(turn_1, __m128i, 16, 1, turn_load, _mm_unpacklo_epi8, _mm_unpackhi_epi8, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_2, __m128i, 8, 1, turn_load, _mm_unpacklo_epi16, _mm_unpackhi_epi16, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_4, __m128i, 4, 1, turn_load, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_8, __m128i, 2, 1, turn_load, _mm_unpacklo_epi64, _mm_unpackhi_epi64, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_int32, __m128i, 4, 1, turn_load_int32, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_storeu_si128, TURN_PLAIN)
TENSORBUF_TURN(turn_uint8, __m128i, 4, 1, turn_load_uint8, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_storeu_si128, TURN_PLAIN)

#endif

#if defined(TB_AVX2)

/* Two squares side by side, the second one from `side` lines further on. */
TB_AVX2 static inline __m256i turn_load_two(const char *const *line, int side, ptrdiff_t place) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(turn_load(line, side, place)), turn_load(line + side, side, place), 1);
}
TB_AVX2 static inline __m256i turn_load_two_int32(const char *const *line, int side, ptrdiff_t place) {
    return _mm256_castps_si256(_mm256_cvtepi32_ps(turn_load_two(line, side, place)));
}
TB_AVX2 static inline __m256i turn_load_two_uint8(const char *const *line, int side, ptrdiff_t place) {
    int32_t here, there;
    memcpy(&here, *line + place, 4), memcpy(&there, line[side] + place, 4);
    return _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpacklo_epi32(_mm_cvtsi32_si128(here), _mm_cvtsi32_si128(there)))));
}
TENSORBUF_TURN(turn_1_v3, __m256i, 16, 1, turn_load_two, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_2_v3, __m256i, 8, 1, turn_load_two, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_4_v3, __m256i, 4, 2, turn_load_two, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_8_v3, __m256i, 2, 4, turn_load_two, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_int32_v3, __m256i, 4, 2, turn_load_two_int32, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_storeu_si256, TB_AVX2)
TENSORBUF_TURN(turn_uint8_v3, __m256i, 4, 2, turn_load_two_uint8, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_storeu_si256, TB_AVX2)

#endif

static inline void turn(int kind, const char *const *lines, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {
    static const turn_lines_kind ones[] = {turn_ones_1,  turn_ones_2,     turn_ones_4,    turn_ones_8,
                                           turn_ones_16, turn_ones_int32, turn_ones_uint8};
    ptrdiff_t done = 0;
#if defined(TB_AVX2)
    static const turn_lines_kind pairs[] = {turn_1_v3, turn_2_v3, turn_4_v3, turn_8_v3, NULL, turn_int32_v3, turn_uint8_v3};
    if (tb_level >= 3 && pairs[kind]) done = pairs[kind](lines, done, count, n, dst, stride);
#endif
#if defined(__SSE2__) || defined(_M_X64)
    static const turn_lines_kind squares[] = {turn_1, turn_2, turn_4, turn_8, NULL, turn_int32, turn_uint8};
    if (squares[kind]) done = squares[kind](lines, done, count, n, dst, stride);
#endif
    ones[kind](lines, done, count, n, dst, stride);
}

#endif
