"""The conversion kernels: for each pair of types and each mode one loop over contiguous memory.

Built once for each instruction-set level (see meson.build); `tensorbuf._kernels` picks one at import.

What makes the unchecked loops safe: every span has at least `n` items of its kernel's own type, is aligned for it,
and a destination overlaps no source unless both are the same items of the same type. The driver (pipeline.pyx) sees
to that.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tensorbuf._kernels.patterns cimport moderate, one_bits, small_value
from tensorbuf._kernels.rules cimport always_fits, converted, finite
from tensorbuf._kernels.scans cimport STRETCH, all_fit, all_inside, outside, small_outside
from tensorbuf._kernels.types cimport (
    BFLOAT16, BOOL, COMPLEX64, COMPLEX128, FINITE, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, FLOAT32, FLOAT64, FORM_NATIVE,
    FORM_SECOND, FORM_SWAPPED, INT8, INT16, INT32, INT64, MODES, SATURATE, UINT8, UINT16, UINT32, UINT64, WRAP, Convert,
    Kernels, Scan, any_floating, brain, double_pair, e4m3, e5m2, float_pair, floating, half, integer, long_integer,
    number, signed_integer, small, source, target, truth,
)

cdef extern from "hot.h":
    Py_ssize_t hot_float_bytes(const float *src, void *dst, Py_ssize_t n, int form, bint is_signed) noexcept nogil
    Py_ssize_t hot_int32_bytes(const int32_t *src, void *dst, Py_ssize_t n, int form, bint is_signed) noexcept nogil
    Py_ssize_t hot_int32_float(const int32_t *src, float *dst, Py_ssize_t n, int form) noexcept nogil
    Py_ssize_t hot_int64_int32(const int64_t *src, int32_t *dst, Py_ssize_t n, int form) noexcept nogil
    Py_ssize_t hot_float_half(const float *src, uint16_t *dst, Py_ssize_t n, int form) noexcept nogil
    Py_ssize_t hot_half_float(const uint16_t *src, float *dst, Py_ssize_t n, int form) noexcept nogil
    Py_ssize_t hot_float_brain(const float *src, uint16_t *dst, Py_ssize_t n, int form) noexcept nogil
    Py_ssize_t hot_uint8_float_streamed(const uint8_t *src, float *dst, Py_ssize_t n) noexcept nogil
    Py_ssize_t hot_int64_int32_streamed(const int64_t *src, int32_t *dst, Py_ssize_t n) noexcept nogil
    Py_ssize_t hot_double_float_streamed(const double *src, float *dst, Py_ssize_t n) noexcept nogil
    enum:
        HOT

cdef enum:
    HOT_BLOCK = 32          # values, of which a function of hot.h converts every one


# ---------------------------------------------------------------- a pair of types

cdef inline target one(source x, target like, int mode) noexcept nogil:
    """A value of any type in any other; `mode` is a constant at every call, so only one branch is compiled."""
    if source is truth:
        # 0 or 1 without a comparison, which the compiler has no vectors for where it goes on to floating types.
        if target in small:
            like.bits = ((<int32_t> x.bits + 255) >> 8) * one_bits(like)
            return like
        elif target in any_floating:
            return converted(<uint8_t> ((<int32_t> x.bits + 255) >> 8), like, False)
        else:
            return converted(<uint8_t> (x.bits != 0), like, False)
    elif source in small:       # the other modes go by float32
        return converted(small_value(x), like, False)
    else:
        if mode == FINITE:
            return finite(x, like)
        return converted(x, like, mode == WRAP)


cdef inline Py_ssize_t hot(
    const source *src, target *dst, Py_ssize_t n, int64_t nan, int form
) noexcept nogil:
    """How many values, from the first on, a function of hot.h has converted; nearly all of them where there is one.

    `src` may begin at any address, and lie in any form that the function knows.
    """
    if source is float and target is half:
        return hot_float_half(src, <uint16_t *> dst, n, form)
    elif source is float and target is brain:
        return hot_float_brain(src, <uint16_t *> dst, n, form)
    elif source is half and target is float:
        return hot_half_float(<const uint16_t *> src, dst, n, form)
    elif source is int32_t and (target is int8_t or target is uint8_t):
        return hot_int32_bytes(src, dst, n, form, target is int8_t)
    elif source is int32_t and target is float:
        return hot_int32_float(src, dst, n, form)
    elif source is int64_t and target is int32_t:
        return hot_int64_int32(src, dst, n, form)
    elif source is float and (target is int8_t or target is uint8_t):
        return hot_float_bytes(src, dst, n, form, target is int8_t) if nan == 0 else 0
    else:
        return 0


cdef inline bint all_moderate(const number *src, Py_ssize_t n, bint negative) noexcept nogil:
    """Whether all values are up to 2**51 in magnitude and, unless `negative`, not below zero."""
    cdef Py_ssize_t i
    cdef uint64_t bits = 0
    # Of 64-bit integers the upper bits tell.
    if number in floating:
        return all_fit(src, n, <number> -(1ll << 51) if negative else <number> 0, <number> (1ll << 51), False)
    elif number in signed_integer:
        for i in range(n):
            bits |= <uint64_t> src[i] + (1ull << 51)
        return bits < 1ull << 52
    else:
        for i in range(n):
            bits |= <uint64_t> src[i]
        return bits < 1ull << 51


cdef inline void by_stretches(
    const number *src, target *dst, Py_ssize_t n, target like, int mode, bint negative
) noexcept nogil:
    """Between 64-bit integers and floating types: fast for stretches that are moderate, and `negative` or not."""
    cdef Py_ssize_t i, start, stop, stretch
    for stretch in range((n + STRETCH - 1) // STRETCH):
        start = stretch * STRETCH
        stop = min(start + STRETCH, n)
        if all_moderate(src + start, stop - start, negative):
            for i in range(start, stop):
                dst[i] = moderate(src[i], like)
        else:
            for i in range(start, stop):
                dst[i] = one(src[i], like, mode)


cdef void saturating(const source[::1] src, target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    cdef target like = dst[0]
    if source is target and source is not truth:
        memcpy(&dst[0], &src[0], n * sizeof(source))
    elif source in floating and target in long_integer:
        by_stretches(&src[0], &dst[0], n, <target> nan, SATURATE, target is int64_t)
    elif source in long_integer and target in floating:
        by_stretches(&src[0], &dst[0], n, like, SATURATE, True)
    else:
        if target in integer:
            like = <target> nan
        for i in range(hot(&src[0], &dst[0], n, nan, FORM_NATIVE), n):
            dst[i] = one(src[i], like, SATURATE)


# As `saturating`, from a source that may begin at any address, for what `hot` converts. NaN becomes 0.

ctypedef fused hot_source:
    int32_t
    int64_t
    half
    float

ctypedef fused hot_target:
    int8_t
    uint8_t
    int32_t
    half
    brain
    float


cdef inline void loose(const hot_source *src, hot_target *dst, Py_ssize_t n, int form) noexcept nogil:
    cdef hot_source[HOT_BLOCK] rest
    cdef hot_target[HOT_BLOCK] made
    cdef Py_ssize_t k, step = 2 if form == FORM_SECOND else 1
    cdef Py_ssize_t done = hot(src, dst, n, 0, form)
    if done < n:
        memset(rest, 0, sizeof(rest))
        for k in range(n - done):
            memcpy(&rest[k], src + (done + k) * step, sizeof(hot_source))
        hot(&rest[0], &made[0], HOT_BLOCK, 0, FORM_SWAPPED if form == FORM_SWAPPED else FORM_NATIVE)
        memcpy(dst + done, made, (n - done) * sizeof(hot_target))


cdef void misaligned(const hot_source[::1] src, hot_target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    loose(&src[0], &dst[0], n, FORM_NATIVE)


cdef void swapped(const hot_source[::1] src, hot_target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    loose(&src[0], &dst[0], n, FORM_SWAPPED)


cdef void every_second(const hot_source[::1] src, hot_target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    loose(&src[0], &dst[0], n, FORM_SECOND)


# As `saturating`, past the caches: `dst` lies on a cache line.

cdef void streaming_bytes(const uint8_t[::1] src, float[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(hot_uint8_float_streamed(&src[0], &dst[0], n), n):
        dst[i] = one(src[i], <float> 0, SATURATE)


cdef void streaming_long_ints(const int64_t[::1] src, int32_t[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(hot_int64_int32_streamed(&src[0], &dst[0], n), n):
        dst[i] = one(src[i], <int32_t> 0, SATURATE)


cdef void streaming_doubles(const double[::1] src, float[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(hot_double_float_streamed(&src[0], &dst[0], n), n):
        dst[i] = one(src[i], <float> 0, SATURATE)


cdef void wrapping(const source[::1] src, target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    cdef target like = dst[0]
    if target in integer:
        like = <target> nan
    if source in floating and target in long_integer:
        by_stretches(&src[0], &dst[0], n, like, WRAP, True)
    else:
        for i in range(n):
            dst[i] = one(src[i], like, WRAP)


cdef void finishing(const source[::1] src, target[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    """Into a floating type, without infinities."""
    cdef Py_ssize_t i
    cdef target like = dst[0]
    for i in range(n):
        dst[i] = one(src[i], like, FINITE)


cdef void truth_of_floats(const float_pair[::1] src, truth[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    """A complex number is True unless both its parts are zero, of either sign."""
    cdef Py_ssize_t i
    for i in range(n):
        dst[i].bits = ((src[i].real | src[i].imag) & 0x7FFFFFFFu) != 0


cdef void truth_of_doubles(const double_pair[::1] src, truth[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i].bits = ((src[i].real | src[i].imag) & 0x7FFFFFFFFFFFFFFFull) != 0


# ---------------------------------------------------------------- the table

cdef Kernels kernels
cdef int mode


cdef void enter_pair(int row, int column, source *from_type, target *to_type) noexcept:
    """The pair's kernel in each mode. The pointers are never followed: their types choose the specialisation."""
    # float32 stands between these, exactly: it has all values of the small types, and an integer that it has to round
    # lies beyond them. Some sixty kernels would be a fifth of the module.
    if source in small and (target in long_integer or (target in small and source is not target)):
        return
    if source in long_integer and target in small and target is not brain:
        return
    kernels.convert[SATURATE][row][column] = <Convert> saturating[source, target]
    kernels.convert[WRAP][row][column] = <Convert> saturating[source, target]
    kernels.convert[FINITE][row][column] = <Convert> saturating[source, target]
    # Where nothing can lie outside the target, the other modes have nothing to add.
    if source in integer and target in integer:
        if not always_fits(<source> 0, <target> 0):
            kernels.convert[WRAP][row][column] = <Convert> wrapping[source, target]
    elif source in floating and target in integer:
        kernels.convert[WRAP][row][column] = <Convert> wrapping[source, target]
    elif source in small and target in integer:
        kernels.convert[WRAP][row][column] = NULL       # by float32, too
    elif source in small and source is not e4m3 and target in any_floating:
        kernels.convert[FINITE][row][column] = NULL
    elif source in integer and (target is brain or target is float or target is double):
        pass
    elif source in number and target in any_floating:
        kernels.convert[FINITE][row][column] = <Convert> finishing[source, target]


