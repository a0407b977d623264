"""What each value becomes in each type: the one place that decides it (docs/conversion.md is the rule in words).

Assumptions: the floating-point environment is the default one (nearest even, no flush to zero: see environment.h),
C's float and double are IEEE binary32 and binary64, and the compiler contracts nothing. No function relies on an
out-of-range cast, which C leaves undefined; all are branch-free where the compiler is to vectorise the loop around
them.
"""

from libc.math cimport copysign, copysignf, fabs, fabsf, floor, rint, rintf, trunc, truncf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tensorbuf._kernels.types cimport (
    brain, e4m3, e5m2, floating, half, integer, long_integer, number, target, truth,
)


# ---------------------------------------------------------------- bits and values

cdef inline uint32_t float_bits(float x) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &x, 4)
    return bits


cdef inline float bits_float(uint32_t bits) noexcept nogil:
    cdef float x
    memcpy(&x, &bits, 4)
    return x


cdef inline uint64_t double_bits(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, 8)
    return bits


cdef inline double bits_double(uint64_t bits) noexcept nogil:
    cdef double x
    memcpy(&x, &bits, 8)
    return x


cdef inline floating canonical(floating x) noexcept nogil:
    """`x`, a NaN of any sign and payload as the quiet positive one, which every machine then agrees on."""
    cdef floating quiet
    if floating is float:
        quiet = bits_float(0x7FC00000u)
    else:
        quiet = bits_double(0x7FF8000000000000u)
    return x if x == x else quiet


# ---------------------------------------------------------------- 64-bit integers and doubles

# Few processors have vectors for these. The halves of an integer are the last bits of doubles of fixed exponents.

cdef inline double as_double(integer x) noexcept nogil:
    """Rounded once: of 64 bits both halves are exact, and so is the difference; the sum is not."""
    cdef uint64_t bits = <uint64_t> x
    cdef uint64_t bias = 0x4530000000100000u        # 2**84 + 2**52
    if integer not in long_integer:
        return <double> x
    if integer is int64_t:
        bits ^= 1ull << 63
        bias = 0x4530000080100000u                  # and 2**63
    return (bits_double((bits >> 32) | 0x4530000000000000u) - bits_double(bias)) + bits_double(
        (bits & 0xFFFFFFFFu) | 0x4330000000000000u
    )


cdef inline uint64_t double_as_long(double x) noexcept nogil:
    """A whole number of -2**63 to 2**64 - 1, modulo 2**64."""
    cdef double high = floor(x * (1.0 / 4294967296.0))
    cdef double low = x - high * 4294967296.0
    return (double_bits(high + 6755399441055744.0) << 32) | (double_bits(low + 4503599627370496.0) & 0xFFFFFFFFu)


cdef inline target moderate(number x, target like) noexcept nogil:
    """Between a 64-bit integer and a floating type, for values up to 2**51 in magnitude: added to 1.5 * 2**52 they are
    the last bits of a double."""
    if number in integer and target in floating:
        return <target> (bits_double(<uint64_t> x + 0x4338000000000000u) - 6755399441055744.0)
    elif number in floating and target in long_integer:
        return <target> (double_bits(trunc(x) + 6755399441055744.0) - 0x4338000000000000u)
    else:
        return like


# ---------------------------------------------------------------- small floats to float: always exact

cdef inline float decoded(uint32_t bits, int exponent_width, int fraction_width) noexcept nogil:
    """The value of an IEEE-like pattern. The all-ones exponent is read as infinity or NaN."""
    cdef uint32_t top = (1u << exponent_width) - 1
    cdef uint32_t magnitude = bits & ((1u << (exponent_width + fraction_width)) - 1)
    cdef uint32_t sign = (bits >> (exponent_width + fraction_width)) << 31
    cdef uint32_t rebias = (127u - (top >> 1)) << 23
    cdef uint32_t shifted = magnitude << (23 - fraction_width)
    cdef uint32_t field = magnitude >> fraction_width
    # A subnormal is read as if it had the hidden bit, which is then subtracted: normal numbers only, so no mode can
    # flush it.
    cdef float subnormal = bits_float(shifted + rebias + (1u << 23)) - bits_float(rebias + (1u << 23))
    cdef uint32_t result = shifted + rebias
    result = float_bits(subnormal) if field == 0 else result
    result = (shifted | 0x7F800000u) if field == top else result
    return bits_float(result | sign)


