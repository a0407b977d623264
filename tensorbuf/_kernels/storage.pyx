"""Copy-on-write storage: the scalars that holders share, and who holds them, counted exactly.

A *holder* (a ShapedArray or a slice of one) is a contiguous part of a Storage. `Storage.users` counts the holders and
the live exports, which hold like any other. A holder that is the only user writes in place, any other moves to a copy
of its own part first. Writable pointers are counted in `Storage.pointers` too; they belong to the holder that gave
them. While one lives nobody else can be shown that memory: a new holder or export is then given a copy.

All holders that ever shared a storage form a family, with one lock. Under it lie: `users`, `pointers`, which storage
a holder has, and every read and write of scalars that no count protects. It holds without a GIL too (lock.pxd). While
it is taken nothing can raise, and no Python object is made or destroyed (either may run arbitrary code, which could
want the same lock): blocks are allocated before and dropped after.

What makes the unchecked moves safe: `_start + _size` never exceeds the storage's length, `Region`s are checked
against the holder they belong to, and the sources of `_write` have been checked by the caller to hold what is
written.
"""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport (
    PyBUF_F_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBUF_STRIDES,
    PyBUF_WRITABLE,
)
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from libc.string cimport memcpy

from tensorbuf._kernels.lock cimport Lock, give, lock_free, lock_init, move_under_lock, take
from tensorbuf._kernels.memory import allocate

cnp.import_array()

cdef extern from "Python.h":
    bint PyIndex_Check(object)
    Py_ssize_t PyNumber_AsSsize_t(object, void *) except? -1
    object PyNumber_Index(object)

cdef enum:
    SWAP_BLOCK = 1024

cdef tuple no_arguments = ()

# The class of every slice; the facade sets it when it is imported.
cdef type slice_kind = None


def use_slices(type kind):
    """Names the subclass of Holder that slices are made of."""
    global slice_kind
    slice_kind = kind


@cython.final
@cython.no_gc
cdef class Family:
    """What never changes among holders that may share: their element type, and the lock for all that does change."""

    cdef Lock lock
    cdef object dtype
    cdef Py_ssize_t itemsize
    # The buffer format of the dtype (None where it has none), and that of a pointer to its scalars.
    cdef bytes format
    cdef bytes pointer_format

    def __cinit__(self):
        lock_init(&self.lock)

    def __dealloc__(self):
        lock_free(&self.lock)

    cdef Storage room(self, Py_ssize_t size):
        """New storage for `size` scalars, with one user. Not to be called under the lock."""
        cdef Storage storage = Storage.__new__(Storage)
        storage.memory = allocate((size,), self.dtype, False)
        storage.address = <char *>cnp.PyArray_DATA(<cnp.ndarray>storage.memory)
        storage.users = 1
        return storage


@cython.final
@cython.no_gc
cdef class Storage:
    """Scalars, and the number of those who use them."""

    cdef object memory
    cdef char *address
    cdef Py_ssize_t users
    cdef Py_ssize_t pointers
    # Memory that came with a pickle: never written.
    cdef bint borrowed


cdef struct Region:
    Py_ssize_t at
    Py_ssize_t length
    Py_ssize_t size
    Py_ssize_t depth


cdef void exchange(char *a, char *b, Py_ssize_t nbytes) noexcept nogil:
    cdef char block[SWAP_BLOCK]
    cdef Py_ssize_t part
    while nbytes > 0:
        part = min(nbytes, <Py_ssize_t>SWAP_BLOCK)
        memcpy(block, a, <size_t>part)
        memcpy(a, b, <size_t>part)
        memcpy(b, block, <size_t>part)
        a += part
        b += part
        nbytes -= part


cdef Py_ssize_t position(object key, str what) except? -1:
    """An int of any size, clipped to what fits."""
    if PyLong_CheckExact(key) or PyIndex_Check(key):
        return PyNumber_AsSsize_t(key, NULL)
    raise TypeError(f"{what} is an int, got a {type(key).__name__}")


