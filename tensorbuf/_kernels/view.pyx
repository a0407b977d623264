"""The compiled base of NdArray: elements of a numpy array, reached by coordinates and by selectors.

An axis of the view is an axis of `_array`, or, where `_tables` has a table for it, those coordinates on that axis that
the table lists (int64, contiguous, every one on the axis). `_tables` is None where no axis has a table. Nobody resizes
or reshapes `_array`, so that coordinates checked once stay valid; pointers are formed from checked coordinates only.

What is out of the ordinary (a sparse array, whose `_array` is None; an integer that is no int; an error to be worded)
is left to the methods that the Python class has for it.
"""

cimport numpy as cnp
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cython cimport final
from libc.stdint cimport int64_t

from tensorbuf._kernels.exporter cimport Exporter
from tensorbuf._kernels.scalar cimport fits_as_it_is
from tensorbuf._kernels.get cimport gather, may_overlap
from tensorbuf._kernels.select cimport (
    ELLIPSIS,
    FITS,
    NEW_AXIS,
    NO_SELECTOR,
    NOT_SCALAR,
    OUTSIDE,
    POINT,
    TOO_DEEP,
    TOO_MANY,
    TWO_ELLIPSES,
    Run,
    Selector,
    clipped,
    point,
)

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArrayObject_fields:
        char *data
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, PyObject *)
    int NPY_ARRAY_WRITEABLE
    bint PyDataType_REFCHK(cnp.dtype)

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, void *) except? -1
    Py_ssize_t Py_REFCNT(PyObject *)
    int PySlice_Unpack(object, Py_ssize_t *start, Py_ssize_t *end, Py_ssize_t *step) except -1

cdef enum:
    MAX_RANK = 64


cdef struct Geometry:
    # A view in the making: its first element, and its axes.
    char *data
    int rank
    cnp.npy_intp lengths[MAX_RANK]
    cnp.npy_intp strides[MAX_RANK]


