/* The pairs that models and cameras use most, where the compiler's own vectors fall behind: it cannot know that a clamped value fits a
   saturating pack, and does not use the conversions to half precision.

   Each function converts as many whole blocks as `n` holds and gives their number of elements; the caller's loop does the rest, and
   everything where the instructions are missing. Results are those of rules.pxd, with NaN into an integer type 0.

   Sources may begin at any address, and lie in one of the forms of loose.h; nothing is read behind the last value. */
#ifndef TENSORBUF_HOT_H
#define TENSORBUF_HOT_H

#include <stddef.h>
#include <stdint.h>

#include "clamped.h"
#include "loose.h"

#if defined(TB_AVX2) && defined(__FMA__) && defined(__F16C__)

#define HOT 1
#include <immintrin.h>

/* How many bytes ahead of what is read the next is asked for: of large memory, since the processor does not look beyond a page of 4 KB by
   itself. What is read then are two cache lines. */
static inline ptrdiff_t hot_ahead(ptrdiff_t nbytes) { return nbytes >= 1 << 17 ? 4096 : 0; }
static inline void hot_fetch(const void *src, ptrdiff_t ahead) {
    _mm_prefetch((const char *)src + ahead, _MM_HINT_T0), _mm_prefetch((const char *)src + ahead + 64, _MM_HINT_T0);
}

static inline __m256i hot_swap_words(__m256i x) {
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
                                                   3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
}
static inline __m256i hot_swap_pairs(__m256i x) { return _mm256_shuffle_epi32(hot_swap_words(x), 0xB1); }
static inline __m128i hot_swap_halves(__m128i x) { return _mm_or_si128(_mm_slli_epi16(x, 8), _mm_srli_epi16(x, 8)); }
static inline __m256i hot_load(const void *src) { return _mm256_loadu_si256((const __m256i *)src); }
static inline __m256i hot_words(const int32_t *src, ptrdiff_t i, int form) {
    if (form == FORM_SECOND) {
        __m256 a = _mm256_castsi256_ps(hot_load(src + 2 * i)), b = _mm256_castsi256_ps(hot_load(src + 2 * i + 7));
        return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xD8)), 0xD8);
    }
    return form == FORM_SWAPPED ? hot_swap_words(hot_load(src + i)) : hot_load(src + i);
}
static inline void hot_fetch_words(const void *src, ptrdiff_t i, int form, ptrdiff_t ahead) {
    if (form == FORM_SECOND) i *= 2, hot_fetch((const int32_t *)src + i + 32, ahead);
    hot_fetch((const int32_t *)src + i, ahead);
}
static inline __m256 hot_floats(const float *src, ptrdiff_t i, int form) {
    return _mm256_castsi256_ps(hot_words((const int32_t *)src, i, form));
}

/* Four vectors of int32 to one of bytes, in order. */
static inline __m256i hot_pack(const __m256i x[4], int is_signed) {
    __m256i ab = _mm256_packs_epi32(x[0], x[1]), cd = _mm256_packs_epi32(x[2], x[3]);
    __m256i bytes = is_signed ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static inline ptrdiff_t hot_float_bytes(const float *src, void *dst, ptrdiff_t n, int form, int is_signed) {
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        __m256i x[4];
        hot_fetch_words(src, i, form, ahead);
        for (k = 0; k < 4; k++)
            x[k] = is_signed ? clamped_int8(hot_floats(src, i + 8 * k, form)) : clamped_uint8(hot_floats(src, i + 8 * k, form));
        _mm256_storeu_si256((__m256i *)((char *)dst + i), hot_pack(x, is_signed));
    }
    return i;
}

/* Divided, rounded to the nearest, moved by a whole number, saturated by the packs. With a reciprocal there is no division but one step of
   correction, as in quotient.h. What is beyond `limit` saturates anyway; it is cut off lest it overflow the int32. */
typedef struct {
    __m256 scale, reciprocal, limit, least;
    __m256i zero;
} hot_steps;