cdef int outside(str what, object key, Py_ssize_t length) except -1:
    # Python refuses to write out an int of several thousand digits.
    bits = PyNumber_Index(key).bit_length()
    shown = key if bits < 2000 else f"an int of {bits} bits"
    raise IndexError(f"{what} {shown} is out of range for {length} elements, counted from {-length}")


cdef Py_ssize_t bound(object key, Py_ssize_t length, Py_ssize_t default) except -1:
    """The end of a range, from 0 to `length`."""
    if key is None:
        return default
    cdef Py_ssize_t found = position(key, "a bound of a slice")
    if found < 0:
        found += length
    if not 0 <= found <= length:
        outside("bound", key, length)
    return found


@cython.no_gc
cdef class Holder:
    """The compiled base of ShapedArray and ShapedArraySlice: which part of which storage, and its geometry.

    The shape is `_length` followed by `_dims[_depth + 1:]`, or () where `_depth` axes are all there are: so a slice
    shares the tuple of its base. Geometry never changes once a holder is made.
    """

    cdef Family _family
    cdef Storage _storage
    cdef Py_ssize_t _start
    cdef tuple _dims
    cdef Py_ssize_t _depth
    cdef Py_ssize_t _length
    cdef Py_ssize_t _size
    cdef Py_ssize_t _position

    def __dealloc__(self):
        if self._storage is not None:
            take(&self._family.lock)
            self._storage.users -= 1
            give(&self._family.lock)

    # Making holders

    def _adopt(self, cnp.ndarray memory, tuple dims, bytes format, bytes pointer_format, bint borrowed):
        """Makes self, just created, the only user of `memory`: C-contiguous, aligned, native, of shape `dims`."""
        cdef Family family = Family.__new__(Family)
        family.dtype = memory.dtype
        family.itemsize = memory.dtype.itemsize
        family.format = format
        family.pointer_format = pointer_format
        cdef Storage storage = Storage.__new__(Storage)
        storage.memory = memory
        storage.address = <char *>cnp.PyArray_DATA(memory)
        storage.users = 1
        storage.borrowed = borrowed
        self._family = family
        self._storage = storage
        self._dims = dims
        self._length = dims[0] if dims else 0
        self._size = cnp.PyArray_SIZE(memory)

    cdef Region _whole(self):
        cdef Region region
        region.at = 0
        region.length = self._length
        region.size = self._size
        region.depth = self._depth
        return region

    cdef Holder _sibling(self, type kind, Region region, Py_ssize_t base):
        """A new holder with the geometry of a part, as yet without scalars."""
        cdef Holder other = <Holder>(<PyTypeObject *>Holder).tp_new(kind, <PyObject *>no_arguments, NULL)
        other._family = self._family
        other._dims = self._dims
        other._depth = region.depth
        other._length = region.length
        other._size = region.size
        other._position = base + region.at
        return other

    cdef void _attach(self, Holder other, Py_ssize_t at) noexcept:
        """Makes `other` a user of self's storage, under the lock."""
        other._storage = self._storage
        other._start = self._start + at
        self._storage.users += 1

    cdef Holder _share(self, type kind, Region region, Py_ssize_t base):
        """A new holder of a part, O(1); its scalars are copied only where a writable pointer to them is alive."""
        cdef Holder other = self._sibling(kind, region, base)
        cdef Storage room
        cdef bint shared
        take(&self._family.lock)
        shared = self._storage.pointers == 0
        if shared:
            self._attach(other, region.at)
        give(&self._family.lock)
        if not shared:
            room = self._family.room(region.size)
            take(&self._family.lock)
            self._move(room.address, self._address(region.at), region.size)
            give(&self._family.lock)
            other._storage = room
        return other

    def _shared(self, type kind):
        """A `kind` of the same value, that counts as an array of its own."""
        return self._share(kind, self._whole(), 0)

    def __copy__(self):
        """A holder of the same value; O(1), the scalars are shared until one of the two is mutated."""
        return self._share(type(self), self._whole(), self._position)

    def __deepcopy__(self, memo):
        """As `copy.copy`: a value has no parts that could be shared by mistake."""
        return self._share(type(self), self._whole(), self._position)

    # Geometry

    @property
    def dtype(self):
        """The numpy dtype of the scalars, in native byte order."""
        return self._family.dtype

    @property
    def shape(self):
        """The dimensions, a tuple of ints."""
        if self._depth == len(self._dims):
            return ()
        return (self._length, *self._dims[self._depth + 1:])

    @property
    def rank(self):
        """The number of dimensions."""
        return len(self._dims) - self._depth

    @property
    def scalar_count(self):
        """The number of scalars: the product of the shape."""
        return self._size

    @property
    def count(self):
        """The number of elements, the leading dimension; 0 for a scalar."""
        return self._length

    @property
    def _base_position(self):
        return self._position

    def __len__(self):
        return self._length

    cdef int _locate(self, object key, Region *region) except -1:
        region[0] = self._whole()
        if self._depth == len(self._dims):
            raise IndexError("a scalar has no elements, so it takes no subscript; its value is .scalar")
        if not isinstance(key, tuple):
            return self._narrow(key, region)
        cdef Py_ssize_t parts = len(<tuple>key), place
        if parts > len(self._dims) - self._depth:
            self._refuse_parts(parts)
        for place in range(parts):
            part = (<tuple>key)[place]
            if place < parts - 1 and type(part) is slice:
                raise TypeError("only the last part of a key may be a slice: no other part is contiguous")
            self._narrow(part, region)
        return 0

    cdef int _narrow(self, object key, Region *region) except -1:
        """Goes from a region of rank 1 or more to an element or a subarray of it."""
        cdef Py_ssize_t row = region.size // region.length if region.length else 0
        cdef Py_ssize_t start, stop, step
        if type(key) is slice:
            step = 1 if (<slice>key).step is None else position((<slice>key).step, "a step")
            if step != 1:
                raise ValueError(f"a slice of contiguous scalars has step 1, got {step}")
            start = bound((<slice>key).start, region.length, 0)
            stop = bound((<slice>key).stop, region.length, region.length)
            region.length = max(stop - start, 0)
            region.size = region.length * row
        else:
            start = position(key, "an index")
            if start < 0:
                start += region.length
            if not 0 <= start < region.length:
                outside("index", key, region.length)
            region.depth += 1
            region.length = self._dims[region.depth] if region.depth < len(self._dims) else 0
            region.size = row
        region.at += start * row
        return 0

    def __getitem__(self, key):
        """An element array or a subarray; O(1), the scalars are shared until one of the two is mutated."""
        cdef Region region
        self._locate(key, &region)
        return self._share(slice_kind, region, self._position)

    def _part(self, key):
        """Where `x[key]` lies: (scalars before it, its shape)."""
        cdef Region region
        self._locate(key, &region)
        if region.depth == len(self._dims):
            return region.at, ()
        return region.at, (region.length, *self._dims[region.depth + 1:])

    # Reading and writing

    cdef char *_address(self, Py_ssize_t at) noexcept:
        """Where scalar `at` lies; valid under the lock only."""
        return self._storage.address + (self._start + at) * self._family.itemsize

    cdef void _move(self, char *target, const char *source, Py_ssize_t size) noexcept:
        move_under_lock(&self._family.lock, target, source, size * self._family.itemsize)

    cdef Storage _own(self):
        """Takes the lock, with self the only user of its storage. Returns the storage it had, to be kept till after."""
        cdef Storage room = None, had
        while True:
            take(&self._family.lock)
            had = self._storage
            if had.users - had.pointers == 1 and not had.borrowed:
                return had
            if room is not None:
                self._move(room.address, self._address(0), self._size)
                had.users -= 1
                self._storage = room
                self._start = 0
                return had
            give(&self._family.lock)
            had = None
            room = self._family.room(self._size)

    def _read(self, cnp.ndarray target):
        """Copies all the scalars into `target`: C-contiguous, of the same dtype and count."""
        take(&self._family.lock)
        self._move(<char *>cnp.PyArray_DATA(target), self._address(0), self._size)
        give(&self._family.lock)

    def _write(self, Py_ssize_t at, cnp.ndarray source):
        """Writes the scalars of `source`, C-contiguous and of the same dtype, from scalar `at` on."""
        _had = self._own()
        self._move(self._address(at), <char *>cnp.PyArray_DATA(source), cnp.PyArray_SIZE(source))
        give(&self._family.lock)

    def _write_from(self, Py_ssize_t at, Holder source):
        """Writes the scalars of another holder, or of self, from scalar `at` on."""
        if source._family is not self._family:
            # Two locks are never held at once: the source is held by a count instead.
            source = source._share(slice_kind, source._whole(), 0)
        _had = self._own()
        self._move(self._address(at), source._address(0), source._size)
        give(&self._family.lock)

    def _swap(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t size):
        """Exchanges `size` scalars from `a` on with those from `b` on; the two do not overlap."""
        _had = self._own()
        exchange(self._address(a), self._address(b), size * self._family.itemsize)
        give(&self._family.lock)

    # Exporting

    def _pointer(self, bint writable):
        """An exporter of the scalars in one dimension. A writable one makes the storage unique first."""
        cdef Export export = Export.__new__(Export)
        cdef Storage _had
        export.format = self._family.pointer_format
        export.lay((self._size,))
        if writable:
            export.held = self._sibling(Holder, self._whole(), 0)
            _had = self._own()
            self._attach(export.held, 0)
            self._storage.pointers += 1
            export.writable = True
            give(&self._family.lock)
        else:
            export.held = self._share(Holder, self._whole(), 0)
        return export

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self._family.format is None:
            raise BufferError(f"{self._family.dtype} has no buffer format; take np.asarray(x), which goes without")
        cdef Export export = Export.__new__(Export)
        export.format = self._family.format
        export.lay(self.shape)
        export.held = self._share(Holder, self._whole(), 0)
        export.fill(view, flags)


