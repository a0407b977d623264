"""What an argument names: a file, a member of a file, or a standard stream, and the format that its suffix means."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import PurePath

import click

__all__ = ["Address", "Format"]

_CONTAINERS = (".npz", ".safetensors")
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


class Format(enum.Enum):
    """How the arrays of a file are written down."""

    NPY = "npy"
    NPZ = "npz"
    SAFETENSORS = "safetensors"
    IMAGE = "image"
    RAW = "raw"


@dataclass(frozen=True)
class Address:
    """A place that arrays are read from or written to.

    Attributes
    ----------
    path : str
        The file, or ``-`` for standard input or output.
    member : str or None
        The name of an array in a ``.npz`` or ``.safetensors`` file.
    """

    path: str
    member: str | None = None

    @classmethod
    def of(cls, text: str) -> Address:
        """Read ``file``, ``file.npz:member`` or ``-``.

        Examples
        --------
        >>> Address.of("run.npz:loss")
        Address(path='run.npz', member='loss')
        >>> Address.of("frame.rgb").format
        <Format.RAW: 'raw'>
        """
        if not text:
            raise click.BadParameter("a file has a name; standard input and output are -")
        for suffix in _CONTAINERS:
            end = text.lower().find(suffix + ":")
            if end >= 0:
                end += len(suffix)
                return cls(text[:end], text[end + 1 :])
        return cls(text)

    @property
    def is_standard_stream(self) -> bool:
        """Whether this is standard input or output."""
        return self.path == "-"

    @property
    def spelled(self) -> str:
        """What to call it as an input in an error."""
        return "standard input" if self.is_standard_stream else self.path

    @property
    def format(self) -> Format:
        """The format by the suffix; RAW for one that is not known."""
        suffix = PurePath(self.path).suffix.lower()
        if suffix in _IMAGES:
            return Format.IMAGE
        return {".npy": Format.NPY, ".npz": Format.NPZ, ".safetensors": Format.SAFETENSORS}.get(suffix, Format.RAW)
