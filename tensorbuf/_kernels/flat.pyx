"""The compiled base of TensorBuffer: the elements of a numpy array by flat index.

`_array` is C-contiguous, and nobody resizes or reshapes it. A pointer is formed from a checked position only. What is
out of the ordinary (an index that is no int or out of range, a value to be converted, read-only memory) is left to the
methods that the Python class has for it.
"""

import numpy as np

cimport numpy as cnp
from cpython.long cimport PyLong_CheckExact

from tensorbuf._kernels.exporter cimport Exporter
from tensorbuf._kernels.scalar cimport fits_as_it_is

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, void *) except? -1

# What an object has that was made past its class' ways to make one.
cdef object _NOTHING = np.empty(0, np.uint8)


cdef class Flat(Exporter):
    """Elements of a C-contiguous numpy array, which they share, by their positions in row-major order."""

    def __cinit__(self):
        self._array = _NOTHING

    def __len__(self):
        cdef cnp.ndarray array = self._array
        return cnp.PyArray_SIZE(array)

    def __getitem__(self, index):
        cdef cnp.ndarray array = self._array
        return cnp.PyArray_GETITEM(array, self._at(array, index))

    def __setitem__(self, index, value):
        cdef cnp.ndarray array = self._array
        cdef char *at = self._at(array, index)
        if cnp.PyArray_ISWRITEABLE(array) and fits_as_it_is(value, array.descr):
            cnp.PyArray_SETITEM(array, at, value)
        else:
            self._store((at - cnp.PyArray_BYTES(array)) // array.descr.itemsize, value)

    cdef char *_at(self, cnp.ndarray array, index) except NULL:
        cdef Py_ssize_t size = cnp.PyArray_SIZE(array), position = size
        if PyLong_CheckExact(index):
            position = PyNumber_AsSsize_t(index, NULL)
        if not -size <= position < size:
            position = self._position(index)
            # An index that is no int may have run code that gave this object other memory.
            if not -size <= position < size:
                raise IndexError(f"flat index {position} is out of range for {size} elements")
        if position < 0:
            position += size
        return cnp.PyArray_BYTES(array) + position * array.descr.itemsize
