"""The element types in C, their numbers, and how a kernel is handed its memory.

The numbers are those of `tensorbuf.dtypes.CODES`; tests/test_dtypes.py holds the two together.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    BOOL, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64
    FLOAT16, BFLOAT16, FLOAT32, FLOAT64, FLOAT8_E4M3FN, FLOAT8_E5M2
    REAL_TYPES
    COMPLEX64 = REAL_TYPES
    COMPLEX128

# Structs of one field, since fused types that share a C type would share one specialisation.
cdef struct truth:
    uint8_t bits

cdef struct half:
    uint16_t bits

cdef struct brain:
    uint16_t bits

cdef struct e4m3:
    uint8_t bits

cdef struct e5m2:
    uint8_t bits

cdef struct float_pair:
    uint32_t real
    uint32_t imag

cdef struct double_pair:
    uint64_t real
    uint64_t imag

ctypedef fused signed_integer:
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused long_integer:
    int64_t
    uint64_t

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t

ctypedef fused floating:
    float
    double

# Floating types that C has no arithmetic for.
ctypedef fused small:
    half
    brain
    e4m3
    e5m2

ctypedef fused any_floating:
    half
    brain
    float
    double
    e4m3
    e5m2

# What C computes with; the other types are decoded to one of these first.
ctypedef fused number:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    float
    double

ctypedef fused source:
    truth
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    half
    brain
    float
    double
    e4m3
    e5m2

ctypedef fused target:
    truth
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    half
    brain
    float
    double
    e4m3
    e5m2

# A typed memoryview as C sees it. Every memoryview is this one struct whatever its item type, so the driver can point
# it at memory that nobody has to acquire, and a table of kernels can hold all types. Kernels are handed their length
# beside it and read `data` only, of parameters also `shape` and the stride between rows; builds with bounds checks read
# every `shape`.
cdef extern from *:
    ctypedef struct Span "__Pyx_memviewslice":
        void *memview
        char *data
        Py_ssize_t shape[8]
        Py_ssize_t strides[8]


cdef inline void point(Span *span, char *data, Py_ssize_t n) noexcept nogil:
    """At `n` items. There is no memoryview object; builds that check whether it is None must not meet a leftover."""
    span.memview = NULL
    span.data = data
    span.shape[0] = n


cdef struct Bounds:
    # The least and the largest source value that fit, both inclusive; of the three forms each source type reads its
    # own.
    int64_t least_signed
    int64_t most_signed
    uint64_t least_unsigned
    uint64_t most_unsigned
    double least_floating
    double most_floating
    bint nan_fits
    bint infinity_fits

# source, destination, length, what NaN becomes (an integer target's value)
ctypedef void (*Convert)(Span, Span, Py_ssize_t, int64_t) noexcept nogil
# source, length, bounds: the first position that lies outside, or the length
ctypedef Py_ssize_t (*Scan)(Span, Py_ssize_t, const Bounds *) noexcept nogil

cdef enum:
    SATURATE, WRAP, FINITE
    MODES

cdef extern from "loose.h":
    enum:
        FORM_NATIVE
        FORM_SWAPPED
        FORM_SECOND
        FORMS

cdef enum:
    TRUNCATE, NEAREST, NEAREST_AWAY, FLOOR, CEIL
    ROUNDINGS

# Programs: operations, or sequences of them, that one loop carries out. The first ARITHMETICS are single operations.
cdef enum:
    MULTIPLY, ADD, SUBTRACT, DIVIDE
    ARITHMETICS
    AFFINE = ARITHMETICS, NORMALIZE, NORMALIZE_BY_RECIPROCALS, QUANTIZE, QUANTIZE_BY_RECIPROCALS, DEQUANTIZE
    PROGRAMS

# The types that a program has loops for: its source, and its target where that is not the type of the arithmetic.
cdef enum:
    OF_FLOAT, OF_DOUBLE, FROM_UINT8, FROM_INT8, TO_UINT8, TO_INT8
    PROGRAM_TYPES

cdef enum:
    MOST_PARAMETERS = 5

# source, destination, parameters (a row for each, in the order in which the operations use them, of one value or of as
# many as repeat again and again), length, NULL or room to stream pieces from (parameters are one value then)
ctypedef void (*Program)(Span, Span, Span, Py_ssize_t, char *) noexcept nogil

# The kernels of one instruction-set level: conversions, which convert.pyx has, and arithmetic, which arithmetic.pyx
# has.
cdef struct Kernels:
    # [mode][source][target]; the complex sources have BOOL only. NULL where float32 stands in between.
    Convert convert[MODES][17][REAL_TYPES]
    Scan scan[REAL_TYPES]
    # The saturating ones, NULL where there is none: past the caches; and from sources that may begin at any address,
    # where NaN becomes 0.
    Convert streamed[17][REAL_TYPES]
    Convert loose[FORMS][17][REAL_TYPES]

# The second index of the first two is 0 for float32, 1 for float64.
cdef struct Arithmetics:
    Convert round[ROUNDINGS][2]
    Convert canonical[2]                                # a copy in which every NaN is the canonical one
    Program programs[PROGRAMS][PROGRAM_TYPES]           # NULL where there is none
    bint has_512                                        # whether the level is v4
