cdef class Exporter:
    cdef public object _array

    cdef object exported(self)
