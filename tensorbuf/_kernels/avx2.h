/* Vectors of AVX2, which the baseline of the processor lacks: functions marked so are compiled for it wherever the compiler can do that,
   and called at the levels that have it. */
#ifndef TENSORBUF_AVX2_H
#define TENSORBUF_AVX2_H

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define TB_AVX2 __attribute__((target("avx2")))
#endif

#endif
