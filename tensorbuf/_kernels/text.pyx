"""Numbers as text: the digits of every scalar, `, ` after each, and where every text ends.

Arrays are C-contiguous and aligned: `values` of uint8, 64-bit integers or doubles, `out` of bytes, `ends` of intp.
`out` has room for the widest text of the type and the separator, n times; `ends` has n places, and n > 0. Floats
narrower than 64 bits come as doubles, which hold them exactly, with the precision (in bits) and the exponent of the
least bit of their own type.
"""

cimport numpy as cnp
from libc.math cimport frexp, isinf, isnan, ldexp
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strlen

cnp.import_array()

cdef enum:
    # Powers of ten that doubles need, from 10**-292 to 10**324.
    LEAST_POWER = -292
    POWER_COUNT = 617
    SPACE = 32
    ZERO = 48


cdef struct Pair:
    uint64_t high
    uint64_t low

# The first 128 bits of every power of ten, rounded up; empty till the first float is written.
cdef Pair POWERS[POWER_COUNT]


cdef inline char *put_separator(char *at) noexcept:
    at[0] = b","
    at[1] = b" "
    return at + 2


cdef inline char *put(char *at, const char *text) noexcept:
    cdef size_t length = strlen(text)
    memcpy(at, text, length)
    return at + length


cdef inline char *put_digits(char *at, uint64_t number) noexcept:
    cdef char digits[20]
    cdef int n = 0
    while True:
        digits[n] = <char>(ZERO + number % 10)
        number //= 10
        n += 1
        if number == 0:
            break
    while n > 0:
        n -= 1
        at[0] = digits[n]
        at += 1
    return at


def write_bools(cnp.ndarray values, cnp.ndarray out, cnp.ndarray ends):
    """Writes `true` and `false`."""
    cdef const uint8_t *value = <const uint8_t *>cnp.PyArray_DATA(values)
    cdef char *start = <char *>cnp.PyArray_DATA(out)
    cdef Py_ssize_t *end = <Py_ssize_t *>cnp.PyArray_DATA(ends)
    cdef char *at = start
    cdef Py_ssize_t i
    for i in range(cnp.PyArray_SIZE(values)):
        at = put(at, b"true" if value[i] else b"false")
        end[i] = at - start
        at = put_separator(at)


def write_integers(cnp.ndarray values, bint signed, cnp.ndarray out, cnp.ndarray ends):
    """Writes integers of 64 bits in decimal."""
    cdef const uint64_t *value = <const uint64_t *>cnp.PyArray_DATA(values)
    cdef char *start = <char *>cnp.PyArray_DATA(out)
    cdef Py_ssize_t *end = <Py_ssize_t *>cnp.PyArray_DATA(ends)
    cdef char *at = start
    cdef Py_ssize_t i
    for i in range(cnp.PyArray_SIZE(values)):
        if signed and value[i] >> 63:
            at[0] = b"-"
            at = put_digits(at + 1, 0 - value[i])
        else:
            at = put_digits(at, value[i])
        end[i] = at - start
        at = put_separator(at)


