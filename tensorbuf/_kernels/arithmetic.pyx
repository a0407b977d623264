"""The arithmetic kernels, on float32 and float64: single operations in place, and whole programs of them in one loop.

Built once for each instruction-set level, as convert.pyx is. Each operation is one IEEE operation, rounded once.

What makes the unchecked loops safe: every span has at least `n` items of its kernel's own type and is aligned for it,
and a destination overlaps a source only where it is that very span.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport ceil, ceilf, floor, floorf, rint, rintf, trunc, truncf
from libc.stdint cimport int8_t, int64_t, uint8_t

from tensorbuf._kernels.rules cimport canonical, rounded_away
from tensorbuf._kernels.types cimport (
    ADD, AFFINE, CEIL, DEQUANTIZE, DIVIDE, FLOOR, MULTIPLY, NEAREST, NEAREST_AWAY, NORMALIZE, NORMALIZE_BY_RECIPROCALS,
    QUANTIZE, SCALE, SUBTRACT, TRUNCATE, Arithmetic, Arithmetics, Convert, Program, floating,
)

cdef extern from "quotient.h":
    enum:
        TENSORBUF_FUSED
    float quotient(float x, float d, float r) noexcept nogil

# What a program reads without a conversion before it; the 8-bit types for float32 only.
ctypedef fused given:
    uint8_t
    int8_t
    float
    double


# ---------------------------------------------------------------- floating values to floating values

cdef void rounding_toward_zero(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = truncf(src[i]) if floating is float else trunc(src[i])


cdef void rounding_to_even(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = rintf(src[i]) if floating is float else rint(src[i])


cdef void rounding_away(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = rounded_away(src[i])


cdef void rounding_down(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = floorf(src[i]) if floating is float else floor(src[i])


cdef void rounding_up(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = ceilf(src[i]) if floating is float else ceil(src[i])


cdef void canonicalising(const floating[::1] src, floating[::1] dst, Py_ssize_t n, int64_t nan) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = canonical(src[i])


# ---------------------------------------------------------------- arithmetic, one IEEE operation a value

cdef void multiplying(floating[::1] values, const floating[::1] operands, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = values[i] * operands[i]


cdef void adding(floating[::1] values, const floating[::1] operands, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = values[i] + operands[i]


cdef void subtracting(floating[::1] values, const floating[::1] operands, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = values[i] - operands[i]


cdef void dividing(floating[::1] values, const floating[::1] operands, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = values[i] / operands[i]


# ---------------------------------------------------------------- programs: the same operations, in one loop

# Their parameters, called a, b, c ... in the formulas, are the rows of one array.

cdef void scaling(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """x * a"""
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = canonical(<floating> src[i] * parameters[0, i])


cdef void scaling_and_adding(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """x * a + b"""
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = canonical(<floating> src[i] * parameters[0, i] + parameters[1, i])


cdef void normalizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """(x / a - b) / c"""
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = canonical((<floating> src[i] / parameters[0, i] - parameters[1, i]) / parameters[2, i])


cdef void normalizing_by_reciprocals(
    const given[::1] src, float[::1] dst, const float[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """(x / a - b) / c with d the reciprocal of a and e that of c; for values on which it has been tried."""
    cdef Py_ssize_t i
    cdef float centred
    for i in range(n):
        centred = quotient(<float> src[i], parameters[0, i], parameters[3, i]) - parameters[1, i]
        dst[i] = quotient(centred, parameters[2, i], parameters[4, i])


cdef void quantizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """x / a rounded to the nearest, ties to even, + b"""
    cdef Py_ssize_t i
    cdef floating rounded
    for i in range(n):
        rounded = <floating> src[i] / parameters[0, i]
        rounded = rintf(rounded) if floating is float else rint(rounded)
        dst[i] = canonical(rounded + parameters[1, i])


cdef void dequantizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """(x - a) * b"""
    cdef Py_ssize_t i
    for i in range(n):
        dst[i] = canonical((<floating> src[i] - parameters[0, i]) * parameters[1, i])


# ---------------------------------------------------------------- the table

cdef Arithmetics arithmetics


cdef void enter_floating(int column, floating *of_type) noexcept:
    """The kernels of one type. The pointer is never followed: its type chooses the specialisation."""
    arithmetics.round[TRUNCATE][column] = <Convert> rounding_toward_zero[floating]
    arithmetics.round[NEAREST][column] = <Convert> rounding_to_even[floating]
    arithmetics.round[NEAREST_AWAY][column] = <Convert> rounding_away[floating]
    arithmetics.round[FLOOR][column] = <Convert> rounding_down[floating]
    arithmetics.round[CEIL][column] = <Convert> rounding_up[floating]
    arithmetics.canonical[column] = <Convert> canonicalising[floating]
    arithmetics.single[MULTIPLY][column] = <Arithmetic> multiplying[floating]
    arithmetics.single[ADD][column] = <Arithmetic> adding[floating]
    arithmetics.single[SUBTRACT][column] = <Arithmetic> subtracting[floating]
    arithmetics.single[DIVIDE][column] = <Arithmetic> dividing[floating]


cdef void enter_programs(int row, given *from_type, floating *to_type) noexcept:
    arithmetics.programs[SCALE][row] = <Program> scaling[given, floating]
    arithmetics.programs[AFFINE][row] = <Program> scaling_and_adding[given, floating]
    arithmetics.programs[NORMALIZE][row] = <Program> normalizing[given, floating]
    arithmetics.programs[QUANTIZE][row] = <Program> quantizing[given, floating]
    arithmetics.programs[DEQUANTIZE][row] = <Program> dequantizing[given, floating]


enter_floating(0, <float *> NULL)
enter_floating(1, <double *> NULL)
enter_programs(0, <float *> NULL, <float *> NULL)
enter_programs(1, <double *> NULL, <double *> NULL)
enter_programs(2, <uint8_t *> NULL, <float *> NULL)
enter_programs(3, <int8_t *> NULL, <float *> NULL)
if TENSORBUF_FUSED:
    arithmetics.programs[NORMALIZE_BY_RECIPROCALS][2] = <Program> normalizing_by_reciprocals[uint8_t]
    arithmetics.programs[NORMALIZE_BY_RECIPROCALS][3] = <Program> normalizing_by_reciprocals[int8_t]

table = PyCapsule_New(&arithmetics, "tensorbuf._kernels.Arithmetics", NULL)
