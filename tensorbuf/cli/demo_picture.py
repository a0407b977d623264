"""The picture that the demo writes: before, both model inputs, after, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorbuf.cli.images import pillow
from tensorbuf.converter import Converter

if TYPE_CHECKING:
    from PIL.Image import Image

    from tensorbuf.cli.demo import Journey

__all__ = ["draw"]

_MARGIN = 28
_GAP = 16
_CAPTION = 64
_BACKGROUND = (18, 20, 26)
_BRIGHT = (236, 238, 242)
_DIM = (150, 156, 168)
# The colours of the planes of red, green and blue.
_INKS = ((255, 96, 80), (96, 224, 120), (96, 152, 255))

Array = npt.NDArray[Any]


def draw(journey: Journey) -> Image:
    """Five panels in a row, each with what it shows, its type and its shape."""
    difference = np.abs(journey.picture.astype(np.int16) - journey.photograph.astype(np.int16))
    worst = int(difference.max())
    # So bright that one level shows, and so dark that it does not shout.
    times = min(60, 255 // max(worst, 1))
    amplified = Converter("uint8", scale=times)(difference)
    panels = [
        (journey.photograph, "before", _describe(journey.photograph)),
        (_planes(journey.model_input), "model input", _describe(journey.model_input)),
        (_planes(journey.quantised), "quantised", _describe(journey.quantised)),
        (journey.picture, "after", _describe(journey.picture)),
        (amplified, "difference", f"at most {worst} of 255, shown {times} times"),
    ]
    return _row(panels)


def _describe(array: Array) -> str:
    return f"{array.dtype} {'x'.join(map(str, array.shape))}"


def _planes(array: Array) -> Array:
    """The three planes of a model input below each other, each in its colour; the least value is black."""
    low, high = float(array.min()), float(array.max())
    scale = 255 / (high - low)
    grey = Converter("uint8", scale=scale, offset=-low * scale, rounding="nearest")(array)
    third = grey[:, ::3, ::3]
    tinted = third[..., np.newaxis] * (np.array(_INKS, np.float32)[:, np.newaxis, np.newaxis] / 255)
    picture: Array = Converter("uint8", rounding="nearest")(tinted.reshape(-1, third.shape[2], 3))
    return picture


def _row(panels: list[tuple[Array, str, str]]) -> Image:
    image_module = pillow()
    from PIL import ImageDraw, ImageFont

    widths = [pixels.shape[1] for pixels, _, _ in panels]
    height = max(pixels.shape[0] for pixels, _, _ in panels)
    size = (sum(widths) + 2 * _MARGIN + _GAP * (len(panels) - 1), height + 2 * _MARGIN + _CAPTION)
    canvas: Image = image_module.new("RGB", size, _BACKGROUND)
    pen = ImageDraw.Draw(canvas)
    title, small = ImageFont.load_default(20), ImageFont.load_default(13)
    left = _MARGIN
    for (pixels, name, description), width in zip(panels, widths, strict=True):
        pen.text((left, _MARGIN - 6), name, _BRIGHT, title)
        pen.text((left, _MARGIN + 24), description, _DIM, small)
        canvas.paste(image_module.fromarray(pixels), (left, _MARGIN + _CAPTION))
        left += width + _GAP
    return canvas
