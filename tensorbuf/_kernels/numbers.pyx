"""The numbers of a JSON array, from text to memory.

The text is ASCII and ends with a NUL behind its last character, as CPython keeps it: so a look at the next character is
always allowed, and every scan stops there at the latest.
"""

cimport numpy as cnp
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint64_t

cnp.import_array()

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, void *) except? -1.0

cdef enum:
    # Integers of so many digits fit 64 bits, and doubles hold every integer of the second number.
    INT64_DIGITS = 18
    DOUBLE_DIGITS = 15
    # Powers of ten up to this one are exact doubles.
    EXACT_POWERS = 22
    ZERO = 48
    MINUS = 45

cdef double POWERS[EXACT_POWERS + 1]
cdef int power
POWERS[0] = 1.0
for power in range(EXACT_POWERS):
    POWERS[power + 1] = POWERS[power] * 10.0


cdef struct Number:
    # (negative ? -1 : 1) * digits * 10**exponent, where `count` digits were read
    uint64_t digits
    int count
    int exponent
    bint negative
    bint whole


cdef inline bint is_digit(char c) noexcept:
    return ZERO <= c <= ZERO + 9


cdef const char *skip_space(const char *at) noexcept:
    while at[0] == b" " or at[0] == b"\n" or at[0] == b"\t" or at[0] == b"\r":
        at += 1
    return at


cdef const char *read_digits(const char *at, Number *number) noexcept:
    while is_digit(at[0]):
        # More digits than fit are only counted.
        if number.count < INT64_DIGITS + 1:
            number.digits = number.digits * 10 + <uint64_t>(at[0] - ZERO)
        number.count += 1
        at += 1
    return at


cdef const char *read_number(const char *at, Number *number) noexcept:
    """The end of the number that starts here; NULL where none does that JSON allows."""
    cdef int exponent = 0, point
    cdef bint below = False
    number[0] = Number(0, 0, 0, at[0] == MINUS, True)
    if number.negative:
        at += 1
    if not is_digit(at[0]) or (at[0] == ZERO and is_digit(at[1])):
        return NULL
    at = read_digits(at, number)
    if at[0] == b".":
        number.whole = False
        if not is_digit(at[1]):
            return NULL
        point = number.count
        at = read_digits(at + 1, number)
        number.exponent = point - number.count
    if at[0] == b"e" or at[0] == b"E":
        number.whole = False
        at += 1
        if at[0] == b"+" or at[0] == MINUS:
            below = at[0] == MINUS
            at += 1
        if not is_digit(at[0]):
            return NULL
        while is_digit(at[0]):
            if exponent < 100000:
                exponent = exponent * 10 + at[0] - ZERO
            at += 1
        number.exponent += -exponent if below else exponent
    return at


cdef double to_double(const char *start, Number number) except? -1.0:
    cdef double value
    if number.count <= DOUBLE_DIGITS and -EXACT_POWERS <= number.exponent <= EXACT_POWERS:
        # One operation on exact doubles, rounded once.
        value = <double>number.digits
        if number.exponent < 0:
            value /= POWERS[-number.exponent]
        else:
            value *= POWERS[number.exponent]
        # A whole -0 is the int 0.
        return -value if number.negative and not (number.whole and value == 0) else value
    return PyOS_string_to_double(start, <char **>&start, NULL)


def read_numbers(str text, Py_ssize_t start, Py_ssize_t stop, cnp.ndarray out, bint doubles):
    """Reads numbers between commas, from `start` to `stop`, into `out`: of float64 if `doubles`, else of int64.

    `out` has a place for each comma and one more. True if all is read; False at whatever else stands there, at an
    integer of more digits than every int64 (among doubles: every double) has, and without `doubles` at a fraction.
    """
    cdef Py_ssize_t size, i, count = cnp.PyArray_SIZE(out)
    cdef const char *begin = PyUnicode_AsUTF8AndSize(text, &size)
    cdef const char *at = begin + start
    cdef const char *end
    cdef int64_t *integers = <int64_t *>cnp.PyArray_DATA(out)
    cdef double *floats = <double *>cnp.PyArray_DATA(out)
    cdef Number number
    for i in range(count):
        at = skip_space(at)
        end = read_number(at, &number)
        if end == NULL or (number.whole and number.count > (DOUBLE_DIGITS if doubles else INT64_DIGITS)):
            return False
        if doubles:
            floats[i] = to_double(at, number)
        elif number.whole:
            integers[i] = -<int64_t>number.digits if number.negative else <int64_t>number.digits
        else:
            return False
        at = skip_space(end)
        if i < count - 1:
            if at[0] != b",":
                return False
            at += 1
    return at == begin + stop
