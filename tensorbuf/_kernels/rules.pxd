"""What each value becomes in each type: the one place that decides it (docs/conversion.md is the rule in words).

Assumptions: the floating-point environment is the default one (nearest even, no flush to zero: see environment.h),
C's float and double are IEEE binary32 and binary64, and the compiler contracts nothing. No function relies on an
out-of-range cast, which C leaves undefined; all are branch-free where the compiler is to vectorise the loop around
them.
"""

from libc.math cimport copysign, copysignf, fabs, fabsf, rint, rintf, trunc, truncf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tensorbuf._kernels.patterns cimport as_double, bits_double, bits_float, canonical, double_as_long, encoded
from tensorbuf._kernels.types cimport brain, e4m3, e5m2, floating, half, integer, long_integer, number, target, truth


# ---------------------------------------------------------------- limits

cdef inline int64_t least_value(integer like) noexcept nogil:
    if integer is int8_t:
        return -128
    elif integer is int16_t:
        return -32768
    elif integer is int32_t:
        return -2147483647 - 1
    elif integer is int64_t:
        return <int64_t> (1ull << 63)
    else:
        return 0


cdef inline uint64_t most_value(integer like) noexcept nogil:
    if integer is int8_t:
        return 127u
    elif integer is uint8_t:
        return 255u
    elif integer is int16_t:
        return 32767u
    elif integer is uint16_t:
        return 65535u
    elif integer is int32_t:
        return 2147483647u
    elif integer is uint32_t:
        return 4294967295u
    elif integer is int64_t:
        return 9223372036854775807ull
    else:
        return 18446744073709551615ull


cdef inline bint always_fits(integer x, target like) noexcept nogil:
    """Whether an integer target holds every value of x's type."""
    if target in integer:
        return least_value(like) <= least_value(x) and most_value(x) <= most_value(like)
    else:
        return False


# ---------------------------------------------------------------- to an integer type, out of range: the nearer limit

cdef inline target integer_clamped(integer x, target like) noexcept nogil:
    """`x` within the limits of an integer target. The limits that x's own type cannot exceed fold away."""
    cdef integer low, high
    if target in integer:
        low = <integer> max(least_value(x), least_value(like))
        high = <integer> min(most_value(x), most_value(like))
        x = x if x > low else low
        x = x if x < high else high
        return <target> x
    else:
        return like


cdef inline target floating_clamped(floating x, target like) noexcept nogil:
    """`x` truncated, within the limits of an integer target; NaN becomes `like`."""
    cdef floating low, high, value
    cdef int32_t word
    cdef uint64_t long_word
    if target is int8_t or target is uint8_t or target is int16_t or target is uint16_t:
        # The limits and every `like` are exact in either floating type.
        low = <floating> least_value(like)
        high = <floating> most_value(like)
        value = x if x == x else <floating> like
        value = value if value > low else low
        value = value if value < high else high
        return <target> <int32_t> value
    elif target is int32_t:
        value = x if x > -2147483648.0 else <floating> -2147483648.0
        value = value if value < <floating> 2147483648.0 else <floating> 0.0
        word = <int32_t> value
        word = 2147483647 if x >= 2147483648.0 else word
        return word if x == x else like
    elif target is uint32_t:
        # C has no vector cast to uint32: the upper half of the range is moved down by 2**31, which is exact, and back.
        value = x if x > 0 else <floating> 0.0
        value = value if value < <floating> 4294967296.0 else <floating> 0.0
        word = <int32_t> (value - <floating> 2147483648.0 if value >= <floating> 2147483648.0 else value)
        like = like if x != x else (
            4294967295u if x >= <floating> 4294967296.0 else
            <uint32_t> word ^ (0x80000000u if value >= <floating> 2147483648.0 else 0u)
        )
        return like
    elif target is int64_t:
        value = x if x > -9223372036854775808.0 else <floating> -9223372036854775808.0
        value = value if value < <floating> 9223372036854775808.0 else <floating> 0.0
        long_word = double_as_long(trunc(value))
        long_word = 9223372036854775807ull if x >= 9223372036854775808.0 else long_word
        return <int64_t> long_word if x == x else like
    elif target is uint64_t:
        value = x if x > 0 else <floating> 0.0
        value = value if value < <floating> 18446744073709551616.0 else <floating> 0.0
        long_word = double_as_long(trunc(value))
        long_word = 18446744073709551615ull if x >= <floating> 18446744073709551616.0 else long_word
        return long_word if x == x else like
    else:
        return like


# ---------------------------------------------------------------- to an integer type, out of range: modulo 2**bits

