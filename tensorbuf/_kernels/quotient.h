/* Division by a known divisor, without a division.

   With r the reciprocal of d rounded to the nearest, y = x * r is close to x / d, and one step of correction makes it the correctly rounded
   quotient for nearly all x and d. Whoever uses it has tried every x that can come. It needs a fused multiply-add in
   hardware; without one TENSORBUF_FUSED is 0 and nobody may call it. */
#ifndef TENSORBUF_QUOTIENT_H
#define TENSORBUF_QUOTIENT_H

#include <math.h>

#if defined(__FMA__) || defined(__aarch64__)
#define TENSORBUF_FUSED 1
#else
#define TENSORBUF_FUSED 0
#endif

static inline float quotient(float x, float d, float r) {
    float y = x * r;
    return fmaf(fmaf(-y, d, x), r, y);
}

#endif
