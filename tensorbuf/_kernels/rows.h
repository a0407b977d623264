/* What the loops of rows.pxd want and C has no words for; where the compiler or the processor has none either, it does nothing.

   Nothing is read before the first byte or behind the last one of the entries that are asked for. */
#ifndef TENSORBUF_ROWS_H
#define TENSORBUF_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "avx2.h"
#include "level.h"

#if defined(__GNUC__) || defined(__clang__)
static inline void tb_prefetch(const char *address) { __builtin_prefetch(address); }
#else
static inline void tb_prefetch(const char *address) { (void)address; }
#endif

/* Puts 16 bytes in another order, `times` times: TB_SHUFFLES is 0, and nobody calls it, where no instruction does that. */
#if defined(__SSSE3__)
#include <tmmintrin.h>
#define TB_SHUFFLES 1
static inline void tb_shuffle(const char *source, ptrdiff_t source_step, const uint8_t *order, char *target,
                              ptrdiff_t target_step, ptrdiff_t times) {
    __m128i places = _mm_loadu_si128((const __m128i *)order);
    for (; times > 0; times--, source += source_step, target += target_step)
        _mm_storeu_si128((__m128i *)target, _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)source), places));
}
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define TB_SHUFFLES 1
static inline void tb_shuffle(const char *source, ptrdiff_t source_step, const uint8_t *order, char *target,
                              ptrdiff_t target_step, ptrdiff_t times) {
    uint8x16_t places = vld1q_u8(order);
    for (; times > 0; times--, source += source_step, target += target_step)
        vst1q_u8((uint8_t *)target, vqtbl1q_u8(vld1q_u8((const uint8_t *)source), places));
}
#else
#define TB_SHUFFLES 0
static inline void tb_shuffle(const char *source, ptrdiff_t source_step, const uint8_t *order, char *target,
                              ptrdiff_t target_step, ptrdiff_t times) {
    (void)source, (void)source_step, (void)order, (void)target, (void)target_step, (void)times;
}
#endif

#if defined(TB_AVX2)

TB_AVX2 static inline __m256i tb_words(const char *source) { return _mm256_loadu_si256((const __m256i *)source); }

/* Eight 4-byte words, each `step` words from the one before, in the lanes that they fall into: the vectors are read where no
   two of the words have the same lane, the first one from the first word on, the last one to the last word. */
TB_AVX2 static inline __m256i tb_apart(const char *first, int step) {
    if (step == 1) return tb_words(first);
    if (step == 2) return _mm256_blend_epi32(tb_words(first), tb_words(first + 4 * 7), 0xAA);
    if (step == 3) {
        __m256i some = _mm256_blend_epi32(tb_words(first), tb_words(first + 4 * 7), 0x24);
        return _mm256_blend_epi32(some, tb_words(first + 4 * 14), 0x92);
    }
    return _mm256_blend_epi32(_mm256_blend_epi32(tb_words(first), tb_words(first + 4 * 7), 0x22),
                              _mm256_blend_epi32(tb_words(first + 4 * 14), tb_words(first + 4 * 21), 0x88), 0xCC);
}
TB_AVX2 static inline void tb_eight(const char *view, int step, int back, int ahead, __m256i order, ptrdiff_t entry, char *flat) {
    const char *first = view + (back ? -(entry + 7) : entry) * 4 * step;
    int line;
    /* The vectors of a larger step may lie across the ends of cache lines, for which the processor fetches ahead too late. */
    for (line = 0; ahead && line < 32 * step && step > 1; line += 64) tb_prefetch(first + (back ? -512 - line : 512 + line));
    _mm256_storeu_si256((__m256i *)(flat + 4 * entry), _mm256_permutevar8x32_epi32(tb_apart(first, step), order));
}

/* The rows of a view, as many as `rows` says: the first row's first entry is at `view`, those of the others lie `table[row]` (or
   without a table `row`) times `stride` bytes from there. `ahead` is for memory that is in no cache yet. */
typedef struct {
    const char *view;
    ptrdiff_t rows, stride;
    const int64_t *table;
    int ahead;
} tb_rows;

/* `count` words of each row, at least eight. A row's last vector may repeat some of those before it. */
TB_AVX2 static inline int tb_walk(tb_rows from, int step, int back, __m256i order, ptrdiff_t count, char *flat) {
    ptrdiff_t row, entry;
    for (row = 0; row < from.rows; row++, flat += 4 * count) {
        const char *view = from.view + (from.table ? (ptrdiff_t)from.table[row] : row) * from.stride;
        for (entry = 0; entry + 8 <= count; entry += 8) tb_eight(view, step, back, from.ahead, order, entry, flat);
        if (entry < count) tb_eight(view, step, back, from.ahead, order, count - 8, flat);
    }
    return 1;
}
TB_AVX2 static int tb_words_v3(tb_rows from, ptrdiff_t stride, ptrdiff_t count, char *flat) {
    switch (stride) {
        case 8: return tb_walk(from, 2, 0, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7), count, flat);
        case 12: return tb_walk(from, 3, 0, _mm256_setr_epi32(0, 3, 6, 2, 5, 1, 4, 7), count, flat);
        case 16: return tb_walk(from, 4, 0, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), count, flat);
        case -4: return tb_walk(from, 1, 1, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0), count, flat);
        case -8: return tb_walk(from, 2, 1, _mm256_setr_epi32(7, 5, 3, 1, 6, 4, 2, 0), count, flat);
        case -12: return tb_walk(from, 3, 1, _mm256_setr_epi32(7, 4, 1, 5, 2, 6, 3, 0), count, flat);
    }
    return 0;
}
TB_AVX2 static int tb_reversed_v3(tb_rows from, ptrdiff_t count, char *flat) {
    from.view += 4;
    return tb_walk(from, 1, 1, _mm256_setr_epi32(6, 7, 4, 5, 2, 3, 0, 1), 2 * count, flat);
}

/* Runs of `count` items of 4 or 8 bytes that are `stride` bytes apart: 1 where they were copied, 0 where they were left alone. */
static inline int tb_runs(ptrdiff_t size, const char *view, ptrdiff_t rows, ptrdiff_t row_stride, const int64_t *table,
                          ptrdiff_t stride, ptrdiff_t count, int ahead, char *flat) {
    tb_rows from = {view, rows, row_stride, table, ahead};
    if (tb_level < 3 || count < 8) return 0;
    if (size == 8) return stride == -8 && tb_reversed_v3(from, count, flat);
    return size == 4 && tb_words_v3(from, stride, count, flat);
}

#else

static inline int tb_runs(ptrdiff_t size, const char *view, ptrdiff_t rows, ptrdiff_t row_stride, const int64_t *table,
                          ptrdiff_t stride, ptrdiff_t count, int ahead, char *flat) {
    (void)size, (void)view, (void)rows, (void)row_stride, (void)table, (void)stride, (void)count, (void)ahead, (void)flat;
    return 0;
}

#endif
#endif
