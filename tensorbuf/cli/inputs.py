"""Opening an input by its address."""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli.address import Address, Format
from tensorbuf.cli.frames import ArrayFrames, Frames, RawFrames
from tensorbuf.cli.images import read_image
from tensorbuf.cli.streams import standard_input
from tensorbuf.doors import npy, npz, safetensors
from tensorbuf.doors.whole_file import naming
from tensorbuf.errors import ShapeError
from tensorbuf.memory import pinned

__all__ = ["open_frames"]

Array = npt.NDArray[Any]


@contextlib.contextmanager
def open_frames(
    address: Address,
    dtype: np.dtype[Any] | None,
    shape: tuple[int, ...] | None,
    may_split: Callable[[int], bool] = bool,
) -> Iterator[Frames]:
    """Open an input as frames.

    Parameters
    ----------
    address : Address
        What to open.
    dtype, shape : dtype or None, tuple of int or None
        The element type, and the shape of one frame. Raw input needs both; another one knows its own, and those that
        are given must be the same.
    may_split : callable
        Given the rank of an array, whether its elements on axis 0 may be taken one by one.

    Raises
    ------
    click.UsageError
        If raw input has no `dtype` or `shape`, or a file of several arrays no member.
    ShapeError, TypeError
        If a file holds another shape or type than was given, or a frame of `shape` is larger than any memory.
    OSError, ValueError
        If the input is missing or cannot be read.
    """
    if address.format is Format.RAW:
        if dtype is None or shape is None:
            raise click.UsageError(f"{address.path} is raw input: --from and --shape must say what one frame is")
        _check_size(shape, dtype)
        with _open_raw(address) as (file, nbytes):
            yield RawFrames(file, address.spelled, shape, dtype, nbytes)
        return
    with naming(address.path):
        array, mapping = _read_array(address)
    if dtype is not None and dtype.newbyteorder("=") != array.dtype.newbyteorder("="):
        raise TypeError(f"{address.path} holds {array.dtype.name}, not {dtype.name} as --from says")
    if shape is not None and shape != array.shape:
        raise ShapeError(f"{address.path} has the shape {array.shape}, not {shape} as --shape says")
    yield ArrayFrames(array, stacked=array.size > 0 and may_split(array.ndim), mapping=mapping)


def _check_size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > sys.maxsize:
        raise ShapeError(f"a frame of shape {shape} of {dtype.name} needs {nbytes} bytes, more than {sys.maxsize}")


@contextlib.contextmanager
def _open_raw(address: Address) -> Iterator[tuple[io.FileIO, int | None]]:
    with standard_input() if address.is_standard_stream else io.FileIO(address.path) as file:
        status = os.fstat(file.fileno())
        yield file, status.st_size - file.tell() if stat.S_ISREG(status.st_mode) else None


def _read_array(address: Address) -> tuple[Array, mmap.mmap | None]:
    """The array, and the mapping that it lies in, if it does."""
    if address.format is Format.IMAGE:
        return read_image(address.path), None
    try:
        if address.format is Format.NPZ:
            return npz.read_array(address.path, _member(address, npz.names(address.path))), None
        return _map_array(address)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{address.path}: {error}") from None


def _map_array(address: Address) -> tuple[Array, mmap.mmap]:
    with open(address.path, "rb") as file:
        mapping = npy.map_file(file)
        if address.format is Format.NPY:
            return npy.mapped(file, pinned(mapping)), mapping
    entries = safetensors.entries(address.path)
    dtype, shape, start = entries[_member(address, list(entries))]
    return np.ndarray(shape, dtype, pinned(mapping), start), mapping


def _member(address: Address, names: list[str]) -> str:
    """The name of the array that is meant: the one that is given, or the only one there is."""
    if address.member is None and len(names) > 1:
        raise click.UsageError(f"{address.path} holds {len(names)} arrays; name one, as in {address.path}:{names[0]}")
    if not names:
        raise ValueError("it holds no array")
    name = names[0] if address.member is None else address.member
    if name not in names:
        raise ValueError(f"it holds no array {name!r}; there are {', '.join(names)}")
    return name
