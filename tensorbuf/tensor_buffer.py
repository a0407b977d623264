"""TensorBuffer: a typed tensor over raw bytes, its own or those of others."""

from __future__ import annotations

import enum
import math
import pickle
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from tensorbuf import memory
from tensorbuf._kernels.flat import Flat
from tensorbuf._kernels.memory import layout
from tensorbuf.conversion import convert
from tensorbuf.doors.exports import Exports
from tensorbuf.dtypes import DataType, DTypeLike, numeric_dtype
from tensorbuf.errors import ShapeError
from tensorbuf.source import Source, register
from tensorbuf.tensor_details import TensorDetails, read_detail

__all__ = ["TensorBuffer"]

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)
_SHOWN_VALUES = 6


class _Own(enum.Enum):
    """The default of a shape argument; unlike it, an explicit None is an error."""

    SHAPE = "the buffer's own"


class TensorBuffer(Flat, Exports):
    """A typed tensor over raw bytes, as TensorFlow Lite Support's ``TensorBuffer``.

    Made by `create_fixed_size`, `create_dynamic` or `create_from`. The memory is one C-contiguous block: its own (on a
    64-byte boundary), or that of an owner, by reference (`load_buffer`). All seventeen numeric types are supported.
    Values are converted by the rule of `tensorbuf.convert`: rounded toward zero and saturated into integers (NaN gives
    0), rounded once to the nearest even into floats; ``convert(t, dtype)`` and its siblings give a new TensorBuffer,
    fixed or dynamic as `t` is.

    ``len(t)`` is the flat size, ``t[i]`` the exact Python value at a flat index (negative from the end), ``t[i] = v``
    converts. Two are equal if shape, type and values are. Different buffers may be used from different threads, and one
    may be read by several.

    Examples
    --------
    >>> from tensorbuf import DataType, TensorBuffer
    >>> t = TensorBuffer.create_dynamic(DataType.UINT8)
    >>> t.load_array([400.32, -23.04, 7.9], (3,))
    >>> t
    TensorBuffer(UINT8, shape=(3,), dynamic, [255, 0, 7])
    >>> t[-1], t.get_float_value(0)
    (7, 255.0)
    """

    __slots__ = ("__weakref__", "_is_dynamic")

    _array: Array
    _is_dynamic: bool
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *args: object, **options: object) -> None:
        raise TypeError("make a TensorBuffer by create_fixed_size, create_dynamic or create_from")

    @classmethod
    def _of(cls, array: Array, *, is_dynamic: bool) -> Self:
        """A TensorBuffer that *shares* a C-contiguous array of native byte order."""
        tensor = cls.__new__(cls)
        tensor._array = array
        tensor._is_dynamic = is_dynamic
        return tensor

    @classmethod
    def create_fixed_size(cls, shape: memory.ShapeLike, data_type: DTypeLike) -> Self:
        """A buffer of zeros, whose shape never changes.

        Parameters
        ----------
        shape : int or iterable of ints
            ``()`` is a scalar; zeros among the dimensions are allowed.
        data_type : dtype-like
            One of the seventeen numeric types.

        Raises
        ------
        ShapeError
            If a dimension is negative, or the bytes exceed 63 bits.
        MemoryError
            If the memory cannot be allocated.
        TypeError
            If `shape` is no shape, or `data_type` no numeric type.

        Examples
        --------
        >>> TensorBuffer.create_fixed_size((2, 3), "float32")
        TensorBuffer(FLOAT32, shape=(2, 3), fixed size, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        """
        return cls._of(memory.zeros(memory.check_shape(shape), numeric_dtype(data_type)), is_dynamic=False)

    @classmethod
    def create_dynamic(cls, data_type: DTypeLike) -> Self:
        """An empty buffer of shape ``(0,)``, which takes the shape of whatever is loaded with one.

        Examples
        --------
        >>> t = TensorBuffer.create_dynamic("int16")
        >>> t.load_array([[1, 2], [3, 4]], (2, 2))
        >>> t.shape
        (2, 2)
        """
        return cls._of(memory.zeros((0,), numeric_dtype(data_type)), is_dynamic=True)

    @classmethod
    def create_from(cls, buffer: TensorBuffer, data_type: DTypeLike) -> Self:
        """A converted *copy* of another TensorBuffer, in its own memory; fixed or dynamic, as `buffer` is.

        Raises
        ------
        TypeError
            If `buffer` is no TensorBuffer, or complex where `data_type` is an integer or floating type.

        Examples
        --------
        >>> t = TensorBuffer.create_fixed_size(2, "float32")
        >>> t.load_array([1.5, float("nan")])
        >>> TensorBuffer.create_from(t, "int8")
        TensorBuffer(INT8, shape=(2,), fixed size, [1, 0])
        """
        if not isinstance(buffer, TensorBuffer):
            raise TypeError(f"create_from takes a TensorBuffer, got {type(buffer).__name__}; load_array takes the rest")
        return cls._of(_converted(buffer._array, numeric_dtype(data_type)), is_dynamic=buffer._is_dynamic)

    @classmethod
    def for_tensor(cls, details: TensorDetails) -> Self:
        """A fixed-size buffer of zeros with the shape and type of a LiteRT tensor.

        Parameters
        ----------
        details : mapping
            An entry of ``Interpreter.get_input_details()`` or ``get_output_details()``, or a dict with ``"shape"`` and
            ``"dtype"``. The shape is the tensor's present one; where the model leaves a dimension open, that is the
            one set by ``resize_tensor_input``, known after ``allocate_tensors``.

        Raises
        ------
        TypeError
            If `details` is no such entry, or of a type with no numbers (strings, resources).
        ShapeError
            If a dimension is negative, which stands for an open one.

        Examples
        --------
        >>> TensorBuffer.for_tensor({"shape": np.int32([1, 2]), "dtype": np.int8})
        TensorBuffer(INT8, shape=(1, 2), fixed size, [0, 0])
        """
        return cls.create_fixed_size(read_detail(details, "shape"), read_detail(details, "dtype"))

    @property
    def data_type(self) -> DataType:
        """The type of the elements."""
        return DataType.of(self._array.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the elements, in native byte order."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; ``()`` of a scalar."""
        return self._array.shape

    @property
    def flat_size(self) -> int:
        """The number of elements, as ``len(t)``."""
        return self._array.size

    @property
    def type_size(self) -> int:
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    @property
    def is_dynamic(self) -> bool:
        """Whether a load may change the shape."""
        return self._is_dynamic

    @property
    def buffer(self) -> memoryview:
        """The bytes: a new rank-1 memoryview of format ``B`` that *shares* them, read-only if the memory is."""
        return _bytes(self._array)

    @memory.releasing
    def load_array(self, src: object, shape: memory.ShapeLike | _Own = _Own.SHAPE) -> None:
        """Convert the values of `src`, and store them in row-major order.

        Memory of the right size is written in place, also that of an owner; read-only memory is left to its owner, and
        a dynamic buffer of another size gets new memory. Views taken earlier keep what they saw.

        Parameters
        ----------
        src : array-like
            A list (nested or not; ints of any size count exactly), ``array.array``, numpy array, buffer, DLPack object,
            or another facade; of as many elements as `shape` has, in any shape of its own. It may overlap this buffer.
        shape : int or iterable of ints, optional
            A fixed-size buffer takes its own shape only. Left out: the buffer's own.

        Raises
        ------
        ShapeError
            If the number of elements is another, or `shape` is not that of a fixed-size buffer.
        TypeError
            If `src` holds no numbers, or complex ones for an integer or floating type; if `shape` is None.
        ValueError
            If a nested list is ragged.

        Notes
        -----
        A failed call changes nothing, and leaves no owner locked.

        Examples
        --------
        >>> t = TensorBuffer.create_dynamic("float32")
        >>> t.load_array([1, 2, 3], (3,))
        >>> t.load_array([3, 2])
        Traceback (most recent call last):
        tensorbuf.errors.ShapeError: shape (3,) needs 3 elements, got 2
        """
        sizes = self._accept(shape)
        array = self._array
        source = Source(src)
        if source.size != math.prod(sizes):
            raise ShapeError(f"shape {sizes} needs {math.prod(sizes)} elements, got {source.size}")
        in_place = array.flags.writeable and array.size == source.size
        # A list may end in an item that is no number, so nothing is written before all of it is read.
        fresh = source.array is None or not in_place
        loaded = memory.empty(sizes, array.dtype) if fresh else array.reshape(sizes)
        source.load(loaded, _convert, overflow="saturate", fresh=fresh)
        if fresh and in_place:
            array.reshape(sizes)[...] = loaded
            loaded = array.reshape(sizes)
        self._array = loaded

    @memory.releasing
    def load_buffer(self, buffer: object, shape: memory.ShapeLike | _Own = _Own.SHAPE) -> None:
        """Take the bytes of `buffer` as the memory of this one, by reference (*shares*).

        Writes through this buffer reach the owner, and the owner's are seen here. Read-only memory is copied on the
        first write. The owner stays alive and locked (a bytearray does not resize, an mmap not close) until this buffer
        and the views of it let go of its memory: by another load, the copy of read-only memory, or their end.

        Parameters
        ----------
        buffer : bytes-like
            Any C-contiguous exporter of exactly as many bytes as `shape` needs, at any alignment; its own shape and
            format do not matter. Arrays of bfloat16 and float8 are taken too.
        shape : int or iterable of ints, optional
            As for `load_array`.

        Raises
        ------
        ShapeError
            If the number of bytes is another, or `shape` is not that of a fixed-size buffer.
        ValueError
            If `buffer` is not C-contiguous, or declares the other byte order.
        TypeError
            If `buffer` exports no bytes; if `shape` is None.

        Examples
        --------
        >>> raw = bytearray(4)
        >>> t = TensorBuffer.create_fixed_size((2,), "uint16")
        >>> t.load_buffer(raw)
        >>> t[0] = 65535
        >>> raw
        bytearray(b'\\xff\\xff\\x00\\x00')
        """
        sizes = self._accept(shape)
        dtype = self._array.dtype
        nbytes, swapped = memory.check_layout(layout(buffer))
        if swapped:
            raise ValueError(
                f"{type(buffer).__name__} has the other byte order, which cannot be changed by reference; "
                "load_array converts it, view(np.uint8) gives its raw bytes"
            )
        needed = math.prod(sizes) * dtype.itemsize
        if nbytes != needed:
            raise ShapeError(f"shape {sizes} of {dtype} needs {needed} bytes, got {nbytes}")
        self._array = memory.pinned(buffer).view(dtype).reshape(sizes)

    def _accept(self, shape: memory.ShapeLike | _Own) -> tuple[int, ...]:
        """The shape to load into."""
        own = self._array.shape
        if isinstance(shape, _Own):
            return own
        sizes = memory.check_shape(shape)
        if sizes != own and not self._is_dynamic:
            raise ShapeError(f"the shape is fixed to {own}, got {sizes}; create_dynamic makes one that takes any")
        if 0 in sizes:
            # ShapeError where numpy cannot have such an array, although it takes no bytes.
            memory.empty(sizes, self._array.dtype)
        return sizes

    def get_float_array(self) -> Array:
        """The values as a new rank-1 float32 array (a *copy*), each rounded once; TypeError for complex elements."""
        return _converted(self._array.reshape(-1), _FLOAT32)

    def get_int_array(self) -> Array:
        """The values as a new rank-1 int32 array (a *copy*), truncated, saturated; TypeError for complex elements."""
        return _converted(self._array.reshape(-1), _INT32)

    def get_float_value(self, index: int) -> float:
        """``float(get_float_array()[index])``: the value at a flat index from 0 on, in float32's precision.

        Raises
        ------
        IndexError
            If `index` is not in ``0 .. flat_size - 1``.
        TypeError
            If `index` is no int, or the elements are complex.
        """
        return float(self._read(index, _FLOAT32))

    def get_int_value(self, index: int) -> int:
        """``int(get_int_array()[index])``: the value at a flat index from 0 on, truncated and saturated to int32.

        Errors are those of `get_float_value`.
        """
        return int(self._read(index, _INT32))

    def _read(self, index: int, dtype: np.dtype[Any]) -> Any:
        position = self._position(index, least=0)
        return _converted(self._array.reshape(-1)[position : position + 1], dtype)[0]

    def _position(self, index: int, least: int | None = None) -> int:
        """The position from the start that a flat index names, a negative one from the end (unless `least` is 0)."""
        position = memory.check_integer(index, "a flat index")
        size = self._array.size
        least = -size if least is None else least
        if not least <= position < size:
            raise IndexError(f"flat index {position} is out of range for {size} elements, counted from {least}")
        return position + size if position < 0 else position

    @memory.releasing
    def _store(self, position: int, value: object) -> None:
        """Convert one number into an element, in memory of its own if that is read-only."""
        number = memory.empty((), self._array.dtype)
        if type(value) is float or (type(value) is int and value.bit_length() < 64):
            _convert(np.array(value), number)
        else:
            source = Source(value)
            if source.shape != ():
                raise TypeError(f"an element takes one number, got {type(value).__name__}")
            source.load(number, _convert, overflow="saturate", fresh=True)
        array = self._array if self._array.flags.writeable else _copied(self._array)
        array.reshape(-1)[position] = number
        self._array = array

    def __iter__(self) -> Iterator[Any]:
        return map(self._array.item, range(self._array.size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorBuffer):
            return False
        mine, theirs = self._array, other._array
        return mine.shape == theirs.shape and mine.dtype == theirs.dtype and bool((mine == theirs).all())

    def __repr__(self) -> str:
        values = [str(value) for value in self._array.reshape(-1)[:_SHOWN_VALUES]]
        if self._array.size > _SHOWN_VALUES:
            values.append("...")
        size = "dynamic" if self._is_dynamic else "fixed size"
        return f"{type(self).__name__}({self.data_type.name}, shape={self.shape}, {size}, [{', '.join(values)}])"

    def to_numpy(self, copy: bool | None = None) -> Array:
        """The elements as an array of this shape and dtype.

        Parameters
        ----------
        copy : bool, optional
            None and False: a view that *shares* the memory, writable unless that is read-only. True: a writable *copy*.

        Examples
        --------
        >>> t = TensorBuffer.create_fixed_size((2, 2), "int8")
        >>> t.to_numpy()[0] = 7
        >>> list(t)
        [7, 7, 0, 0]
        """
        return _copied(self._array) if copy else self._array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy and (dtype is None or np.dtype(dtype) == self._array.dtype):
            return _copied(self._array)
        return np.array(self._array.view(), dtype=dtype, copy=copy)

    def _exported(self) -> tuple[Array, bool]:
        return self._array, False

    def __copy__(self) -> Self:
        return type(self)._of(_copied(self._array), is_dynamic=self._is_dynamic)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        data = _bytes(self._array)
        by_reference = protocol >= 5 and data.nbytes > 0
        own = not data.readonly and not by_reference
        arguments = type(self), self.data_type.value, self.shape, self._is_dynamic
        return _restore, (*arguments, pickle.PickleBuffer(data) if by_reference else data.tobytes(), own)


def _restore(
    cls: type[TensorBuffer], data_type: str, shape: tuple[int, ...], is_dynamic: bool, data: object, own: bool
) -> TensorBuffer:
    """What a pickle calls: a TensorBuffer on `data` as `load_buffer` would leave it, or on a copy (`own`)."""
    tensor = cls.create_dynamic(data_type)
    tensor.load_buffer(data, shape)
    tensor._is_dynamic = is_dynamic
    if own:
        tensor._array = _copied(tensor._array)
    return tensor


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _copied(array: Array) -> Array:
    return _converted(array, array.dtype)


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    converted: Array = convert(array, dtype)
    return converted


def _convert(src: Array, dst: Array) -> None:
    convert(src, dst.dtype, out=dst)


register(
    TensorBuffer, lambda tensor: tensor._array, lambda array, tensor: tensor._of(array, is_dynamic=tensor._is_dynamic)
)
