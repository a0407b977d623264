"""DLPack capsules of numpy arrays, and numpy arrays on the memory of capsules (https://dmlc.github.io/dlpack).

The structs are the ABI of DLPack 1: an unversioned capsule and a versioned one, which has flags. Whoever takes a
capsule renames it, and from then on must call its deleter, once, from any thread; a capsule that nobody took does so
itself.
"""

cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, object)
    int NPY_ARRAY_WRITEABLE

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil
    object PyCapsule_New(void *, const char *, void (*)(PyObject *) noexcept)
    # A capsule that is being destroyed must not be counted again.
    bint is_dying_capsule "PyCapsule_IsValid"(PyObject *, const char *) noexcept
    void *dying_capsule "PyCapsule_GetPointer"(PyObject *, const char *) noexcept

cdef enum:
    CPU = 1
    READ_ONLY = 1
    IS_COPIED = 2
    MAJOR = 1
    MINOR = 1  # the first with codes for float8

cdef struct Device:
    int32_t kind
    int32_t number

cdef struct ElementType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct Tensor:
    void *data
    Device device
    int32_t rank
    ElementType dtype
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct Managed:
    Tensor tensor
    void *context
    void (*deleter)(Managed *) noexcept

cdef struct Version:
    uint32_t major
    uint32_t minor

cdef struct ManagedVersioned:
    Version version
    void *context
    void (*deleter)(ManagedVersioned *) noexcept
    uint64_t flags
    Tensor tensor

cdef const char *PLAIN = "dltensor"
cdef const char *PLAIN_USED = "used_dltensor"
cdef const char *VERSIONED = "dltensor_versioned"
cdef const char *VERSIONED_USED = "used_dltensor_versioned"


# ---------------------------------------------------------------- out

cdef void _release(void *context) noexcept with gil:
    Py_DECREF(<object>context)


cdef void _delete(Managed *managed) noexcept nogil:
    # A consumer may outlive the interpreter.
    if Py_IsInitialized():
        _release(managed.context)
    PyMem_RawFree(managed)


cdef void _delete_versioned(ManagedVersioned *managed) noexcept nogil:
    if Py_IsInitialized():
        _release(managed.context)
    PyMem_RawFree(managed)


cdef void _drop(PyObject *capsule) noexcept:
    cdef Managed *managed
    if is_dying_capsule(capsule, PLAIN):
        managed = <Managed *>dying_capsule(capsule, PLAIN)
        managed.deleter(managed)


cdef void _drop_versioned(PyObject *capsule) noexcept:
    cdef ManagedVersioned *managed
    if is_dying_capsule(capsule, VERSIONED):
        managed = <ManagedVersioned *>dying_capsule(capsule, VERSIONED)
        managed.deleter(managed)


cdef void _describe(cnp.ndarray array, int code, int bits, Tensor *tensor, int64_t *room) noexcept:
    """Fills `tensor`; its shape and its strides go into `room`."""
    cdef int rank = cnp.PyArray_NDIM(array)
    cdef int axis
    cdef int64_t item = cnp.PyArray_ITEMSIZE(array)
    cdef int64_t compact = 1
    tensor.data = cnp.PyArray_DATA(array)
    tensor.device.kind = CPU
    tensor.device.number = 0
    tensor.rank = rank
    tensor.dtype.code = <uint8_t>code
    tensor.dtype.bits = <uint8_t>bits
    tensor.dtype.lanes = 1
    tensor.shape = room
    tensor.strides = room + rank
    tensor.byte_offset = 0
    for axis in range(rank - 1, -1, -1):
        tensor.shape[axis] = cnp.PyArray_DIM(array, axis)
        # The stride of an axis of length 1 is never walked, but some consumers take it for a gap.
        tensor.strides[axis] = compact if tensor.shape[axis] == 1 else cnp.PyArray_STRIDE(array, axis) // item
        compact = tensor.strides[axis] * tensor.shape[axis]


