"""Reading the values of nested Python sequences, a block at a time.

Whenever Python code runs (the resolver; the caller between two blocks), another thread may change a list that is being
read: so lengths are read again before every item, and an item is borrowed only as long as no Python code runs.
"""

cimport numpy as cnp
from cpython.complex cimport PyComplex_Check, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

import numpy as np

cnp.import_array()

cdef extern from "Python.h":
    bint is_list "PyList_Check"(PyObject *)
    bint is_tuple "PyTuple_Check"(PyObject *)
    bint is_float "PyFloat_Check"(PyObject *)
    bint is_int "PyLong_Check"(PyObject *)
    bint is_plain_float "PyFloat_CheckExact"(PyObject *)
    bint is_plain_int "PyLong_CheckExact"(PyObject *)
    bint is_bool "PyBool_Check"(PyObject *)
    double float_value "PyFloat_AS_DOUBLE"(PyObject *)
    long long int_value "PyLong_AsLongLongAndOverflow"(PyObject *, int *) except? -1
    unsigned long long unsigned_value "PyLong_AsUnsignedLongLong"(PyObject *) except? 0
    PyObject *list_item "PyList_GET_ITEM"(PyObject *, Py_ssize_t)
    PyObject *tuple_item "PyTuple_GET_ITEM"(PyObject *, Py_ssize_t)
    Py_ssize_t list_size "PyList_GET_SIZE"(PyObject *)
    Py_ssize_t tuple_size "PyTuple_GET_SIZE"(PyObject *)

cdef extern from "small_int.h":
    bint small_int(PyObject *, int64_t *) noexcept

cdef enum:
    BLOCK = 8192  # few enough to stay in the cache, enough to pay for the call that converts them
    MAX_RANK = 64

# How the values of the present block are held.
cdef enum:
    NOTHING
    INT64
    UINT64
    FLOAT64
    COMPLEX128

# What has been seen.
cdef enum:
    SEEN_BOOL = 1
    SEEN_INT = 2
    SEEN_NEGATIVE = 4
    SEEN_ABOVE_INT64 = 8
    SEEN_FLOAT = 16
    SEEN_COMPLEX = 32

BOOL, INT, NEGATIVE = SEEN_BOOL, SEEN_INT, SEEN_NEGATIVE
ABOVE_INT64, FLOAT, COMPLEX = SEEN_ABOVE_INT64, SEEN_FLOAT, SEEN_COMPLEX

# float64 holds every int up to here.
cdef int64_t EXACT = <int64_t>1 << 53


cdef inline bint _is_sequence(PyObject *item) noexcept:
    return is_list(item) or is_tuple(item)


cdef inline Py_ssize_t _length(PyObject *sequence) noexcept:
    return list_size(sequence) if is_list(sequence) else tuple_size(sequence)


cdef inline PyObject *_item(PyObject *sequence, Py_ssize_t position) noexcept:
    return list_item(sequence, position) if is_list(sequence) else tuple_item(sequence, position)


