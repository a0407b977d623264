/* float32 on its way to bytes: int32 that a saturating pack brings within the limits. The packs clamp on the lower side, also the least int32
   that the conversion gives for what is out of its range; that stands for NaN, too. min gives its second operand where one is NaN. */
#ifndef TENSORBUF_CLAMPED_H
#define TENSORBUF_CLAMPED_H

#include "avx2.h"

#if defined(TB_AVX2)

TB_AVX2 static inline __m256i clamped_uint8(__m256 x) { return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_set1_ps(255.0f), x)); }
TB_AVX2 static inline __m256i clamped_int8(__m256 x) {
    x = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_set1_ps(127.0f), x));
}

#endif
#endif
