/* The floating-point environment of the kernels: nearest even, no flush to zero, whatever another library has set.

   Where the control register is at hand it is saved and set directly (some ten nanoseconds); elsewhere by C's fenv, which costs more. */
#ifndef TENSORBUF_ENVIRONMENT_H
#define TENSORBUF_ENVIRONMENT_H

#if defined(__SSE__) || defined(_M_X64)

#include <xmmintrin.h>
typedef unsigned int environment;
static inline environment environment_enter(void) {
    environment saved = _mm_getcsr();
    if ((saved & 0xFFC0u) != 0x1F80u) _mm_setcsr(0x1F80u);
    return saved;
}
static inline void environment_leave(environment saved) {
    if ((saved & 0xFFC0u) != 0x1F80u) _mm_setcsr(saved);
}

#elif defined(__aarch64__) && defined(__GNUC__)

typedef unsigned long long environment;
static inline environment environment_enter(void) {
    environment saved, plain = 0;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(saved));
    if (saved != plain) __asm__ __volatile__("msr fpcr, %0" : : "r"(plain));
    return saved;
}
static inline void environment_leave(environment saved) {
    if (saved != 0) __asm__ __volatile__("msr fpcr, %0" : : "r"(saved));
}

#else

#include <fenv.h>
typedef fenv_t environment;
static inline environment environment_enter(void) {
    environment saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}
static inline void environment_leave(environment saved) {
    fesetenv(&saved);
}

#endif
#endif
