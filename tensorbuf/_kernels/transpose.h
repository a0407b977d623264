/* Lines become columns, by squares of 4 to 16 bytes of as many lines as fill a vector of 16 bytes, or of twice as many lines where there is AVX2, in
   registers. The conversions that fit in are done on the way: int32 or uint8 to float32, and float32 or int32 to bytes.

   Each round interleaves the items of a line and the line half the square below it; after as many rounds as the side has bits, lines are
   columns. As many squares lie side by side as fill a cache line of a column: it would else be written in parts, and may leave the cache between
   them. Where no square fits any more, the last one lies over the one before it. */
#ifndef TENSORBUF_TRANSPOSE_H
#define TENSORBUF_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "clamped.h"
#include "rows.h"

/* What is moved, by the size of its items, or converted. */
enum {
    TURN_1,
    TURN_2,
    TURN_4,
    TURN_8,
    TURN_16,
    TURN_INT32_FLOAT,
    TURN_UINT8_FLOAT,
    TURN_FLOAT_UINT8,
    TURN_FLOAT_INT8,
    TURN_INT32_UINT8,
    TURN_INT32_INT8
};

/* All of these put item j of line i, for `count` lines of `n` items that lie side by side, to item i of the column that is j times `stride`
   bytes from `dst`. They begin with line `done`, and give the line that they got to. */
typedef ptrdiff_t (*turn_lines_kind)(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride);

