"""Shape: the lengths of an array's axes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn, SupportsIndex

import numpy as np

from tensorbuf.errors import ShapeError, shown

__all__ = ["UNKNOWN_SIZE", "Shape", "check_integer", "coordinates", "printable", "reshaped_strides", "shape_of_dims"]

UNKNOWN_SIZE: Final = -1

# Whatever limit a process sets, Python writes ints of 640 digits.
_PRINTABLE: Final = 10**640


class Shape(tuple[int, ...]):
    """The lengths of an array's axes: a tuple of ints with the methods of TensorFlow Java's ``Shape``.

    It compares, unpacks and hashes as a tuple. A dimension may be unknown (``UNKNOWN_SIZE``, -1), and so may the whole
    shape (`Shape.unknown`); neither can be allocated.

    Parameters
    ----------
    dims : iterable of int, or int
        The dimensions, each at least -1.

    Raises
    ------
    TypeError
        If a dimension is no integer.
    ShapeError
        If a dimension is below -1.

    Examples
    --------
    >>> from tensorbuf import Shape
    >>> Shape.of(2, 3, 4).tail()
    (3, 4)
    >>> Shape.of(9, 7).prepend(Shape.of(4, 2))
    (4, 2, 9, 7)
    >>> Shape.of(2, 3).size, Shape.of(2, -1).size, Shape.scalar().size
    (6, -1, 1)

    References
    ----------
    ``org.tensorflow.ndarray.Shape``.
    """

    __slots__ = ()

    UNKNOWN_SIZE: Final = UNKNOWN_SIZE

    def __new__(cls, dims: Iterable[SupportsIndex] | SupportsIndex = ()) -> Shape:  # noqa: PYI034
        if isinstance(dims, Shape):
            return dims
        if isinstance(dims, str) or not isinstance(dims, Iterable):
            dims = (_dimension(dims),)
        return tuple.__new__(Shape, [_dimension(dim) for dim in list(dims)])

    @staticmethod
    def of(*dims: SupportsIndex) -> Shape:
        """The shape with these dimensions."""
        return Shape(dims)

    @staticmethod
    def scalar() -> Shape:
        """The shape of a scalar: no dimensions, one element."""
        return Shape()

    @staticmethod
    def unknown() -> Shape:
        """The shape whose number of dimensions is unknown. It equals only itself."""
        return tuple.__new__(_UnknownShape)

    @staticmethod
    def is_compatible(dim: int, other: int) -> bool:
        """True if two dimensions are equal or one of them is unknown."""
        return dim == other or UNKNOWN_SIZE in (dim, other)

    @property
    def size(self) -> int:
        """The number of elements, exact; -1 if a dimension or the whole shape is unknown."""
        return UNKNOWN_SIZE if self.has_unknown_dimension else math.prod(self)

    @property
    def num_dimensions(self) -> int:
        """The number of dimensions; -1 if the shape is unknown."""
        return len(self)

    @property
    def is_scalar(self) -> bool:
        """True if there is no dimension."""
        return self.num_dimensions == 0

    @property
    def is_vector(self) -> bool:
        """True if there is one dimension."""
        return self.num_dimensions == 1

    @property
    def is_matrix(self) -> bool:
        """True if there are two dimensions."""
        return self.num_dimensions == 2

    @property
    def is_unknown(self) -> bool:
        """True if the number of dimensions is unknown."""
        return False

    @property
    def has_unknown_dimension(self) -> bool:
        """True if a dimension, or the whole shape, is unknown."""
        return UNKNOWN_SIZE in self

    def get(self, i: SupportsIndex) -> int:
        """The dimension on axis `i`, from the end if negative; -1 for every axis of an unknown shape.

        Raises
        ------
        IndexError
            If `i` is outside ``-rank <= i < rank``.
        """
        axis = check_integer(i, "an axis")
        if not -len(self) <= axis < len(self):
            raise IndexError(f"axis {axis} is out of range for shape {self}, which has {len(self)} dimensions")
        return self[axis]

    def head(self) -> Shape:
        """The shape of the first dimension alone. A scalar has none: IndexError."""
        return self.take(1)

    def tail(self) -> Shape:
        """The shape without its first dimension; of a scalar, the scalar shape."""
        return self._rebuilt(self[1:])

    def take(self, n: SupportsIndex) -> Shape:
        """The shape of the first `n` dimensions, ``0 <= n <= rank``, else IndexError."""
        return self.sub_shape(0, n)

    def take_last(self, n: SupportsIndex) -> Shape:
        """The shape of the last `n` dimensions, ``0 <= n <= rank``, else IndexError."""
        return self.sub_shape(len(self) - check_integer(n, "a number of dimensions"), len(self))

    def sub_shape(self, begin: SupportsIndex, end: SupportsIndex) -> Shape:
        """The shape of the dimensions ``begin <= axis < end``.

        Raises
        ------
        IndexError
            Unless ``0 <= begin <= end <= rank``.
        """
        first, last = check_integer(begin, "an axis"), check_integer(end, "an axis")
        known = self._rebuilt(self)
        if not 0 <= first <= last <= len(known):
            raise IndexError(f"dimensions {first} to {last} are not within shape {self}, which has {len(known)}")
        return known._rebuilt(known[first:last])

    def prepend(self, dims: Iterable[SupportsIndex] | SupportsIndex) -> Shape:
        """The shape with a dimension, or the dimensions of a shape, put in front."""
        return self._rebuilt((*Shape(dims), *self))

    def append(self, dims: Iterable[SupportsIndex] | SupportsIndex) -> Shape:
        """The shape with a dimension, or the dimensions of a shape, added at the end."""
        return self._rebuilt((*self, *Shape(dims)))

    def is_compatible_with(self, other: Iterable[SupportsIndex]) -> bool:
        """True if both may be the same shape: equal ranks, each pair of dimensions equal or one of them unknown.

        An unknown shape is compatible with every shape. Nothing is broadcast.
        """
        shape = Shape(other)
        if self.is_unknown or shape.is_unknown:
            return True
        return len(self) == len(shape) and all(map(Shape.is_compatible, self, shape))

    def as_array(self) -> np.ndarray[Any, Any] | None:
        """A new int64 array of the dimensions; None if the shape is unknown."""
        return np.array(self, np.int64)

    def to_list_or_none(self) -> list[int] | None:
        """A list of the dimensions; None if the shape is unknown."""
        return list(self)

    def _rebuilt(self, dims: tuple[int, ...]) -> Shape:
        return shape_of_dims(dims)


class _UnknownShape(Shape):
    """The shape of unknown rank: walking along its dimensions is an error."""

    __slots__ = ()

    @property
    def num_dimensions(self) -> int:
        return UNKNOWN_SIZE

    @property
    def is_unknown(self) -> bool:
        return True

    @property
    def has_unknown_dimension(self) -> bool:
        return True

    def get(self, i: SupportsIndex) -> int:
        check_integer(i, "an axis")
        return UNKNOWN_SIZE

    def as_array(self) -> None:
        return None

    def to_list_or_none(self) -> None:
        return None

    def __iter__(self) -> Iterator[int]:
        self._refuse()

    def _rebuilt(self, dims: tuple[int, ...]) -> Shape:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ShapeError("the shape is unknown, so it has no dimensions to take; give a shape whose rank is known")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UnknownShape)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_UnknownShape)

    def __repr__(self) -> str:
        return "Shape.unknown()"

    def __reduce__(self) -> tuple[Any, ...]:
        return Shape.unknown, ()


class _LongInt(int):
    """An int that Python may refuse to write out; in messages it stands as its length."""

    def __repr__(self) -> str:
        return shown(int(self))


def printable(number: int) -> int:
    """An equal int that every message can hold, however many digits it has."""
    return number if -_PRINTABLE < number < _PRINTABLE else _LongInt(number)


def check_integer(value: object, what: str) -> int:
    """`value` as a `printable` int; TypeError for a bool, a float and everything else without ``__index__``."""
    if type(value) is int:
        return printable(value)
    if not isinstance(value, (bool, np.bool)):
        try:
            return printable(operator.index(value))  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeError(f"{what} must be an int, got {shown(value)}")


def shape_of_dims(dims: Iterable[int]) -> Shape:
    """The shape of dimensions that are known to be ints and not negative."""
    return tuple.__new__(Shape, dims)


def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The strides that give the same elements in another shape of the same size; None where there are none.

    Both shapes are cut into groups of neighbouring axes with equal sizes. The old axes of a group have to lie in memory
    as one axis does; the new ones are laid out over that.
    """
    if 0 in shape:
        return (0,) * len(wanted)
    old = [(length, stride) for length, stride in zip(shape, strides, strict=True) if length != 1]
    found: list[int] = []
    while old:
        group, old = [old[0]], old[1:]
        size, end = group[0][0], len(found)
        new_size = 1
        while new_size != size or end == len(found):
            if new_size < size:
                new_size *= wanted[end]
                end += 1
            else:
                group, old = [*group, old[0]], old[1:]
                size *= group[-1][0]
        if any(stride != below[0] * below[1] for (_, stride), below in itertools.pairwise(group)):
            return None
        tail = itertools.accumulate(reversed(wanted[len(found) + 1 : end]), operator.mul, initial=group[-1][1])
        found += reversed([*tail])
    return (*found, *[0] * (len(wanted) - len(found)))


def coordinates(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The coordinates of the elements of a shape, in row-major order, one at a time."""
    if 0 in shape:
        return
    if not shape:
        yield ()
        return
    for leading in coordinates(shape[:-1]):
        for last in range(shape[-1]):
            yield (*leading, last)


def _dimension(value: SupportsIndex) -> int:
    dim = check_integer(value, "a dimension")
    if dim < UNKNOWN_SIZE:
        raise ShapeError(f"dimension {dim} is negative; a dimension is at least 0, or -1 where it is unknown")
    return dim