cdef class Indexed(Exporter):
    """Elements of a numpy array, which they share."""

    cdef public tuple _tables
    cdef public object _element_type
    cdef public bint _requires_grad

    cdef object exported(self):
        if self._tables is not None or self._array is None or PyDataType_REFCHK((<cnp.ndarray>self._array).descr):
            return None
        return self._array

    def _lengths(self):
        """The lengths of the axes, as a tuple."""
        return tuple([_length(self, axis) for axis in range(cnp.PyArray_NDIM(<cnp.ndarray>self._array))])

    def get(self, *coords):
        """The element at `coords`: a view of the axes that are left; without coordinates, the array itself."""
        if not coords:
            return self
        if self._array is None:
            return self._get(coords)
        cdef Geometry view
        cdef int rank = <int>len(coords)
        self._check_rank(coords, rank)
        view.data = self._enter(coords, rank, False)
        return self._rest(&view, rank)

    def slice(self, *selectors):
        """A view of what the selectors keep, each of one axis."""
        return self._select(selectors, False)

    def get_object(self, *coords):
        """The value of the scalar at `coords`."""
        if self._array is None:
            return self._value(coords)
        return cnp.PyArray_GETITEM(<cnp.ndarray>self._array, self._locate(coords))

    def set_object(self, value, *coords):
        """Assigns the value of the scalar at `coords`."""
        if self._array is None:
            self._refuse_write()
        self._store(self._locate(coords), value)
        return self

    def __getitem__(self, key):
        cdef tuple items = key if type(key) is tuple else (key,)
        if self._array is None:
            return self._item(items)
        if not _is_plain(items):
            items = self._plain_items(items)
        if self._is_scalar_key(items):
            return cnp.PyArray_GETITEM(<cnp.ndarray>self._array, self._enter(items, <int>len(items), True))
        return self._select(items, True)

    def __setitem__(self, key, value):
        cdef tuple items = key if type(key) is tuple else (key,)
        if self._array is None:
            self._refuse_write()
        if not _is_plain(items):
            items = self._plain_items(items)
        cdef cnp.dtype dtype = (<cnp.ndarray>self._array).descr
        if self._is_scalar_key(items) and (PyDataType_REFCHK(dtype) or fits_as_it_is(value, dtype)):
            self._store(self._enter(items, <int>len(items), True), value)
        else:
            self._select(items, True).set(value)

    def _copied_to(self, Indexed target):
        """Copies the elements to a target if that is the plain case: contiguous, apart, and alike in all that is
        checked."""
        if self._array is None or target._array is None or target._tables is not None:
            return False
        cdef cnp.ndarray source = self._array, out = target._array
        cdef int axis
        if source.descr != out.descr or PyDataType_REFCHK(out.descr):
            return False
        if cnp.PyArray_NDIM(source) != cnp.PyArray_NDIM(out):
            return False
        for axis in range(cnp.PyArray_NDIM(out)):
            if _length(self, axis) != cnp.PyArray_DIM(out, axis):
                return False
        if not cnp.PyArray_FLAGS(out) & NPY_ARRAY_WRITEABLE or not cnp.PyArray_IS_C_CONTIGUOUS(out):
            return False
        if may_overlap(source, out):
            return False
        gather(source, self._tables, out)
        return True

    def _laid_out(self, tuple shape, tuple strides):
        """The view of another shape, whose `strides` reach nothing but elements of this one."""
        cdef Geometry view
        view.data = cnp.PyArray_BYTES(<cnp.ndarray>self._array)
        view.rank = 0
        for length, stride in zip(shape, strides):
            _add(&view, length, stride)
        return self._made(&view, None)

    def _each(self, int depth, function, bint indexed):
        """Calls `function` with every element of the first `depth` axes, row-major; where `indexed`, also coordinates.

        The element is used again for the next call if nobody has kept it.
        """
        cdef cnp.npy_intp coords[MAX_RANK]
        cdef Py_ssize_t lengths[MAX_RANK]
        cdef Geometry view
        cdef Indexed element = None
        cdef int axis
        cdef cnp.ndarray array = self._array
        for axis in range(depth):
            coords[axis] = 0
            lengths[axis] = _length(self, axis)
            if lengths[axis] == 0:
                return
        while True:
            view.data = cnp.PyArray_BYTES(array)
            for axis in range(depth):
                view.data += _offset(self, axis, coords[axis])
            if element is not None and _is_ours_alone(element):
                (<PyArrayObject_fields *><PyObject *>element._array).data = view.data
            else:
                element = None
                element = self._rest(&view, depth)
            if indexed:
                function(_tuple(coords, depth), element)
            else:
                function(element)
            axis = depth - 1
            while axis >= 0:
                coords[axis] += 1
                if coords[axis] < lengths[axis]:
                    break
                coords[axis] = 0
                axis -= 1
            if axis < 0:
                return

    @final
    cdef int _check_rank(self, tuple coords, int limit) except -1:
        """Refuses another number of coordinates than `limit`, or more than there are axes."""
        if len(coords) != limit or limit > cnp.PyArray_NDIM(<cnp.ndarray>self._array):
            self._refuse(TOO_MANY, coords, 0)
        return 0

    @final
    cdef char *_locate(self, tuple coords) except NULL:
        """The scalar at `coords`, one for each axis and none negative."""
        if len(coords) != cnp.PyArray_NDIM(<cnp.ndarray>self._array):
            self._refuse(NOT_SCALAR, coords, 0)
        return self._enter(coords, <int>len(coords), False)

    @final
    cdef char *_enter(self, tuple coords, int count, bint wrap) except NULL:
        """The first element at `coords` of the first axes; negative ones count from the end where they may `wrap`."""
        cdef char *data = cnp.PyArray_BYTES(<cnp.ndarray>self._array)
        cdef Py_ssize_t coordinate, length
        cdef int axis, overflow = 0
        for axis in range(count):
            item = coords[axis]
            if not PyLong_CheckExact(item):
                item = self._coordinate(item)
            coordinate = PyLong_AsLongLongAndOverflow(item, &overflow)
            length = _length(self, axis)
            if wrap and -length <= coordinate < 0:
                coordinate += length
            if overflow or not 0 <= coordinate < length:
                self._refuse(OUTSIDE, coords, axis)
            data += _offset(self, axis, coordinate)
        return data

    @final
    cdef object _rest(self, Geometry *view, int depth):
        """The view from `view.data` on of the axes behind the first `depth`."""
        cdef int axis
        view.rank = 0
        for axis in range(depth, cnp.PyArray_NDIM(<cnp.ndarray>self._array)):
            _add_axis(self, axis, view)
        return self._made(view, None if self._tables is None else self._tables[depth:])

    @final
    cdef object _select(self, tuple items, bint indexing):
        """The view that selectors keep; where `indexing`, also ints, slices, None and Ellipsis."""
        if self._array is None:
            return self._slice(items)
        cdef Geometry view
        cdef int problem = FITS
        cdef int axis = 0, before, _kept
        cdef list tables = None if self._tables is None else []
        cdef int left = self._left_over(items, indexing)
        view.data = cnp.PyArray_BYTES(<cnp.ndarray>self._array)
        view.rank = 0
        for item in items:
            before = view.rank
            table = None
            kind = _kind(item)
            if kind == NEW_AXIS:
                _add(&view, 1, 0)
            elif kind == ELLIPSIS:
                for _kept in range(left):
                    self._keep(axis, &view, tables)
                    axis += 1
                continue
            else:
                table = self._narrow(item, axis, &view, &problem)
                if problem != FITS:
                    self._refuse(problem, items, axis)
                axis += 1
            if table is not None and tables is None:
                tables = [None] * before
            if tables is not None and view.rank > before:
                tables.append(table)
        while axis < cnp.PyArray_NDIM(<cnp.ndarray>self._array):
            self._keep(axis, &view, tables)
            axis += 1
        return self._made(&view, None if tables is None else tuple(tables))

    @final
    cdef int _left_over(self, tuple items, bint indexing) except -1:
        """How many axes no item takes, once the items are known to be ones that may stand together."""
        cdef int taken = 0, new = 0, ellipses = 0
        cdef int rank = cnp.PyArray_NDIM(<cnp.ndarray>self._array)
        for item in items:
            if not indexing and type(item) is not Selector:
                self._refuse(NO_SELECTOR, (item,), 0)
            kind = _kind(item)
            if kind == NEW_AXIS:
                new += 1
            elif kind == ELLIPSIS:
                ellipses += 1
            else:
                taken += 1
        if ellipses > 1:
            self._refuse(TWO_ELLIPSES, items, 0)
        if taken > rank:
            self._refuse(TOO_MANY, items, 0)
        if rank + new > MAX_RANK:
            self._refuse(TOO_DEEP, items, 0)
        return rank - taken

    @final
    cdef int _keep(self, int axis, Geometry *view, list tables) except -1:
        _add_axis(self, axis, view)
        if tables is not None:
            tables.append(None if self._tables is None else self._tables[axis])
        return 0

    @final
    cdef object _narrow(self, item, int axis, Geometry *view, int *problem):
        """Adds what `item` keeps of `axis` to the view, and returns the table where it needs one."""
        cdef Py_ssize_t length = _length(self, axis), stride = cnp.PyArray_STRIDE(<cnp.ndarray>self._array, axis)
        cdef Selector selector = item if type(item) is Selector else None
        cdef Run run
        table = None if self._tables is None else self._tables[axis]
        problem[0] = _run(item, selector, length, &run)
        if problem[0] != FITS:
            return None
        if selector is not None and not selector.is_run():
            coordinates = selector.table(length)
            table = coordinates if table is None else table[coordinates]
        elif table is not None and run.count > 1:
            table = table[_slice(&run)].copy()
        else:
            view.data += _offset(self, axis, run.start) if run.count else 0
            if not _drops(item, selector):
                _add(view, run.count, stride * run.step if run.count > 1 else stride)
            return None
        _add(view, cnp.PyArray_DIM(<cnp.ndarray>self._array, axis), stride)
        return table

    @final
    cdef object _made(self, Geometry *view, tuple tables):
        """The view as an object of this one's class, sharing its memory and all that it carries."""
        cdef cnp.ndarray array = self._array
        # The subclass's own __new__ reads arguments; this is what it comes to in the end.
        cdef Indexed made = (<PyTypeObject *>Indexed).tp_new(type(self), <PyObject *>(), NULL)
        Py_INCREF(array.descr)
        viewed = PyArray_NewFromDescr(
            &PyArray_Type,
            array.descr,
            view.rank,
            view.lengths,
            view.strides,
            view.data,
            cnp.PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE,
            NULL,
        )
        Py_INCREF(array)
        cnp.PyArray_SetBaseObject(viewed, array)
        made._array = viewed
        if tables is not None and any(table is not None for table in tables):
            made._tables = tables
        made._element_type = self._element_type
        made._requires_grad = self._requires_grad
        return made

    @final
    cdef bint _is_scalar_key(self, tuple items):
        if len(items) != cnp.PyArray_NDIM(<cnp.ndarray>self._array):
            return False
        for item in items:
            if not PyLong_CheckExact(item):
                return False
        return True

    @final
    cdef int _store(self, char *at, value) except -1:
        """Writes a value that is right for the element as it is; any other is made so, or refused, first."""
        cdef cnp.ndarray array = self._array
        if not cnp.PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE:
            self._refuse_write()
        if not fits_as_it_is(value, array.descr):
            value = self._checked(value)
        cnp.PyArray_SETITEM(array, at, value)
        return 0


