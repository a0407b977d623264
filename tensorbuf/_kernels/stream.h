/* Stores that pass the caches by. A result that is larger than they are would be fetched from memory line by line, only to be overwritten,
   and drive out all else.

   Whole cache lines only: a part of one costs more than it saves. */
#ifndef TENSORBUF_STREAM_H
#define TENSORBUF_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The items of `item` bytes from `dst` on that lie before the next cache line. */
static inline ptrdiff_t before_line(const void *dst, ptrdiff_t item) { return (64 - (ptrdiff_t)((uintptr_t)dst % 64)) % 64 / item; }

#if defined(__SSE2__) || defined(_M_X64)

#include <emmintrin.h>

/* Whole cache lines, to where one begins. */
static inline void stream_lines(void *dst, const void *src, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i += 16)
        _mm_stream_si128((__m128i *)((char *)dst + i), _mm_loadu_si128((const __m128i *)((const char *)src + i)));
}
static inline void stream_bytes(char *dst, const char *src, ptrdiff_t n) {
    ptrdiff_t lead = before_line(dst, 1), whole;
    if (lead > n) lead = n;
    whole = (n - lead) / 64 * 64;
    memcpy(dst, src, (size_t)lead);
    stream_lines(dst + lead, src + lead, whole);
    memcpy(dst + lead + whole, src + lead + whole, (size_t)(n - lead - whole));
}
/* Ask for the cache lines of what is read next. */
static inline void fetch_bytes(const char *src, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i += 64) _mm_prefetch(src + i, _MM_HINT_T0);
}
/* Other threads see what was streamed before what is stored from now on. */
static inline void stream_end(void) { _mm_sfence(); }

#else

static inline void stream_lines(void *dst, const void *src, ptrdiff_t n) { memcpy(dst, src, (size_t)n); }
static inline void stream_bytes(char *dst, const char *src, ptrdiff_t n) { memcpy(dst, src, (size_t)n); }
static inline void fetch_bytes(const char *src, ptrdiff_t n) { (void)src, (void)n; }
static inline void stream_end(void) {}

#endif
#endif
