cimport numpy as cnp


cpdef int gather(cnp.ndarray view, tuple tables, cnp.ndarray out) except -1
cpdef bint may_overlap(cnp.ndarray a, cnp.ndarray b)
