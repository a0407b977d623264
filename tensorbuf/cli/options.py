"""How the values of options are read; what cannot be is a `click.BadParameter`, which names the option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np

from tensorbuf.dtypes import numeric_dtype, read_dtype

__all__ = ["read_number", "read_numbers", "read_shape", "read_source_dtype", "read_target_dtype"]


def read_source_dtype(text: str) -> np.dtype[Any]:
    """A numeric dtype, with the byte order that its name carries (``>f4``)."""
    try:
        numeric_dtype(text)
        return read_dtype(text)
    except TypeError as error:
        raise click.BadParameter(str(error)) from None


def read_target_dtype(text: str) -> np.dtype[Any]:
    """A numeric dtype in native byte order, the only one that results have."""
    dtype = read_source_dtype(text)
    if not dtype.isnative:
        raise click.BadParameter(f"results are in this machine's byte order; take {dtype.name}, not {text}")
    return dtype


def read_shape(text: str) -> tuple[int, ...]:
    """Sizes with commas between them; nothing at all is the shape of a scalar."""
    try:
        shape = tuple(int(size) for size in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"write sizes with commas between them, as in 1080,1920,3, not {text!r}") from None
    if any(size < 1 for size in shape):
        raise click.BadParameter(f"every size of a frame is at least 1, got {text}")
    return shape


def read_number(text: str) -> int | float:
    """An integer of any size, or a float."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no number") from None


def read_numbers(count: int | None = None) -> Callable[[str], tuple[int | float, ...]]:
    """A reader of numbers with commas between them, of exactly `count` where that is given."""

    def read(text: str) -> tuple[int | float, ...]:
        try:
            numbers = tuple(read_number(part) for part in text.split(","))
        except click.BadParameter:
            raise click.BadParameter(f"write numbers with commas between them, not {text!r}") from None
        if count not in (None, len(numbers)):
            raise click.BadParameter(f"{text!r} has {len(numbers)} numbers, {count} are needed")
        return numbers

    return read
