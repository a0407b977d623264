"""``tensorbuf demo``: a photograph becomes a model's input and a picture again."""

from __future__ import annotations

import errno
import importlib.resources
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.cli import demo_picture, demo_speed
from tensorbuf.cli.images import read_image
from tensorbuf.converter import Converter
from tensorbuf.doors.whole_file import whole_file
from tensorbuf.files import save

__all__ = ["Journey", "demo", "travel"]

# Mean and deviation of the pictures in ImageNet, which most vision models were trained with.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Journey:
    """What the photograph becomes, step by step.

    Attributes
    ----------
    photograph : numpy.ndarray
        Shape (height, width, 3), uint8.
    model_input : numpy.ndarray
        Shape (3, height, width), float32: normalised.
    quantised : numpy.ndarray
        The same shape, int8: ``round(model_input / scale) + zero_point``.
    dequantised : numpy.ndarray
        float32 again.
    picture : numpy.ndarray
        Shape (height, width, 3), uint8: what the quantised input shows.
    scale, zero_point : float, int
        Of the quantisation; they spread the range of `model_input` over the 256 values of int8.
    """

    photograph: Array
    model_input: Array
    quantised: Array
    dequantised: Array
    picture: Array
    scale: float
    zero_point: int


def travel(photograph: Array) -> Journey:
    """Normalise `photograph`, of shape (height, width, 3) and uint8, quantise it, and turn it back into a picture."""
    model_input = Converter.normalize(MEAN, STD, layout="HWC->CHW")(photograph)
    low, high = float(model_input.min()), float(model_input.max())
    scale = (high - low) / 255
    zero_point = round(-128 - low / scale)
    quantised = Converter.quantize(scale, zero_point)(model_input)
    dequantised = Converter.dequantize(scale, zero_point)(quantised)
    picture = to_picture()(dequantised)
    return Journey(photograph, model_input, quantised, dequantised, picture, scale, zero_point)


def to_picture() -> Converter:
    """The way back from a normalised model input to uint8: ``x * (255 * std) + 255 * mean``, channels last."""
    scale, offset = [255 * std for std in STD], [255 * mean for mean in MEAN]
    return Converter("uint8", scale=scale, offset=offset, layout="CHW->HWC", rounding="nearest")


@click.command(short_help="The main job on a sample photograph, with a picture of the result.")
@click.argument("folder", metavar="[DIR]", default="tensorbuf-demo", type=Path)
def demo(folder: Path) -> None:
    """Turn a sample photograph into a model's input and back.

    The photograph (uint8, height x width x 3) is normalised to float32 with the channels first, quantised to int8, and
    turned into a picture again. Shapes, types, ranges, errors and the speed beside numpy's are printed, and a picture
    that shows all of it is written to DIR (tensorbuf-demo), beside the two model inputs as .npy files.
    """
    with importlib.resources.as_file(importlib.resources.files("tensorbuf") / "samples" / "astronaut.jpg") as path:
        photograph = read_image(str(path))
    journey = travel(photograph)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "is a file, not a folder", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(_table(journey))
    click.echo(_errors(journey))
    click.echo(demo_speed.report(photograph, MEAN, STD, journey.scale, journey.zero_point))
    for path in _write(folder, journey):
        click.echo(f"wrote {path}")


def _table(journey: Journey) -> str:
    rows = [
        ("photograph", journey.photograph, "as decoded"),
        ("model input", journey.model_input, "(x / 255 - mean) / std, HWC to CHW"),
        ("quantised input", journey.quantised, f"round(x / {journey.scale:.6f}) + {journey.zero_point}"),
        ("picture again", journey.picture, "dequantised, x * 255 std + 255 mean, CHW to HWC"),
    ]
    lines = [f"{'':16}{'shape':15}{'type':9}{'range':>19}   how"]
    for name, array, how in rows:
        span = f"{_short(array.min())} .. {_short(array.max())}"
        lines.append(f"{name:16}{array.shape!s:15}{array.dtype!s:9}{span:>19}   {how}")
    return "\n".join(lines) + "\n"


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, np.floating) else str(value)


def _errors(journey: Journey) -> str:
    straight = int(_difference(to_picture()(journey.model_input), journey.photograph).max())
    quantised = float(np.abs(journey.dequantised - journey.model_input).max())
    difference = _difference(journey.picture, journey.photograph)
    return (
        f"largest error of the model input, turned straight back into a picture: {straight} of 255\n"
        f"largest error of the quantised input: {quantised:.6f}, and half a step is {journey.scale / 2:.6f}\n"
        f"largest error of the picture again: {difference.max()} of 255, "
        f"in {100 * np.count_nonzero(difference) / difference.size:.1f} % of the samples\n"
    )


def _difference(a: Array, b: Array) -> Array:
    return np.abs(a.astype(np.int16) - b.astype(np.int16))


def _write(folder: Path, journey: Journey) -> list[Path]:
    paths = [folder / "model_input.npy", folder / "quantised_input.npy", folder / "before_and_after.png"]
    save(paths[0], journey.model_input)
    save(paths[1], journey.quantised)
    with whole_file(paths[2], replace=True) as file:
        demo_picture.draw(journey).save(file, "PNG")
    return paths
