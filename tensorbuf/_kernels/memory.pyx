"""Memory: aligned blocks, and the buffers of others held for as long as an array lives on them.

Every array made here has as its base an object that is or frees its block, or releases its buffer, when the last view
is gone. Sizes are checked before they are multiplied, and no array reaches past the block or the buffer that it was
checked against.
"""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport (
    PyBUF_FULL_RO,
    PyBUF_STRIDED_RO,
    PyBuffer_IsContiguous,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.mem cimport PyMem_RawCalloc
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uintptr_t

from tensorbuf._kernels.cache cimport give, take

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, object)
    int NPY_ARRAY_CARRAY
    int NPY_ARRAY_CARRAY_RO
    int NPY_ARRAY_WRITEABLE

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from *:
    """
    static const int tb_little_endian_probe = 1;
    #define TB_IS_LITTLE (*(const char *)&tb_little_endian_probe == 1)
    """
    bint TB_IS_LITTLE

cdef extern from *:
    """
    #ifdef __SANITIZE_ADDRESS__
    #define TB_SMALL 0      /* every block ends where the sanitizer knows it */
    #else
    #define TB_SMALL 192
    #endif
    """
    enum:
        SMALL "TB_SMALL"    # bytes

cdef enum:
    ALIGNMENT = 64


@cython.freelist(16)
cdef class SmallBlock:
    """A block that lies in the object itself, which is born zeroed: half the calls that a block of its own takes."""

    cdef char room[SMALL + ALIGNMENT]


@cython.freelist(16)
cdef class Block:
    """A block from the system's allocator, given back to the cache or the system with the last array on it."""

    cdef void *start
    cdef size_t capacity

    def __dealloc__(self):
        give(self.start, self.capacity)


def allocate(tuple shape, cnp.dtype dtype, bint zeroed):
    """A writable C-ordered array on a 64-byte boundary.

    `shape` holds ints >= 0 that fit Py_ssize_t, `dtype` has no Python objects. None where the bytes exceed Py_ssize_t.
    Zeroed blocks come from calloc: pages of a large one cost nothing until they are touched.
    """
    cdef cnp.npy_intp dims[cnp.NPY_MAXDIMS]
    cdef int rank = <int>len(shape), axis
    for axis in range(rank):
        dims[axis] = shape[axis]
    return aligned(rank, dims, dtype, zeroed)


cdef object aligned(int rank, cnp.npy_intp *dims, cnp.dtype dtype, bint zeroed):
    """`allocate` for a shape that C has."""
    cdef int axis
    cdef Py_ssize_t nbytes = dtype.itemsize
    cdef bint empty = False
    cdef SmallBlock small
    for axis in range(rank):
        if dims[axis] == 0:
            empty = True
        elif nbytes > (PY_SSIZE_T_MAX - ALIGNMENT) // dims[axis]:
            return None
        else:
            nbytes *= dims[axis]
    if empty:
        nbytes = 0
    if nbytes <= SMALL:
        small = SmallBlock.__new__(SmallBlock)
        return _array_on(small, _on_boundary(small.room), dtype, rank, dims, True)
    cdef Block block = Block.__new__(Block)
    block.capacity = <size_t>nbytes + ALIGNMENT
    block.start = PyMem_RawCalloc(block.capacity, 1) if zeroed else take(&block.capacity)
    if block.start == NULL:
        raise MemoryError(f"cannot allocate {nbytes} bytes")
    return _array_on(block, _on_boundary(block.start), dtype, rank, dims, True)


cdef char *_on_boundary(void *start) noexcept:
    return <char *>((<uintptr_t>start + ALIGNMENT - 1) & ~<uintptr_t>(ALIGNMENT - 1))


cdef class Pin:
    """The memory of an exporter, acquired until this object dies."""

    cdef Py_buffer view
    cdef object owner
    cdef char *data
    cdef Py_ssize_t nbytes
    cdef bint writable
    cdef bint contiguous
    cdef bint swapped
    cdef bint objects

    def __dealloc__(self):
        if self.view.obj is not None:
            PyBuffer_Release(&self.view)


