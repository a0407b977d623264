"""Numbers as text and back: the digits of every scalar, `, ` after each, and where every text ends.

`out` has room for the widest text of the type and the separator, n times; `ends` has n places, and n > 0. Floats
narrower than 64 bits come as doubles, which hold them exactly, with the precision (in bits) and the exponent of the
least bit of their own type: so both ends of the interval of numbers that read back as a value are exact doubles too.
"""

from libc.math cimport fabs, floor, fma, frexp, isfinite, isnan, ldexp, log10
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strlen

cdef extern from "Python.h":
    char *PyOS_double_to_string(double, char, int, int, int *) except NULL
    double PyOS_string_to_double(const char *, char **, object) except? -1.0
    int Py_DTSF_ADD_DOT_0
    void PyMem_Free(void *)

cdef enum:
    # Powers of ten up to this one are exact doubles.
    EXACT_POWERS = 22
    # Digits that tell apart any two floats of 24 bits.
    MOST_DIGITS = 9
    SPACE = 32
    ZERO = 48

cdef double POWERS[EXACT_POWERS + 1]
cdef int power
for power in range(EXACT_POWERS + 1):
    POWERS[power] = float(f"1e{power}")

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t


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


def write_bools(const uint8_t[::1] values, uint8_t[::1] out, Py_ssize_t[::1] ends):
    """Writes `true` and `false`."""
    cdef char *start = <char *>&out[0]
    cdef char *at = start
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        at = put(at, b"true" if values[i] else b"false")
        ends[i] = at - start
        at = put_separator(at)


def write_integers(const integer[::1] values, uint8_t[::1] out, Py_ssize_t[::1] ends):
    """Writes integers in decimal."""
    cdef char *start = <char *>&out[0]
    cdef char *at = start
    cdef Py_ssize_t i
    cdef integer value
    for i in range(values.shape[0]):
        value = values[i]
        if value < 0:
            at[0] = b"-"
            at = put_digits(at + 1, <uint64_t>0 - <uint64_t>value)
        else:
            at = put_digits(at, <uint64_t>value)
        ends[i] = at - start
        at = put_separator(at)


def write_doubles(const double[::1] values, uint8_t[::1] out, Py_ssize_t[::1] ends):
    """Writes doubles with the shortest digits that read back as the same value."""
    cdef char *start = <char *>&out[0]
    cdef char *at = start
    cdef char *text
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        text = PyOS_double_to_string(values[i], b"r", 0, Py_DTSF_ADD_DOT_0, NULL)
        if 9007199254740992.0 < fabs(values[i]) < 1e16:
            at = put_sixteen(at, text)
        else:
            at = put(at, text)
        PyMem_Free(text)
        ends[i] = at - start
        at = put_separator(at)


cdef char *put_sixteen(char *at, const char *text) noexcept:
    """Writes a plain text of sixteen digits and `.0` with an exponent."""
    cdef int digits = 16
    if text[0] == b"-":
        at[0] = b"-"
        at += 1
        text += 1
    while text[digits - 1] == b"0":
        digits -= 1
    at[0] = text[0]
    at[1] = b"."
    memcpy(at + 2, text + 1, <size_t>digits - 1)
    return put(at + digits + 1, b"e+15")


cdef struct Decimal:
    uint64_t digits
    int count
    # That of the first digit.
    int exponent


cdef double power_of_ten(uint64_t digits, int exponent) except? -1.0:
    """digits * 10**exponent, rounded once."""
    cdef char text[40]
    cdef char *end
    if 0 <= exponent <= EXACT_POWERS:
        return <double>digits * POWERS[exponent]
    if -EXACT_POWERS <= exponent < 0:
        return <double>digits / POWERS[-exponent]
    end = put(put_digits(text, digits), b"e-" if exponent < 0 else b"e+")
    put_digits(end, <uint64_t>(-exponent if exponent < 0 else exponent))[0] = 0
    return PyOS_string_to_double(text, NULL, None)


cdef bint is_exactly(double value, uint64_t digits, int exponent) noexcept:
    """Whether `value` is digits * 10**exponent without any rounding."""
    if 0 <= exponent <= EXACT_POWERS:
        return fma(<double>digits, POWERS[exponent], -value) == 0
    return -EXACT_POWERS <= exponent < 0 and fma(value, POWERS[-exponent], -<double>digits) == 0


cdef bint reads_back(uint64_t digits, int exponent, double low, double high, bint even) except -1:
    """Whether digits * 10**exponent lies between `low` and `high`; a tie reads as the even neighbour."""
    cdef double value = power_of_ten(digits, exponent)
    if value == low or value == high:
        return even and is_exactly(value, digits, exponent)
    return low < value < high


