"""``tensorbuf convert``."""

from __future__ import annotations

from typing import Any, NoReturn

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli.address import Address, Format
from tensorbuf.cli.frames import Frames, cut_off
from tensorbuf.cli.images import PICTURE_TYPES
from tensorbuf.cli.inputs import open_frames
from tensorbuf.cli.options import read_number, read_numbers, read_shape, read_source_dtype, read_target_dtype
from tensorbuf.cli.outputs import open_output
from tensorbuf.cli.progress import progress
from tensorbuf.cli.request import Request
from tensorbuf.converter import Converter
from tensorbuf.errors import ConversionError
from tensorbuf.memory import empty
from tensorbuf.rule import OVERFLOWS, ROUNDINGS

__all__ = ["convert"]


@click.command(short_help="Convert a file or a stream of frames to another type.")
@click.argument("source", metavar="IN", type=Address.of)
@click.argument("target", metavar="OUT", type=Address.of)
@click.option("--to", type=read_target_dtype, metavar="DTYPE", required=True, help="The element type of the result.")
@click.option("--from", "dtype", type=read_source_dtype, metavar="DTYPE", help="That of raw input, as uint8 or >f4.")
@click.option("--shape", type=read_shape, metavar="N[,N...]", help="The shape of one raw frame, as 1080,1920,3.")
@click.option("--layout", metavar="BEFORE:AFTER", help="Reorder the axes, as HWC:CHW.")
@click.option("--scale", type=read_numbers(), metavar="S[,S...]", help="Multiply: one number, or one a channel.")
@click.option("--offset", type=read_numbers(), metavar="O[,O...]", help="Then add.")
@click.option("--mean", type=read_numbers(), metavar="M[,M...]", help="Divide by K, subtract M, divide by --std.")
@click.option("--std", type=read_numbers(), metavar="S[,S...]", help="The deviation that goes with --mean.")
@click.option("--divide-by", type=read_number, metavar="K", help="The K of --mean and --std (255).")
@click.option("--quantize", type=read_numbers(2), metavar="S,Z", help="Divide by S, round, add the zero point Z.")
@click.option("--dequantize", type=read_numbers(2), metavar="S,Z", help="Subtract the zero point Z, multiply by S.")
@click.option("--rounding", type=click.Choice(ROUNDINGS), help="How floats become integers (truncate).")
@click.option("--overflow", type=click.Choice(OVERFLOWS), help="What becomes of values out of range (saturate).")
@click.option("--nan", type=read_number, metavar="V", help="What NaN becomes in an integer (0).")
@click.option("--force", is_flag=True, help="Replace OUT if it is there.")
def convert(
    source: Address,
    target: Address,
    dtype: np.dtype[Any] | None,
    shape: tuple[int, ...] | None,
    layout: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Convert the values of IN to another element type, and write them to OUT.

    The suffix says what a file is: .npy, .npz (FILE.npz:MEMBER), .safetensors (FILE.safetensors:TENSOR) or a picture
    (.png, .jpg ...). Anything else, and - for standard input or output, is raw bytes: --from and --shape describe one
    frame, and frames are read to the end of the input and converted one by one.

    \b
    tensorbuf convert photo.jpg input.npy --to float32 --layout HWC:CHW \\
        --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
    ffmpeg -i film.mp4 -f rawvideo -pix_fmt rgb24 - |
        tensorbuf convert - film.npy --from uint8 --shape 1080,1920,3 --to float16 --scale 0.00392
    """
    request = Request(layout=layout and layout.replace(":", "->"), **options)
    converter = request.converter(batched=False)
    is_picture = target.format is Format.IMAGE
    if is_picture and request.to not in PICTURE_TYPES:
        raise click.UsageError(
            f"{target.path} is a picture, of {', '.join(map(str, PICTURE_TYPES))}, not of {request.to}"
        )
    with open_frames(source, dtype, shape, lambda rank: not is_picture and request.splits(rank)) as frames:
        # In the words of who gave the shape, before blocks of frames add an axis.
        converter._plan.check(frames.dtype, frames.given)
        count = _convert_frames(frames, request.converter(batched=not frames.stacked), target, force)
        if frames.left_over:
            raise ValueError(cut_off(frames, count))


def _convert_frames(frames: Frames, converter: Converter, target: Address, force: bool) -> int:
    """Convert and write every frame; returns how many there were."""
    # No frames at all already show the result's shape and type.
    result = converter(np.empty((0, *frames.shape), frames.dtype))
    memory, count = result, 0
    with (
        open_output(target, result.shape[1:], result.dtype, stacked=frames.stacked, force=force) as output,
        progress(frames.nbytes) as advance,
    ):
        for block in frames.blocks():
            if len(memory) < len(block):
                memory = empty((len(block), *result.shape[1:]), result.dtype)
            try:
                output.write(converter(block, out=memory[: len(block)]))
            except ConversionError:
                _raise_for_one(converter, frames, block, count)
            count += len(block)
            advance(len(block), block.nbytes)
        if frames.left_over and not count:
            raise ValueError(cut_off(frames, count))
    return count


def _raise_for_one(converter: Converter, frames: Frames, block: npt.NDArray[Any], done: int) -> NoReturn:
    """Raise the error of the first frame in `block` that has one, so that its position is counted within the frame."""
    for i in range(len(block)):
        try:
            converter(block[i : i + 1])
        except ConversionError as error:
            raise ConversionError(f"{frames.name(done + i)}: {error}") from None
    raise AssertionError("frames that fail together and not alone")
