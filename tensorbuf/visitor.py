"""DataStorageVisitor: what a DataBuffer shows its storage to."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DataStorageVisitor"]


class DataStorageVisitor:
    """What `DataBuffer.accept` shows a storage to; a subclass overrides what it cares for.

    Examples
    --------
    >>> from tensorbuf import DataStorageVisitor, databuffers
    >>> class Total(DataStorageVisitor):
    ...     def visit(self, storage):
    ...         return int(storage.sum())
    >>> databuffers.of([1, 2, 3]).accept(Total())
    6

    References
    ----------
    ``org.tensorflow.ndarray.buffer.DataStorageVisitor``.
    """

    def visit(self, storage: np.ndarray[Any, Any]) -> Any:
        """Called for plain memory, with a 1-D numpy array that *shares* exactly the buffer's elements."""
        return self.fallback()

    def fallback(self) -> Any:
        """Called for every other storage (bits, layouts)."""
        return None
