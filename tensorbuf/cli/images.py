"""Pictures as arrays, through Pillow."""

from __future__ import annotations

import os
import warnings
from pathlib import PurePath
from typing import Any, BinaryIO

import click
import numpy as np
import numpy.typing as npt

from tensorbuf.doors.partner import partner
from tensorbuf.errors import ShapeError

__all__ = ["PICTURE_TYPES", "encode_image", "is_picture", "pillow", "read_image"]

# What a picture's samples can be; bool is black and white.
PICTURE_TYPES = (np.dtype(np.uint8), np.dtype(np.bool), np.dtype(np.uint16))

# The formats with 16 bits a sample; into others Pillow would cut them down without a word.
_DEEP = (".pgm", ".png", ".tif", ".tiff")

# Pillow's modes whose samples are an array as they stand, and what the others (palettes, bits, inks) become.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I", "I;16", "F")
_PLAIN_MODE_OF = {"1": "L", "PA": "RGBA", "La": "LA", "RGBa": "RGBA", "I;16B": "I", "I;16L": "I;16", "I;16N": "I;16"}


def pillow() -> Any:
    """The module ``PIL.Image``.

    Raises
    ------
    ImportError
        If Pillow is not installed, with the command that installs it.
    """
    return partner("PIL.Image", "a picture", "images")


def read_image(path: str) -> npt.NDArray[Any]:
    """Read a picture with one frame.

    The samples are those of the file: neither its colour profile nor its orientation tag is applied. Palettes become
    RGB, or RGBA where there is a transparent colour, and CMYK, YCbCr, LAB and HSV become RGB.

    Returns
    -------
    numpy.ndarray
        Shape (height, width), or (height, width, channels) for more than one channel; uint8, or for grey pictures of
        more depth uint16, int32 or float32.

    Raises
    ------
    click.UsageError
        If the file holds several frames.
    ValueError
        If it is damaged, or no picture that Pillow knows.
    OSError
        If it cannot be opened.
    """
    image_module = pillow()
    with open(path, "rb") as file, warnings.catch_warnings():
        # Pillow warns of large pictures; whoever names the file wants it converted. Its error for huge ones stays.
        warnings.simplefilter("ignore")
        try:
            with image_module.open(file) as image:
                if getattr(image, "n_frames", 1) != 1:
                    raise click.UsageError(f"{path} holds {image.n_frames} frames; a picture has one")
                return np.array(image.convert(_plain_mode(image)))
        except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
            raise ValueError(f"{path}: {error}") from None


def _plain_mode(image: Any) -> str:
    if image.mode in _PLAIN_MODES:
        return str(image.mode)
    if image.mode == "P":
        return "RGBA" if "transparency" in image.info else "RGB"
    return _PLAIN_MODE_OF.get(image.mode, "RGB")


def is_picture(array: npt.NDArray[Any]) -> bool:
    """Whether `array` can be shown as a picture: uint8 or bool, grey, grey and alpha, RGB or RGBA."""
    has_planes = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 2, 3, 4))
    return array.dtype in (np.uint8, np.bool) and has_planes and array.size > 0


def encode_image(file: BinaryIO, path: str, array: npt.NDArray[Any]) -> None:
    """Write a picture in the format that the suffix of `path` names.

    Parameters
    ----------
    array : numpy.ndarray
        One of `PICTURE_TYPES`: uint8 or bool of shape (height, width) or (height, width, 1 to 4); or uint16 of shape
        (height, width) or (height, width, 1) in a format with that depth.

    Raises
    ------
    ShapeError
        If the shape is not that of a picture.
    ValueError
        If the format cannot hold it (a JPEG has no alpha).
    """
    image_module = pillow()
    deep = array.dtype == np.uint16
    pixels = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if array.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (2, 3, 4) and not deep)):
        wanted = "(height, width)" if deep else "(height, width), (height, width, 3) or (height, width, 4)"
        raise ShapeError(f"{path}: a {array.dtype} picture has the shape {wanted}, got {array.shape}")
    suffix = PurePath(path).suffix.lower()
    if deep and suffix not in _DEEP:
        raise ValueError(f"{path}: {suffix} holds 8 bits a sample; take --to uint8, or one of {', '.join(_DEEP)}")
    try:
        image_module.fromarray(pixels).save(file, image_module.registered_extensions()[suffix])
    except (OSError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), path) from None
        raise ValueError(f"{path}: Pillow cannot write {array.dtype} of shape {array.shape} there: {error}") from None