cdef Pin acquire(object exporter):
    """Pins `exporter`, in whatever layout it has; TypeError where it exports no buffer."""
    cdef Pin pin = Pin.__new__(Pin)
    if cnp.PyArray_Check(exporter):
        _acquire_array(pin, exporter)
    else:
        _acquire_buffer(pin, exporter)
    return pin


cdef int _acquire_array(Pin pin, cnp.ndarray array) except -1:
    # numpy exports no buffer of bfloat16 or datetime64 arrays, and does not lock what an array was built on
    # (np.memmap, np.ndarray(buffer=...)): so the array is held, and the owner at the root is locked as well.
    cdef object dtype = array.dtype
    cdef object root = cnp.get_array_base(array)
    pin.owner = array
    pin.data = <char *>cnp.PyArray_DATA(array)
    pin.nbytes = cnp.PyArray_NBYTES(array)
    pin.writable = cnp.PyArray_ISWRITEABLE(array)
    pin.contiguous = cnp.PyArray_IS_C_CONTIGUOUS(array)
    pin.swapped = not dtype.isnative
    pin.objects = dtype.hasobject
    while root is not None and cnp.PyArray_Check(root):
        root = cnp.get_array_base(<cnp.ndarray>root)
    if root is not None and PyObject_CheckBuffer(root):
        try:
            PyObject_GetBuffer(root, &pin.view, PyBUF_STRIDED_RO)
        except (BufferError, ValueError):
            pass
    return 0


cdef int _acquire_buffer(Pin pin, object exporter) except -1:
    try:
        PyObject_GetBuffer(exporter, &pin.view, PyBUF_FULL_RO)
    except BufferError:
        # A type that has no buffer format; its bytes can still be had.
        PyObject_GetBuffer(exporter, &pin.view, PyBUF_STRIDED_RO)
    pin.data = <char *>pin.view.buf
    pin.nbytes = pin.view.len
    pin.writable = not pin.view.readonly
    pin.contiguous = PyBuffer_IsContiguous(&pin.view, b"C")
    _read_format(pin)
    return 0


cdef void _read_format(Pin pin) noexcept:
    """Looks for marks of the other byte order and for objects in a PEP 3118 format, outside the fields' names."""
    cdef char *mark = pin.view.format
    cdef bint in_name = False
    if mark == NULL:
        return
    while mark[0] != 0:
        if mark[0] == b":":
            in_name = not in_name
        elif not in_name:
            if mark[0] == b"O":
                pin.objects = True
            elif mark[0] == b">" or mark[0] == b"!":
                pin.swapped |= TB_IS_LITTLE
            elif mark[0] == b"<":
                pin.swapped |= not TB_IS_LITTLE
        mark += 1


def layout(exporter):
    """What `exporter` exports: (its class, bytes, strides, C-contiguous, other byte order, holds objects).

    Nothing stays acquired. ValueError where it exports buffers, but not in its present state.
    """
    cdef Pin pin
    name = type(exporter).__name__
    try:
        pin = acquire(exporter)
    except BufferError as error:
        raise ValueError(f"{name} cannot export its memory: {error}") from None
    if cnp.PyArray_Check(exporter):
        strides = exporter.strides
    elif pin.view.strides == NULL:
        strides = None
    else:
        strides = tuple([pin.view.strides[axis] for axis in range(pin.view.ndim)])
    return name, pin.nbytes, strides, pin.contiguous, pin.swapped, pin.objects


