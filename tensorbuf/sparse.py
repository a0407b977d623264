"""SparseNdArray: an array of which only the elements that differ from a default are kept."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Self, SupportsIndex, cast

import numpy as np

from tensorbuf import index
from tensorbuf._kernels import select as kernel
from tensorbuf._kernels.select import Selector
from tensorbuf._kernels.view import class_of
from tensorbuf.assignment import assigned_scalar, check_object
from tensorbuf.doors.partner import partner
from tensorbuf.entries import checked_entries, is_default, matches, row_major
from tensorbuf.equality import all_equal, same_dtype
from tensorbuf.errors import ReadOnlyError, ShapeError
from tensorbuf.memory import ShapeLike, check_shape, empty
from tensorbuf.nd_array import NdArray
from tensorbuf.shape import coordinates
from tensorbuf.view import View

__all__ = ["SparseNdArray"]

Array = np.ndarray[Any, Any]


class SparseNdArray(NdArray):
    """An array of which only the elements that differ from a default are kept, with their coordinates (COO).

    It is read-only, and reads as a dense array does; slices of it are sparse. Only what is asked for is computed: the
    dense size may be far beyond memory. An instance is also one of the typed class for its dtype.

    Parameters
    ----------
    indices : array-like of integers, shape (n, rank)
        The coordinates of the kept elements, in any order, none twice. *Copied*.
    values : array-like, shape (n,)
        The kept elements, one for each row of `indices`. *Copied*.
    shape : int or iterable of ints
    default : scalar, optional
        The value of all other elements; by default the zero of the dtype, False, or None for objects.

    Raises
    ------
    TypeError
        If `indices` are no integers, or `default` is not of the dtype of `values`.
    ShapeError
        If the ranks, counts or columns do not agree.
    IndexError
        If an index is outside `shape`.
    ValueError
        If a place has two values.

    Examples
    --------
    >>> from tensorbuf import index as ix, ndarrays
    >>> sparse = ndarrays.sparse_of([[0, 0], [1, 2]], [1, 2], (3, 4))
    >>> sparse.tolist()
    [[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    >>> sparse.slice(ix.all(), ix.slice_from(2)).indices.tolist()
    [[1, 0]]

    References
    ----------
    ``org.tensorflow.ndarray.SparseNdArray``.
    """

    __slots__ = ("_default", "_dims", "_entries", "_rows", "_vector")

    _entries: Array  # int64, n x rank
    _vector: NdArray
    _dims: tuple[int, ...]
    _default: Any
    _rows: dict[tuple[int, ...], int] | None

    def __new__(cls, indices: Any, values: Any, shape: ShapeLike, default: Any = None) -> Self:
        dims = check_shape(shape)
        vector = NdArray(values, copy=True)
        entries = checked_entries(indices, dims)
        if vector.rank != 1 or vector.size != len(entries):
            raise ShapeError(f"{len(entries)} indices need a vector of as many values, got shape {vector.shape}")
        ordered = entries[row_major(entries)]
        twice = (ordered[1:] == ordered[:-1]).all(axis=1)
        if twice.any():
            raise ValueError(f"the place {tuple(ordered[1:][twice][0].tolist())} has more than one value")
        return cls._of(entries, vector, dims, _default(default, vector))

    @classmethod
    def _of(cls, entries: Array, vector: NdArray, dims: tuple[int, ...], default: Any) -> Self:
        sparse = cast(Self, View.__new__(_sparse_class(vector.dtype)))
        for array in (entries, vector._array):
            array.flags.writeable = False
        sparse._entries, sparse._vector, sparse._dims, sparse._default = entries, vector, dims, default
        sparse._rows = None
        sparse._element_type = vector._element_type
        return sparse

    @classmethod
    def from_dense(cls, nd: Any, default: Any = None) -> SparseNdArray:
        """The sparse array of the same elements, of which those that are the default are left out.

        Parameters
        ----------
        nd : array-like
            *Copied*.
        default : scalar, optional
            By default the zero of the dtype, or None for objects. -0.0 is not the default 0.0, and NaN is the default
            NaN.

        Examples
        --------
        >>> from tensorbuf import SparseNdArray
        >>> SparseNdArray.from_dense([[0, 7], [0, 0]]).indices.tolist()
        [[0, 1]]
        """
        dense = NdArray(nd)
        value = _default(default, dense)
        values = dense._values()
        kept = ~is_default(values, value)
        entries = np.argwhere(kept).astype(np.int64)
        vector = NdArray._wrap(values[kept], element_type=dense._element_type)
        return cls._of(entries, vector, tuple(dense.shape), value)

    @classmethod
    def from_scipy(cls, m: Any) -> SparseNdArray:
        """The elements of a sparse array or matrix of scipy, *copied*; entries for one place are summed. The default is
        0.

        Raises
        ------
        TypeError
            If `m` is no sparse array.
        """
        if not hasattr(m, "tocoo"):
            raise TypeError(f"a sparse array or matrix of scipy is needed, got {type(m).__name__}")
        coo = m.tocoo(copy=True)
        coo.sum_duplicates()
        return cls(np.stack(coo.coords, axis=1), coo.data, coo.shape)

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.coo_array`` of the same elements.

        Raises
        ------
        ShapeError
            Unless the rank is 2.
        ValueError
            If the default is not zero.
        ImportError
            If scipy is not installed.
        """
        if self.rank != 2:
            raise ShapeError(f"scipy's sparse arrays have rank 2, this one has shape {self.shape}")
        if self._default != 0:
            raise ValueError(f"scipy's sparse arrays have the default 0, this one has {self._default!r}")
        scipy_sparse = partner("scipy.sparse", "to_scipy", "scipy")
        return scipy_sparse.coo_array((self._vector.to_numpy(copy=True), tuple(self._entries.T)), shape=self._dims)

    def to_dense(self) -> NdArray:
        """A new writable dense array of all elements."""
        return NdArray._wrap(self._read(), element_type=self._element_type)

    def sort_indices_and_values(self) -> SparseNdArray:
        """A new array of the same elements, kept in row-major order."""
        order = row_major(self._entries)
        return self._kept(self._entries[order], order, self._dims)

    @property
    def indices(self) -> NdArray:
        """The coordinates of the kept elements, as they were given: a read-only LongNdArray of shape ``(n, rank)``."""
        return NdArray._wrap(self._entries)

    @property
    def values(self) -> NdArray:
        """The kept elements, one for each row of `indices`: a read-only vector."""
        return self._vector

    @property
    def default(self) -> Any:
        """The value of all elements that are not kept."""
        return self._default

    def _lengths(self) -> tuple[int, ...]:
        return self._dims

    @property
    def rank(self) -> int:
        return len(self._dims)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._vector.dtype

    @property
    def read_only(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseNdArray):
            return super().__eq__(other)
        if self.shape != other.shape or not same_dtype(self.dtype, other.dtype):
            return False
        places, row = np.unique(np.concatenate([self._entries, other._entries]), axis=0, return_inverse=True)
        own, others = (np.full(len(places), array._default, array.dtype) for array in (self, other))
        own[row.reshape(-1)[: len(self._entries)]] = self._vector._array
        others[row.reshape(-1)[len(self._entries) :]] = other._vector._array
        everywhere = len(places) == self.size or bool(self._default == other._default)
        return everywhere and all_equal(own, others)

    __hash__ = None

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._of(self._entries, copy.deepcopy(self._vector, memo), self._dims, self._default)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return SparseNdArray._of, (self._entries, self._vector, self._dims, self._default)

    def _values(self) -> Array:
        return self._read()

    def _read(self) -> Array:
        dense = empty(self._dims, self.dtype)
        dense[...] = self._default
        if len(self._entries):
            dense[tuple(self._entries.T)] = self._vector._array if self._dims else self._vector._array[0]
        return dense

    def _reshaped(self, shape: tuple[int, ...]) -> Self:
        if shape != self._dims:
            raise ShapeError(f"a sparse array of shape {self.shape} keeps it; take to_dense() for shape {shape}")
        return self

    def _refuse_write(self) -> Any:
        raise ReadOnlyError("sparse arrays are read-only; write to what to_dense() gives")

    def _value(self, coords: tuple[Any, ...]) -> Any:
        if len(coords) != self.rank:
            self._refuse(kernel.NOT_SCALAR, coords, 0)
        place = self._place(coords)
        if self._rows is None:
            self._rows = {tuple(entry): row for row, entry in enumerate(self._entries.tolist())}
        row = self._rows.get(place)
        return self._default if row is None else self._vector.get_object(row)

    def _get(self, coords: tuple[Any, ...]) -> Self:
        if len(coords) > self.rank:
            self._refuse(kernel.TOO_MANY, coords, 0)
        return self._slice(tuple(index.at(coordinate) for coordinate in self._place(coords)))

    def _place(self, coords: tuple[Any, ...]) -> tuple[int, ...]:
        place = tuple(self._coordinate(coordinate) for coordinate in coords)
        for axis, coordinate in enumerate(place):
            if not 0 <= coordinate < self._dims[axis]:
                self._refuse(kernel.OUTSIDE, coords, axis)
        return place

    def _item(self, items: tuple[Any, ...]) -> Any:
        plain = self._plain_items(items)
        element = self._slice(tuple(_selector(item) for item in plain))
        if len(plain) == self.rank and all(isinstance(item, int) for item in plain):
            return element.get_object()
        return element

    def _each(self, depth: int, function: Callable[..., object], indexed: bool) -> None:
        for coords in coordinates(self._dims[:depth]):
            element = self.get(*coords)
            if indexed:
                function(coords, element)
            else:
                function(element)

    def _slice(self, selectors: tuple[Any, ...]) -> Self:
        """Resolves the selectors axis by axis: each sieves the entries, and gives the kept ones their new
        coordinates."""
        rows = np.arange(len(self._entries))
        columns: list[Array] = []
        dims: list[int] = []
        axis = 0
        for selector in self._spread(selectors):
            if selector.kind == kernel.NEW_AXIS:
                columns.append(np.zeros(len(rows), np.int64))
                dims.append(1)
                continue
            problem, kept = selector.kept(self._dims[axis])
            if kept is None:
                self._refuse(problem, selectors, axis)
            found, places = matches(self._entries[rows, axis], kept)
            rows = rows[found]
            columns = [column[found] for column in columns]
            if not isinstance(kept, int):
                columns.append(places)
                dims.append(len(kept))
            axis += 1
        entries = np.stack(columns, axis=1) if columns else np.empty((len(rows), 0), np.int64)
        return self._kept(entries, rows, tuple(dims))

    def _spread(self, selectors: tuple[Any, ...]) -> list[Selector]:
        """The selectors, one for each axis, with the new axes between them."""
        for selector in selectors:
            if not isinstance(selector, Selector):
                self._refuse(kernel.NO_SELECTOR, (selector,), 0)
        ellipses = [place for place, selector in enumerate(selectors) if selector.kind == kernel.ELLIPSIS]
        new = sum(selector.kind == kernel.NEW_AXIS for selector in selectors)
        rest = self.rank - (len(selectors) - len(ellipses) - new)
        if len(ellipses) > 1:
            self._refuse(kernel.TWO_ELLIPSES, selectors, 0)
        if rest < 0:
            self._refuse(kernel.TOO_MANY, selectors, 0)
        place = ellipses[0] if ellipses else len(selectors)
        return [*selectors[:place], *[index.all()] * rest, *selectors[place + 1 :]]

    def _kept(self, entries: Array, rows: Array, dims: tuple[int, ...]) -> Self:
        """The sparse array of some of the entries, under new coordinates."""
        vector = NdArray._wrap(self._vector._array[rows], element_type=self._element_type)
        return self._of(entries, vector, dims, self._default)


def _selector(item: Any) -> Any:
    """A part of a key in square brackets as a selector."""
    if item is None:
        return index.newaxis()
    if item is Ellipsis:
        return index.ellipsis()
    if isinstance(item, int):
        return index.at(item)
    if isinstance(item, slice):
        step = 1 if item.step is None else item.step
        return Selector("slice", (item.start, item.stop, step), kernel.CLIPPED, item.start, item.stop, step)
    return item


def _default(default: Any, elements: NdArray) -> Any:
    """The default as a Python value, checked against the elements' dtype."""
    if elements.dtype.hasobject:
        return check_object(default, elements._element_type or object)
    return assigned_scalar(False if default is None else default, elements.dtype).item()


@functools.cache
def _sparse_class(dtype: np.dtype[Any]) -> type[SparseNdArray]:
    """The sparse class that is also the typed class for `dtype`, and so has its typed methods."""
    dense = class_of(dtype)
    if dense is NdArray:
        return SparseNdArray
    return type(f"Sparse{dense.__name__}", (SparseNdArray, dense), {"__slots__": (), "__doc__": SparseNdArray.__doc__})
