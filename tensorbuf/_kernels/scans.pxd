"""The first value that does not fit: what `overflow="raise"` asks before anything is written."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from tensorbuf._kernels.patterns cimport small_value
from tensorbuf._kernels.types cimport Bounds, floating, number, signed_integer, small, truth

cdef enum:
    STRETCH = 512           # values that are judged without a branch


cdef inline bint all_fit(const number *src, Py_ssize_t n, number least, number most, bint nan_fits) noexcept nogil:
    """Whether every value lies inside; without a branch, and with infinities taken for values as any others."""
    cdef Py_ssize_t i
    cdef number low = src[0]
    cdef number high = src[0]
    # As wide as the values, so that vectors of both have as many lanes. With NaN the order of minima would count.
    cdef int32_t misfits = 0
    cdef int64_t long_misfits = 0
    if number is float:
        if nan_fits:
            for i in range(n):
                misfits |= (src[i] < least) | (src[i] > most)
        else:
            for i in range(n):
                misfits |= 1 - ((src[i] >= least) & (src[i] <= most))
        return misfits == 0
    elif number is double:
        if nan_fits:
            for i in range(n):
                long_misfits |= <int64_t> (src[i] < least) | <int64_t> (src[i] > most)
        else:
            for i in range(n):
                long_misfits |= 1 - (<int64_t> (src[i] >= least) & <int64_t> (src[i] <= most))
        return long_misfits == 0
    else:
        for i in range(n):
            low = src[i] if src[i] < low else low
            high = src[i] if src[i] > high else high
        return low >= least and high <= most


cdef inline bint lies_outside(number x, number least, number most, bint nan_fits, bint infinity_fits) noexcept nogil:
    if number in floating:
        return (
            (not (x >= least) or not (x <= most))
            and not (nan_fits and x != x) and not (infinity_fits and (x == INFINITY or x == -INFINITY))
        )
    else:
        return x < least or x > most


cdef inline Py_ssize_t outside(const number[::1] src, Py_ssize_t n, const Bounds *bounds) noexcept nogil:
    """The first position whose value lies outside `bounds`, or `n`."""
    cdef Py_ssize_t i, stretch, start, stop
    cdef bint nan_fits = bounds.nan_fits
    cdef bint infinity_fits = bounds.infinity_fits
    cdef number least, most
    if number in floating:
        least, most = <number> bounds.least_floating, <number> bounds.most_floating
    elif number in signed_integer:
        least, most = <number> bounds.least_signed, <number> bounds.most_signed
    else:
        least, most = <number> bounds.least_unsigned, <number> bounds.most_unsigned
    # Whole stretches are judged without a branch; only one that may have a misfit is walked.
    for stretch in range((n + STRETCH - 1) // STRETCH):
        start = stretch * STRETCH
        stop = min(start + STRETCH, n)
        if not all_fit(&src[start], stop - start, least, most, nan_fits):
            for i in range(start, stop):
                if lies_outside(src[i], least, most, nan_fits, infinity_fits):
                    return i
    return n


cdef inline Py_ssize_t small_outside(const small[::1] src, Py_ssize_t n, const Bounds *bounds) noexcept nogil:
    """`outside` for the floating types of 8 and 16 bits."""
    cdef Py_ssize_t stretch, start, size, i
    cdef float least = <float> bounds.least_floating
    cdef float most = <float> bounds.most_floating
    cdef float[STRETCH] values
    for stretch in range((n + STRETCH - 1) // STRETCH):
        start = stretch * STRETCH
        size = min(STRETCH, n - start)
        for i in range(size):
            values[i] = small_value(src[start + i])
        if not all_fit(&values[0], size, least, most, bounds.nan_fits):
            for i in range(size):
                if lies_outside(values[i], least, most, bounds.nan_fits, bounds.infinity_fits):
                    return start + i
    return n


cdef inline Py_ssize_t all_inside(const truth[::1] src, Py_ssize_t n, const Bounds *bounds) noexcept nogil:
    return n
