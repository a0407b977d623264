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

/* One channel of `n` pixels, 64 at the most, into its plane. Streamed blocks are whole, and on a cache line. */
TENSORBUF_VBMI static inline void planes_block(const uint8_t *src, float *dst, int channel, const __m512 by[5], int normalized, ptrdiff_t n,
                                               int streamed) {
    __m512i third = _mm512_loadu_si512(channels_apart_third[channel]), two = _mm512_loadu_si512(channels_apart_two[channel]);
    __m512i from[3], bytes;
    __m128i parts[4];
    int k;
    for (k = 0; k < 3; k++) from[k] = _mm512_maskz_loadu_epi8(planes_bits(3 * n - 64 * k), src + 64 * k);
    bytes = _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(from[0], two, from[1]), ~_mm512_movepi8_mask(third), third, from[2]);
    _mm512_storeu_si512(parts, bytes);
    for (k = 0; k < 4; k++) {
        __m512 values = planes_value(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(parts[k])), by, normalized);
        if (streamed)
            _mm512_stream_ps(dst + 16 * k, values);
        else
            _mm512_mask_storeu_ps(dst + 16 * k, (__mmask16)planes_bits(n - 16 * k), values);
    }
}
/* Pixels `i` to `stop` of one channel. */
TENSORBUF_VBMI static inline void planes_stretch(const uint8_t *src, float *dst, int channel, const float parameters[5], int normalized,
                                                 ptrdiff_t i, ptrdiff_t stop, int streamed) {
    __m512 by[5];
    int k;
    for (k = 0; k < 5; k++) by[k] = _mm512_set1_ps(parameters[k]);
    for (; i + 64 <= stop; i += 64) planes_block(src + 3 * i, dst + i, channel, by, normalized, 64, streamed);
    if (i < stop) planes_block(src + 3 * i, dst + i, channel, by, normalized, stop - i, 0);
}
TENSORBUF_VBMI static void planes_part(const uint8_t *src, float *dst, int channel, const float parameters[5], int normalized, ptrdiff_t i,
                                       ptrdiff_t stop, int streamed) {
    if (normalized)
        streamed ? planes_stretch(src, dst, channel, parameters, 1, i, stop, 1) : planes_stretch(src, dst, channel, parameters, 1, i, stop, 0);
    else
        streamed ? planes_stretch(src, dst, channel, parameters, 0, i, stop, 1) : planes_stretch(src, dst, channel, parameters, 0, i, stop, 0);
}
/* Each plane from its own first cache line on, in stretches of so many pixels as the first level of the cache keeps for all three. */
static inline void planes_fill(const uint8_t *src, float *const dst[3], const float parameters[3][5], int normalized, ptrdiff_t n,
                               int streamed) {
    const ptrdiff_t stretch = 2048;
    ptrdiff_t lead[3], start;
    int k;
    for (k = 0; k < 3; k++) {
        lead[k] = (64 - (ptrdiff_t)((uintptr_t)dst[k] % 64)) % 64 / 4;
        if (lead[k] > n) lead[k] = n;
        planes_part(src, dst[k], k, parameters[k], normalized, 0, lead[k], 0);
    }
    for (start = 0; start < n; start += stretch)
        for (k = 0; k < 3; k++) {
            ptrdiff_t i = start + lead[k];
            planes_part(src, dst[k], k, parameters[k], normalized, i, i + stretch < n ? i + stretch : n, streamed);
        }
}

#else

static inline void planes_fill(const uint8_t *src, float *const dst[3], const float parameters[3][5], int normalized, ptrdiff_t n,
                               int streamed) {
    (void)src, (void)dst, (void)parameters, (void)normalized, (void)n, (void)streamed;
}

#endif
#endif