cdef inline target floating_wrapped(floating x, target like) noexcept nogil:
    """`x` truncated exactly, then modulo 2**bits of an integer target; NaN becomes `like`, infinities 0.

    What is left of a whole number, less the nearest multiple of 2**32 or 2**64, is exact: all of them are multiples of
    the last bit of `x`, and it is no larger than half of that power.
    """
    cdef floating value
    cdef double wide
    if target in long_integer:
        wide = trunc(x) if x - x == 0 else 0.0
        wide -= rint(wide * (1.0 / 18446744073709551616.0)) * 18446744073709551616.0
        return like if x != x else <target> double_as_long(wide)
    elif target in integer:
        if floating is float:
            value = truncf(x) if x - x == 0 else <floating> 0.0
            value -= rintf(value * <floating> (1.0 / 4294967296.0)) * <floating> 4294967296.0
        else:
            value = trunc(x) if x - x == 0 else 0.0
            value -= rint(value * (1.0 / 4294967296.0)) * 4294967296.0
        value = value if value < <floating> 2147483648.0 else <floating> -2147483648.0
        return like if x != x else <target> <int32_t> value
    else:
        return like


# ---------------------------------------------------------------- to a small float from an integer

cdef inline double with_sticky_tail(integer x) noexcept nogil:
    """`x` as a double that rounds to float32 or bfloat16 as `x` itself would.

    From 2**53 on the last twelve bits lie far below their rounding bits: that any of them is set is all that
    counts, and with one bit for them the double is exact.
    """
    cdef integer tail, kept
    if integer in long_integer:
        tail = x & 0xFFF
        kept = (x - tail) | (((tail + 0xFFF) & 0x1000) >> 1)     # without a comparison, which vectors need a type for
        x = kept if x >= <integer> 9007199254740992ll else x
        if integer is int64_t:
            x = kept if x <= <integer> -9007199254740992ll else x
    return as_double(x)


cdef inline float small_integer(integer x) noexcept nogil:
    """`x` as a float, exact up to 2**17 in magnitude, which is beyond float16 and float8, and 2**17 from there on."""
    if integer is int32_t or integer is int64_t:
        x = x if x > -131072 else <integer> -131072
    if integer is int32_t or integer is uint32_t or integer is int64_t or integer is uint64_t:
        x = x if x < 131072 else <integer> 131072
    return <float> <int32_t> x


# ---------------------------------------------------------------- one number, decoded, to any type

cdef inline target converted(number x, target like, bint wrap) noexcept nogil:
    """`x` in the type of `like`, which is what NaN becomes in an integer type; `wrap` chooses modulo over clamping."""
    if target is truth:
        like.bits = x != 0
        return like
    elif target is half:
        if number in floating:
            like.bits = <uint16_t> encoded(x, 5, 10, True)
        else:
            like.bits = <uint16_t> encoded(small_integer(x), 5, 10, True)
        return like
    elif target is brain:
        if number in floating:
            like.bits = <uint16_t> encoded(x, 8, 7, True)
        elif number is int8_t or number is uint8_t or number is int16_t or number is uint16_t:
            like.bits = <uint16_t> encoded(<float> x, 8, 7, True)
        else:
            like.bits = <uint16_t> encoded(with_sticky_tail(x), 8, 7, True)
        return like
    elif target is e4m3:
        if number in floating:
            like.bits = <uint8_t> encoded(x, 4, 3, False)
        else:
            like.bits = <uint8_t> encoded(small_integer(x), 4, 3, False)
        return like
    elif target is e5m2:
        if number in floating:
            like.bits = <uint8_t> encoded(x, 5, 2, True)
        else:
            like.bits = <uint8_t> encoded(small_integer(x), 5, 2, True)
        return like
    elif target is float:
        if number in floating:
            return canonical(<float> x)
        elif number in long_integer:
            return <float> with_sticky_tail(x)
        else:
            return <float> x
    elif target is double:
        if number in floating:
            return canonical(<double> x)
        else:
            return as_double(x)
    elif number in floating:
        return floating_wrapped(x, like) if wrap else floating_clamped(x, like)
    else:
        return <target> x if wrap else integer_clamped(x, like)


cdef inline target finite(number x, target like) noexcept nogil:
    """`x` in a floating type, with the largest finite value for whatever overflows or is infinite; NaN stays NaN."""
    cdef double limit
    if target is double:
        limit = bits_double(0x7FEFFFFFFFFFFFFFull)
        like = converted(x, like, False)
        if number in floating:
            like = limit if like > limit else like
            like = -limit if like < -limit else like
        return like
    elif number in floating:
        # Every source type that can exceed a limit holds it exactly.
        if target is float:
            limit = bits_float(0x7F7FFFFFu)
        elif target is brain:
            limit = bits_float(0x7F7F0000u)
        elif target is half:
            limit = 65504.0
        elif target is e5m2:
            limit = 57344.0
        else:
            limit = 448.0
        x = <number> limit if x > <number> limit else x
        x = <number> -limit if x < <number> -limit else x
        return converted(x, like, False)
    elif target is half or target is e4m3 or target is e5m2:
        return finite(small_integer(x), like)
    else:
        return converted(x, like, False)


# ---------------------------------------------------------------- rounding to an integer, in a floating type

cdef inline floating rounded_away(floating x) noexcept nogil:
    """Half away from zero. The fraction is exact, where x + 0.5 would round."""
    cdef floating whole
    if floating is float:
        whole = truncf(x)
        return whole + copysignf(1.0, x) if fabsf(x - whole) >= 0.5 else whole
    else:
        whole = trunc(x)
        return whole + copysign(1.0, x) if fabs(x - whole) >= 0.5 else whole
