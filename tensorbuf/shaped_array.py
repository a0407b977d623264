"""ShapedArray and ShapedArraySlice: arrays that are values."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from tensorbuf import descriptions, shaped_json
from tensorbuf._kernels.digest import digest
from tensorbuf._kernels.storage import use_slices
from tensorbuf.conversion import convert
from tensorbuf.dtypes import DataType, DTypeLike
from tensorbuf.errors import RankError
from tensorbuf.memory import check_integer, empty
from tensorbuf.shaped_collection import Collection
from tensorbuf.shaped_value import Value, restore
from tensorbuf.source import register

__all__ = ["ShapedArray", "ShapedArraySlice"]

Result = TypeVar("Result")

_SUMMARIZED_ABOVE = 1000
# In a word of 64 bits, the sign bit of each float that fills it, by the bytes of one.
_SIGN_BITS = {1: 0x8080808080808080, 2: 0x8000800080008000, 4: 0x8000000080000000, 8: 0x8000000000000000}


class _Array(Collection):
    """What ShapedArray and ShapedArraySlice have in common."""

    __slots__ = ()

    @property
    def is_scalar(self) -> bool:
        """True for rank 0."""
        return self.rank == 0

    @property
    def scalar(self) -> bool | int | float | complex | None:
        """The value of an array of rank 0, exactly; None for any other.

        Setting it is a mutation: RankError where the rank is not 0, else as any assignment.
        """
        if not self.is_scalar:
            return None
        # A scalar of ml_dtypes has no Python value of its own; as a double every float is exact.
        value: bool | int | float | complex = convert(
            self._array(), np.float64 if DataType.of(self.dtype).is_floating else self.dtype
        ).item()
        return value

    @scalar.setter
    def scalar(self, value: object) -> None:
        if not self.is_scalar:
            raise RankError(f"only an array of rank 0 has a scalar to set, this one has rank {self.rank}")
        self._set(0, (), value)

    @property
    def scalars(self) -> np.ndarray[Any, Any]:
        """All scalars in row-major order: a new rank-1 numpy array, *copied*.

        Setting it is a mutation: it takes exactly `scalar_count` values.
        """
        scalars = empty((self.scalar_count,), self.dtype)
        self._read(scalars)
        return scalars

    @scalars.setter
    def scalars(self, values: object) -> None:
        self._set(0, (self.scalar_count,), values)

    def __setitem__(self, key: object, value: object) -> None:
        """Set an element or a subarray; a mutation of this holder alone.

        Parameters
        ----------
        key : int, slice or tuple
            As for reading.
        value : ShapedArray, ShapedArraySlice, array, nested list or number
            Of exactly the part's shape. An array has the dtype of this one; Python numbers are converted with
            ``overflow="raise"``.

        Raises
        ------
        TypeError
            If an array has another dtype, or a float meets an integer or bool array.
        ShapeError
            If the shape is not that of the part.
        ConversionError
            If a number does not fit the dtype.
        """
        self._set(*self._part(key), value)

    def _set(self, at: int, shape: tuple[int, ...], value: object) -> None:
        matching = self._matching(value, shape)
        if 0 in shape:
            return
        if isinstance(matching, Value):
            self._write_from(at, matching)
        else:
            self._write(at, matching)

    def with_unsafe_buffer_pointer(self, body: Callable[[memoryview], Result]) -> Result:
        """Call ``body(view)`` with the scalars as a rank-1 read-only memoryview, *shared*; returns what `body` returns.

        The view has the buffer format of the dtype; of bfloat16 and float8, which have none, that of unsigned integers
        of the same size. It is released when `body` returns or raises: to touch it after that is a ValueError.

        Raises
        ------
        BufferError
            If `body` returned and another view of the memory (an ndarray, a slice of the memoryview) outlives it.
        """
        return self._lend(body, writable=False)

    def with_unsafe_mutable_buffer_pointer(self, body: Callable[[memoryview], Result]) -> Result:
        """As `with_unsafe_buffer_pointer`, with a writable view: a mutation.

        The scalars are made this holder's own first, so no other holder sees what is written. Holders and exports that
        are made while the view lives get a copy. What was written before an exception stays.

        Examples
        --------
        >>> from tensorbuf import ShapedArray
        >>> x = ShapedArray([1, 2, 3])
        >>> def double_first(view):
        ...     view[0] *= 2
        >>> x.with_unsafe_mutable_buffer_pointer(double_first)
        >>> x.scalars
        array([2, 2, 3])
        """
        return self._lend(body, writable=True)

    def _lend(self, body: Callable[[memoryview], Result], *, writable: bool) -> Result:
        pointer = self._pointer(writable)
        view = memoryview(pointer)
        try:
            result = body(view)
        except BaseException:
            # The traceback may hold views of body's own. The error that body raised says more than that.
            with contextlib.suppress(BufferError):
                view.release()
            del pointer, view
            raise
        with contextlib.suppress(BufferError):
            view.release()
        if pointer.live:
            raise BufferError("body let a view of the scalars escape; copy what shall outlive the call")
        return result

    def __str__(self) -> str:
        """`describe`, summarising above 1000 scalars."""
        return self.describe(summarizing=self.scalar_count > _SUMMARIZED_ABOVE)

    @property
    def full_description(self) -> str:
        """All scalars on one line, without padding."""
        return descriptions.full_description(self._array())

    def describe(self, line_width: int = 80, edge_element_count: int = 3, summarizing: bool = False) -> str:
        """Swift's description: nested brackets, the scalars padded to one width.

        Parameters
        ----------
        line_width : int
            As many scalars go on a line as fit when only the scalars count, and at least one.
        edge_element_count : int
            How many elements an axis shows at either end when it is summarised.
        summarizing : bool
            Whether an axis that has more than twice that many elements shows ``...`` in place of the others.

        Raises
        ------
        ValueError
            If `edge_element_count` is negative.

        References
        ----------
        Swift for TensorFlow, ``ShapedArray.description(lineWidth:edgeElementCount:summarizing:)``.

        Examples
        --------
        >>> from tensorbuf import ShapedArray
        >>> print(ShapedArray([[1, 20], [300, 4]]))
        [[  1,  20],
         [300,   4]]
        >>> ShapedArray([1, 2, 3, 4]).describe(edge_element_count=1, summarizing=True)
        '[1, ..., 4]'
        """
        edge = check_integer(edge_element_count, "edge_element_count")
        if edge < 0:
            raise ValueError(f"edge_element_count is not negative, got {edge}")
        return descriptions.describe(self._array(), check_integer(line_width, "line_width"), edge, summarizing)

    def __repr__(self) -> str:
        return descriptions.representation(type(self).__name__, self._array())

    def __eq__(self, other: object) -> bool:
        """True for an array of either class of the same shape, dtype and scalars as numbers (NaN differs from NaN)."""
        if not isinstance(other, Value) or self.shape != other.shape or self.dtype != other.dtype:
            return False
        # Signalling NaNs are unequal like any other, and no reason to warn.
        with np.errstate(invalid="ignore"):
            return np.array_equal(self._array(), other._array())

    def __hash__(self) -> int:
        """Follows the value: do not mutate an array that is a key of a dict."""
        kind = DataType.of(self.dtype)
        array = self._array().reshape(-1)
        if kind is DataType.BOOL:
            array = array.view(np.uint8) != 0
        part = kind.byte_size // 2 if kind.is_complex else kind.byte_size
        signs = _SIGN_BITS[part] if kind.is_floating or kind.is_complex else 0
        return hash((self.shape, kind.value, digest(array, signs)))

    def bits_equal(self, other: object) -> bool:
        """True for an array of either class with the same shape, dtype and bytes (so a NaN equals its copy).

        Raises
        ------
        TypeError
            If `other` is neither a ShapedArray nor a ShapedArraySlice.
        """
        if not isinstance(other, Value):
            raise TypeError(f"expected a ShapedArray or a ShapedArraySlice, got a {type(other).__name__}")
        if self.shape != other.shape or self.dtype != other.dtype:
            return False
        mine, others = (array.reshape(-1).view(np.uint8) for array in (self._array(), other._array()))
        return np.array_equal(mine, others)

    def encode(self, *, non_finite: str = "raise") -> str:
        """The JSON text ``{"shape": [...], "scalars": [...]}``, the form of Swift's Codable.

        Integers and float64 are exact, narrower floats have the shortest digits that read back as the same value.

        Parameters
        ----------
        non_finite : {"raise", "string"}
            NaN and the infinities raise, or are the strings ``"nan"``, ``"inf"`` and ``"-inf"``.

        Raises
        ------
        TypeError
            If the dtype is complex.
        ValueError
            If a scalar is not finite and `non_finite` is "raise".

        Examples
        --------
        >>> from tensorbuf import ShapedArray
        >>> ShapedArray([[0.1, 1.0]], dtype="float32").encode()
        '{"shape": [1, 2], "scalars": [0.1, 1.0]}'
        """
        return shaped_json.encode(self._array(), non_finite)

    def to_dict(self, *, non_finite: str = "raise") -> dict[str, list[Any]]:
        """What `encode` writes, as a dict of Python lists and numbers."""
        return shaped_json.to_dict(self._array(), non_finite)

    @classmethod
    def decode(cls, text: str | bytes | bytearray, dtype: DTypeLike = None, non_finite: str = "raise") -> Self:
        """The array that a JSON text stands for.

        Parameters
        ----------
        text : str, bytes or bytearray
            The order of the keys and other keys do not matter.
        dtype : dtype-like, optional
            Converts with ``overflow="raise"``; left out: bool, int64 (uint64 where only that fits) or float64.
        non_finite : {"raise", "string"}
            Whether the strings ``"nan"``, ``"inf"`` and ``"-inf"`` are numbers.

        Raises
        ------
        ValueError
            If the text is no JSON object with both keys, the counts disagree, or a scalar is no number that is allowed.
        TypeError
            If `text` is neither str nor bytes.
        """
        return cls._decoded(*shaped_json.decode(text, non_finite), dtype, non_finite)

    @classmethod
    def from_dict(cls, decoded: Mapping[str, Any], dtype: DTypeLike = None, non_finite: str = "raise") -> Self:
        """The array that a mapping as of `to_dict` stands for; parameters and errors as of `decode`."""
        return cls._decoded(*shaped_json.numbers(decoded, non_finite), dtype, non_finite)

    @classmethod
    def _decoded(cls, shape: Any, scalars: Any, dtype: DTypeLike, non_finite: str) -> Self:
        array = cls(shape=shape, scalars=scalars, dtype=dtype)
        shaped_json.check_finite(array._array().reshape(-1), non_finite)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """numpy's door: read-only and *shared*, and a holder as long as it lives; a writable copy on request."""
        return np.array(self._array(), dtype=dtype, copy=copy)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        pointer = self._pointer(False)
        buffer = pickle.PickleBuffer(pointer) if protocol >= 5 else bytes(pointer)
        return restore, (type(self), DataType.of(self.dtype).value, self.shape, sys.byteorder, buffer)


