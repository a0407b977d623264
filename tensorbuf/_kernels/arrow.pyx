"""Arrow's C data interface and its PyCapsules (https://arrow.apache.org/docs/format/CDataInterface.html).

A capsule holds a struct that carries its own `release`, NULL once it was called or the struct was moved away. What is
taken from a capsule is moved out of it. Structs are trusted as far as the interface goes: lengths, offsets and buffers
belong together; they are only read where the caller has found the format to be one that it knows.
"""

cimport numpy as cnp
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, object)

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil
    object PyCapsule_New(void *, const char *, void (*)(PyObject *) noexcept)
    # A capsule that is being destroyed must not be counted again.
    void *dying_capsule "PyCapsule_GetPointer"(PyObject *, const char *) noexcept

cdef struct Schema:
    const char *format
    const char *name
    const char *metadata
    int64_t flags
    int64_t n_children
    Schema **children
    Schema *dictionary
    void (*release)(Schema *) noexcept
    void *private_data

cdef struct Array:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    Array **children
    Array *dictionary
    void (*release)(Array *) noexcept
    void *private_data

cdef struct Stream:
    int (*get_schema)(Stream *, Schema *) noexcept
    int (*get_next)(Stream *, Array *) noexcept
    const char *(*get_last_error)(Stream *) noexcept
    void (*release)(Stream *) noexcept
    void *private_data

cdef struct Exported:
    # An exported array with the room for its two buffers: none of validity, and the values.
    Array array
    const void *buffers[2]

cdef const char *SCHEMA = "arrow_schema"
cdef const char *ARRAY = "arrow_array"
cdef const char *STREAM = "arrow_array_stream"


# ---------------------------------------------------------------- out

cdef void _let_go(void *context) noexcept with gil:
    Py_DECREF(<object>context)


cdef void _release_schema(Schema *schema) noexcept nogil:
    if Py_IsInitialized():
        _let_go(schema.private_data)
    schema.release = NULL


cdef void _release_array(Array *array) noexcept nogil:
    if Py_IsInitialized():
        _let_go(array.private_data)
    # The consumer may have moved the struct out of its capsule: the buffers' pointers go with the last copy.
    PyMem_RawFree(array.buffers)
    array.release = NULL


cdef void _drop_schema(PyObject *capsule) noexcept:
    cdef Schema *schema = <Schema *>dying_capsule(capsule, SCHEMA)
    if schema.release != NULL:
        schema.release(schema)
    PyMem_RawFree(schema)


cdef void _drop_array(PyObject *capsule) noexcept:
    cdef Array *array = <Array *>dying_capsule(capsule, ARRAY)
    if array.release != NULL:
        array.release(array)
    PyMem_RawFree(array)


cdef void *_room(size_t size) except NULL:
    cdef void *room = PyMem_RawCalloc(size, 1)
    if room == NULL:
        raise MemoryError
    return room


cdef class PrimitiveArray:
    """An Arrow array without nulls on the memory of a numpy array; every Arrow library takes it."""

    cdef bytes format
    cdef object memory
    cdef Py_ssize_t length

    def __init__(self, bytes format, memory, length):
        self.format = format
        self.memory = memory
        self.length = length

    def __len__(self):
        return self.length

    def __arrow_c_array__(self, requested_schema=None):
        """The capsules of the schema and of the array; no other schema can be had."""
        cdef Schema *schema = <Schema *>_room(sizeof(Schema))
        schema.format = self.format
        schema.name = ""
        schema.release = <void (*)(Schema *) noexcept>_release_schema
        schema.private_data = <void *>self.format
        Py_INCREF(self.format)
        schema_capsule = PyCapsule_New(schema, SCHEMA, _drop_schema)
        cdef Array *array = <Array *>_room(sizeof(Array))
        array_capsule = PyCapsule_New(array, ARRAY, _drop_array)
        array.buffers = <const void **>_room(2 * sizeof(void *))
        array.buffers[1] = cnp.PyArray_DATA(self.memory)
        array.length = self.length
        array.n_buffers = 2
        array.release = <void (*)(Array *) noexcept>_release_array
        array.private_data = <void *>self.memory
        Py_INCREF(self.memory)
        return schema_capsule, array_capsule


