"""NdArray and its typed subclasses."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np

from tensorbuf.errors import RankError
from tensorbuf.source import register
from tensorbuf.view import View

__all__ = [
    "BooleanNdArray",
    "ByteNdArray",
    "DoubleNdArray",
    "FloatNdArray",
    "IntNdArray",
    "LongNdArray",
    "NdArray",
    "ShortNdArray",
]

_SHOWN_VALUES = 8


class NdArray(View):
    """An N-dimensional array whose slices are views."""

    __slots__ = ("_requires_grad",)
    __hash__ = None  # type: ignore[assignment]

    _requires_grad: bool

    @staticmethod
    def _wrap(array: np.ndarray[Any, Any], *, requires_grad: bool = False) -> NdArray:
        """The NdArray, of the subclass for its dtype, that *shares* the memory of `array`."""
        wrapped = NdArray.__new__(_CLASSES.get(array.dtype.newbyteorder("="), NdArray))
        wrapped._array = array
        wrapped._requires_grad = requires_grad
        return wrapped

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        """The bytes of the elements: size times item size."""
        return self._array.nbytes

    @property
    def requires_grad(self) -> bool:
        """True for the result of `frombuffer` that asked for it, and for its views."""
        return self._requires_grad

    def get_object(self, *coords: int) -> Any:
        """The value of the scalar at `coords`.

        Raises
        ------
        IndexError
            If a coordinate is out of range.
        RankError
            Unless there is one coordinate for each axis.
        """
        if len(coords) != self.rank:
            raise RankError(f"a scalar of shape {self.shape} has {self.rank} coordinates, got {len(coords)}")
        if not all(0 <= coord < length for coord, length in zip(coords, self.shape, strict=True)):
            raise IndexError(f"coordinates {coords} are out of range for shape {self.shape}")
        return self._array.item(*coords)

    def __getitem__(self, key: Any) -> Any:
        chosen = self._array[key]
        return self._wrap(chosen) if isinstance(chosen, np.ndarray) else chosen.item()

    def __len__(self) -> int:
        return len(self._array)

    def tolist(self) -> Any:
        """The values as nested lists; of a scalar, the value."""
        return self._array.tolist()

    def to_numpy(self, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as a numpy array.

        Parameters
        ----------
        copy : bool, optional
            True for a new array; False for one that *shares* the memory, or ValueError where that cannot be; None (the
            default) shares where it can.
        """
        return self.__array__(copy=copy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._array.view(), dtype=dtype, copy=copy)

    def __copy__(self) -> Self:
        return cast(Self, self._wrap(self._array.copy(order="C")))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        array = self._array if self._array.flags.c_contiguous else self._array.copy(order="C")
        # numpy hands only the dtypes that have a buffer format out of band.
        user_defined = array.dtype.isbuiltin == 2
        bits = array.view(f"u{array.itemsize}") if user_defined else array
        return _unpickle, (bits, array.dtype, self.read_only, self._requires_grad)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdArray):
            return False
        if self.shape != other.shape or self.dtype.newbyteorder("=") != other.dtype.newbyteorder("="):
            return False
        return bool((self._array == other._array).all())

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._array.flat[:_SHOWN_VALUES].tolist()))
        dots = ", ..." if self.size > _SHOWN_VALUES else ""
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, values=[{shown}{dots}])"


def _unpickle(bits: np.ndarray[Any, Any], dtype: np.dtype[Any], read_only: bool, requires_grad: bool) -> NdArray:
    array = bits if bits.dtype == dtype else bits.view(dtype)
    array.flags.writeable = array.flags.writeable and not read_only
    return NdArray._wrap(array, requires_grad=requires_grad)


# The one table of the typed classes: Java's name of the type, and its dtype.
_TYPES = {
    "Byte": np.int8,
    "Short": np.int16,
    "Int": np.int32,
    "Long": np.int64,
    "Float": np.float32,
    "Double": np.float64,
    "Boolean": np.bool,
}


def _typed(name: str, dtype: type[np.generic]) -> type[NdArray]:
    return type(
        f"{name}NdArray",
        (NdArray,),
        {"__slots__": (), "__module__": __name__, "__doc__": f"An NdArray of {dtype.__name__} elements."},
    )


_CLASSES: dict[np.dtype[Any], type[NdArray]] = {np.dtype(dtype): _typed(name, dtype) for name, dtype in _TYPES.items()}
(
    ByteNdArray,
    ShortNdArray,
    IntNdArray,
    LongNdArray,
    FloatNdArray,
    DoubleNdArray,
    BooleanNdArray,
) = _CLASSES.values()

register(NdArray, lambda x: x._array, lambda array, _: NdArray._wrap(array))
# What has no kind of its own (lists, bytes, arrays of other packages) comes back as an NdArray.
register(object, np.asarray, lambda array, _: NdArray._wrap(array))
