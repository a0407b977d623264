"""The door to every library that speaks DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_dlpack"]


def from_dlpack(x: Any) -> np.ndarray[Any, Any]:
    """The memory of an object with ``__dlpack__``, which the array *shares*."""
    return np.from_dlpack(x)
