"""Writing: an output takes the blocks of frames one by one, and appears under its name at the end."""

from __future__ import annotations

import contextlib
import math
import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli.address import Address, Format
from tensorbuf.cli.images import encode_image
from tensorbuf.cli.streams import standard_output, write_all
from tensorbuf.doors import npy, npz, safetensors
from tensorbuf.doors.whole_file import naming, whole_file

__all__ = ["Output", "open_output"]


class Output(Protocol):
    """What frames are written to."""

    def write(self, block: npt.NDArray[Any]) -> None:
        """Add frames, an array of shape ``(n, *shape)``; its memory is free again afterwards."""
        ...

    def finish(self) -> None:
        """Complete the output after the last block."""
        ...


@contextlib.contextmanager
def open_output(
    address: Address, shape: tuple[int, ...], dtype: np.dtype[Any], *, stacked: bool, force: bool
) -> Iterator[Output]:
    """Open an output for frames of one shape and type.

    Parameters
    ----------
    address : Address
        Where to; a file appears there only if the block ends without an error.
    shape, dtype : tuple of int, numpy.dtype
        Those of one frame.
    stacked : bool
        Whether a single frame keeps a first axis of size 1.
    force : bool
        Whether an existing file is replaced.

    Raises
    ------
    FileExistsError
        If there is a file already and `force` is False.
    OSError
        If it cannot be written.
    click.UsageError
        If a picture is asked to hold several frames.
    """
    if address.is_standard_stream:
        with standard_output() as stream, naming("standard output"):
            yield RawOutput(stream)
        return
    with whole_file(address.path, replace=force) as file, contextlib.ExitStack() as stack:
        output: Output
        if address.format is Format.RAW:
            output = RawOutput(file)
        elif address.format is Format.NPY:
            output = NpyOutput(file, shape, dtype, stacked=stacked)
        elif address.format is Format.IMAGE:
            output = ImageOutput(file, address.path)
        else:
            collected = stack.enter_context(tempfile.TemporaryFile(dir=Path(address.path).parent))
            output = MemberOutput(file, collected, address, shape, dtype, stacked=stacked)
        yield output
        output.finish()


class RawOutput:
    """The elements and nothing else."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, block: npt.NDArray[Any]) -> None:
        write_all(self._file, block.reshape(-1).view(np.uint8).data)

    def finish(self) -> None:
        self._file.flush()


class ArrayOutput(RawOutput):
    """The elements of frames that make one array, whose shape is known at the end only."""

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], *, stacked: bool) -> None:
        super().__init__(file)
        self._frame = shape
        self._dtype = dtype
        self._stacked = stacked
        self._count = 0

    def write(self, block: npt.NDArray[Any]) -> None:
        super().write(block)
        self._count += len(block)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self._frame if self._count == 1 and not self._stacked else (self._count, *self._frame)


class NpyOutput(ArrayOutput):
    """A ``.npy`` file: room for the header comes first, the header last."""

    def __init__(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], *, stacked: bool) -> None:
        super().__init__(file, shape, dtype, stacked=stacked)
        self._room = len(npy.header((2**63 - 1, *self._frame), self._dtype))
        write_all(file, memoryview(bytes(self._room)))

    def finish(self) -> None:
        self._file.seek(0)
        self._file.write(npy.header(self._shape, self._dtype, room=self._room))
        super().finish()


class MemberOutput(ArrayOutput):
    """A ``.npz`` or ``.safetensors`` file with one array, which is collected in a temporary file first."""

    def __init__(
        self,
        file: BinaryIO,
        collected: BinaryIO,
        address: Address,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        stacked: bool,
    ) -> None:
        super().__init__(collected, shape, dtype, stacked=stacked)
        self._archive = file
        self._address = address

    def finish(self) -> None:
        super().finish()
        empty = not self._count * math.prod(self._frame)
        memory = b"" if empty else mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays = {self._address.member or "arr_0": np.ndarray(self._shape, self._dtype, memory)}
        if self._address.format is Format.NPZ:
            npz.write(self._archive, arrays)
            self._archive.flush()
        else:
            safetensors.write(self._archive.name, arrays)


class ImageOutput:
    """A picture, of exactly one frame."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._frames: list[npt.NDArray[Any]] = []

    def write(self, block: npt.NDArray[Any]) -> None:
        self._frames.extend(np.array(block))
        if len(self._frames) > 1:
            raise click.UsageError(f"{self._path} is a picture and holds one frame; the input has more")

    def finish(self) -> None:
        if not self._frames:
            raise ValueError(f"{self._path} is a picture and holds one frame; the input has none")
        encode_image(self._file, self._path, self._frames[0])
