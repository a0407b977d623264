"""Java's primitive types: the word that its method names have for each, and the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["JAVA_TYPES"]

JAVA_TYPES: dict[str, np.dtype[Any]] = {
    "byte": np.dtype(np.int8),
    "short": np.dtype(np.int16),
    "int": np.dtype(np.int32),
    "long": np.dtype(np.int64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "boolean": np.dtype(np.bool),
}