static inline __m256i hot_quantized(const float *src, ptrdiff_t i, const hot_steps *by, int divides) {
    __m256 given = hot_floats(src, i, FORM_NATIVE), x = _mm256_max_ps(by->least, _mm256_min_ps(by->limit, given)), y;
    if (divides) {
        y = _mm256_div_ps(x, by->scale);
    } else {
        y = _mm256_mul_ps(x, by->reciprocal);
        y = _mm256_fmadd_ps(_mm256_fnmadd_ps(y, by->scale, x), by->reciprocal, y);
    }
    return _mm256_and_si256(_mm256_add_epi32(_mm256_cvtps_epi32(y), by->zero),
                            _mm256_castps_si256(_mm256_cmp_ps(given, given, _CMP_ORD_Q)));
}
static inline ptrdiff_t hot_quantize_all(const float *src, char *dst, ptrdiff_t n, const hot_steps *by, int divides, int is_signed) {
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        __m256i x[4];
        hot_fetch(src + i, ahead);
        for (k = 0; k < 4; k++) x[k] = hot_quantized(src, i + 8 * k, by, divides);
        _mm256_storeu_si256((__m256i *)(dst + i), hot_pack(x, is_signed));
    }
    return i;
}
#if defined(__GNUC__) || defined(__clang__)

/* The same by a reciprocal, in vectors of 512 bits. */
__attribute__((target("avx512f"))) static ptrdiff_t hot_quantize_512(const float *src, char *dst, ptrdiff_t n, float scale, int zero,
                                                                     float reciprocal, float limit, int is_signed) {
    __m512 s = _mm512_set1_ps(scale), r = _mm512_set1_ps(reciprocal), most = _mm512_set1_ps(limit), least = _mm512_set1_ps(-limit);
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    for (i = 0; i + 16 <= n; i += 16) {
        __m512 given = _mm512_loadu_ps(src + i), x = _mm512_max_ps(least, _mm512_min_ps(most, given)), y = _mm512_mul_ps(x, r);
        __m512i q;
        _mm_prefetch((const char *)(src + i) + ahead, _MM_HINT_T0);
        q = _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_fnmadd_ps(y, s, x), r, y));
        q = _mm512_maskz_add_epi32(_mm512_cmp_ps_mask(given, given, _CMP_ORD_Q), q, _mm512_set1_epi32(zero));
        _mm_storeu_si128((__m128i *)(dst + i), is_signed ? _mm512_cvtsepi32_epi8(q)
                                                         : _mm512_cvtusepi32_epi8(_mm512_max_epi32(q, _mm512_setzero_si512())));
    }
    return i;
}

#else

static inline ptrdiff_t hot_quantize_512(const float *src, char *dst, ptrdiff_t n, float scale, int zero, float reciprocal, float limit,
                                         int is_signed) {
    return 0;
}

#endif

/* `reciprocal` is 0 where it has not been tried. Scales that would take `limit` near an infinity or zero are left to the caller's loop.
   `has_512` says that the level has vectors of 512 bits. */
static inline ptrdiff_t hot_quantize(const float *src, char *dst, ptrdiff_t n, float scale, float zero, float reciprocal, int is_signed,
                                     int has_512) {
    float limit = (scale < 0 ? -scale : scale) * 1048576.0f;
    hot_steps by;
    if (!(limit > 1e-18f && limit < 1e30f)) return 0;
    if (!(zero >= -32768.0f && zero <= 32768.0f && zero == (float)(int)zero)) return 0;
    if (has_512 && reciprocal != 0) return hot_quantize_512(src, dst, n, scale, (int)zero, reciprocal, limit, is_signed);
    by.scale = _mm256_set1_ps(scale), by.reciprocal = _mm256_set1_ps(reciprocal), by.zero = _mm256_set1_epi32((int)zero);
    by.limit = _mm256_set1_ps(limit), by.least = _mm256_set1_ps(-limit);
    if (is_signed) return reciprocal == 0 ? hot_quantize_all(src, dst, n, &by, 1, 1) : hot_quantize_all(src, dst, n, &by, 0, 1);
    return reciprocal == 0 ? hot_quantize_all(src, dst, n, &by, 1, 0) : hot_quantize_all(src, dst, n, &by, 0, 0);
}