cdef int shorten(double value, int precision, int least, Decimal *result) except -1:
    """The fewest digits, and of those the nearest, that read back as `value` > 0 of a type of `precision` bits."""
    cdef int exponent, count, last, ulp
    cdef double fraction = frexp(value, &exponent)
    ulp = max(exponent - precision, least)
    cdef double low = value - ldexp(1.0, ulp - (2 if fraction == 0.5 and ulp > least else 1))
    cdef double high = value + ldexp(1.0, ulp - 1)
    cdef bint even = <uint64_t>ldexp(value, -ulp) % 2 == 0
    cdef double scaled
    cdef uint64_t below
    cdef bint down, up
    cdef int first = <int>floor(log10(value))
    if power_of_ten(1, first) > value:
        first -= 1
    elif power_of_ten(1, first + 1) <= value:
        first += 1
    for count in range(1, MOST_DIGITS + 1):
        last = first - count + 1
        if last >= 0:
            scaled = value / power_of_ten(1, last)
        elif last >= -EXACT_POWERS:
            scaled = value * POWERS[-last]
        else:
            scaled = value * POWERS[EXACT_POWERS] * power_of_ten(1, -last - EXACT_POWERS)
        below = <uint64_t>scaled
        down = reads_back(below, last, low, high, even)
        up = reads_back(below + 1, last, low, high, even)
        if down and up:
            # As near as a double tells; of two equally near the even one.
            scaled -= <double>below
            up = scaled > 0.5 or (scaled == 0.5 and below % 2 == 1)
        if down or up:
            result.digits = below + 1 if up else below
            break
    else:
        result.digits = below
    result.count = count
    result.exponent = first
    if result.digits == <uint64_t>POWERS[count]:
        result.digits //= 10
        result.exponent += 1
    return 0


cdef char *put_decimal(char *at, Decimal decimal, bint plain) noexcept:
    cdef char digits[20]
    cdef int count = decimal.count
    put_digits(digits, decimal.digits)
    while count > 1 and digits[count - 1] == b"0":
        count -= 1
    if plain and decimal.exponent < 0:
        at = put(at, b"0.")
        memset(at, ZERO, <size_t>(-1 - decimal.exponent))
        at += -1 - decimal.exponent
        memcpy(at, digits, <size_t>count)
        return at + count
    if plain and count <= decimal.exponent + 1:
        memcpy(at, digits, <size_t>count)
        memset(at + count, ZERO, <size_t>(decimal.exponent + 1 - count))
        return put(at + decimal.exponent + 1, b".0")
    cdef int whole = decimal.exponent + 1 if plain else 1
    memcpy(at, digits, <size_t>whole)
    at += whole
    if count > whole:
        at[0] = b"."
        memcpy(at + 1, digits + whole, <size_t>(count - whole))
        at += count - whole + 1
    if plain:
        return at
    at = put(at, b"e-" if decimal.exponent < 0 else b"e+")
    cdef int exponent = -decimal.exponent if decimal.exponent < 0 else decimal.exponent
    if exponent < 10:
        at = put(at, b"0")
    return put_digits(at, <uint64_t>exponent)


cdef char *put_narrow(char *at, double value, int precision, int least) except NULL:
    cdef Decimal decimal
    if isnan(value):
        return put(at, b"nan")
    if value < 0 or (value == 0 and 1.0 / value < 0):
        at[0] = b"-"
        at += 1
        value = -value
    if not isfinite(value):
        return put(at, b"inf")
    if value == 0:
        return put(at, b"0.0")
    shorten(value, precision, least, &decimal)
    return put_decimal(at, decimal, decimal.exponent >= -4 and value <= 16777216.0)


def write_narrow_floats(const double[::1] values, int precision, int least, uint8_t[::1] out, Py_ssize_t[::1] ends):
    """Writes floats of at most 24 bits with the shortest digits that read back as the same value of their own type."""
    cdef char *start = <char *>&out[0]
    cdef char *at = start
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        at = put_narrow(at, values[i], precision, least)
        ends[i] = at - start
        at = put_separator(at)


def pad(const uint8_t[::1] texts, const Py_ssize_t[::1] ends, Py_ssize_t width, uint8_t[::1] out):
    """Writes every text again, padded on the left to `width`, `, ` after each."""
    cdef const char *source = <const char *>&texts[0]
    cdef char *at = <char *>&out[0]
    cdef Py_ssize_t i, start = 0, length
    for i in range(ends.shape[0]):
        length = ends[i] - start
        memset(at, SPACE, <size_t>(width - length))
        memcpy(at + width - length, source + start, <size_t>length)
        at = put_separator(at + width)
        start = ends[i] + 2