cdef void enter_row(int row, source *from_type) noexcept:
    if source in number:
        kernels.scan[row] = <Scan> outside[source]
    elif source in small:
        kernels.scan[row] = <Scan> small_outside[source]
    else:
        kernels.scan[row] = <Scan> all_inside
    enter_pair(row, BOOL, from_type, <truth *> NULL)
    enter_pair(row, INT8, from_type, <int8_t *> NULL)
    enter_pair(row, UINT8, from_type, <uint8_t *> NULL)
    enter_pair(row, INT16, from_type, <int16_t *> NULL)
    enter_pair(row, UINT16, from_type, <uint16_t *> NULL)
    enter_pair(row, INT32, from_type, <int32_t *> NULL)
    enter_pair(row, UINT32, from_type, <uint32_t *> NULL)
    enter_pair(row, INT64, from_type, <int64_t *> NULL)
    enter_pair(row, UINT64, from_type, <uint64_t *> NULL)
    enter_pair(row, FLOAT16, from_type, <half *> NULL)
    enter_pair(row, BFLOAT16, from_type, <brain *> NULL)
    enter_pair(row, FLOAT32, from_type, <float *> NULL)
    enter_pair(row, FLOAT64, from_type, <double *> NULL)
    enter_pair(row, FLOAT8_E4M3FN, from_type, <e4m3 *> NULL)
    enter_pair(row, FLOAT8_E5M2, from_type, <e5m2 *> NULL)


