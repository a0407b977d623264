"""Which Python numbers numpy stores into an element just as `convert` would."""

cimport numpy as cnp
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.float cimport FLT_MAX, FLT_MIN
from libc.math cimport fabs, isinf


cdef inline bint fits_as_it_is(value, cnp.dtype dtype) except *:
    """True for the commonest values that an element of `dtype` can take without a further look.

    Into float32 that leaves out what ends subnormal, which a processor set to flush would lose, and NaN.
    """
    cdef int kind = dtype.type_num, overflow = 0
    cdef double real
    if kind == cnp.NPY_DOUBLE:
        return PyFloat_CheckExact(value)
    if kind == cnp.NPY_FLOAT and PyFloat_CheckExact(value):
        real = value
        return FLT_MIN <= fabs(real) <= FLT_MAX or real == 0 or isinf(real)
    if kind == cnp.NPY_BOOL:
        return value is True or value is False
    if not (cnp.PyTypeNum_ISINTEGER(kind) and PyLong_CheckExact(value)):
        return False
    cdef long long number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    cdef int bits = 8 * <int>dtype.itemsize
    if cnp.PyTypeNum_ISUNSIGNED(kind):
        return number >= 0 and (bits == 64 or number >> bits == 0)
    number >>= bits - 1
    return number == 0 or number == -1
