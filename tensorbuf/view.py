"""View: a numpy array, and an index table for each axis that needs one; reading it out, and writing it."""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, Self

import numpy as np

from tensorbuf import index
from tensorbuf._kernels import select as kernel
from tensorbuf._kernels.get import gather, may_overlap, scatter
from tensorbuf._kernels.select import Selector
from tensorbuf._kernels.view import Indexed
from tensorbuf.doors.exports import Exports
from tensorbuf.errors import RankError, ReadOnlyError, ShapeError, shown
from tensorbuf.memory import empty
from tensorbuf.shape import Shape, check_integer, coordinates, reshaped_strides, shape_of_dims

__all__ = ["View", "copy_elements", "shown_values"]

Array = np.ndarray[Any, Any]

_SHOWN_VALUES = 8
_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = _SHORT.maxlong = 50


class View(Indexed, Exports):
    """Elements of a numpy array, which they share.

    Along an axis, the coordinates of the view are those of the array, or those that the axis' index table lists.
    """

    __slots__ = ()

    _array: Array

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return shape_of_dims(self._lengths())

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """The bytes of the elements: size times item size."""
        return self.size * self.dtype.itemsize

    @property
    def read_only(self) -> bool:
        """True if writing is refused."""
        return not self._array.flags.writeable

    def stream_of_objects(self) -> Iterator[Any]:
        """An iterator over the values of the scalars, in row-major order."""
        return itertools.starmap(self.get_object, coordinates(self.shape))

    def tolist(self) -> Any:
        """The values as nested lists; of a scalar, the value."""
        return self._values().tolist()

    def to_numpy(self, copy: bool | None = None) -> Array:
        """The elements as a numpy array.

        Parameters
        ----------
        copy : bool, optional
            True for a new array; False for one that *shares* the memory, or ValueError where no strides describe it
            (index tables, sparse arrays); None, the default, shares where that can be.
        """
        return self.__array__(copy=copy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._array is not None and self._tables is None and not copy:
            return np.array(self._array.view(), dtype=dtype, copy=copy)
        if copy is False:
            raise ValueError("these elements do not lie in memory by strides: they can be exported as a copy only")
        values = self._read()
        return values if dtype is None else values.astype(dtype, copy=False)

    def _exported(self) -> tuple[Array, bool]:
        if self._array is not None and self._tables is None:
            return self._array, False
        return self._read(), True

    def __len__(self) -> int:
        if not self.rank:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __index__(self) -> int:
        if self.rank or self.dtype.kind not in "iu":
            raise TypeError(f"an integer scalar is needed, got {self.dtype} of shape {self.shape}")
        return int(self.get_object())

    def _values(self) -> Array:
        """The elements as an array that *shares* their memory where they lie by strides, else as a copy."""
        return self._array if self._tables is None else self._read()

    def _read(self) -> Array:
        """A new C-contiguous array of the elements, of their byte order."""
        dtype: np.dtype[Any] = self._array.dtype
        out = empty(self._lengths(), dtype)
        if dtype.hasobject:
            out[...] = self._array if self._tables is None else self._array[np.ix_(*self._coordinates())]
        else:
            gather(self._array, self._tables, out)
        return out

    def _write(self, values: Array) -> None:
        """Stores a C-contiguous array of this dtype and shape, which shares no memory with the view."""
        if not self.dtype.hasobject:
            scatter(values, self._array, self._tables)
        elif self._tables is None:
            self._array[...] = values
        else:
            # numpy does not say in which order it writes: of a place that is listed several times, only the last is.
            last = [_last_places(coordinates) for coordinates in self._coordinates()]
            kept = [coordinates[places] for coordinates, places in zip(self._coordinates(), last, strict=True)]
            self._array[np.ix_(*kept)] = values[np.ix_(*last)]

    def _reshaped(self, shape: tuple[int, ...]) -> Self:
        """The view of another shape of the same size; ShapeError where no strides describe it."""
        if shape == self.shape:
            return self.slice()
        if self._tables is None:
            strides = reshaped_strides(self._array.shape, self._array.strides, shape)
            if strides is not None:
                return self._laid_out(shape, strides)
        else:
            # Axes with a table stay as they are; those of length 1 may come and go.
            bare = self.slice(*(index.at(0) if length == 1 else index.all() for length in self.shape))
            if bare.shape == tuple(length for length in shape if length != 1):
                return bare.slice(*(index.newaxis() if length == 1 else index.all() for length in shape))
        raise ShapeError(
            f"no view of shape {shape} reaches these elements of shape {self.shape}; reshape a copy of them"
        )

    def _coordinates(self) -> list[Array]:
        """The coordinates on each axis of the array."""
        if self._tables is None:
            return [np.arange(length) for length in self.shape]
        axes = zip(self.shape, self._tables, strict=True)
        return [np.arange(length) if table is None else table for length, table in axes]

    def _coordinate(self, item: object) -> int:
        return check_integer(item, "a coordinate")

    def _plain_items(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """A key of square brackets with its integers as ints, and its index lists as selectors."""
        return tuple(self._plain_item(item) for item in items)

    def _plain_item(self, item: Any) -> Any:
        if item is None or item is Ellipsis or isinstance(item, (slice, Selector)):
            return item
        if isinstance(item, (list, tuple)) or getattr(item, "shape", ()) != ():
            return index.listed(item)
        return check_integer(item, "an index")

    def _refuse(self, problem: int, items: tuple[Any, ...], axis: int) -> NoReturn:
        """Raises the error for `items`, which do not suit this view, or of which one does not suit `axis`."""
        if problem == kernel.NO_SELECTOR:
            raise TypeError(f"slice takes selectors, as ix.at(1); got {shown(items[0])}")
        if problem == kernel.TWO_ELLIPSES:
            raise ValueError("at most one ellipsis can take the axes that are left over, got several")
        if problem == kernel.TOO_DEEP:
            raise RankError(f"an array has at most 64 axes; this would have {self.rank} and the new ones")
        if problem == kernel.TOO_MANY:
            raise RankError(f"{len(items)} selectors or coordinates are too many for shape {self.shape}")
        if problem == kernel.NOT_SCALAR:
            raise RankError(f"a scalar of shape {self.shape} takes {self.rank} coordinates, got {len(items)}")
        self._refuse_item(problem, items, axis)

    def _refuse_item(self, problem: int, items: tuple[Any, ...], axis: int) -> NoReturn:
        taking = [item for item in items if not _takes_none(item)]
        before = next((i for i, item in enumerate(items) if _is_ellipsis(item)), len(items))
        position = axis if axis < before else axis - self.rank + len(taking)
        item, length = taking[position], self.shape[axis]
        where = f"axis {axis} of shape {self.shape}"
        if problem == kernel.BOUND_OUTSIDE:
            raise IndexError(f"{shown(item)} has a bound outside {where}; bounds are {-length} to {length}")
        if isinstance(item, Selector) and item.kind == kernel.WRAPPED:
            outside = next(c for c in item.arguments if not -length <= c < length)
            raise IndexError(f"{outside} in an index list is outside {where}")
        raise IndexError(f"{shown(item)} is outside {where}")

    def _refuse_write(self) -> NoReturn:
        raise ReadOnlyError("the array is read-only; write to a copy of it")


def shown_values(values: Iterable[Any], size: int) -> str:
    """The first of `size` values for a repr, which stays short whatever they are."""
    texts = [_short(value) for value in itertools.islice(values, _SHOWN_VALUES)]
    return f"[{', '.join(texts if size <= _SHOWN_VALUES else [*texts, '...'])}]"


def _short(value: Any) -> str:
    try:
        return _SHORT.repr(value)
    except ValueError:
        return shown(value)


def copy_elements(source: View, target: View) -> None:
    """Copies the elements of `source` into `target`, of its shape and, but for the byte order, its dtype.

    The two may overlap: it is as if the source were read first. Of several writes to one place, the last one in
    row-major order stays.

    Raises
    ------
    ReadOnlyError
        If `target` is read-only.
    """
    if target.read_only:
        target._refuse_write()
    if source._copied_to(target):
        return
    apart = source.dtype == target.dtype and not may_overlap(source._array, target._array)
    values = source._array
    if not apart or source._tables is not None or not values.flags.c_contiguous:
        values = source._read()
    target._write(values.astype(target.dtype, copy=False))


def _last_places(table: Array) -> Array:
    """Where the last one of each of the values of a vector is."""
    places: Array = len(table) - 1 - np.unique(table[::-1], return_index=True)[1]
    return places


def _is_ellipsis(item: Any) -> bool:
    return item is Ellipsis or item == index.ellipsis()


def _takes_none(item: Any) -> bool:
    return item is None or _is_ellipsis(item) or item == index.newaxis()
