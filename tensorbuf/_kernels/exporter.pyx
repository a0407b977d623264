"""The compiled base of every class that exports its memory: the buffer protocol, from a numpy array."""

from cpython.buffer cimport PyObject_GetBuffer
from cpython.ref cimport Py_DECREF


cdef class Exporter:
    """Exports the memory of `_array`, or refuses with BufferError where that is None or numpy has no format for it."""

    cdef object exported(self):
        """The array whose memory may go out; None where a subclass keeps its own in."""
        return self._array

    def __getbuffer__(self, Py_buffer *view, int flags):
        array = self.exported()
        if array is None:
            raise BufferError("these elements do not lie in memory by strides; take to_numpy() for a copy of them")
        try:
            PyObject_GetBuffer(array, view, flags)
        except ValueError as error:
            raise BufferError(f"cannot export {array.dtype} memory: {error}") from None
        # Cython put None into view.obj before this call, and the array took its place without giving None back.
        Py_DECREF(None)
