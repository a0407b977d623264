/* One instruction that puts 16 bytes in another order. Where the compiler offers none, TB_SHUFFLES is 0 and nobody calls it. */
#ifndef TB_SHUFFLE_H
#define TB_SHUFFLE_H

#include <stdint.h>

#if defined(__SSSE3__)
#include <tmmintrin.h>
#define TB_SHUFFLES 1
static inline void tb_shuffle(const char *source, const uint8_t *order, char *target)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)source);
    _mm_storeu_si128((__m128i *)target, _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)order)));
}
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define TB_SHUFFLES 1
static inline void tb_shuffle(const char *source, const uint8_t *order, char *target)
{
    vst1q_u8((uint8_t *)target, vqtbl1q_u8(vld1q_u8((const uint8_t *)source), vld1q_u8(order)));
}
#else
#define TB_SHUFFLES 0
static inline void tb_shuffle(const char *source, const uint8_t *order, char *target)
{
    (void)source, (void)order, (void)target;
}
#endif

#endif