def export(cnp.ndarray array, int code, int bits, bint versioned, bint copied):
    """A capsule of `array`, whose strides are multiples of its item size; `copied` says that it was made for this."""
    cdef size_t room = 2 * <size_t>cnp.PyArray_NDIM(array) * sizeof(int64_t)
    cdef Managed *plain
    cdef ManagedVersioned *managed
    if not versioned:
        plain = <Managed *>PyMem_RawMalloc(sizeof(Managed) + room)
        if plain == NULL:
            raise MemoryError
        _describe(array, code, bits, &plain.tensor, <int64_t *>(plain + 1))
        plain.context = <void *>array
        plain.deleter = <void (*)(Managed *) noexcept>_delete
        Py_INCREF(array)
        return PyCapsule_New(plain, PLAIN, _drop)
    managed = <ManagedVersioned *>PyMem_RawMalloc(sizeof(ManagedVersioned) + room)
    if managed == NULL:
        raise MemoryError
    managed.version.major = MAJOR
    managed.version.minor = MINOR
    managed.flags = (0 if cnp.PyArray_ISWRITEABLE(array) else READ_ONLY) | (IS_COPIED if copied else 0)
    _describe(array, code, bits, &managed.tensor, <int64_t *>(managed + 1))
    managed.context = <void *>array
    managed.deleter = <void (*)(ManagedVersioned *) noexcept>_delete_versioned
    Py_INCREF(array)
    return PyCapsule_New(managed, VERSIONED, _drop_versioned)


# ---------------------------------------------------------------- in

cdef class Taken:
    """A capsule's memory, which is this object's now."""

    cdef Managed *plain
    cdef ManagedVersioned *managed

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.managed != NULL and self.managed.deleter != NULL:
            self.managed.deleter(self.managed)


cdef Tensor *_take(object capsule, Taken taken, bint *writable) except NULL:
    cdef ManagedVersioned *managed
    if PyCapsule_IsValid(capsule, VERSIONED):
        managed = <ManagedVersioned *>PyCapsule_GetPointer(capsule, VERSIONED)
        if managed.version.major != MAJOR:
            # The name and the place of the deleter are the same in every version, the rest need not be.
            raise BufferError(f"a capsule of DLPack {managed.version.major} was given; 1 is understood")
        PyCapsule_SetName(capsule, VERSIONED_USED)
        taken.managed = managed
        writable[0] = not managed.flags & READ_ONLY
        return &managed.tensor
    if not PyCapsule_IsValid(capsule, PLAIN):
        raise TypeError("__dlpack__ gave no DLPack capsule, or one that was used before")
    taken.plain = <Managed *>PyCapsule_GetPointer(capsule, PLAIN)
    PyCapsule_SetName(capsule, PLAIN_USED)
    writable[0] = False
    return &taken.plain.tensor


def taken(capsule, dict dtypes, tuple devices):
    """The array on the memory of a capsule, which is used up. An unversioned one is read-only.

    `dtypes` gives the numpy dtype of each (code, bits); `devices` are the kinds of memory that can be read.
    """
    cdef cnp.npy_intp dims[cnp.NPY_MAXDIMS]
    cdef cnp.npy_intp strides[cnp.NPY_MAXDIMS]
    cdef bint writable = False
    cdef Taken owner = Taken.__new__(Taken)
    cdef Tensor *tensor = _take(capsule, owner, &writable)
    cdef int axis
    cdef int64_t compact = 1
    if tensor.device.kind not in devices:
        raise BufferError(f"the memory lies on device {tensor.device.kind}; bring it to the CPU first")
    key = (tensor.dtype.code, tensor.dtype.bits)
    if tensor.dtype.lanes != 1 or key not in dtypes:
        raise TypeError(
            f"elements of DLPack's type {key[0]}, {key[1]} bits, {tensor.dtype.lanes} lanes, are none of this package"
        )
    if not 0 <= tensor.rank <= cnp.NPY_MAXDIMS:
        raise BufferError(f"the memory has {tensor.rank} axes; at most {cnp.NPY_MAXDIMS} are possible")
    cdef cnp.dtype dtype = dtypes[key]
    for axis in range(tensor.rank - 1, -1, -1):
        if tensor.shape[axis] < 0:
            raise BufferError(f"axis {axis} has length {tensor.shape[axis]}")
        dims[axis] = tensor.shape[axis]
        strides[axis] = (compact if tensor.strides == NULL else tensor.strides[axis]) * dtype.itemsize
        compact *= tensor.shape[axis]
    Py_INCREF(dtype)
    array = PyArray_NewFromDescr(
        &PyArray_Type,
        dtype,
        tensor.rank,
        dims,
        strides,
        <char *>tensor.data + tensor.byte_offset,
        NPY_ARRAY_WRITEABLE if writable else 0,
        None,
    )
    cnp.set_array_base(array, owner)
    return array
