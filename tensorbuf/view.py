"""View: elements of a numpy array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf._kernels.exporter import Exporter
from tensorbuf.shape import Shape

__all__ = ["View"]


class View(Exporter):
    """Elements of a numpy array, which they share."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return Shape(self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def read_only(self) -> bool:
        """True if a write is refused."""
        return not self._array.flags.writeable
