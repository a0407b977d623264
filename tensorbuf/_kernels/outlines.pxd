"""Outlines: what must be the same of two arrays for a plan to serve both; and what arrays are to each other."""

cimport numpy as cnp

cdef enum:
    MOST_OUTLINED = 8       # axes

cdef struct Outline:
    int number              # numpy's, of the type
    bint swapped, aligned
    int rank
    Py_ssize_t shape[MOST_OUTLINED]
    Py_ssize_t strides[MOST_OUTLINED]


cdef inline void take_outline(cnp.ndarray array, Outline *outline) noexcept:
    cdef int axis
    outline.number = cnp.PyArray_TYPE(array)
    outline.swapped = cnp.PyArray_ISBYTESWAPPED(array)
    outline.aligned = cnp.PyArray_ISALIGNED(array)
    outline.rank = cnp.PyArray_NDIM(array)
    for axis in range(outline.rank):
        outline.shape[axis] = cnp.PyArray_DIMS(array)[axis]
        outline.strides[axis] = cnp.PyArray_STRIDES(array)[axis]


cdef inline bint has_outline(cnp.ndarray array, const Outline *outline) noexcept:
    cdef int axis
    if (
        cnp.PyArray_TYPE(array) != outline.number or cnp.PyArray_NDIM(array) != outline.rank
        or <bint> cnp.PyArray_ISBYTESWAPPED(array) != outline.swapped
        or <bint> cnp.PyArray_ISALIGNED(array) != outline.aligned
    ):
        return False
    for axis in range(outline.rank):
        if (
            cnp.PyArray_DIMS(array)[axis] != outline.shape[axis]
            or cnp.PyArray_STRIDES(array)[axis] != outline.strides[axis]
        ):
            return False
    return True


cdef inline void extent(cnp.ndarray array, const char **start, const char **stop) noexcept:
    """The bytes between which an array's items lie; none for an empty one."""
    cdef int axis
    cdef Py_ssize_t reach
    start[0] = stop[0] = <const char *> cnp.PyArray_DATA(array)
    if cnp.PyArray_SIZE(array) == 0:
        return
    stop[0] += cnp.PyArray_ITEMSIZE(array)
    for axis in range(cnp.PyArray_NDIM(array)):
        reach = (cnp.PyArray_DIMS(array)[axis] - 1) * cnp.PyArray_STRIDES(array)[axis]
        if reach < 0:
            start[0] += reach
        else:
            stop[0] += reach


cdef inline bint apart(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether two arrays surely share no byte."""
    cdef const char *start
    cdef const char *stop
    cdef const char *other_start
    cdef const char *other_stop
    extent(a, &start, &stop)
    extent(b, &other_start, &other_stop)
    return stop <= other_start or other_stop <= start


cdef inline bint is_plain(cnp.ndarray array) noexcept:
    """Whether its items lie in C order, one after the other, aligned and in native byte order."""
    return cnp.PyArray_IS_C_CONTIGUOUS(array) and cnp.PyArray_ISALIGNED(array) and cnp.PyArray_ISNOTSWAPPED(array)


cdef inline bint is_room_for(cnp.ndarray source, cnp.ndarray out) noexcept:
    """Whether `out` is plain, writable, of the same shape, and surely apart."""
    cdef int axis
    if cnp.PyArray_NDIM(out) != cnp.PyArray_NDIM(source) or not is_plain(out):
        return False
    for axis in range(cnp.PyArray_NDIM(out)):
        if cnp.PyArray_DIMS(out)[axis] != cnp.PyArray_DIMS(source)[axis]:
            return False
    return cnp.PyArray_ISWRITEABLE(out) and apart(out, source)
