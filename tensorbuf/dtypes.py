"""The element types, and the one place that reads a dtype-like."""

from __future__ import annotations

import enum
import functools
from typing import Any

import ml_dtypes
import numpy as np

from tensorbuf.errors import shown

__all__ = ["CODES", "DTypeLike", "DataType", "native_dtype", "numeric_dtype", "read_dtype"]

# What `read_dtype` accepts cannot be spelled as a type without importing torch, TensorFlow and JAX.
DTypeLike = Any

_NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    **{
        name: np.dtype(name)
        for name in (
            "bool",
            "int8",
            "uint8",
            "int16",
            "uint16",
            "int32",
            "uint32",
            "int64",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        )
    },
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "string": np.dtype(object),
}


class DataType(enum.Enum):
    """The element types of the package.

    The value of a member is its name in lower case. STRING is for object arrays only; the other seventeen are numeric.

    Examples
    --------
    >>> from tensorbuf import DataType
    >>> DataType.of("bfloat16").byte_size
    2
    >>> DataType.UINT8.min, DataType.UINT8.max
    (0, 255)
    """

    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    FLOAT8_E4M3FN = "float8_e4m3fn"
    FLOAT8_E5M2 = "float8_e5m2"
    STRING = "string"

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The numpy dtype, in native byte order; ``object`` for STRING."""
        return _NUMPY_DTYPES[self.value]

    @property
    def byte_size(self) -> int:
        """Bytes of one element; -1 for STRING, whose elements have no fixed size."""
        return -1 if self is DataType.STRING else self.numpy_dtype.itemsize

    @property
    def is_integer(self) -> bool:
        """True for the eight integer types (BOOL is none of integer, floating and complex)."""
        return "int" in self.value

    @property
    def is_floating(self) -> bool:
        """True for the six real floating types."""
        return "float" in self.value

    @property
    def is_complex(self) -> bool:
        """True for COMPLEX64 and COMPLEX128."""
        return "complex" in self.value

    @property
    def min(self) -> bool | int | float:
        """The least finite value, of a complex type that of each part. STRING raises TypeError."""
        return self._limits()[0]

    @property
    def max(self) -> bool | int | float:
        """The largest finite value, of a complex type that of each part. STRING raises TypeError."""
        return self._limits()[1]

    def _limits(self) -> tuple[bool | int | float, bool | int | float]:
        if self is DataType.STRING:
            raise TypeError("STRING has no least and no largest value; only the numeric types have")
        if self is DataType.BOOL:
            return False, True
        if self.is_integer:
            integer = np.iinfo(self.numpy_dtype)
            return int(integer.min), int(integer.max)
        floating = ml_dtypes.finfo(self.numpy_dtype)
        return float(floating.min), float(floating.max)

    @classmethod
    def of(cls, dtype: DTypeLike) -> DataType:
        """The member that a dtype-like names.

        Parameters
        ----------
        dtype : dtype-like
            A DataType, a numpy dtype or scalar type, an ml_dtypes type, a name, a dtype of torch, TensorFlow or JAX,
            or Python's ``bool``, ``int``, ``float``, ``complex``, ``object``. The byte order plays no part.

        Raises
        ------
        TypeError
            If `dtype` names none of the eighteen types.
        """
        if isinstance(dtype, cls):
            return dtype
        member = _MEMBERS.get(dtype) if isinstance(dtype, np.dtype) else None
        return member or _MEMBERS[native_dtype(dtype)]


_MEMBERS = {member.numpy_dtype: member for member in DataType}

# The kernels' number of each numeric dtype (native byte order); the same numbers stand in _kernels/types.pxd.
CODES: dict[np.dtype[Any], int] = {
    _NUMPY_DTYPES[name]: code
    for code, name in enumerate(
        (
            "bool",
            "int8",
            "uint8",
            "int16",
            "uint16",
            "int32",
            "uint32",
            "int64",
            "uint64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "float8_e4m3fn",
            "float8_e5m2",
            "complex64",
            "complex128",
        )
    )
}

# Python's int is 64 bits everywhere, also where C's long has 32.
_PYTHON_TYPES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    complex: "complex128",
    object: "string",
}


def read_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The numpy dtype that a dtype-like names, with the byte order that it carries.

    Raises
    ------
    TypeError
        If `dtype` is None or names no type of the package.
    """
    return _read(dtype)[0]


def native_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """`read_dtype` in native byte order."""
    return _read(dtype)[1]


def numeric_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """`native_dtype` of one of the seventeen numeric types; TypeError for STRING and object."""
    found = _read(dtype)[1]
    if found not in CODES:
        raise TypeError(f"{shown(dtype)} is not numeric; STRING and object are for object arrays only")
    return found


def _read(dtype: DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    try:
        return _remembered(dtype)
    except TypeError:  # unhashable ones too
        known = ", ".join(_NUMPY_DTYPES)
        raise TypeError(f"{shown(dtype)} is no dtype of this package; take one of {known}") from None


@functools.lru_cache(maxsize=512)
def _remembered(dtype: DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """A dtype-like as it is and in native byte order; remembered, since reading one is slower than a small job.

    TypeError for anything else, which so is not kept alive. Dtypes that are equal are found as one, so what tells them
    apart, metadata and C's two names for one type, is left out.
    """
    if isinstance(dtype, np.dtype):
        found: np.dtype[Any] | None = dtype
    elif isinstance(dtype, DataType):
        found = dtype.numpy_dtype
    elif isinstance(dtype, str):
        found = _read_name(dtype)
    elif isinstance(dtype, type):
        found = _read_type(dtype)
    else:
        found = _read_foreign(dtype)
    member = None if found is None else _MEMBERS.get(found.newbyteorder("="))
    if found is None or member is None:
        raise TypeError
    native = member.numpy_dtype
    return (native if found.isnative else native.newbyteorder()), native


def _read_name(name: str) -> np.dtype[Any] | None:
    if name in _NUMPY_DTYPES:
        return _NUMPY_DTYPES[name]
    if name in ("int", "uint"):
        return _NUMPY_DTYPES[name + "64"]
    try:
        return np.dtype(name)
    except TypeError:
        return None


def _read_type(kind: type) -> np.dtype[Any] | None:
    if kind in _PYTHON_TYPES:
        return _NUMPY_DTYPES[_PYTHON_TYPES[kind]]
    if issubclass(kind, np.generic):
        return np.dtype(kind)
    if kind.__name__ in _NUMPY_DTYPES and kind.__module__.partition(".")[0] == "ml_dtypes":
        return _NUMPY_DTYPES[kind.__name__]
    # JAX's scalar types (jax.numpy.float32) are classes that carry their numpy dtype.
    carried = getattr(kind, "dtype", None)
    return carried if isinstance(carried, np.dtype) else None


def _read_foreign(dtype: object) -> np.dtype[Any] | None:
    # torch prints its dtypes as "torch.float32", TensorFlow's have the name as an attribute.
    package = type(dtype).__module__.partition(".")[0]
    if package == "torch":
        return _NUMPY_DTYPES.get(str(dtype).removeprefix("torch."))
    if package == "tensorflow":
        return _NUMPY_DTYPES.get(str(getattr(dtype, "name", "")))
    carried = getattr(dtype, "dtype", None)
    if package in ("jax", "jaxlib") and isinstance(carried, np.dtype):
        return carried
    return None
