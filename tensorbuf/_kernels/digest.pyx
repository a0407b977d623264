"""A 64-bit digest of the bytes of numbers, one pass in eight lanes of 64-bit words.

Every load is a memcpy, so nothing is assumed of alignment; whole stripes are read from the data, the rest from a copy
that is filled up with zeros.
"""

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cnp.import_array()

cdef enum:
    LANES = 8
    STRIPE = 8 * LANES

# Odd, with their bits well mixed: those of xxHash64 (absorb) and MurmurHash3 (mix).
cdef uint64_t PRIME = 0x9E3779B185EBCA87
cdef uint64_t WORD_PRIME = 0xC2B2AE3D27D4EB4F
cdef uint64_t FIRST_MIX = 0xFF51AFD7ED558CCD
cdef uint64_t SECOND_MIX = 0xC4CEB9FE1A85EC53


cdef inline uint64_t absorb(uint64_t lane, const char *source, uint64_t others) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, source, 8)
    # The sum carries into a sign bit where another bit of that number is set: so the sign of a zero is dropped.
    bits &= others | ((bits & others) + others)
    # Products take low bits up, the rotation brings high ones down. Each step can be undone, so no word gets lost.
    lane += bits * WORD_PRIME
    return ((lane << 31) | (lane >> 33)) * PRIME


cdef inline uint64_t mix(uint64_t lane) noexcept nogil:
    """Every bit of the lane changes about half of the bits."""
    lane = (lane ^ (lane >> 33)) * FIRST_MIX
    lane = (lane ^ (lane >> 33)) * SECOND_MIX
    return lane ^ (lane >> 33)


cdef void absorb_stripes(uint64_t *lanes, const char *source, Py_ssize_t stripes, uint64_t others) noexcept nogil:
    cdef uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3]
    cdef uint64_t e = lanes[4], f = lanes[5], g = lanes[6], h = lanes[7]
    cdef Py_ssize_t _stripe
    for _stripe in range(stripes):
        a = absorb(a, source, others)
        b = absorb(b, source + 8, others)
        c = absorb(c, source + 16, others)
        d = absorb(d, source + 24, others)
        e = absorb(e, source + 32, others)
        f = absorb(f, source + 40, others)
        g = absorb(g, source + 48, others)
        h = absorb(h, source + 56, others)
        source += STRIPE
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    lanes[4], lanes[5], lanes[6], lanes[7] = e, f, g, h


def digest(cnp.ndarray data, uint64_t signs):
    """The digest of the bytes of a C-contiguous array, to which the sign of a zero does not matter.

    `signs` marks, in a word of 64 bits, the sign bits of the floats that fill it; it is 0 where there are none.
    """
    cdef uint64_t lanes[LANES]
    cdef char rest[STRIPE]
    cdef const char *source = <const char *>cnp.PyArray_DATA(data)
    cdef Py_ssize_t nbytes = cnp.PyArray_NBYTES(data)
    cdef Py_ssize_t stripes = nbytes // STRIPE
    cdef uint64_t total = <uint64_t>nbytes * PRIME
    cdef int lane
    for lane in range(LANES):
        lanes[lane] = PRIME * <uint64_t>(lane + 1)
    with nogil:
        absorb_stripes(lanes, source, stripes, ~signs)
        if nbytes > stripes * STRIPE:
            for lane in range(STRIPE):
                rest[lane] = 0
            memcpy(rest, source + stripes * STRIPE, <size_t>(nbytes - stripes * STRIPE))
            absorb_stripes(lanes, rest, 1, ~signs)
        for lane in range(LANES):
            total = mix(total ^ lanes[lane]) * PRIME
    return total
