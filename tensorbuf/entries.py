"""The entries of a sparse array: their coordinates, int64 of shape (n, rank), checked, ordered and selected."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf.dtypes import DataType
from tensorbuf.errors import ShapeError
from tensorbuf.source import array_of

__all__ = ["checked_entries", "is_default", "matches", "row_major"]

Array = np.ndarray[Any, Any]


def matches(column: Array, kept: int | range | Array) -> tuple[Array, Array]:
    """Which entries have a kept coordinate, and its place among the kept ones; an entry comes once for each such
    place."""
    if isinstance(kept, int):
        found = np.flatnonzero(column == kept)
        return found, found
    if isinstance(kept, range):
        places, off = np.divmod(column - kept.start, kept.step)
        found = np.flatnonzero((off == 0) & (places >= 0) & (places < len(kept)))
        return found, places[found]
    order = np.argsort(kept, kind="stable")
    first, last = (np.searchsorted(kept, column, side, sorter=order) for side in ("left", "right"))
    counts = last - first
    found = np.repeat(np.arange(len(column)), counts)
    nth = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found, order[first[found] + nth]


def checked_entries(indices: Any, dims: tuple[int, ...]) -> Array:
    """The coordinates of the entries, as a new int64 array, checked."""
    given = array_of(indices)
    if given.size == 0 and isinstance(indices, (list, tuple)):
        given = np.empty((0, len(dims)), np.int64)
    if given.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, got {given.dtype}")
    if given.ndim != 2 or given.shape[1] != len(dims):
        raise ShapeError(f"the indices of shape {dims} are n x {len(dims)}, got shape {given.shape}")
    for axis, length in enumerate(dims):
        outside = (given[:, axis] < 0) | (given[:, axis] >= length)
        if outside.any():
            raise IndexError(f"the index {tuple(given[outside][0].tolist())} is outside axis {axis} of shape {dims}")
    return given.astype(np.int64)


def row_major(entries: Array) -> Array:
    """The order of the entries in which their coordinates ascend."""
    order: Array = np.lexsort(entries.T[::-1]) if entries.shape[1] else np.arange(len(entries))
    return order


def is_default(values: Array, default: Any) -> Array:
    """Where an array has the default: the same bits, or NaN for NaN."""
    if values.dtype.hasobject:
        equal = [value is default or value == default for value in values.flat]
        return np.array(equal, np.bool).reshape(values.shape)
    if values.dtype.kind == "c":
        return is_default(values.real, default.real) & is_default(values.imag, default.imag)
    wanted = values.dtype.type(default)
    # A signalling NaN of bfloat16 would be reported as an invalid value.
    with np.errstate(invalid="ignore"):
        same: Array = values == wanted
        if DataType.of(values.dtype).is_floating:
            same &= np.signbit(values) == np.signbit(wanted)
            same |= np.isnan(values) & np.isnan(wanted)
    return same
