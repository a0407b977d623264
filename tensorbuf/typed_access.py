"""The typed methods of DataBuffer, made from the table of Java's types."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf.java_types import JAVA_TYPES

__all__ = ["TypedAccess"]


class TypedAccess:
    """``get_float(i)``, ``set_float(v, i)`` and their siblings, for buffers of that dtype (else TypeError).

    ``as_floats()`` and its siblings read the memory of an 8-bit buffer as another type, in native byte order: they
    *share* it. They raise TypeError for other buffers, and ShapeError where the bytes do not divide or are not
    contiguous.
    """

    __slots__ = ()


def _add_methods(word: str, dtype: np.dtype[Any]) -> None:
    def get(self: Any, i: int) -> Any:
        self._check_dtype(dtype)
        return self.get_object(i)

    def set_value(self: Any, value: Any, i: int) -> Any:
        self._check_dtype(dtype)
        return self.set_object(value, i)

    def as_type(self: Any) -> Any:
        return self._reinterpreted(dtype)

    named = {f"get_{word}": get, f"set_{word}": set_value}
    if word != "byte":
        named[f"as_{word}s"] = as_type
    for name, method in named.items():
        method.__name__ = name
        method.__qualname__ = f"{TypedAccess.__name__}.{name}"
        setattr(TypedAccess, name, method)


for _word, _dtype in JAVA_TYPES.items():
    _add_methods(_word, _dtype)