cdef class Leaves:
    """The values of a list or tuple, nested to any depth, in row-major order.

    Parameters
    ----------
    nested : list or tuple
    resolve : callable
        Called with every item that is no list, tuple, float, int or complex; returns one of these or a numpy array,
        or raises TypeError.

    Attributes
    ----------
    shape : tuple of ints
        Of the whole, read from the first item on every axis; `take` checks that all others agree.
    seen : int
        The types and ranges of the Python numbers taken so far, as a sum of BOOL, INT, NEGATIVE, ABOVE_INT64, FLOAT,
        COMPLEX.
    """

    cdef readonly tuple shape
    cdef readonly int seen
    cdef object resolve
    cdef list nodes
    cdef object special
    cdef Py_ssize_t sizes[MAX_RANK]
    cdef Py_ssize_t positions[MAX_RANK]
    cdef Py_ssize_t rank
    cdef Py_ssize_t level
    cdef Py_ssize_t room
    cdef int held
    cdef Py_ssize_t count
    cdef object block
    cdef int64_t *integers
    cdef uint64_t *naturals
    cdef double *floats

    def __init__(self, nested, resolve):
        self.resolve = resolve
        self.shape = self._first_shape(nested)
        self.rank = len(self.shape)
        self.room = 1
        for axis in range(self.rank):
            self.sizes[axis] = self.shape[axis]
            self.room = min(self.room * max(1, min(self.sizes[axis], BLOCK)), BLOCK)
        self.nodes = [None] * self.rank
        self.nodes[0] = nested
        self.restart()

    def restart(self):
        """Begins again with the first value."""
        self.special = None
        self.seen = 0
        self.positions[0] = 0
        self.level = 0

    cdef tuple _first_shape(self, node):
        cdef list shape = []
        while True:
            node = self._resolved(node)
            if isinstance(node, cnp.ndarray):
                shape.extend(node.shape)
                break
            if not isinstance(node, (list, tuple)):
                break
            shape.append(len(node))
            if len(node) == 0 or len(shape) > MAX_RANK:
                break
            node = node[0]
        if len(shape) > MAX_RANK:
            raise ValueError(f"a nested sequence has at most {MAX_RANK} axes; this one is deeper")
        return tuple(shape)

    cdef object _resolved(self, item):
        if isinstance(item, (list, tuple, float, int, complex)):
            return item
        return self.resolve(item)

    def take(self):
        """The next values in order: a block of at most 8192 in an array that the next call overwrites, an array that
        was an item, or an int beyond 64 bits. None at the end.

        Raises ValueError where the sequence is ragged, and whatever `resolve` raises.
        """
        if self.block is None:
            # It serves all four types.
            self.block = np.empty(2 * self.room)
            self.floats = <double *>cnp.PyArray_DATA(self.block)
            self.integers = <int64_t *>self.floats
            self.naturals = <uint64_t *>self.floats
        self.held = NOTHING
        self.count = 0
        while self.special is None and self.level >= 0 and self.count < self.room:
            if self.level < self.rank - 1:
                self._descend()
            elif not self._read_items():
                break
        if self.count > 0:
            return self._filled()
        special = self.special
        self.special = None
        return special

    cdef object _filled(self):
        if self.held == INT64:
            return self.block.view(np.int64)[:self.count]
        if self.held == UINT64:
            return self.block.view(np.uint64)[:self.count]
        if self.held == FLOAT64:
            return self.block[:self.count]
        return self.block.view(np.complex128)[:self.count]

    cdef int _descend(self) except -1:
        """One step on an axis of sequences: into the next one, or back up after the last."""
        cdef object node = self.nodes[self.level]
        cdef Py_ssize_t position = self.positions[self.level]
        if self._at_end(<PyObject *>node, position):
            return 0
        self.positions[self.level] = position + 1
        item = <object>_item(<PyObject *>node, position)
        if not _is_sequence(<PyObject *>item):
            item = self._resolved(item)
        if isinstance(item, cnp.ndarray):
            if (<object>item).shape != self.shape[self.level + 1:]:
                self._refuse(self.level, (<object>item).shape)
            self.special = item
        elif not _is_sequence(<PyObject *>item):
            self._refuse(self.level, ())
        elif _length(<PyObject *>item) != self.sizes[self.level + 1]:
            self._refuse(self.level, (len(item),))
        else:
            self.level += 1
            self.nodes[self.level] = item
            self.positions[self.level] = 0
        return 0

    cdef inline bint _at_end(self, PyObject *sequence, Py_ssize_t position) except -1:
        """Leaves a sequence after its last item; ValueError where its length is not what it was."""
        cdef Py_ssize_t length = _length(sequence)
        if length != self.sizes[self.level]:
            raise ValueError(f"a list of {self.sizes[self.level]} items changed to {length} while it was read")
        if position < length:
            return False
        self.level -= 1
        return True

    cdef bint _read_items(self) except -1:
        """Reads on in the innermost sequence; False where the block must be handed over first."""
        cdef object node = self.nodes[self.level]
        cdef PyObject *sequence = <PyObject *>node
        cdef Py_ssize_t position = self.positions[self.level]
        cdef int taken = 1
        while self.count < self.room:
            if self._at_end(sequence, position):
                return True
            taken = self._read(_item(sequence, position), True)
            if taken == 0:
                break
            position += 1
            if self.special is not None:
                break
            if self.held == INT64:
                position = self._read_plain_ints(sequence, position)
            elif self.held == FLOAT64:
                position = self._read_plain_floats(sequence, position)
        self.positions[self.level] = position
        return taken != 0

    cdef Py_ssize_t _read_plain_ints(self, PyObject *sequence, Py_ssize_t position) noexcept:
        """Reads on as long as the items are plain ints that are read inline; the position after them."""
        cdef Py_ssize_t start = position
        cdef Py_ssize_t end = min(_length(sequence), position + self.room - self.count)
        cdef int64_t *target = self.integers + self.count
        cdef int64_t value, signs = 0
        cdef PyObject *item
        while position < end:
            item = _item(sequence, position)
            if not (is_plain_int(item) and small_int(item, &value)):
                break
            signs |= value
            target[position - start] = value
            position += 1
        if position > start:
            self.count += position - start
            self.seen |= SEEN_INT | (SEEN_NEGATIVE if signs < 0 else 0)
        return position

    cdef Py_ssize_t _read_plain_floats(self, PyObject *sequence, Py_ssize_t position) noexcept:
        """The same for plain floats."""
        cdef Py_ssize_t start = position
        cdef Py_ssize_t end = min(_length(sequence), position + self.room - self.count)
        cdef double *target = self.floats + self.count
        cdef PyObject *item
        while position < end:
            item = _item(sequence, position)
            if not is_plain_float(item):
                break
            target[position - start] = float_value(item)
            position += 1
        if position > start:
            self.count += position - start
            self.seen |= SEEN_FLOAT
        return position

    cdef inline int _read(self, PyObject *item, bint python_number) except -1:
        """Puts a value into the block, or makes it the special one: 1. Or 0, where the block holds another type."""
        cdef int overflow = 0
        cdef int64_t value
        if is_float(item):
            return self._put_float(float_value(item), python_number)
        if is_int(item):
            if not small_int(item, &value):
                value = int_value(item, &overflow)
                if overflow != 0:
                    return self._put_large(<object>item, overflow, python_number)
            if python_number:
                if is_bool(item):
                    self.seen |= SEEN_BOOL
                else:
                    self.seen |= SEEN_INT | (SEEN_NEGATIVE if value < 0 else 0)
            return self._put_int(value)
        return self._read_other(<object>item, python_number)

    cdef inline int _put_float(self, double value, bint python_number) noexcept:
        if python_number:
            self.seen |= SEEN_FLOAT
        if self.held == NOTHING:
            self.held = FLOAT64
        if self.held == FLOAT64:
            self.floats[self.count] = value
        elif self.held == COMPLEX128:
            self.floats[2 * self.count] = value
            self.floats[2 * self.count + 1] = 0.0
        else:
            return 0
        self.count += 1
        return 1

    cdef inline int _put_int(self, int64_t value) noexcept:
        if self.held == NOTHING:
            self.held = INT64
        if self.held == INT64:
            self.integers[self.count] = value
        elif self.held == UINT64 and value >= 0:
            self.naturals[self.count] = <uint64_t>value
        elif self.held >= FLOAT64 and -EXACT <= value <= EXACT:
            return self._put_float(<double>value, False)
        else:
            return 0
        self.count += 1
        return 1

    cdef int _put_large(self, object item, int sign, bint python_number) except -1:
        cdef uint64_t value
        if python_number:
            self.seen |= SEEN_INT | (SEEN_NEGATIVE if sign < 0 else SEEN_ABOVE_INT64)
        if sign < 0 or item.bit_length() > 64:
            if self.count > 0:
                return 0
            self.special = int(item)
            return 1
        value = unsigned_value(<PyObject *>item)
        if self.held == NOTHING:
            self.held = UINT64
        if self.held != UINT64:
            return 0
        self.naturals[self.count] = value
        self.count += 1
        return 1

    cdef int _read_other(self, object item, bint python_number) except -1:
        if PyComplex_Check(item):
            if python_number:
                self.seen |= SEEN_COMPLEX
            if self.held == NOTHING:
                self.held = COMPLEX128
            if self.held != COMPLEX128:
                return 0
            self.floats[2 * self.count] = PyComplex_RealAsDouble(item)
            self.floats[2 * self.count + 1] = PyComplex_ImagAsDouble(item)
            self.count += 1
            return 1
        if isinstance(item, (list, tuple)):
            self._refuse(self.level, (len(item),))
        resolved = self.resolve(item)
        if not isinstance(resolved, cnp.ndarray):
            if isinstance(resolved, (list, tuple)):
                self._refuse(self.level, (len(resolved),))
            return self._read(<PyObject *>resolved, False)
        if (<object>resolved).ndim != 0:
            self._refuse(self.level, (<object>resolved).shape)
        if self.count > 0:
            return 0
        self.special = resolved
        return 1

    cdef int _refuse(self, Py_ssize_t level, tuple shape) except -1:
        expected = self.shape[level + 1:]
        given = f"has shape {shape}" if shape else "is a scalar"
        wanted = f"shape {expected}" if expected else "a scalar"
        raise ValueError(f"ragged nesting: an item on axis {level} {given} where the first one there has {wanted}")
