"""Values and the bits that stand for them: of 64-bit integers, by doubles, and of floats that C cannot compute with.

The assumptions are those of rules.pxd.
"""

from libc.math cimport floor, trunc
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tensorbuf._kernels.types cimport brain, e4m3, e5m2, floating, half, integer, long_integer, number, small, target


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


cdef inline float small_value(small x) noexcept nogil:
    if small is half:
        return half_value(x)
    elif small is brain:
        return brain_value(x)
    elif small is e4m3:
        return e4m3_value(x)
    else:
        return e5m2_value(x)


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


cdef inline int32_t one_bits(small like) noexcept nogil:
    """The pattern of 1."""
    if small is half:
        return 0x3C00
    elif small is brain:
        return 0x3F80
    elif small is e4m3:
        return 0x38
    else:
        return 0x3C