cdef inline float half_value(half x) noexcept nogil:
    return decoded(x.bits, 5, 10)


cdef inline float brain_value(brain x) noexcept nogil:
    return bits_float((<uint32_t> x.bits) << 16)


cdef inline float e5m2_value(e5m2 x) noexcept nogil:
    return decoded(x.bits, 5, 2)


cdef inline float e4m3_value(e4m3 x) noexcept nogil:
    # No infinities: the top exponent holds numbers but for its last fraction. Eight times as large it would not be
    # the top exponent of a 5-bit field, so the 4-bit pattern is read as one of 5 bits and scaled, which is exact.
    cdef uint32_t magnitude = x.bits & 0x7Fu
    cdef uint32_t sign = (<uint32_t> x.bits >> 7) << 31
    cdef float value = decoded(magnitude, 5, 3) * 256.0
    cdef uint32_t bits = float_bits(value)
    bits = 0x7FC00000u if magnitude == 0x7Fu else bits
    return bits_float(bits | sign)


# ---------------------------------------------------------------- float and double to small floats: one rounding

cdef inline uint32_t encoded(floating x, int exponent_width, int fraction_width, bint infinities) noexcept nogil:
    """The pattern nearest to `x`, ties to even; too large is the infinity, or NaN where there is none."""
    cdef uint32_t bits32, magnitude32, normal32, subnormal32
    cdef uint64_t bits64, magnitude64, normal64, subnormal64
    cdef uint32_t result, sign
    cdef bint nan, infinite
    cdef int bias = (1 << (exponent_width - 1)) - 1
    cdef uint32_t top = ((1u << exponent_width) - 1) << fraction_width
    cdef uint32_t most = top - 1 if infinities else top + (1u << fraction_width) - 2
    cdef uint32_t quiet = top | (1u << (fraction_width - 1)) if infinities else most + 1
    # Below the smallest normal, adding the right power of two rounds to the target's own unit, and the bits of the
    # sum count those units. (bfloat16 has the exponents of float, so from float its subnormals round like its
    # normals.)
    if floating is float:
        bits32 = float_bits(x)
        magnitude32 = bits32 & 0x7FFFFFFFu
        normal32 = magnitude32 + (1u << (22 - fraction_width)) - 1 + ((magnitude32 >> (23 - fraction_width)) & 1u)
        result = (normal32 - ((<uint32_t> (127 - bias)) << 23)) >> (23 - fraction_width)
        if exponent_width < 8:
            subnormal32 = (<uint32_t> (128 - bias + 23 - fraction_width)) << 23
            subnormal32 = float_bits(bits_float(magnitude32) + bits_float(subnormal32)) - subnormal32
            result = subnormal32 if magnitude32 < ((<uint32_t> (128 - bias)) << 23) else result
        sign = (bits32 >> 31) << (exponent_width + fraction_width)
        infinite = magnitude32 >= 0x7F800000u
        nan = magnitude32 > 0x7F800000u
    else:
        bits64 = double_bits(x)
        magnitude64 = bits64 & 0x7FFFFFFFFFFFFFFFull
        normal64 = magnitude64 + (1ull << (51 - fraction_width)) - 1 + ((magnitude64 >> (52 - fraction_width)) & 1ull)
        normal64 = (normal64 - ((<uint64_t> (1023 - bias)) << 52)) >> (52 - fraction_width)
        subnormal64 = (<uint64_t> (1024 - bias + 52 - fraction_width)) << 52
        subnormal64 = double_bits(bits_double(magnitude64) + bits_double(subnormal64)) - subnormal64
        normal64 = subnormal64 if magnitude64 < ((<uint64_t> (1024 - bias)) << 52) else normal64
        result = <uint32_t> (normal64 if normal64 < top + top else top + top)
        sign = (<uint32_t> (bits64 >> 63)) << (exponent_width + fraction_width)
        infinite = magnitude64 >= 0x7FF0000000000000ull
        nan = magnitude64 > 0x7FF0000000000000ull
    result = most + 1 if result > most or infinite else result
    if infinities:
        result = quiet if nan else result | sign
    else:
        result = quiet if result > most else result | sign
    return result


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
