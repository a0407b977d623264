"""Writing: an output takes the blocks of frames one by one, and appears under its name at the end."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli.address import Address, Format
from tensorbuf.cli.images import encode_image
from tensorbuf.cli.streams import naming, standard_output, write_all
from tensorbuf.doors import npy
from tensorbuf.doors.whole_file import whole_file

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
        with standard_output() as stream:
            yield RawOutput(stream, "standard output")
        return
    with whole_file(address.path, replace=force) as file, contextlib.ExitStack() as stack:
        output: Output
        if address.format is Format.RAW:
            output = RawOutput(file, address.path)
        elif address.format is Format.NPY:
            output = NpyOutput(file, address.path, shape, dtype, stacked=stacked)
        elif address.format is Format.IMAGE:
            output = ImageOutput(file, address.path)
        elif address.format is Format.NPZ:
            collected = stack.enter_context(tempfile.TemporaryFile(dir=Path(address.path).parent))
            output = NpzOutput(file, collected, address, shape, dtype, stacked=stacked)
        else:
            raise NotImplementedError
        yield output
        with naming(address.path):
            output.finish()


class RawOutput:
    """The elements and nothing else."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name

    def write(self, block: npt.NDArray[Any]) -> None:
        with naming(self._name):
            write_all(self._file, block.reshape(-1).view(np.uint8).data)

    def finish(self) -> None:
        self._file.flush()


class NpyOutput(RawOutput):
    """A ``.npy`` file, whose header is written last, since only then the number of frames is known."""

    def __init__(
        self, file: BinaryIO, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], *, stacked: bool
    ) -> None:
        super().__init__(file, name)
        self._shape = shape
        self._dtype = dtype
        self._stacked = stacked
        self._frames = 0
        self._room = len(npy.header((2**63 - 1, *shape), dtype))
        super().write(np.zeros(self._room, np.uint8))

    def write(self, block: npt.NDArray[Any]) -> None:
        super().write(block)
        self._frames += len(block)

    def finish(self) -> None:
        alone = self._frames == 1 and not self._stacked
        shape = self._shape if alone else (self._frames, *self._shape)
        self._file.seek(0)
        self._file.write(npy.header(shape, self._dtype, room=self._room))
        super().finish()


class NpzOutput(NpyOutput):
    """A ``.npz`` file with one member, collected in a temporary file, since what stands before it is known last."""

    def __init__(
        self,
        archive: BinaryIO,
        collected: BinaryIO,
        address: Address,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        stacked: bool,
    ) -> None:
        super().__init__(collected, address.path, shape, dtype, stacked=stacked)
        self._archive = archive
        self._member = f"{address.member or 'arr_0'}.npy"

    def finish(self) -> None:
        super().finish()
        self._file.seek(0)
        with (
            zipfile.ZipFile(self._archive, "w") as archive,
            archive.open(self._member, "w", force_zip64=True) as member,
        ):
            shutil.copyfileobj(self._file, member, 1 << 20)
        self._archive.flush()


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
