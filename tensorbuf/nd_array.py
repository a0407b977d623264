"""NdArray: an N-dimensional array whose slices are views."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, cast

import numpy as np

from tensorbuf._kernels.view import use_classes, wrapped
from tensorbuf.assignment import assigned, assigned_objects, assigned_scalar, check_object
from tensorbuf.conversion import convert
from tensorbuf.dtypes import DTypeLike, native_dtype
from tensorbuf.equality import all_equal, same_dtype
from tensorbuf.errors import ShapeError, shown
from tensorbuf.memory import ShapeLike, check_shape, let_go, releasing
from tensorbuf.sequence import NdArraySequence
from tensorbuf.source import array_of, memory_of, register
from tensorbuf.view import View, copy_elements, shown_values

if TYPE_CHECKING:
    from tensorbuf.data_buffer import DataBuffer

__all__ = ["NdArray"]

Array = np.ndarray[Any, Any]


class NdArray(View):
    """An N-dimensional array: what lies at coordinates is again an NdArray, a view that *shares* the memory.

    Calling the class *shares* the memory of any array object where that can be; lists and scalars are copied. The
    result is of the subclass for its dtype (``FloatNdArray`` for float32 and so on), plain NdArray for all other
    dtypes.

    Parameters
    ----------
    x : array-like
        An array of this package, numpy, torch, or any object with ``__dlpack__``, the buffer protocol or ``__array__``;
        or a (nested) list or a scalar: bool, int64 (uint64 where only that fits), float64, complex128, object for str.
    dtype : dtype-like, optional
        Another dtype than that of `x` is converted to, with ``overflow="raise"``.
    copy : bool, optional
        True for new memory always; False for a ValueError where the memory cannot be shared.

    Raises
    ------
    TypeError
        If `x` is no array, list or scalar, or the subclass called is for another dtype.
    ValueError
        If `x` is a ragged list, or would have to be copied and must not.
    ConversionError
        If a value does not fit `dtype`.

    Examples
    --------
    >>> import tensorbuf
    >>> from tensorbuf import index as ix
    >>> matrix = tensorbuf.NdArray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> matrix
    DoubleNdArray(shape=(2, 3), dtype=float64, values=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> column = matrix.slice(ix.all(), ix.at(2))
    >>> column.set_double(-1.0, 0).tolist()
    [-1.0, 6.0]
    >>> matrix.tolist()
    [[1.0, 2.0, -1.0], [4.0, 5.0, 6.0]]

    References
    ----------
    ``org.tensorflow.ndarray.NdArray``.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    _own_dtype: np.dtype[Any] | None = None

    def __new__(cls, x: Any, dtype: DTypeLike = None, copy: bool | None = None) -> Self:
        try:
            wanted = cls._own_dtype if dtype is None else native_dtype(dtype)
            if cls._own_dtype is not None and wanted != cls._own_dtype:
                raise TypeError(f"{cls.__name__} holds {cls._own_dtype}, got dtype {wanted}; call NdArray for that")
            return cast(Self, _made(x, wanted, copy))
        except BaseException as error:
            del x
            let_go(error)
            raise

    @staticmethod
    def _wrap(array: Array, *, element_type: type | None = None, requires_grad: bool = False) -> NdArray:
        """The NdArray, of the subclass for its dtype, that *shares* the memory of `array`."""
        result: NdArray = wrapped(array)
        if element_type is not None and array.dtype.hasobject:
            result._element_type = element_type
        result._requires_grad = requires_grad
        return result

    @property
    def requires_grad(self) -> bool:
        """True for the result of `frombuffer` that asked for it, and for its views."""
        return self._requires_grad

    @releasing
    def set(self, src: Any, *coords: SupportsIndex) -> Self:
        """Copies `src` into the element at `coords`; without coordinates, into the whole array.

        Parameters
        ----------
        src : array-like
            An array of the same dtype and exactly the element's shape: nothing is broadcast. Lists and scalars are
            converted with ``overflow="raise"``. It may overlap the element; it is as if it were read first.
        *coords : int
            At most one for each axis, ``0 <= c < n``.

        Returns
        -------
        NdArray
            Itself.

        Raises
        ------
        IndexError
            If a coordinate is out of range.
        RankError
            If there are more coordinates than axes.
        TypeError
            If `src` has another dtype, or holds a float for an integer or bool element.
        ShapeError
            If it has another shape.
        ConversionError
            If a listed value does not fit.
        ReadOnlyError
            If the array is read-only.
        """
        if self.read_only:
            self._refuse_write()
        element = self.get(*coords)
        source = element._assignable(src)
        if source._lengths() != element._lengths():
            raise ShapeError(f"an element of shape {element.shape} takes that shape only, got {source.shape}")
        copy_elements(source, element)
        return self

    def elements(self, dim: SupportsIndex) -> NdArraySequence[Self]:
        """The elements on axis `dim`: all views of shape ``shape[dim + 1:]``, in row-major order of their coordinates.

        Raises
        ------
        ValueError
            Unless ``0 <= dim < rank``.
        """
        axis = self._coordinate(dim)
        if not 0 <= axis < self.rank:
            raise ValueError(f"axis {axis} is none of the {self.rank} axes of shape {self.shape}")
        return NdArraySequence(self, axis + 1)

    def scalars(self) -> NdArraySequence[Self]:
        """All scalars, as views of rank 0, in row-major order; of a scalar, itself once."""
        return NdArraySequence(self, self.rank)

    def with_shape(self, shape: ShapeLike) -> Self:
        """A view of the same elements, in row-major order, of another shape.

        Parameters
        ----------
        shape : int or iterable of ints
            Its size is that of the array; all dimensions are known (-1 is not inferred).

        Raises
        ------
        ShapeError
            If the sizes differ, a dimension is unknown, or the elements lie in memory so that no strides describe that
            shape; `to_numpy` or `copy.copy` first.
        """
        wanted = check_shape(shape)
        if math.prod(wanted) != self.size:
            raise ShapeError(f"shape {wanted} needs {math.prod(wanted)} elements, shape {self.shape} has {self.size}")
        return self._reshaped(wanted)

    def copy_to(self, dst: NdArray | DataBuffer) -> Self:
        """Copies all elements, in row-major order, to an array or a buffer.

        Parameters
        ----------
        dst : NdArray or DataBuffer
            Of the same dtype. An array of the same shape; or a buffer of at least `size` elements, whose other elements
            stay. It may overlap this array; it is as if that were read first.

        Returns
        -------
        NdArray
            Itself.

        Raises
        ------
        TypeError
            If the dtypes differ.
        ShapeError
            If the shapes differ, or the buffer is too small.
        ReadOnlyError
            If `dst` is read-only.

        Examples
        --------
        >>> import tensorbuf
        >>> from tensorbuf import index as ix
        >>> array = tensorbuf.NdArray([0, 1, 2, 3, 4, 5])
        >>> _ = array.copy_to(array.slice(ix.flip()))
        >>> array.tolist()
        [5, 4, 3, 2, 1, 0]
        """
        if not hasattr(dst, "_receive"):
            raise TypeError(f"copy_to takes an NdArray or a DataBuffer, got {shown(dst)}")
        dst._receive(self)
        return self

    def copy_from(self, src: DataBuffer) -> Self:
        """Copies the first `size` elements of a buffer into this array, in row-major order.

        Parameters
        ----------
        src : DataBuffer
            Of the same dtype and at least `size` elements.

        Returns
        -------
        NdArray
            Itself.

        Raises
        ------
        TypeError
            If the dtypes differ.
        ShapeError
            If the buffer is too small.
        ReadOnlyError
            If this array is read-only.
        """
        if not hasattr(src, "_give"):
            raise TypeError(f"copy_from takes a DataBuffer, got {shown(src)}")
        if self.read_only:
            self._refuse_write()
        src._give(self)
        return self

    def read(self, dst: DataBuffer) -> Self:
        """`copy_to` of a buffer, by its older name."""
        return self.copy_to(dst)

    def write(self, src: DataBuffer) -> Self:
        """`copy_from`, by its older name."""
        return self.copy_from(src)

    def astype(self, dtype: DTypeLike, **how: Any) -> NdArray:
        """`tensorbuf.convert` of this array to `dtype`."""
        return cast(NdArray, convert(self, dtype, **how))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdArray) or self.shape != other.shape or not same_dtype(self.dtype, other.dtype):
            return False
        return all_equal(self._values(), other._values())

    def __repr__(self) -> str:
        values = shown_values(self.stream_of_objects(), self.size)
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, values={values})"

    def __copy__(self) -> NdArray:
        return NdArray._wrap(self._read(), element_type=self._element_type)

    def __deepcopy__(self, memo: dict[int, Any]) -> NdArray:
        values = self._read()
        if values.dtype.hasobject:
            values = values.__deepcopy__(memo)
        return NdArray._wrap(values, element_type=self._element_type)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        values = self._values()
        array = values if values.flags.c_contiguous else self._read()
        # numpy hands out of band only the dtypes that have a buffer format; a user-defined dtype has none.
        bits = array.view(f"u{array.itemsize}") if array.dtype.isbuiltin == 2 else array
        return _unpickled, (bits, array.dtype, self.read_only, self._element_type)

    def _receive(self, source: NdArray) -> None:
        """The other side of `copy_to`."""
        if not source._copied_to(self):
            self.set(source)

    def _assignable(self, src: Any) -> View:
        """What `src` assigns to this element, with its dtype checked."""
        if self.dtype.hasobject:
            return NdArray._wrap(assigned_objects(src, self.rank, self._element_type or object))
        if isinstance(src, NdArray) and src._array is not None and same_dtype(src.dtype, self.dtype):
            return src
        return NdArray._wrap(assigned(src, self.dtype))

    def _checked(self, value: Any) -> Any:
        """The value as an element of the array takes it."""
        if self.dtype.hasobject:
            return check_object(value, self._element_type or object)
        return assigned_scalar(value, self.dtype)


