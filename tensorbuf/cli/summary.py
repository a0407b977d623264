"""What is known about the values of an array after looking at each of them once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorbuf.conversion import convert
from tensorbuf.dtypes import DataType

__all__ = ["Summary"]

# From here on the sum of a block may overflow a float64.
_LARGE = 1e290
_SHRINK = 2.0**-64


class Summary:
    """Least, largest and mean of the finite values, and how many are NaN or infinite; fed block by block.

    The mean is exact for integers, and for floats the sum of each block is rounded once. Complex values have no
    order: only their NaNs and infinities are counted.

    Attributes
    ----------
    minimum, maximum, mean : int, float, bool or None
        Of the finite values; None if there are none.
    nan, inf : int
        The numbers of NaNs and of infinities of either sign.
    """

    def __init__(self) -> None:
        self.minimum: Any = None
        self.maximum: Any = None
        self.nan = 0
        self.inf = 0
        self._total = Fraction(0)
        self._count = 0

    @property
    def mean(self) -> float | None:
        return float(self._total / self._count) if self._count else None

    def add(self, block: npt.NDArray[Any]) -> None:
        """Look at the values of `block`, an array of any shape."""
        kind = DataType.of(block.dtype)
        values: npt.NDArray[Any] = block.reshape(-1)
        if kind.is_complex:
            nan = np.isnan(values)
            self.nan += int(np.count_nonzero(nan))
            self.inf += int(np.count_nonzero(np.isinf(values) & ~nan))
            return
        if kind.is_floating:
            values = convert(values, "float64")
            finite = np.isfinite(values)
            nan_count = int(np.count_nonzero(np.isnan(values)))
            self.nan += nan_count
            self.inf += values.size - int(np.count_nonzero(finite)) - nan_count
            values = values[finite]
        if values.size:
            low, high = values.min().item(), values.max().item()
            self.minimum = low if self.minimum is None else min(self.minimum, low)
            self.maximum = high if self.maximum is None else max(self.maximum, high)
            self._total += _sum(values, max(abs(low), abs(high)))
            self._count += values.size


def _sum(values: npt.NDArray[Any], largest: float) -> Fraction:
    if values.dtype == np.float64:
        factor = _SHRINK if largest > _LARGE else 1.0
        return Fraction(float(np.sum(values * factor))) / Fraction(factor)
    if values.dtype.itemsize < 8:
        return Fraction(int(np.sum(values, dtype=np.int64)))
    # Halves of 64-bit integers, since sums of the whole would wrap.
    return Fraction((int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF)))
