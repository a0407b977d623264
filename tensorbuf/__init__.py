"""Typed tensors over raw bytes, exact conversion between dtypes, zero-copy views."""

from tensorbuf.dtypes import DataType
from tensorbuf.errors import ConversionError, RankError, ReadOnlyError, ShapeError

__all__ = ["ConversionError", "DataType", "RankError", "ReadOnlyError", "ShapeError"]