cdef inline const int64_t *_table(Indexed view, int axis) noexcept:
    if view._tables is None or view._tables[axis] is None:
        return NULL
    return <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>view._tables[axis])


cdef inline Py_ssize_t _length(Indexed view, int axis) noexcept:
    if _table(view, axis):
        return cnp.PyArray_DIM(<cnp.ndarray>view._tables[axis], 0)
    return cnp.PyArray_DIM(<cnp.ndarray>view._array, axis)


cdef inline Py_ssize_t _offset(Indexed view, int axis, Py_ssize_t coordinate) noexcept:
    """The bytes from coordinate 0 of the axis of `_array` to a checked coordinate of the view."""
    cdef const int64_t *table = _table(view, axis)
    return (table[coordinate] if table else coordinate) * cnp.PyArray_STRIDE(<cnp.ndarray>view._array, axis)


cdef inline bint _is_plain(tuple items):
    """True for a key of ints, slices, None, Ellipsis and selectors only."""
    for item in items:
        if not (
            PyLong_CheckExact(item)
            or type(item) is slice
            or type(item) is Selector
            or item is None
            or item is Ellipsis
        ):
            return False
    return True


cdef inline int _kind(item):
    if type(item) is Selector:
        return (<Selector>item).kind
    return NEW_AXIS if item is None else ELLIPSIS if item is Ellipsis else POINT