def _made(x: Any, dtype: np.dtype[Any] | None, copy: bool | None) -> NdArray:
    """What calling the class makes."""
    element_type = x._element_type if isinstance(x, NdArray) else None
    if isinstance(x, NdArray) and x._array is not None and not copy and (dtype is None or same_dtype(x.dtype, dtype)):
        return x.slice()
    try:
        array = memory_of(x)
    except TypeError:
        if copy is False:
            raise ValueError(f"a {type(x).__name__} has no memory to share; leave copy out") from None
        return NdArray._wrap(array_of(x, dtype, overflow="raise"))
    if copy is False and (isinstance(x, NdArray) or not (dtype is None or same_dtype(array.dtype, dtype))):
        raise ValueError(f"{array.dtype} elements cannot be shared as {dtype} ones; leave copy out")
    if dtype is not None and not same_dtype(array.dtype, dtype):
        array = array_of(array, dtype, overflow="raise")
    made = NdArray._wrap(array, element_type=element_type)
    return made.__copy__() if copy and np.may_share_memory(array, memory_of(x)) else made


def _unpickled(bits: Array, dtype: np.dtype[Any], read_only: bool, element_type: type | None) -> NdArray:
    # The bits of a user-defined dtype came as integers; numpy may have brought others to native order.
    array = bits.astype(dtype, copy=False) if same_dtype(bits.dtype, dtype) else bits.view(dtype)
    array.flags.writeable = array.flags.writeable and not read_only
    return NdArray._wrap(array, element_type=element_type)


use_classes(NdArray, {})
register(NdArray, lambda x: x._values(), lambda array, _: wrapped(array))
# What has no kind of its own (lists, bytes, arrays of other packages) comes back as an NdArray.
register(object, np.asarray, lambda array, _: wrapped(array))