class ShapedArray(_Array):
    """An array that is a value: no mutation of another array ever shows in it.

    Copies and slices cost O(1) and share their scalars; the first mutation of an array whose scalars are shared copies
    its own part, any other mutation works in place. Integers and slices index the leading axis and give a
    ShapedArraySlice; a tuple goes deeper at once and is the way to assign there: ``x[i, j] = v``.

    Parameters
    ----------
    value : array object, nested list, number, ShapedArray or ShapedArraySlice
        Alone, or else the others by name. Always *copied*; of the two classes here O(1), *shared* until a mutation.
    shape : int or iterable of ints
    scalars : iterable of numbers
        As many as the shape has, in row-major order.
    repeating : number
        One value for every scalar of `shape`.
    dtype : dtype-like, optional
        Converts with ``overflow="raise"``. Left out: that of an array object; bool, int64 (uint64 where only that
        fits), float64 or complex128 for Python values.

    Raises
    ------
    ShapeError
        If shape and scalars disagree, or a dimension is negative.
    ValueError
        If a literal is ragged or has an empty level.
    ConversionError
        If a value does not fit `dtype`.
    TypeError
        If arguments are missing, contradict each other, or are no numbers.

    References
    ----------
    Swift for TensorFlow, ``ShapedArray``.

    Examples
    --------
    >>> from tensorbuf import ShapedArray
    >>> matrix = ShapedArray(shape=[2, 2], scalars=[0, 1, 2, 3])
    >>> row = matrix[1]
    >>> matrix[1] = [4, 8]
    >>> row
    ShapedArraySlice([2, 3], dtype='int64')
    >>> matrix
    ShapedArray([[0, 1], [4, 8]], dtype='int64')
    """

    __slots__ = ()


class ShapedArraySlice(_Array):
    """A contiguous part of a ShapedArray: an element array or a subarray, and a value like it.

    Made by indexing; the initialisers are those of ShapedArray, and what they make is its own base. Every slice counts
    from zero, whatever its place in the base.

    References
    ----------
    Swift for TensorFlow, ``ShapedArraySlice``.

    Examples
    --------
    >>> from tensorbuf import ShapedArray
    >>> part = ShapedArray(shape=[4, 2], scalars=range(8))[1:3]
    >>> part.scalar_range
    range(2, 6)
    >>> print(part[0])
    [2, 3]
    """

    __slots__ = ()

    @property
    def scalar_range(self) -> range:
        """The flat positions of the scalars in the array that the first slice of the chain was taken from.

        No mutation changes it. A slice that was made by itself or unpickled starts at 0.
        """
        return range(self._base_position, self._base_position + self.scalar_count)


use_slices(ShapedArraySlice)
for _kind in (ShapedArray, ShapedArraySlice):
    register(_kind, Value._array, lambda array, x: type(x)._of(array))
