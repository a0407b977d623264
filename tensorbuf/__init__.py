"""Typed tensors over raw bytes, exact conversion between dtypes, zero-copy views."""

from tensorbuf import index
from tensorbuf.bitcasting import bitcast
from tensorbuf.buffers import from_memory, frombuffer
from tensorbuf.conversion import cast, convert, saturate_cast
from tensorbuf.converter import Converter
from tensorbuf.dtypes import DataType
from tensorbuf.errors import ConversionError, RankError, ReadOnlyError, ShapeError
from tensorbuf.nd_array import (
    BooleanNdArray,
    ByteNdArray,
    DoubleNdArray,
    FloatNdArray,
    IntNdArray,
    LongNdArray,
    NdArray,
    ShortNdArray,
)
from tensorbuf.sequence import NdArraySequence
from tensorbuf.shape import Shape
from tensorbuf.shaped_array import ShapedArray, ShapedArraySlice
from tensorbuf.tensor_buffer import TensorBuffer

__all__ = [
    "BooleanNdArray",
    "ByteNdArray",
    "ConversionError",
    "Converter",
    "DataType",
    "DoubleNdArray",
    "FloatNdArray",
    "IntNdArray",
    "LongNdArray",
    "NdArray",
    "NdArraySequence",
    "RankError",
    "ReadOnlyError",
    "Shape",
    "ShapeError",
    "ShapedArray",
    "ShapedArraySlice",
    "ShortNdArray",
    "TensorBuffer",
    "bitcast",
    "cast",
    "convert",
    "from_memory",
    "frombuffer",
    "index",
    "saturate_cast",
]