cdef void enter_hot(int row, int column, hot_source *from_type, hot_target *to_type) noexcept:
    kernels.loose[FORM_NATIVE][row][column] = <Convert> misaligned[hot_source, hot_target]
    kernels.loose[FORM_SWAPPED][row][column] = <Convert> swapped[hot_source, hot_target]
    if hot_source is float or hot_source is int32_t:
        kernels.loose[FORM_SECOND][row][column] = <Convert> every_second[hot_source, hot_target]


enter_row(BOOL, <truth *> NULL)
enter_row(INT8, <int8_t *> NULL)
enter_row(UINT8, <uint8_t *> NULL)
enter_row(INT16, <int16_t *> NULL)
enter_row(UINT16, <uint16_t *> NULL)
enter_row(INT32, <int32_t *> NULL)
enter_row(UINT32, <uint32_t *> NULL)
enter_row(INT64, <int64_t *> NULL)
enter_row(UINT64, <uint64_t *> NULL)
enter_row(FLOAT16, <half *> NULL)
enter_row(BFLOAT16, <brain *> NULL)
enter_row(FLOAT32, <float *> NULL)
enter_row(FLOAT64, <double *> NULL)
enter_row(FLOAT8_E4M3FN, <e4m3 *> NULL)
enter_row(FLOAT8_E5M2, <e5m2 *> NULL)
for mode in range(MODES):
    kernels.convert[mode][COMPLEX64][BOOL] = <Convert> truth_of_floats
    kernels.convert[mode][COMPLEX128][BOOL] = <Convert> truth_of_doubles
if HOT:
    enter_hot(FLOAT32, FLOAT16, <float *> NULL, <half *> NULL)
    enter_hot(FLOAT32, BFLOAT16, <float *> NULL, <brain *> NULL)
    enter_hot(FLOAT32, UINT8, <float *> NULL, <uint8_t *> NULL)
    enter_hot(FLOAT32, INT8, <float *> NULL, <int8_t *> NULL)
    enter_hot(FLOAT16, FLOAT32, <half *> NULL, <float *> NULL)
    enter_hot(INT32, UINT8, <int32_t *> NULL, <uint8_t *> NULL)
    enter_hot(INT32, INT8, <int32_t *> NULL, <int8_t *> NULL)
    enter_hot(INT32, FLOAT32, <int32_t *> NULL, <float *> NULL)
    enter_hot(INT64, INT32, <int64_t *> NULL, <int32_t *> NULL)
    kernels.streamed[UINT8][FLOAT32] = <Convert> streaming_bytes
    kernels.streamed[INT64][INT32] = <Convert> streaming_long_ints
    kernels.streamed[FLOAT64][FLOAT32] = <Convert> streaming_doubles

table = PyCapsule_New(&kernels, "tensorbuf._kernels.Kernels", NULL)