cdef inline bint _drops(item, Selector selector):
    return PyLong_CheckExact(item) if selector is None else selector.kind == POINT


cdef inline int _run(item, Selector selector, Py_ssize_t length, Run *run) except *:
    cdef Py_ssize_t start, end, step
    if selector is not None:
        return selector.resolve(length, run)
    if PyLong_CheckExact(item):
        return point(PyNumber_AsSsize_t(item, NULL), length, run)
    PySlice_Unpack(item, &start, &end, &step)
    run[0] = clipped(start, end, step, length)
    return FITS


cdef slice _slice(Run *run):
    cdef Py_ssize_t end = run.start + run.step * run.count
    return slice(run.start, None if end < 0 else end, run.step)


cdef inline void _add(Geometry *view, Py_ssize_t length, Py_ssize_t stride) noexcept:
    view.lengths[view.rank] = length
    view.strides[view.rank] = stride
    view.rank += 1


cdef inline void _add_axis(Indexed source, int axis, Geometry *view) noexcept:
    cdef cnp.ndarray array = source._array
    _add(view, cnp.PyArray_DIM(array, axis), cnp.PyArray_STRIDE(array, axis))


cdef tuple _tuple(cnp.npy_intp *coords, int count):
    return tuple([coords[axis] for axis in range(count)])


cdef bint _is_ours_alone(Indexed element):
    """True if nobody else holds the element or its array, and moving the array keeps what it says of its alignment."""
    array = element._array
    return (
        Py_REFCNT(<PyObject *>element) == 1
        and Py_REFCNT(<PyObject *>array) == 2
        and cnp.PyArray_ISALIGNED(array)
    )


# The class of each of numpy's type numbers that has one of its own.
cdef dict _typed = {}
cdef object _plain = None


def use_classes(plain, dict typed):
    """Tell `class_of` the classes: for each dtype that has one of its own, and for all others."""
    global _plain
    _plain = plain
    for dtype, cls in typed.items():
        # Two of numpy's types have the same elements where C's do, long and long long.
        for letter in "?bhilqfd":
            found = cnp.PyArray_DescrFromType(ord(letter))
            if found == dtype:
                _typed[found.num] = cls


def class_of(cnp.dtype dtype):
    """The class of arrays of a dtype, whatever its byte order."""
    return _typed.get(dtype.type_num, _plain)


def wrapped(cnp.ndarray array):
    """The array as an object of the class for its dtype, which *shares* its memory."""
    cls = class_of(array.descr)
    cdef Indexed made = (<PyTypeObject *>Indexed).tp_new(cls, <PyObject *>(), NULL)
    made._array = array
    if PyDataType_REFCHK(array.descr):
        made._element_type = object
    return made
