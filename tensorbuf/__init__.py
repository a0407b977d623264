"""Typed tensors over raw bytes, exact conversion between dtypes, zero-copy views."""

import importlib
from typing import TYPE_CHECKING, Any

from tensorbuf import index
from tensorbuf.bitcasting import bitcast
from tensorbuf.buffers import from_memory, frombuffer
from tensorbuf.conversion import cast, convert, saturate_cast
from tensorbuf.dtypes import DataType
from tensorbuf.errors import ConversionError, RankError, ReadOnlyError, ShapeError
from tensorbuf.memory import clear_cache
from tensorbuf.nd_array import NdArray
from tensorbuf.sequence import NdArraySequence
from tensorbuf.shape import Shape
from tensorbuf.typed_arrays import (
    BooleanNdArray,
    ByteNdArray,
    DoubleNdArray,
    FloatNdArray,
    IntNdArray,
    LongNdArray,
    ShortNdArray,
)

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
    from tensorbuf import databuffers, litert, ndarrays
    from tensorbuf import ray as ray
    from tensorbuf import torch as torch
    from tensorbuf.converter import Converter
    from tensorbuf.data_buffer import DataBuffer
    from tensorbuf.files import load, save
    from tensorbuf.interchange import from_arrow, from_dlpack
    from tensorbuf.layouts import DataLayout
    from tensorbuf.shaped_array import ShapedArray, ShapedArraySlice
    from tensorbuf.sparse import SparseNdArray
    from tensorbuf.tensor_buffer import TensorBuffer
    from tensorbuf.visitor import DataStorageVisitor
    from tensorbuf.window import DataBufferWindow
else:
    # What many programs do not use is imported when one of its names is: Converter, whole families, what reads files.
    _LATER = {
        "Converter": "converter",
        "DataBuffer": "data_buffer",
        "DataBufferWindow": "window",
        "DataLayout": "layouts",
        "DataStorageVisitor": "visitor",
        "ShapedArray": "shaped_array",
        "ShapedArraySlice": "shaped_array",
        "SparseNdArray": "sparse",
        "TensorBuffer": "tensor_buffer",
        "from_arrow": "interchange",
        "from_dlpack": "interchange",
        "load": "files",
        "save": "files",
    }
    # The last three are not in __all__: `from tensorbuf import *` must not replace the libraries of these names.
    _MODULES = ("databuffers", "litert", "ndarrays", "dask", "ray", "torch")

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"tensorbuf.{name}")
        if name not in _LATER:
            raise AttributeError(f"module 'tensorbuf' has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"tensorbuf.{_LATER[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