def vector(exporter, cnp.dtype dtype, count, offset):
    """A rank-1 array of `dtype` on the memory of `exporter`, which stays acquired while a view of the array lives.

    `count` elements (a negative count: all) from byte `offset` on. None, and nothing acquired, where that cannot be:
    not C-contiguous, objects, the other byte order under a native dtype, a count or offset that does not fit or is no
    int.
    """
    cdef Py_ssize_t length, start, rest
    cdef Py_ssize_t itemsize = dtype.itemsize
    if not (PyLong_CheckExact(count) and PyLong_CheckExact(offset)):
        return None
    try:
        length = PyLong_AsSsize_t(count)
        start = PyLong_AsSsize_t(offset)
    except OverflowError:
        return None
    cdef Pin pin
    try:
        pin = acquire(exporter)
    except BufferError:
        return None
    if not pin.contiguous or pin.objects or length == 0 or start < 0 or start > pin.nbytes:
        return None
    rest = pin.nbytes - start
    if pin.swapped and itemsize > 1 and cnp.PyArray_IsNativeByteOrder(dtype.byteorder):
        return None
    if length < 0:
        if rest % itemsize != 0:
            return None
        length = rest // itemsize
    elif length > rest // itemsize:
        return None
    cdef cnp.npy_intp size = length
    return _array_on(pin, pin.data + start, dtype, 1, &size, pin.writable)


cpdef object reinterpreted(cnp.ndarray array, cnp.dtype dtype):
    """`array` read as `dtype`, without a copy; both hold no objects.

    Equal item sizes keep the shape. A smaller item of `dtype` appends an axis of the ratio. A larger one takes away the
    last axis, which must be exactly the ratio long: None where it is not, or is not contiguous in itself.
    """
    cdef cnp.npy_intp dims[cnp.NPY_MAXDIMS]
    cdef cnp.npy_intp strides[cnp.NPY_MAXDIMS]
    cdef int rank = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp given = cnp.PyArray_ITEMSIZE(array), wanted = dtype.itemsize
    cdef int axis
    if given < wanted:
        rank -= 1
        if rank < 0 or cnp.PyArray_DIM(array, rank) * given != wanted or cnp.PyArray_STRIDE(array, rank) != given:
            return None
    for axis in range(rank):
        dims[axis] = cnp.PyArray_DIM(array, axis)
        strides[axis] = cnp.PyArray_STRIDE(array, axis)
    if given > wanted:
        if rank == cnp.NPY_MAXDIMS:
            return None
        dims[rank] = given // wanted
        strides[rank] = wanted
        rank += 1
    Py_INCREF(dtype)
    cdef int flags = cnp.PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE
    view = PyArray_NewFromDescr(&PyArray_Type, dtype, rank, dims, strides, cnp.PyArray_DATA(array), flags, None)
    cnp.set_array_base(view, array)
    return view


# What `reinterpreted_at_once` knows: the target of each dtype-like, and which of numpy's type numbers are sources.
cdef dict _targets = {}
cdef bint[1024] _sources


def remember(cnp.dtype source, dtype, cnp.dtype target):
    """Let `reinterpreted_at_once` take arrays of `source`, and `dtype` for `target`."""
    if source.type_num < 1024:
        _sources[source.type_num] = True
        _targets[dtype] = target


def reinterpreted_at_once(x, dtype):
    """`reinterpreted` for a numpy array and a dtype-like that are remembered; None where a closer look is needed."""
    if type(x) is not cnp.ndarray:
        return None
    cdef cnp.ndarray array = x
    cdef cnp.dtype given = array.descr
    if given.type_num >= 1024 or not _sources[given.type_num] or not cnp.PyArray_ISNBO(given.byteorder):
        return None
    try:
        target = _targets.get(dtype)
    except TypeError:
        return None
    return None if target is None else reinterpreted(array, target)


cdef object _array_on(object base, char *data, cnp.dtype dtype, int rank, cnp.npy_intp *dims, bint writable):
    Py_INCREF(dtype)
    cdef int flags = NPY_ARRAY_CARRAY if writable else NPY_ARRAY_CARRAY_RO
    array = PyArray_NewFromDescr(&PyArray_Type, dtype, rank, dims, NULL, data, flags, None)
    cnp.set_array_base(array, base)
    return array
