"""NdArraySequence: the elements of an array along its first axes, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tensorbuf.shape import coordinates
from tensorbuf.view import View

__all__ = ["NdArraySequence"]

Element = TypeVar("Element", bound=View)


class NdArraySequence(Generic[Element]):
    """The elements on an axis of an NdArray, in row-major order: views that *share* its memory.

    Made by `NdArray.elements` and `NdArray.scalars`. It can be walked any number of times.

    Examples
    --------
    >>> import tensorbuf
    >>> matrix = tensorbuf.NdArray([[1, 2, 3], [4, 5, 6]])
    >>> rows = matrix.elements(0)
    >>> len(rows), [row.tolist() for row in rows]
    (2, [[1, 2, 3], [4, 5, 6]])
    >>> matrix.scalars().for_each_indexed(lambda coords, scalar: scalar.set_long(10 * coords[0] + coords[1]))
    >>> matrix.tolist()
    [[0, 1, 2], [10, 11, 12]]

    References
    ----------
    ``org.tensorflow.ndarray.NdArraySequence``.
    """

    __slots__ = ("_depth", "_source")

    def __init__(self, source: Element, depth: int) -> None:
        self._source = source
        self._depth = depth

    def __len__(self) -> int:
        return math.prod(self._source.shape[: self._depth])

    def __repr__(self) -> str:
        shape, depth = tuple(self._source.shape), self._depth
        return f"NdArraySequence({math.prod(shape[:depth])} of shape {shape[depth:]}, dtype={self._source.dtype})"

    def __iter__(self) -> Iterator[Element]:
        return itertools.starmap(self._source.get, self._coordinates())

    def indexed(self) -> Iterator[tuple[tuple[int, ...], Element]]:
        """An iterator of each element with its coordinates before it: ``for coords, element in sequence.indexed()``."""
        return ((coords, self._source.get(*coords)) for coords in self._coordinates())

    def as_slices(self) -> NdArraySequence[Element]:
        """The sequence whose iteration gives a new view each time; that is this one."""
        return self

    def for_each(self, function: Callable[[Element], object]) -> None:
        """Calls ``function(element)`` for every element. The view may be used again for the next call."""
        self._source._each(self._depth, function, False)

    def for_each_indexed(self, function: Callable[[tuple[int, ...], Element], object]) -> None:
        """Calls ``function(coords, element)`` for every element; only the tuple of coordinates is new each time."""
        self._source._each(self._depth, function, True)

    def _coordinates(self) -> Iterator[tuple[int, ...]]:
        return coordinates(self._source.shape[: self._depth])
