"""A histogram as a picture, drawn with Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorbuf.cli.images import pillow
from tensorbuf.cli.summary import Summary
from tensorbuf.conversion import convert
from tensorbuf.dtypes import DataType

__all__ = ["histogram"]

_SIZE = (960, 540)
_BOX = (40, 84, 920, 480)
_BARS = 110
_BACKGROUND = (18, 20, 26)
_BRIGHT = (236, 238, 242)
_DIM = (150, 156, 168)
_INK = (96, 152, 255)

Array = npt.NDArray[Any]


def histogram(array: Array) -> Array:
    """Draw how often each value occurs.

    Parameters
    ----------
    array : numpy.ndarray
        Of any shape and numeric type. Only finite values are counted; of complex ones the magnitude.

    Returns
    -------
    numpy.ndarray
        A picture of shape (540, 960, 3), uint8.
    """
    image_module = pillow()
    from PIL import ImageDraw, ImageFont

    summary = Summary()
    values = _magnitudes(array)
    summary.add(values)
    canvas = image_module.new("RGB", _SIZE, _BACKGROUND)
    pen = ImageDraw.Draw(canvas)
    title, small = ImageFont.load_default(20), ImageFont.load_default(14)
    left, top, right, bottom = _BOX
    magnitude = "magnitudes of " if DataType.of(array.dtype).is_complex else ""
    pen.text((left, 22), f"{magnitude}{array.dtype.name} {'x'.join(map(str, array.shape))}", _BRIGHT, title)
    pen.text((left, 50), f"{array.size} values, {summary.nan} NaN, {summary.inf} infinite", _DIM, small)
    pen.line((left, bottom, right, bottom), _DIM)
    if summary.mean is not None:
        counts = _counts(values[np.isfinite(values)])
        step = (right - left) / len(counts)
        for i, height in enumerate(counts / counts.max() * (bottom - top)):
            if height:
                box = (left + i * step, bottom - max(height, 1), left + (i + 1) * step - 1, bottom - 1)
                pen.rectangle(box, _INK)
        pen.text((left, bottom + 10), f"{summary.minimum:.6g}", _BRIGHT, small)
        pen.text((right, bottom + 10), f"{summary.maximum:.6g}", _BRIGHT, small, anchor="ra")
        pen.text(((left + right) / 2, bottom + 10), f"mean {summary.mean:.6g}", _DIM, small, anchor="ma")
        pen.text((right, 50), f"highest bar {counts.max()}", _DIM, small, anchor="ra")
    return np.array(canvas)


def _magnitudes(array: Array) -> Array:
    """The values as float64, flat."""
    flat: Array = array.reshape(-1)
    values: Array = convert(np.abs(flat) if DataType.of(flat.dtype).is_complex else flat, "float64")
    return values


def _counts(values: Array) -> Array:
    # Halved, since the width of a full float64 range is no float64.
    return np.histogram(values / 2, _BARS)[0]