/* Where the next kind is NARROWER, it does the last lines. */
#define TENSORBUF_TURN_LINES(NAME, LINE_COUNT, PLACE_COUNT, ITEM, NARROWER, TARGET)                                                         \
    TARGET static ptrdiff_t NAME(const char *const *lines, ptrdiff_t done, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {     \
        enum { LINES = LINE_COUNT, STEP = PLACE_COUNT, MOST = 64 / ITEM };                                                                  \
        ptrdiff_t place, line, end;                                                                                                         \
        for (; n >= STEP && count >= LINES && done < count; done = end) {                                                                   \
            if (done > count - LINES) {                                                                                                     \
                if (NARROWER) break;                                                                                                        \
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
    TENSORBUF_TURN_LINES(NAME, (int)sizeof(VECTOR) / (16 / SIDE), WIDE * SIDE, (16 / SIDE), sizeof(VECTOR) > 16, TARGET)

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

/* As everywhere: fractions are cut off, what is out of range becomes the limit, NaN becomes 0. */
static inline uint8_t turn_float_to_uint8(float x) { return (uint8_t)(x > 0 ? (x < 255 ? x : 255) : 0); }
static inline int8_t turn_float_to_int8(float x) { return (int8_t)(x > -128 ? (x < 127 ? x : 127) : (x == x ? -128 : 0)); }
static inline uint8_t turn_int32_to_uint8(int32_t x) { return (uint8_t)(x > 0 ? (x < 255 ? x : 255) : 0); }
static inline int8_t turn_int32_to_int8(int32_t x) { return (int8_t)(x > -128 ? (x < 127 ? x : 127) : -128); }
TENSORBUF_TURN_ONES(turn_ones_float_uint8, float, uint8_t, turn_float_to_uint8)
TENSORBUF_TURN_ONES(turn_ones_float_int8, float, int8_t, turn_float_to_int8)
TENSORBUF_TURN_ONES(turn_ones_int32_uint8, int32_t, uint8_t, turn_int32_to_uint8)
TENSORBUF_TURN_ONES(turn_ones_int32_int8, int32_t, int8_t, turn_int32_to_int8)

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

TB_AVX2 static inline __m256i turn_eight(const char *line, ptrdiff_t place) {
    return _mm256_loadu_si256((const __m256i *)(line + 4 * place));
}
TB_AVX2 static inline __m256i turn_eight_uint8(const char *line, ptrdiff_t place) {
    return clamped_uint8(_mm256_castsi256_ps(turn_eight(line, place)));
}
TB_AVX2 static inline __m256i turn_eight_int8(const char *line, ptrdiff_t place) {
    return clamped_int8(_mm256_castsi256_ps(turn_eight(line, place)));
}

/* In each half of the vector four bytes of each of four lines; then the four lines' bytes of each place. */
TB_AVX2 static inline __m256i turn_fours(__m256i x) {
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                                   0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

/* Sixteen lines of eight items, as the int32 that LOAD makes of them, to bytes, by packs that clamp. */
#define TENSORBUF_TURN_BYTES(NAME, LOAD, PACK)                                                                                              \
    TB_AVX2 static inline void NAME##_squares(const char *const *lines, ptrdiff_t place, char *dst, ptrdiff_t stride) {                     \
        __m256i fours[4], low[2], high[2], columns[4];                                                                                      \
        int k;                                                                                                                              \
        for (k = 0; k < 4; k++) fours[k] = turn_fours(PACK(_mm256_packs_epi32(LOAD(lines[4 * k], place), LOAD(lines[4 * k + 1], place)),    \
                                                           _mm256_packs_epi32(LOAD(lines[4 * k + 2], place), LOAD(lines[4 * k + 3], place))));\
        for (k = 0; k < 2; k++) {                                                                                                           \
            low[k] = _mm256_unpacklo_epi32(fours[2 * k], fours[2 * k + 1]);                                                                 \
            high[k] = _mm256_unpackhi_epi32(fours[2 * k], fours[2 * k + 1]);                                                                \
        }                                                                                                                                   \
        columns[0] = _mm256_unpacklo_epi64(low[0], low[1]), columns[1] = _mm256_unpackhi_epi64(low[0], low[1]);                             \
        columns[2] = _mm256_unpacklo_epi64(high[0], high[1]), columns[3] = _mm256_unpackhi_epi64(high[0], high[1]);                         \
        for (k = 0; k < 4; k++) {                                                                                                           \
            _mm_storeu_si128((__m128i *)(dst + k * stride), _mm256_castsi256_si128(columns[k]));                                            \
            _mm_storeu_si128((__m128i *)(dst + (k + 4) * stride), _mm256_extracti128_si256(columns[k], 1));                                 \
        }                                                                                                                                   \
    }                                                                                                                                       \
    TENSORBUF_TURN_LINES(NAME, 16, 8, 1, 0, TB_AVX2)
TENSORBUF_TURN_BYTES(turn_float_uint8_v3, turn_eight_uint8, _mm256_packus_epi16)
TENSORBUF_TURN_BYTES(turn_float_int8_v3, turn_eight_int8, _mm256_packs_epi16)
TENSORBUF_TURN_BYTES(turn_int32_uint8_v3, turn_eight, _mm256_packus_epi16)
TENSORBUF_TURN_BYTES(turn_int32_int8_v3, turn_eight, _mm256_packs_epi16)

#endif

/* For each kind, or NULL: by pairs of squares, by squares, and one by one. */
static const turn_lines_kind turn_pairs[] = {
#if defined(TB_AVX2)
    turn_1_v3, turn_2_v3, turn_4_v3, turn_8_v3, NULL, turn_int32_v3, turn_uint8_v3,
    turn_float_uint8_v3, turn_float_int8_v3, turn_int32_uint8_v3, turn_int32_int8_v3,
#else
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
#endif
};
static const turn_lines_kind turn_squares[] = {
#if defined(TURN_PLAIN)
    turn_1, turn_2, turn_4, turn_8, NULL, turn_int32, turn_uint8, NULL, NULL, NULL, NULL,
#else
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
#endif
};
static const turn_lines_kind turn_ones[] = {
    turn_ones_1, turn_ones_2, turn_ones_4, turn_ones_8, turn_ones_16, turn_ones_int32, turn_ones_uint8,
    turn_ones_float_uint8, turn_ones_float_int8, turn_ones_int32_uint8, turn_ones_int32_int8,
};

/* Whether a kind is done in registers at the level in use. */
static inline int turns_fast(int kind) { return (tb_level >= 3 && turn_pairs[kind]) || turn_squares[kind]; }

static inline void turn(int kind, const char *const *lines, ptrdiff_t count, ptrdiff_t n, char *dst, ptrdiff_t stride) {
    ptrdiff_t done = 0;
    if (tb_level >= 3 && turn_pairs[kind]) done = turn_pairs[kind](lines, done, count, n, dst, stride);
    if (turn_squares[kind]) done = turn_squares[kind](lines, done, count, n, dst, stride);
    turn_ones[kind](lines, done, count, n, dst, stride);
}

#endif
