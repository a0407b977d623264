cdef void *take(size_t *capacity) noexcept
cdef void give(void *start, size_t capacity) noexcept
