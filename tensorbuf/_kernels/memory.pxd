cimport numpy as cnp

cdef object aligned(int rank, cnp.npy_intp *dims, cnp.dtype dtype, bint zeroed)