# ---------------------------------------------------------------- in

cdef class Taken:
    """An Arrow array of another library, which this object owns now.

    Attributes
    ----------
    type : tuple
        (format, metadata, has a dictionary, types of the children), from the schema.
    layout : tuple or None
        (length, offset, null count, addresses of the buffers, 0 for none, layouts of the children); None where there is
        a schema only.
    """

    cdef Schema schema
    cdef Array array
    cdef readonly tuple type
    cdef readonly tuple layout

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)
        if self.schema.release != NULL:
            self.schema.release(&self.schema)

    def span(self, address, nbytes):
        """A read-only uint8 array of bytes at an address of this array's memory."""
        cdef cnp.npy_intp size = nbytes
        cdef cnp.dtype dtype = cnp.PyArray_DescrFromType(cnp.NPY_UINT8)
        Py_INCREF(dtype)
        view = PyArray_NewFromDescr(&PyArray_Type, dtype, 1, &size, NULL, <void *><size_t>address, 0, None)
        cnp.set_array_base(view, self)
        return view


cdef tuple _type(const Schema *schema):
    return (
        schema.format,
        _metadata(schema.metadata),
        schema.dictionary != NULL,
        tuple([_type(schema.children[k]) for k in range(schema.n_children)]),
    )


cdef tuple _layout(const Array *array):
    return (
        array.length,
        array.offset,
        array.null_count,
        tuple([<size_t>array.buffers[k] for k in range(array.n_buffers)]),
        tuple([_layout(array.children[k]) for k in range(array.n_children)]),
    )


cdef dict _metadata(const char *text):
    """Pairs of bytes, each preceded by its length in four bytes, the whole by their count."""
    cdef dict pairs = {}
    cdef int32_t count = 0
    if text != NULL:
        memcpy(&count, text, 4)
        text += 4
    for _ in range(count):
        key = _text(&text)
        pairs[key] = _text(&text)
    return pairs


cdef bytes _text(const char **text):
    cdef int32_t length
    memcpy(&length, text[0], 4)
    found = text[0][4:4 + length]
    text[0] += 4 + length
    return found


def taken(schema_capsule, array_capsule):
    """The array of a pair of capsules, which are used up."""
    cdef Schema *schema = <Schema *>PyCapsule_GetPointer(schema_capsule, SCHEMA)
    cdef Array *array = <Array *>PyCapsule_GetPointer(array_capsule, ARRAY)
    if schema.release == NULL or array.release == NULL:
        raise ValueError("the Arrow capsules were used before")
    cdef Taken result = Taken.__new__(Taken)
    result.schema = schema[0]
    schema.release = NULL
    result.array = array[0]
    array.release = NULL
    result.type = _type(&result.schema)
    result.layout = _layout(&result.array)
    return result


def taken_chunks(capsule):
    """The arrays of a stream's capsule in order, and after them one that has the schema only. The stream is used up."""
    cdef Stream *stream = <Stream *>PyCapsule_GetPointer(capsule, STREAM)
    cdef list chunks = []
    cdef Taken chunk
    if stream.release == NULL:
        raise ValueError("the Arrow stream was used before")
    while True:
        chunk = Taken.__new__(Taken)
        _check(stream, stream.get_schema(stream, &chunk.schema))
        _check(stream, stream.get_next(stream, &chunk.array))
        chunk.type = _type(&chunk.schema)
        chunks.append(chunk)
        if chunk.array.release == NULL:
            return chunks
        chunk.layout = _layout(&chunk.array)


cdef int _check(Stream *stream, int code) except -1:
    cdef const char *error
    if code != 0:
        error = stream.get_last_error(stream)
        raise OSError(code, "the Arrow stream failed" if error == NULL else error.decode("utf-8", "replace"))
    return 0
