"""When dtypes are the same, and when elements are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["all_equal", "same_dtype"]


def same_dtype(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """True if two dtypes are one but for the byte order."""
    return a == b or a.newbyteorder("=") == b.newbyteorder("=")


def all_equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """True if all elements of two arrays of one shape are equal by ``==``: NaN differs from NaN, 0.0 equals -0.0."""
    # A signalling NaN of bfloat16 would be reported as an invalid value.
    with np.errstate(invalid="ignore"):
        return bool((a == b).all())
