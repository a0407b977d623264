"""``tensorbuf info``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from tensorbuf.cli.address import Address
from tensorbuf.cli.frames import cut_off
from tensorbuf.cli.inputs import open_frames
from tensorbuf.cli.options import read_shape, read_source_dtype
from tensorbuf.cli.progress import progress
from tensorbuf.cli.summary import Summary

__all__ = ["info"]


@click.command(short_help="Type, shape and range of a file.")
@click.argument("source", metavar="FILE", type=Address.of)
@click.option("--from", "dtype", type=read_source_dtype, metavar="DTYPE", help="That of raw input, as uint8 or >f4.")
@click.option("--shape", type=read_shape, metavar="N[,N...]", help="The shape of one raw frame, as 1080,1920,3.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def info(source: Address, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None, as_json: bool) -> None:
    """Tell the type, shape and bytes of the array in FILE, and the least, the largest and the mean of its values.

    Those three are of the finite values, and none (in JSON null) if there are none or they are complex; NaN and
    infinities are counted.
    """
    summary, count = Summary(), 0
    with open_frames(source, dtype, shape) as frames, progress(frames.nbytes) as advance:
        for block in frames.blocks():
            summary.add(block)
            count += len(block)
            advance(len(block), block.nbytes)
    if frames.left_over and not count:
        raise ValueError(cut_off(frames, count))
    whole = frames.shape if count == 1 and not frames.stacked else (count, *frames.shape)
    facts = {
        "dtype": frames.dtype.name,
        "shape": list(whole),
        "bytes": int(np.prod(whole, dtype=object)) * frames.dtype.itemsize,
        "min": summary.minimum,
        "max": summary.maximum,
        "mean": summary.mean,
        "nan": summary.nan,
        "inf": summary.inf,
    }
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
    else:
        facts["shape"] = whole
        click.echo("\n".join(f"{key:7}{'none' if value is None else value}" for key, value in facts.items()))
    if frames.left_over:
        raise ValueError(cut_off(frames, count))
