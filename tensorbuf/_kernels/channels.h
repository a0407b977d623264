/* Bytes of three channels taken apart and put together by the permutations of AVX-512 (VBMI), at half the cost of a compiler's shuffles.

   Each function does as many blocks of 64 pixels as `n` holds and gives the number of pixels; the caller's loop does the rest, and
   everything at other levels. */
#ifndef TENSORBUF_CHANNELS_H
#define TENSORBUF_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "level.h"

#ifdef TENSORBUF_V3 /* meson.build found a compiler that knows the attribute */

#include <immintrin.h>

#define TENSORBUF_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

/* Where the bytes of output `k` lie: in the first two inputs, and in the third one, or 128 where they are not there. */
#define TENSORBUF_16(PLACE, k, i)                                                                                                        \
    PLACE(k, i), PLACE(k, i + 1), PLACE(k, i + 2), PLACE(k, i + 3), PLACE(k, i + 4), PLACE(k, i + 5), PLACE(k, i + 6), PLACE(k, i + 7), \
        PLACE(k, i + 8), PLACE(k, i + 9), PLACE(k, i + 10), PLACE(k, i + 11), PLACE(k, i + 12), PLACE(k, i + 13), PLACE(k, i + 14),     \
        PLACE(k, i + 15)
#define TENSORBUF_64(PLACE, k) {TENSORBUF_16(PLACE, k, 0), TENSORBUF_16(PLACE, k, 16), TENSORBUF_16(PLACE, k, 32), TENSORBUF_16(PLACE, k, 48)}
#define TENSORBUF_PLACES(PLACE) {TENSORBUF_64(PLACE, 0), TENSORBUF_64(PLACE, 1), TENSORBUF_64(PLACE, 2)}

#define TENSORBUF_APART(k, i) (3 * (i) + (k))
#define TENSORBUF_APART_TWO(k, i) (TENSORBUF_APART(k, i) % 128)
#define TENSORBUF_APART_THIRD(k, i) (TENSORBUF_APART(k, i) < 128 ? 128 : TENSORBUF_APART(k, i) - 128)
#define TENSORBUF_PIXEL(k, i) ((64 * (k) + (i)) / 3)
#define TENSORBUF_CHANNEL(k, i) ((64 * (k) + (i)) % 3)
#define TENSORBUF_JOINED_TWO(k, i) (TENSORBUF_PIXEL(k, i) + (TENSORBUF_CHANNEL(k, i) == 1 ? 64 : 0))
#define TENSORBUF_JOINED_THIRD(k, i) (TENSORBUF_CHANNEL(k, i) == 2 ? TENSORBUF_PIXEL(k, i) : 128)

static const uint8_t channels_apart_two[3][64] = TENSORBUF_PLACES(TENSORBUF_APART_TWO);
static const uint8_t channels_apart_third[3][64] = TENSORBUF_PLACES(TENSORBUF_APART_THIRD);
static const uint8_t channels_joined_two[3][64] = TENSORBUF_PLACES(TENSORBUF_JOINED_TWO);
static const uint8_t channels_joined_third[3][64] = TENSORBUF_PLACES(TENSORBUF_JOINED_THIRD);

/* Three vectors of input from `src[k] + step * i`, three of output to `dst[k] + into * i`, of each 64 pixels. */
TENSORBUF_VBMI static ptrdiff_t channels_permuted(const uint8_t *const src[3], ptrdiff_t step, uint8_t *const dst[3], ptrdiff_t into,
                                                  const uint8_t two[3][64], const uint8_t third[3][64], ptrdiff_t n) {
    __m512i from_two[3], from_third[3];
    __mmask64 in_third[3];
    ptrdiff_t i;
    int k;
    for (k = 0; k < 3; k++) {
        from_two[k] = _mm512_loadu_si512(two[k]);
        from_third[k] = _mm512_loadu_si512(third[k]);
        in_third[k] = ~_mm512_movepi8_mask(from_third[k]);
    }
    for (i = 0; i + 64 <= n; i += 64) {
        __m512i a = _mm512_loadu_si512(src[0] + step * i), b = _mm512_loadu_si512(src[1] + step * i), c = _mm512_loadu_si512(src[2] + step * i);
        for (k = 0; k < 3; k++)
            _mm512_storeu_si512(dst[k] + into * i, _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(a, from_two[k], b), in_third[k], from_third[k], c));
    }
    return i;
}

static inline ptrdiff_t channels_apart(const uint8_t *src, uint8_t *first, uint8_t *second, uint8_t *third, ptrdiff_t n) {
    const uint8_t *const from[3] = {src, src + 64, src + 128};
    uint8_t *const into[3] = {first, second, third};
    return tb_level >= 4 ? channels_permuted(from, 3, into, 1, channels_apart_two, channels_apart_third, n) : 0;
}
static inline ptrdiff_t channels_joined(const uint8_t *first, const uint8_t *second, const uint8_t *third, uint8_t *dst, ptrdiff_t n) {
    const uint8_t *const from[3] = {first, second, third};
    uint8_t *const into[3] = {dst, dst + 64, dst + 128};
    return tb_level >= 4 ? channels_permuted(from, 1, into, 3, channels_joined_two, channels_joined_third, n) : 0;
}

#else

static inline ptrdiff_t channels_apart(const uint8_t *src, uint8_t *first, uint8_t *second, uint8_t *third, ptrdiff_t n) {
    (void)src, (void)first, (void)second, (void)third, (void)n;
    return 0;
}
static inline ptrdiff_t channels_joined(const uint8_t *first, const uint8_t *second, const uint8_t *third, uint8_t *dst, ptrdiff_t n) {
    (void)first, (void)second, (void)third, (void)dst, (void)n;
    return 0;
}

#endif
#endif