def fill_powers():
    """Fills the table of powers of ten."""
    cdef int index
    for index in range(POWER_COUNT):
        exponent = LEAST_POWER + index
        ten = 10 ** abs(exponent)
        bits = ten.bit_length()
        leading = -(-ten << 128 >> bits) if exponent >= 0 else -(-(1 << 127 + bits) // ten)
        POWERS[index].low = leading & 0xFFFFFFFFFFFFFFFF
        # The last one to be written, so that whoever sees a full table sees all of it.
        POWERS[index].high = leading >> 64


cdef inline Pair multiply(uint64_t a, uint64_t b) noexcept:
    """The product of two words, in 128 bits."""
    cdef Pair product
    cdef uint64_t low = <uint64_t>(<uint32_t>a) * <uint32_t>b
    cdef uint64_t cross = (a >> 32) * <uint32_t>b + (low >> 32)
    cdef uint64_t other = <uint32_t>a * (b >> 32) + <uint32_t>cross
    product.high = (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32)
    product.low = (other << 32) | <uint32_t>low
    return product


cdef inline uint64_t scale(Pair power, uint64_t number) noexcept:
    """The first word of the product; its last bit is set where the rest is not 0."""
    cdef Pair high = multiply(power.high, number)
    cdef uint64_t carried = multiply(power.low, number).high
    cdef uint64_t middle = high.low + carried
    return (high.high + (middle < carried)) | (middle > 1)


cdef struct Decimal:
    # digits * 10**exponent
    uint64_t digits
    int exponent


cdef Decimal shorten(double value, int precision, int least) noexcept:
    """The fewest digits, and of those the nearest, that read back as `value` > 0 of a float type.

    R. Giulietti, "The Schubfach way to render doubles", 2020. `precision` is the type's, in bits, `least` the exponent
    of its least bit. All is counted in quarters of 10**k, where k is the largest power of which a multiple surely
    lies in the interval of the numbers that read back as `value`.
    """
    cdef Decimal result
    cdef int exponent, k, shift
    cdef double fraction = frexp(value, &exponent)
    cdef int q = max(exponent - precision, least)
    cdef uint64_t c = <uint64_t>ldexp(value, -q)
    cdef bint even = c % 2 == 0
    # Below a power of two the floats lie closer.
    cdef bint closer = fraction == 0.5 and q > least
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    shift = q + ((-k * 1741647) >> 19) + 1
    cdef Pair power = POWERS[-k - LEAST_POWER]
    cdef uint64_t low = scale(power, (4 * c - 2 + closer) << shift) + (not even)
    cdef uint64_t here = scale(power, (4 * c) << shift)
    cdef uint64_t high = scale(power, (4 * c + 2) << shift) - (not even)
    cdef uint64_t below = here // 4
    cdef uint64_t tens = below // 10
    cdef bint down = low <= 40 * tens
    cdef bint up = 40 * tens + 40 <= high
    if below >= 10 and down != up:
        result.digits = tens + up
        result.exponent = k + 1
        return result
    down = low <= 4 * below
    up = 4 * below + 4 <= high
    if down == up:
        up = here > 4 * below + 2 or (here == 4 * below + 2 and below % 2 == 1)
    result.digits = below + up
    result.exponent = k
    return result


cdef char *put_decimal(char *at, Decimal decimal, bint plain_up_to_here) noexcept:
    """Writes a number > 0: plain from 0.0001 on where it may be, else with an exponent of at least two digits."""
    cdef char digits[20]
    cdef int count = <int>(put_digits(digits, decimal.digits) - digits)
    cdef int exponent = decimal.exponent + count - 1
    cdef bint plain = plain_up_to_here and exponent >= -4
    cdef int whole = exponent + 1 if plain else 1
    while count > 1 and digits[count - 1] == ZERO:
        count -= 1
    if whole <= 0:
        at = put(at, b"0.")
        memset(at, ZERO, <size_t>-whole)
        memcpy(at - whole, digits, <size_t>count)
        return at - whole + count
    if plain and count <= whole:
        memcpy(at, digits, <size_t>count)
        memset(at + count, ZERO, <size_t>(whole - count))
        return put(at + whole, b".0")
    memcpy(at, digits, <size_t>whole)
    at += whole
    if count > whole:
        at[0] = b"."
        memcpy(at + 1, digits + whole, <size_t>(count - whole))
        at += count - whole + 1
    if plain:
        return at
    at = put(at, b"e-" if exponent < 0 else b"e+")
    exponent = abs(exponent)
    if exponent < 10:
        at = put(at, b"0")
    return put_digits(at, <uint64_t>exponent)


cdef char *put_float(char *at, double value, int precision, int least, double plain_limit) noexcept:
    if isnan(value):
        return put(at, b"nan")
    if value < 0 or (value == 0 and 1.0 / value < 0):
        at[0] = b"-"
        at += 1
        value = -value
    if isinf(value):
        return put(at, b"inf")
    if value == 0:
        return put(at, b"0.0")
    return put_decimal(at, shorten(value, precision, least), value <= plain_limit)


def write_floats(cnp.ndarray values, int precision, int least, double plain_limit, cnp.ndarray out, cnp.ndarray ends):
    """Writes floats with the shortest digits that read back as the same value of their own type."""
    cdef const double *value = <const double *>cnp.PyArray_DATA(values)
    cdef char *start = <char *>cnp.PyArray_DATA(out)
    cdef Py_ssize_t *end = <Py_ssize_t *>cnp.PyArray_DATA(ends)
    cdef char *at = start
    cdef Py_ssize_t i
    if POWERS[POWER_COUNT - 1].high == 0:
        fill_powers()
    for i in range(cnp.PyArray_SIZE(values)):
        at = put_float(at, value[i], precision, least, plain_limit)
        end[i] = at - start
        at = put_separator(at)


def pad(cnp.ndarray texts, cnp.ndarray ends, Py_ssize_t width, cnp.ndarray out):
    """Writes every text again, padded on the left to `width`, `, ` after each."""
    cdef const char *source = <const char *>cnp.PyArray_DATA(texts)
    cdef const Py_ssize_t *end = <const Py_ssize_t *>cnp.PyArray_DATA(ends)
    cdef char *at = <char *>cnp.PyArray_DATA(out)
    cdef Py_ssize_t i, start = 0, length
    for i in range(cnp.PyArray_SIZE(ends)):
        length = end[i] - start
        memset(at, SPACE, <size_t>(width - length))
        memcpy(at + width - length, source + start, <size_t>length)
        at = put_separator(at + width)
        start = end[i] + 2