@cython.final
@cython.no_gc
cdef class Export:
    """Scalars on show. It holds them as any holder does, until the last view of it is released."""

    cdef Holder held
    cdef bint writable
    cdef bytes format
    # The shape and the strides that views point to.
    cdef Py_ssize_t *geometry
    cdef Py_ssize_t rank
    cdef Py_ssize_t views

    def __dealloc__(self):
        if self.writable:
            take(&self.held._family.lock)
            self.held._storage.pointers -= 1
            give(&self.held._family.lock)
        PyMem_Free(self.geometry)

    @property
    def live(self):
        """True while a view of the scalars is alive."""
        return self.views > 0

    cdef int lay(self, tuple shape) except -1:
        cdef Py_ssize_t axis
        self.rank = len(shape)
        self.geometry = <Py_ssize_t *>PyMem_Malloc((2 * self.rank + 1) * sizeof(Py_ssize_t))
        if self.geometry == NULL:
            raise MemoryError("cannot allocate the geometry of a view")
        for axis in range(self.rank):
            self.geometry[axis] = shape[axis]
        return 0

    cdef int fill(self, Py_buffer *view, int flags) except -1:
        cdef Py_ssize_t *shape = self.geometry
        cdef Py_ssize_t *strides = self.geometry + self.rank
        cdef Py_ssize_t stride = self.held._family.itemsize, axis
        if flags & PyBUF_WRITABLE == PyBUF_WRITABLE and not self.writable:
            raise BufferError("scalars that may be shared are exported read-only; copy them, or take a mutable pointer")
        if self.rank > 1 and flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS:
            raise BufferError("the scalars lie in row-major order, not in Fortran order")
        for axis in range(self.rank - 1, -1, -1):
            strides[axis] = stride
            stride *= max(shape[axis], 1)
        take(&self.held._family.lock)
        self.views += 1
        give(&self.held._family.lock)
        view.buf = self.held._address(0)
        view.len = self.held._size * self.held._family.itemsize
        view.itemsize = self.held._family.itemsize
        view.readonly = not self.writable
        view.format = <char *>self.format if flags & PyBUF_FORMAT else NULL
        view.ndim = <int>self.rank
        view.shape = shape if flags & PyBUF_ND else NULL
        view.strides = strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL
        view.obj = self
        return 0

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.fill(view, flags)

    def __releasebuffer__(self, Py_buffer *view):
        take(&self.held._family.lock)
        self.views -= 1
        give(&self.held._family.lock)
