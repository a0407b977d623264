"""Two faults on purpose, built only with -Dplanted_faults=true: a sanitized run of them must be red.

Compiled with the flags of the kernels, so what finds these finds the same in a kernel.
"""

from libc.stdlib cimport free, malloc


def cast_out_of_range(double value):
    """`value` as an int by C's cast, undefined where it does not fit."""
    return <int>value


def read_past_the_end(Py_ssize_t size):
    """The byte behind a block of `size` bytes."""
    cdef unsigned char *block = <unsigned char *>malloc(size)
    if block == NULL:
        raise MemoryError(f"cannot allocate {size} bytes")
    cdef unsigned char byte = block[size]
    free(block)
    return byte
