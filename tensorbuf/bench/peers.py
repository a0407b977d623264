"""The peers, imported where they are installed, each with one thread."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from typing import Any

import numpy as np

from tensorbuf.bench.contest import Array

__all__ = ["DISTRIBUTIONS", "cv2", "tensor", "torch", "version"]

# The peers' names in the table and those of the distributions that bring them.
DISTRIBUTIONS = {
    "numpy": ("numpy",),
    "torch": ("torch",),
    "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "ml_dtypes": ("ml_dtypes",),
}


def version(peer: str) -> str | None:
    """The version of a peer, None where it is not installed."""
    for distribution in DISTRIBUTIONS[peer]:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


@functools.cache
def torch() -> Any:
    """The module with one thread, or None."""
    module = _installed("torch")
    if module is not None:
        module.set_num_threads(1)
    return module


@functools.cache
def cv2() -> Any:
    """The module with one thread, or None."""
    module = _installed("cv2")
    if module is not None:
        module.setNumThreads(1)
    return module


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def tensor(array: Array) -> Any:
    """A torch tensor on the memory of `array`; bfloat16 too, which numpy cannot hand over by itself."""
    if array.dtype.name == "bfloat16":
        return torch().from_numpy(array.view(np.int16)).view(torch().bfloat16)
    return torch().from_numpy(array)