/* The packs saturate int32 to int16 and that to bytes, which is the clamp. */
static inline ptrdiff_t hot_int32_bytes(const int32_t *src, void *dst, ptrdiff_t n, int form, int is_signed) {
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        __m256i x[4];
        hot_fetch_words(src, i, form, ahead);
        for (k = 0; k < 4; k++) x[k] = hot_words(src, i + 8 * k, form);
        _mm256_storeu_si256((__m256i *)((char *)dst + i), hot_pack(x, is_signed));
    }
    return i;
}

static inline ptrdiff_t hot_int32_float(const int32_t *src, float *dst, ptrdiff_t n, int form) {
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        hot_fetch_words(src, i, form, ahead);
        for (k = 0; k < 4; k++) _mm256_storeu_ps(dst + i + 8 * k, _mm256_cvtepi32_ps(hot_words(src, i + 8 * k, form)));
    }
    return i;
}

/* An int64 fits where its upper half repeats the sign of the lower one; else the sign of the upper half says which limit is near. */
static inline __m256 hot_pairs(const int64_t *src, int form) {
    __m256i pairs = _mm256_loadu_si256((const __m256i *)src);
    return _mm256_castsi256_ps(form == FORM_SWAPPED ? hot_swap_pairs(pairs) : pairs);
}
static inline __m256i hot_int32_of_int64(const int64_t *src, int form) {
    __m256 a = hot_pairs(src, form), b = hot_pairs(src + 4, form);
    __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), high = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
    __m256i limit = _mm256_xor_si256(_mm256_srai_epi32(high, 31), _mm256_set1_epi32(0x7FFFFFFF));
    __m256i fits = _mm256_cmpeq_epi32(high, _mm256_srai_epi32(low, 31));
    return _mm256_permute4x64_epi64(_mm256_blendv_epi8(limit, low, fits), 0xD8);
}
static inline ptrdiff_t hot_int64_int32(const int64_t *src, int32_t *dst, ptrdiff_t n, int form) {
    ptrdiff_t i, k, ahead = hot_ahead(8 * n);
    for (i = 0; i + 16 <= n; i += 16) {
        hot_fetch(src + i, ahead);
        for (k = i; k < i + 16; k += 8) _mm256_storeu_si256((__m256i *)(dst + k), hot_int32_of_int64(src + k, form));
    }
    return i;
}

/* The instructions keep a NaN's payload, so NaN is made canonical. */
static inline __m256 hot_canonical(__m256 x) {
    __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
    return _mm256_blendv_ps(quiet, x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
}
/* NaN is seldom, so whether four vectors have one is asked first. */
static inline void hot_canonical_four(__m256 x[4]) {
    __m256 nan = _mm256_or_ps(_mm256_cmp_ps(x[0], x[1], _CMP_UNORD_Q), _mm256_cmp_ps(x[2], x[3], _CMP_UNORD_Q));
    int k;
    if (_mm256_movemask_ps(nan))
        for (k = 0; k < 4; k++) x[k] = hot_canonical(x[k]);
}

/* Past the caches, straight from the registers; `dst` lies on a cache line. */
static inline ptrdiff_t hot_uint8_float_streamed(const uint8_t *src, float *dst, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i + 8 <= n; i += 8)
        _mm256_stream_ps(dst + i, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(src + i)))));
    return i;
}

