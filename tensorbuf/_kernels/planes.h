/* Pixels of three bytes into three planes of scaled or normalised float32, in registers from end to end, by the instructions of AVX-512
   (VBMI). Bits are those of the programs AFFINE and NORMALIZE_BY_RECIPROCALS of arithmetic.pyx. */
#ifndef TENSORBUF_PLANES_H
#define TENSORBUF_PLANES_H

#include "channels.h"

#if defined(TENSORBUF_VBMI)

/* As quotient.h says. */
TENSORBUF_VBMI static inline __m512 planes_quotient(__m512 x, __m512 d, __m512 r) {
    __m512 y = _mm512_mul_ps(x, r);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(y, d, x), r, y);
}
TENSORBUF_VBMI static inline __m512 planes_value(__m512 x, const __m512 by[5], int normalized) {
    if (!normalized) return _mm512_add_ps(_mm512_mul_ps(x, by[0]), by[1]);
    return planes_quotient(_mm512_sub_ps(planes_quotient(x, by[0], by[3]), by[1]), by[2], by[4]);
}
static inline uint64_t planes_bits(ptrdiff_t n) { return n >= 64 ? ~(uint64_t)0 : n <= 0 ? 0 : ((uint64_t)1 << n) - 1; }

/* `n` pixels, 64 at the most; these may be streamed where `i` is on a cache line. */
TENSORBUF_VBMI static inline void planes_block(const uint8_t *src, float *const dst[3], ptrdiff_t i, const __m512 by[3][5], int normalized,
                                               ptrdiff_t n, int streamed) {
    __m512i from[3];
    int k, part;
    for (k = 0; k < 3; k++) from[k] = _mm512_maskz_loadu_epi8(planes_bits(3 * n - 64 * k), src + 3 * i + 64 * k);
    for (k = 0; k < 3; k++) {
        __m512i third = _mm512_loadu_si512(channels_apart_third[k]), two = _mm512_loadu_si512(channels_apart_two[k]);
        __m512i bytes = _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(from[0], two, from[1]), ~_mm512_movepi8_mask(third), third, from[2]);
        __m128i parts[4];
        _mm512_storeu_si512(parts, bytes);
        for (part = 0; part < 4; part++) {
            __m512 values = planes_value(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(parts[part])), by[k], normalized);
            if (streamed)
                _mm512_stream_ps(dst[k] + i + 16 * part, values);
            else
                _mm512_mask_storeu_ps(dst[k] + i + 16 * part, (__mmask16)planes_bits(n - 16 * part), values);
        }
    }
}
TENSORBUF_VBMI static inline void planes_all(const uint8_t *src, float *const dst[3], const float parameters[3][5], int normalized,
                                             ptrdiff_t n, int streamed) {
    ptrdiff_t i = (64 - (ptrdiff_t)((uintptr_t)dst[0] % 64)) % 64 / 4;
    __m512 by[3][5];
    int k, j;
    for (k = 0; k < 3; k++)
        for (j = 0; j < 5; j++) by[k][j] = _mm512_set1_ps(parameters[k][j]);
    if (i > n) i = n;
    planes_block(src, dst, 0, by, normalized, i, 0);
    for (; i + 64 <= n; i += 64) planes_block(src, dst, i, by, normalized, 64, streamed);
    planes_block(src, dst, i, by, normalized, n - i, 0);
}
/* To be streamed, all planes must begin at the same place of a cache line. */
TENSORBUF_VBMI static void planes_fill(const uint8_t *src, float *const dst[3], const float parameters[3][5], int normalized, ptrdiff_t n,
                                         int streamed) {
    if (normalized)
        streamed ? planes_all(src, dst, parameters, 1, n, 1) : planes_all(src, dst, parameters, 1, n, 0);
    else
        streamed ? planes_all(src, dst, parameters, 0, n, 1) : planes_all(src, dst, parameters, 0, n, 0);
}

#else

static inline void planes_fill(const uint8_t *src, float *const dst[3], const float parameters[3][5], int normalized, ptrdiff_t n,
                               int streamed) {
    (void)src, (void)dst, (void)parameters, (void)normalized, (void)n, (void)streamed;
}

#endif
#endif
