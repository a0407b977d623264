/* Huge pages for large blocks: 512 times fewer faults when fresh memory is written first. A wish only, which the system may not grant;
   numpy asks for the same, from the same size on. */
#ifndef TENSORBUF_PAGES_H
#define TENSORBUF_PAGES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

static inline void want_huge_pages(void *start, size_t size) {
#if defined(MADV_HUGEPAGE)
    const size_t least = (size_t)1 << 22, page = (size_t)1 << 16; /* the largest that a system has */
    size_t skipped = (page - (uintptr_t)start % page) % page;
    if (size >= least) madvise((char *)start + skipped, size - skipped, MADV_HUGEPAGE);
#else
    (void)start, (void)size;
#endif
}

#endif
