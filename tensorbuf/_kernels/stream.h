/* Stores that pass the caches by. A result that is larger than they are would be fetched from memory line by line, only to be overwritten,
   and drive out all else.

   Whole cache lines only: a part of one costs more than it saves. */
#ifndef TENSORBUF_STREAM_H
#define TENSORBUF_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)

#include <emmintrin.h>

static inline void stream_bytes(char *dst, const char *src, ptrdiff_t n) {
    ptrdiff_t i = (64 - (ptrdiff_t)((uintptr_t)dst % 64)) % 64, k;
    if (i > n) i = n;
    memcpy(dst, src, (size_t)i);
    for (; i + 64 <= n; i += 64)
        for (k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(dst + i + k), _mm_loadu_si128((const __m128i *)(src + i + k)));
    memcpy(dst + i, src + i, (size_t)(n - i));
}
/* Ask for the cache lines of what is read next. */
static inline void fetch_bytes(const char *src, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i += 64) _mm_prefetch(src + i, _MM_HINT_T0);
}
/* Other threads see what was streamed before what is stored from now on. */
static inline void stream_end(void) { _mm_sfence(); }

#else

static inline void stream_bytes(char *dst, const char *src, ptrdiff_t n) { memcpy(dst, src, (size_t)n); }
static inline void fetch_bytes(const char *src, ptrdiff_t n) { (void)src, (void)n; }
static inline void stream_end(void) {}

#endif
#endif
