"""Swift's collection protocol over the leading axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbuf.memory import check_integer
from tensorbuf.shaped_value import Value

if TYPE_CHECKING:
    from tensorbuf.shaped_array import ShapedArraySlice

__all__ = ["Collection"]

_UNSET: Any = object()


class Collection(Value):
    """The elements of an array: what lies along its leading axis.

    An element is a ShapedArraySlice of one rank less, a run of elements one of the same rank. Both *share* the scalars
    of the array in O(1), until one of the holders is mutated. A scalar (rank 0) has no elements, and taking a part of
    it is an IndexError.
    """

    __slots__ = ()

    @property
    def indices(self) -> range:
        """The coordinates of the elements, ``range(count)``."""
        return range(self.count)

    @property
    def start_index(self) -> int:
        """The coordinate of the first element: 0, in every slice."""
        return 0

    @property
    def end_index(self) -> int:
        """The coordinate behind the last element: `count`."""
        return self.count

    def __iter__(self) -> Iterator[ShapedArraySlice]:
        """The elements of the value that the array has now, whatever happens to it meanwhile."""
        return _elements(self.__copy__(), range(self.count))

    def __reversed__(self) -> Iterator[ShapedArraySlice]:
        return _elements(self.__copy__(), reversed(range(self.count)))

    @property
    def first(self) -> ShapedArraySlice | None:
        """The first element, None where there is none."""
        return self[0] if self.count else None

    @property
    def last(self) -> ShapedArraySlice | None:
        """The last element, None where there is none."""
        return self[-1] if self.count else None

    def prefix(self, n: int) -> ShapedArraySlice:
        """The first `n` elements, all where there are fewer.

        Raises
        ------
        ValueError
            If `n` is negative.

        Examples
        --------
        >>> from tensorbuf import ShapedArray
        >>> print(ShapedArray(shape=[3, 2], scalars=range(6)).prefix(2))
        [[0, 1],
         [2, 3]]
        """
        return self[: self._clipped(n)]

    def suffix(self, n: int) -> ShapedArraySlice:
        """The last `n` elements, all where there are fewer; ValueError if `n` is negative."""
        return self[self.count - self._clipped(n) :]

    def drop_first(self, n: int = 1) -> ShapedArraySlice:
        """All but the first `n` elements, none where there are fewer; ValueError if `n` is negative."""
        return self[self._clipped(n) :]

    def drop_last(self, n: int = 1) -> ShapedArraySlice:
        """All but the last `n` elements, none where there are fewer; ValueError if `n` is negative."""
        return self[: self.count - self._clipped(n)]

    def _clipped(self, n: int) -> int:
        n = check_integer(n, "a number of elements")
        if n < 0:
            raise ValueError(f"a number of elements is not negative, got {n}")
        return min(n, self.count)

    def prefix_up_to(self, i: int) -> ShapedArraySlice:
        """The elements before coordinate `i`, which may be `count`; ``x[:i]``."""
        return self[: check_integer(i, "a coordinate")]

    def prefix_through(self, i: int) -> ShapedArraySlice:
        """The elements up to and including the one at coordinate `i`."""
        self._part(i := check_integer(i, "a coordinate"))
        return self[: i + 1 or None]

    def suffix_from(self, i: int) -> ShapedArraySlice:
        """The elements from coordinate `i` on, which may be `count`; ``x[i:]``."""
        return self[check_integer(i, "a coordinate") :]

    def prefix_while(self, predicate: Callable[[ShapedArraySlice], object]) -> ShapedArraySlice:
        """The elements before the first one for which ``predicate(element)`` is false."""
        value = self.__copy__()
        return value[: _leading(value, predicate)]

    def drop_while(self, predicate: Callable[[ShapedArraySlice], object]) -> ShapedArraySlice:
        """The elements from the first one on for which ``predicate(element)`` is false."""
        value = self.__copy__()
        return value[_leading(value, predicate) :]

    def split(
        self,
        separator: Any = _UNSET,
        *,
        where: Callable[[ShapedArraySlice], object] | None = None,
        max_splits: int | None = None,
        omitting_empty_subsequences: bool = True,
    ) -> list[ShapedArraySlice]:
        """The runs of elements between separators, which are dropped.

        Parameters
        ----------
        separator : number, list, array or holder
            An element: of the elements' shape, and of their dtype where it has one.
        where : callable
            ``where(element)`` is true for a separator. Exactly one of `separator` and `where` is given.
        max_splits : int, optional
            So many cuts at most; what is left is one run. Left out: no limit.
        omitting_empty_subsequences : bool
            Whether empty runs are left out (they do not count as cuts then).

        Raises
        ------
        TypeError
            If both or none of `separator` and `where` are given, or the separator is no element.
        ShapeError
            If the separator has another shape than the elements.
        ValueError
            If `max_splits` is negative.

        Examples
        --------
        >>> from tensorbuf import ShapedArray
        >>> [part.scalars.tolist() for part in ShapedArray([1, 0, 2, 3, 0, 0, 4, 0]).split(0)]
        [[1], [2, 3], [4]]
        """
        if (separator is _UNSET) == (where is None):
            raise TypeError("split takes either a separator or where=, exactly one of the two")
        most = -1 if max_splits is None else check_integer(max_splits, "max_splits")
        if max_splits is not None and most < 0:
            raise ValueError(f"max_splits is not negative, got {most}")
        value = self.__copy__()
        cut = where or _equal_to(value._matching(separator, value.shape[1:]))
        runs: list[ShapedArraySlice] = []
        start = 0
        for end in range(value.count if most else 0):
            if cut(value[end]):
                kept = end > start or not omitting_empty_subsequences
                if kept:
                    runs.append(value[start:end])
                start = end + 1
                if kept and len(runs) == most:
                    break
        if start < value.count or not omitting_empty_subsequences:
            runs.append(value[start:])
        return runs

    def swap_at(self, i: int, j: int) -> None:
        """Exchange the elements at two coordinates; a mutation."""
        first, shape = self._part(check_integer(i, "a coordinate"))
        second, _ = self._part(check_integer(j, "a coordinate"))
        if first != second:
            self._swap(first, second, math.prod(shape))


def _equal_to(separator: Value | np.ndarray[Any, Any]) -> Callable[[ShapedArraySlice], object]:
    array = separator._array() if isinstance(separator, Value) else separator
    return lambda element: np.array_equal(element._array(), array)


def _elements(value: Collection, indices: Iterable[int]) -> Iterator[ShapedArraySlice]:
    for index in indices:
        yield value[index]


def _leading(value: Collection, predicate: Callable[[ShapedArraySlice], object]) -> int:
    return next((index for index in range(value.count) if not predicate(value[index])), value.count)