static inline ptrdiff_t hot_int64_int32_streamed(const int64_t *src, int32_t *dst, ptrdiff_t n) {
    ptrdiff_t i, k;
    for (i = 0; i + 16 <= n; i += 16) {
        hot_fetch(src + i, 4096);
        for (k = i; k < i + 16; k += 8) _mm256_stream_si256((__m256i *)(dst + k), hot_int32_of_int64(src + k, FORM_NATIVE));
    }
    return i;
}
static inline ptrdiff_t hot_double_float_streamed(const double *src, float *dst, ptrdiff_t n) {
    ptrdiff_t i, k;
    for (i = 0; i + 16 <= n; i += 16) {
        hot_fetch(src + i, 4096);
        for (k = i; k < i + 16; k += 8) {
            __m256 x = _mm256_setr_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(src + k)), _mm256_cvtpd_ps(_mm256_loadu_pd(src + k + 4)));
            _mm256_stream_ps(dst + k, hot_canonical(x));
        }
    }
    return i;
}

static inline ptrdiff_t hot_float_half(const float *src, uint16_t *dst, ptrdiff_t n, int form) {
    ptrdiff_t i, ahead = hot_ahead(4 * n);
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        __m256 x[4];
        hot_fetch_words(src, i, form, ahead);
        for (k = 0; k < 4; k++) x[k] = hot_floats(src, i + 8 * k, form);
        hot_canonical_four(x);
        for (k = 0; k < 4; k++)
            _mm_storeu_si128((__m128i *)(dst + i + 8 * k), _mm256_cvtps_ph(x[k], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    return i;
}
static inline ptrdiff_t hot_half_float(const uint16_t *src, float *dst, ptrdiff_t n, int form) {
    ptrdiff_t i;
    int k;
    for (i = 0; i + 32 <= n; i += 32) {
        __m256 x[4];
        for (k = 0; k < 4; k++) {
            __m128i halves = _mm_loadu_si128((const __m128i *)(src + i + 8 * k));
            x[k] = _mm256_cvtph_ps(form == FORM_SWAPPED ? hot_swap_halves(halves) : halves);
        }
        hot_canonical_four(x);
        for (k = 0; k < 4; k++) _mm256_storeu_ps(dst + i + 8 * k, x[k]);
    }
    return i;
}

static inline __m256i hot_brain(__m256 x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC0), nan);
}
static inline ptrdiff_t hot_float_brain(const float *src, uint16_t *dst, ptrdiff_t n, int form) {
    ptrdiff_t i;
    for (i = 0; i + 16 <= n; i += 16) {
        __m256i words = _mm256_packus_epi32(hot_brain(hot_floats(src, i, form)), hot_brain(hot_floats(src, i + 8, form)));
        _mm256_storeu_si256((__m256i *)(dst + i), _mm256_permute4x64_epi64(words, 0xD8));
    }
    return i;
}

#else

#define HOT 0
static inline ptrdiff_t hot_int64_int32_streamed(const int64_t *src, int32_t *dst, ptrdiff_t n) { return 0; }
static inline ptrdiff_t hot_double_float_streamed(const double *src, float *dst, ptrdiff_t n) { return 0; }
static inline ptrdiff_t hot_uint8_float_streamed(const uint8_t *src, float *dst, ptrdiff_t n) { return 0; }
static inline ptrdiff_t hot_int32_float(const int32_t *src, float *dst, ptrdiff_t n, int form) { return 0; }
static inline ptrdiff_t hot_int64_int32(const int64_t *src, int32_t *dst, ptrdiff_t n, int form) { return 0; }
static inline ptrdiff_t hot_float_bytes(const float *src, void *dst, ptrdiff_t n, int form, int is_signed) { return 0; }
static inline ptrdiff_t hot_quantize(const float *src, char *dst, ptrdiff_t n, float scale, float zero, float reciprocal, int is_signed,
                                     int has_512) {
    return 0;
}
static inline ptrdiff_t hot_int32_bytes(const int32_t *src, void *dst, ptrdiff_t n, int form, int is_signed) { return 0; }
static inline ptrdiff_t hot_float_half(const float *src, uint16_t *dst, ptrdiff_t n, int form) { return 0; }
static inline ptrdiff_t hot_half_float(const uint16_t *src, float *dst, ptrdiff_t n, int form) { return 0; }
static inline ptrdiff_t hot_float_brain(const float *src, uint16_t *dst, ptrdiff_t n, int form) { return 0; }

#endif
#endif
