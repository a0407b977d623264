"""``tensorbuf view``."""

from __future__ import annotations

import shutil
from types import EllipsisType
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli.address import Address, Format
from tensorbuf.cli.frames import Frames, cut_off
from tensorbuf.cli.images import encode_image, is_picture
from tensorbuf.cli.inputs import open_frames
from tensorbuf.cli.options import read_shape, read_source_dtype
from tensorbuf.cli.plot import histogram
from tensorbuf.doors.whole_file import whole_file

__all__ = ["view"]

Index = int | slice | EllipsisType


def read_slice(text: str) -> tuple[Index, ...]:
    """Python's indexing, ``0,:,1::2``; a `click.BadParameter` for anything else."""
    return tuple(_read_index(part.strip(), text) for part in text.split(","))


def _read_index(part: str, text: str) -> Index:
    if part == "...":
        return ...
    try:
        bounds = [int(bound) if bound.strip() else None for bound in part.split(":")]
    except ValueError:
        bounds = []
    if len(bounds) == 1 and bounds[0] is not None:
        return bounds[0]
    if len(bounds) in (2, 3) and bounds[2:] != [0]:
        return slice(*bounds)
    raise click.BadParameter(f"write it as between Python's brackets, 0,:,1::2, not {text!r}")


def read_plot(text: str) -> Address:
    """The file of a picture."""
    address = Address.of(text)
    if address.format is not Format.IMAGE:
        raise click.BadParameter(f"{text} is no picture; name it .png")
    return address


@click.command(short_help="The values of a file, or a picture of them.")
@click.argument("source", metavar="FILE", type=Address.of)
@click.option("--from", "dtype", type=read_source_dtype, metavar="DTYPE", help="That of raw input, as uint8 or >f4.")
@click.option("--shape", type=read_shape, metavar="N[,N...]", help="The shape of one raw frame, as 1080,1920,3.")
@click.option("--slice", "index", type=read_slice, metavar="INDEX", help="A part, as between Python's brackets.")
@click.option("--plot", type=read_plot, metavar="OUT.png", help="Also draw: an image as it is, a histogram otherwise.")
@click.option("--force", is_flag=True, help="Replace OUT.png if it is there.")
def view(
    source: Address,
    dtype: np.dtype[Any] | None,
    shape: tuple[int, ...] | None,
    index: tuple[Index, ...] | None,
    plot: Address | None,
    force: bool,
) -> None:
    """Print the values of the array in FILE; of a large one those at the edges.

    \b
    tensorbuf view input.npy --slice="0,:,1::2" --plot plane.png
    """
    with open_frames(source, dtype, shape) as frames:
        array, count = _gather(frames)
        if frames.left_over and not count:
            raise ValueError(cut_off(frames, count))
        if index is not None:
            array = array[index]
        if plot is not None:
            with whole_file(plot.path, replace=force) as file:
                encode_image(file, plot.path, array if is_picture(array) else histogram(array))
        width = shutil.get_terminal_size().columns
        click.echo(np.array2string(array, max_line_width=max(width, 40)))
        if frames.left_over:
            raise ValueError(cut_off(frames, count))


def _gather(frames: Frames) -> tuple[npt.NDArray[Any], int]:
    """All frames as one array, where one alone keeps its own shape; and how many there are."""
    blocks = [np.array(block) for block in frames.blocks()]
    array = np.concatenate(blocks) if blocks else np.empty((0, *frames.shape), frames.dtype)
    return (array[0] if len(array) == 1 and not frames.stacked else array), len(array)
