"""From the options of a conversion to the Converter that does it."""

from __future__ import annotations

import string
from dataclasses import dataclass, fields
from typing import Any

import click
import numpy as np

from tensorbuf.converter import Converter
from tensorbuf.rule import UNSET

__all__ = ["Request"]

Values = tuple[int | float, ...]

# The options of the four ways to describe the arithmetic.
_WAYS = ({"scale", "offset"}, {"mean", "std", "divide_by"}, {"quantize"}, {"dequantize"})


@dataclass(frozen=True)
class Request:
    """What the options of ``tensorbuf convert`` ask for; None for those that were left out.

    Attributes
    ----------
    to : numpy.dtype
        The element type of the result.
    layout : str or None
        The axes before and after, ``HWC->CHW``.
    scale, offset : tuple of numbers or None
        ``y = x * scale + offset``; one number, or one a channel.
    mean, std, divide_by : tuple of numbers (or number) or None
        ``y = (x / divide_by - mean) / std``.
    quantize, dequantize : pair of numbers or None
        Scale and zero point.
    rounding, overflow, nan : str, str, number or None
        How values become those of the element type.

    Raises
    ------
    click.UsageError
        If options do not go together.
    """

    to: np.dtype[Any]
    layout: str | None = None
    scale: Values | None = None
    offset: Values | None = None
    mean: Values | None = None
    std: Values | None = None
    divide_by: float | None = None
    quantize: Values | None = None
    dequantize: Values | None = None
    rounding: str | None = None
    overflow: str | None = None
    nan: float | None = None

    def __post_init__(self) -> None:
        given = {field.name for field in fields(self) if getattr(self, field.name) is not None}
        ways = [way & given for way in _WAYS if way & given]
        if len(ways) > 1:
            raise click.UsageError(f"{_spell(ways[0])} and {_spell(ways[1])} are two conversions; ask for one")
        if given & {"mean", "std", "divide_by"} and not {"mean", "std"} <= given:
            raise click.UsageError("--mean and --std go together")

    def splits(self, rank: int) -> bool:
        """Whether an array of that rank may be converted one element of its first axis at a time."""
        if self.layout is None:
            channels = max(len(values or ()) for values in (self.scale, self.offset, self.mean, self.std))
            # Without a layout the channels are on the last axis.
            return rank > 1 or (rank == 1 and channels <= 1)
        before, _, after = self.layout.partition("->")
        return rank == len(before) and before[0] == after[0] != "C"

    def converter(self, *, batched: bool) -> Converter:
        """The Converter of one array, or with `batched` of several stacked on a new first axis.

        Raises
        ------
        click.UsageError
            If an option has a value that a Converter does not take.
        """
        layout = _stacked(self.layout) if batched and self.layout else self.layout
        rounding = self.rounding or ("truncate" if self.quantize is None else "nearest")
        overflow = self.overflow or "saturate"
        try:
            return self._arithmetic(layout, rounding)._with(
                layout, overflow, rounding, UNSET if self.nan is None else self.nan
            )
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None

    def _arithmetic(self, layout: str | None, rounding: str) -> Converter:
        if self.mean is not None and self.std is not None:
            divide_by = 255 if self.divide_by is None else self.divide_by
            return Converter.normalize(self.mean, self.std, divide_by=divide_by, layout=layout, dtype=self.to)
        if self.quantize is not None:
            return Converter.quantize(*self.quantize, dtype=self.to, rounding=rounding)
        if self.dequantize is not None:
            return Converter.dequantize(*self.dequantize, dtype=self.to)
        return Converter(self.to, scale=self.scale, offset=self.offset, layout=layout)


def _spell(options: set[str]) -> str:
    return ", ".join("--" + name.replace("_", "-") for name in sorted(options))


def _stacked(layout: str) -> str:
    """The layout of arrays that are stacked on a new first axis, which has a letter of its own."""
    axis = next(letter for letter in string.ascii_letters if letter not in layout)
    before, _, after = layout.partition("->")
    return f"{axis}{before}->{axis}{after}"
