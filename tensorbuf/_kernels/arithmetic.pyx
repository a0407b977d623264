"""The arithmetic kernels on float32 and float64: roundings, and programs of operations in one loop.

Built once for each instruction-set level, as convert.pyx is. Each operation is one IEEE operation, rounded once.

What makes the unchecked loops safe: every span has at least `n` items of its kernel's own type and is aligned for it,
and a destination overlaps no source.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport ceil, ceilf, floor, floorf, rint, rintf, trunc, truncf
from libc.stdint cimport int8_t, int64_t, uint8_t

from tensorbuf._kernels.patterns cimport canonical
from tensorbuf._kernels.rules cimport floating_clamped, rounded_away
from tensorbuf._kernels.types cimport (
    ADD, AFFINE, ARITHMETICS, CEIL, DEQUANTIZE, DIVIDE, FLOOR, FROM_INT8, FROM_UINT8, MULTIPLY, NEAREST, NEAREST_AWAY,
    NORMALIZE, NORMALIZE_BY_RECIPROCALS, OF_DOUBLE, OF_FLOAT, QUANTIZE, QUANTIZE_BY_RECIPROCALS, SUBTRACT, TO_INT8,
    TO_UINT8, TRUNCATE, Arithmetics, Convert, Program, floating,
)

cdef extern from "hot.h":
    Py_ssize_t hot_quantize(
        const float *src, char *dst, Py_ssize_t n, float scale, float zero, float reciprocal, bint is_signed,
        bint has_512,
    ) noexcept nogil

cdef extern from "quotient.h":
    enum:
        TENSORBUF_FUSED
    float quotient(float x, float d, float r) noexcept nogil

cdef extern from "stream.h":
    void stream_bytes(char *dst, const char *src, Py_ssize_t n) noexcept nogil
    void fetch_bytes(const char *src, Py_ssize_t n) noexcept nogil

cdef enum:
    AHEAD = 4096            # bytes by which memory is asked for before it is read
    PIECE = 256             # bytes that are streamed at once: whole cache lines

ctypedef fused byte:
    uint8_t
    int8_t

cdef Arithmetics arithmetics

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


# ---------------------------------------------------------------- programs, each operation one IEEE operation

cdef inline floating result(
    int program, floating x, floating a, floating b, floating c, floating d, floating e
) noexcept nogil:
    """What a program makes of `x`. `program` is a constant wherever this is used, so that one formula remains."""
    if program == MULTIPLY:
        return x * a
    elif program == ADD:
        return x + a
    elif program == SUBTRACT:
        return x - a
    elif program == DIVIDE:
        return x / a
    elif program == AFFINE:
        return x * a + b
    elif program == NORMALIZE:
        return (x / a - b) / c
    elif program == NORMALIZE_BY_RECIPROCALS:
        # d is the reciprocal of a, e that of c; for values on which it has been tried.
        return quotient(quotient(<float> x, <float> a, <float> d) - <float> b, <float> c, <float> e)
    elif program == QUANTIZE:
        x = x / a
        return (rintf(x) if floating is float else rint(x)) + b
    else:
        return (x - a) * b


cdef inline floating clean(given like, floating x) noexcept nogil:
    """A result with its NaN canonical; programs from the 8-bit types are for parameters that give none."""
    if given is uint8_t or given is int8_t:
        return x
    else:
        return canonical(x)


cdef inline int arity(int program) noexcept nogil:
    """How many parameters a program has."""
    if program == NORMALIZE_BY_RECIPROCALS:
        return 5
    elif program == NORMALIZE or program == QUANTIZE_BY_RECIPROCALS:
        return 3
    else:
        return 1 if program < ARITHMETICS else 2


cdef inline floating parameter(
    int program, int row, const floating[:, ::1] parameters, Py_ssize_t i
) noexcept nogil:
    return parameters[row, i] if row < arity(program) else 0


cdef inline void run(
    int program, const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    """`parameters` has a row for each of a, b, c ...; where it is of one value, the loop keeps it in a register.

    Such programs are streamed where there is `room` for a piece, which hardly leaves the registers before it is written
    out. (An array here would keep the compiler from inlining this, and so from making vectors of it.)
    """
    cdef floating *into
    cdef Py_ssize_t period = parameters.shape[1]
    cdef Py_ssize_t count = n if room == NULL else PIECE // sizeof(floating)
    cdef Py_ssize_t i, stretch, start = 0
    cdef floating a, b, c, d, e
    if period == 1:
        a, b = parameter(program, 0, parameters, 0), parameter(program, 1, parameters, 0)
        c, d = parameter(program, 2, parameters, 0), parameter(program, 3, parameters, 0)
        e = parameter(program, 4, parameters, 0)
        while start < n:
            count = min(count, n - start)
            into = &dst[start] if room == NULL else <floating *> room
            for i in range(count):
                into[i] = clean(src[start + i], result(program, <floating> src[start + i], a, b, c, d, e))
            if room != NULL:
                stream_bytes(<char *> &dst[start], room, count * sizeof(floating))
                fetch_bytes(<const char *> &src[start] + AHEAD, count * sizeof(src[0]))
            start += count
        return
    for stretch in range((n + period - 1) // period):
        start = stretch * period
        for i in range(min(period, n - start)):
            dst[start + i] = clean(src[start + i], result(
                program, <floating> src[start + i], parameter(program, 0, parameters, i),
                parameter(program, 1, parameters, i), parameter(program, 2, parameters, i),
                parameter(program, 3, parameters, i), parameter(program, 4, parameters, i),
            ))


cdef void multiplying(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(MULTIPLY, src, dst, parameters, n, room)


cdef void adding(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(ADD, src, dst, parameters, n, room)


cdef void subtracting(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(SUBTRACT, src, dst, parameters, n, room)


cdef void dividing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(DIVIDE, src, dst, parameters, n, room)


cdef void scaling_and_adding(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(AFFINE, src, dst, parameters, n, room)


cdef void normalizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(NORMALIZE, src, dst, parameters, n, room)


cdef void normalizing_by_reciprocals(
    const given[::1] src, float[::1] dst, const float[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(NORMALIZE_BY_RECIPROCALS, src, dst, parameters, n, room)


cdef void quantizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(QUANTIZE, src, dst, parameters, n, room)


cdef void dequantizing(
    const given[::1] src, floating[::1] dst, const floating[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    run(DEQUANTIZE, src, dst, parameters, n, room)


cdef inline void quantize_to_bytes(
    int program, const float[::1] src, byte[::1] dst, const float[:, ::1] parameters, Py_ssize_t n
) noexcept nogil:
    """QUANTIZE, and saturating; NaN becomes 0. Hand-written vectors do most; they may take c, the reciprocal of a."""
    cdef Py_ssize_t i, stretch, start
    cdef Py_ssize_t period = parameters.shape[1]
    cdef float a, b
    cdef byte nan = 0
    if period == 1:
        a, b = parameters[0, 0], parameters[1, 0]
        start = hot_quantize(
            &src[0], <char *> &dst[0], n, a, b, parameter(program, 2, parameters, 0), byte is int8_t,
            arithmetics.has_512,
        )
        for i in range(start, n):
            dst[i] = floating_clamped(result(QUANTIZE, src[i], a, b, b, b, b), nan)
        return
    for stretch in range((n + period - 1) // period):
        start = stretch * period
        for i in range(min(period, n - start)):
            a, b = parameters[0, i], parameters[1, i]
            dst[start + i] = floating_clamped(result(QUANTIZE, src[start + i], a, b, b, b, b), nan)


cdef void quantizing_to_bytes(
    const float[::1] src, byte[::1] dst, const float[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    quantize_to_bytes(QUANTIZE, src, dst, parameters, n)


cdef void quantizing_to_bytes_by_reciprocals(
    const float[::1] src, byte[::1] dst, const float[:, ::1] parameters, Py_ssize_t n, char *room
) noexcept nogil:
    quantize_to_bytes(QUANTIZE_BY_RECIPROCALS, src, dst, parameters, n)


# ---------------------------------------------------------------- the table

cdef void enter_roundings(int column, floating *of_type) noexcept:
    """The kernels of one type. The pointer is never followed: its type chooses the specialisation."""
    arithmetics.round[TRUNCATE][column] = <Convert> rounding_toward_zero[floating]
    arithmetics.round[NEAREST][column] = <Convert> rounding_to_even[floating]
    arithmetics.round[NEAREST_AWAY][column] = <Convert> rounding_away[floating]
    arithmetics.round[FLOOR][column] = <Convert> rounding_down[floating]
    arithmetics.round[CEIL][column] = <Convert> rounding_up[floating]
    arithmetics.canonical[column] = <Convert> canonicalising[floating]


cdef void enter_programs(int column, given *from_type, floating *to_type) noexcept:
    arithmetics.programs[MULTIPLY][column] = <Program> multiplying[given, floating]
    arithmetics.programs[ADD][column] = <Program> adding[given, floating]
    arithmetics.programs[SUBTRACT][column] = <Program> subtracting[given, floating]
    arithmetics.programs[DIVIDE][column] = <Program> dividing[given, floating]
    arithmetics.programs[AFFINE][column] = <Program> scaling_and_adding[given, floating]
    arithmetics.programs[NORMALIZE][column] = <Program> normalizing[given, floating]
    arithmetics.programs[QUANTIZE][column] = <Program> quantizing[given, floating]
    arithmetics.programs[DEQUANTIZE][column] = <Program> dequantizing[given, floating]


enter_roundings(0, <float *> NULL)
enter_roundings(1, <double *> NULL)
enter_programs(OF_FLOAT, <float *> NULL, <float *> NULL)
enter_programs(OF_DOUBLE, <double *> NULL, <double *> NULL)
enter_programs(FROM_UINT8, <uint8_t *> NULL, <float *> NULL)
enter_programs(FROM_INT8, <int8_t *> NULL, <float *> NULL)
arithmetics.programs[QUANTIZE][TO_UINT8] = <Program> quantizing_to_bytes[uint8_t]
arithmetics.programs[QUANTIZE][TO_INT8] = <Program> quantizing_to_bytes[int8_t]
if TENSORBUF_FUSED:
    arithmetics.programs[NORMALIZE_BY_RECIPROCALS][FROM_UINT8] = <Program> normalizing_by_reciprocals[uint8_t]
    arithmetics.programs[NORMALIZE_BY_RECIPROCALS][FROM_INT8] = <Program> normalizing_by_reciprocals[int8_t]
    arithmetics.programs[QUANTIZE_BY_RECIPROCALS][TO_UINT8] = <Program> quantizing_to_bytes_by_reciprocals[uint8_t]
    arithmetics.programs[QUANTIZE_BY_RECIPROCALS][TO_INT8] = <Program> quantizing_to_bytes_by_reciprocals[int8_t]

table = PyCapsule_New(&arithmetics, "tensorbuf._kernels.Arithmetics", NULL)
