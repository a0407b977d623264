/* What the processor at hand can run; nothing beyond the baseline where nothing else was built. */
#ifndef TENSORBUF_PROCESSOR_H
#define TENSORBUF_PROCESSOR_H

#ifdef TENSORBUF_V3    /* meson.build found a compiler that knows the level, and so these builtins */

#include <cpuid.h>

/* What the level has besides and not every compiler's builtin can be asked for: F16C, MOVBE and LZCNT. */
static inline int processor_has_the_rest(void) {
    unsigned int a, b, c = 0, d, extended = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && __get_cpuid(0x80000001, &a, &b, &extended, &d)
        && (c >> 29 & 1) && (c >> 22 & 1) && (extended >> 5 & 1);
}

static inline int processor_has_v3(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2") && processor_has_the_rest();
}

/* Of AVX-512 what channels.h, planes.h, hot.h and moves.h use. */
static inline int processor_has_v4(void) {
    return processor_has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vbmi");
}

#else

static inline int processor_has_v3(void) { return 0; }
static inline int processor_has_v4(void) { return 0; }

#endif
#endif
