"""The subclasses of NdArray for Java's types, made from the one table of those."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf._kernels.view import use_classes
from tensorbuf.java_types import JAVA_TYPES
from tensorbuf.nd_array import NdArray

__all__ = [
    "BooleanNdArray",
    "ByteNdArray",
    "DoubleNdArray",
    "FloatNdArray",
    "IntNdArray",
    "LongNdArray",
    "ShortNdArray",
]

# Java streams the bare values of these types.
_STREAMED = {"int", "long", "double"}


def _typed(word: str, dtype: np.dtype[Any]) -> type[NdArray]:
    members = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"An `NdArray` of {dtype}: `get_{word}` and `set_{word}` are its `get_object` and `set_object`.",
        "_own_dtype": dtype,
        f"get_{word}": NdArray.get_object,
        f"set_{word}": NdArray.set_object,
    }
    if word in _STREAMED:
        members[f"stream_of_{word}s"] = NdArray.stream_of_objects
    return type(f"{word.capitalize()}NdArray", (NdArray,), members)


_CLASSES = {dtype: _typed(word, dtype) for word, dtype in JAVA_TYPES.items()}
(
    ByteNdArray,
    ShortNdArray,
    IntNdArray,
    LongNdArray,
    FloatNdArray,
    DoubleNdArray,
    BooleanNdArray,
) = _CLASSES.values()

use_classes(NdArray, _CLASSES)
