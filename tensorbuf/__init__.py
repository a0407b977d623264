"""Typed tensors over raw bytes, exact conversion between dtypes, zero-copy views."""

import importlib
from typing import TYPE_CHECKING, Any

from tensorbuf import databuffers, index, litert, ndarrays
from tensorbuf.bitcasting import bitcast
from tensorbuf.buffers import from_memory, frombuffer
from tensorbuf.conversion import cast, convert, saturate_cast
from tensorbuf.converter import Converter
from tensorbuf.data_buffer import DataBuffer
from tensorbuf.dtypes import DataType
from tensorbuf.errors import ConversionError, RankError, ReadOnlyError, ShapeError
from tensorbuf.files import load, save
from tensorbuf.interchange import from_arrow, from_dlpack
from tensorbuf.layouts import DataLayout
from tensorbuf.memory import clear_cache
from tensorbuf.nd_array import NdArray
from tensorbuf.sequence import NdArraySequence
from tensorbuf.shape import Shape
from tensorbuf.shaped_array import ShapedArray, ShapedArraySlice
from tensorbuf.sparse import SparseNdArray
from tensorbuf.tensor_buffer import TensorBuffer
from tensorbuf.typed_arrays import (
    BooleanNdArray,
    ByteNdArray,
    DoubleNdArray,
    FloatNdArray,
    IntNdArray,
    LongNdArray,
    ShortNdArray,
)
from tensorbuf.visitor import DataStorageVisitor
from tensorbuf.window import DataBufferWindow

__all__ = [
    "BooleanNdArray",
    "ByteNdArray",
    "ConversionError",
    "Converter",
    "DataBuffer",
    "DataBufferWindow",
    "DataLayout",
    "DataStorageVisitor",
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
    "SparseNdArray",
    "TensorBuffer",
    "bitcast",
    "cast",
    "clear_cache",
    "convert",
    "databuffers",
    "from_arrow",
    "from_dlpack",
    "from_memory",
    "frombuffer",
    "index",
    "litert",
    "load",
    "ndarrays",
    "saturate_cast",
    "save",
]

if TYPE_CHECKING:
    from tensorbuf import dask as dask
    from tensorbuf import ray as ray
    from tensorbuf import torch as torch
else:

    def __getattr__(name: str) -> Any:
        # Not in __all__: `from tensorbuf import *` must not replace the libraries of these names.
        if name in ("dask", "ray", "torch"):
            return importlib.import_module(f"tensorbuf.{name}")
        raise AttributeError(f"module 'tensorbuf' has no attribute {name!r}")
