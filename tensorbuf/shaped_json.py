"""Arrays as JSON: `{"shape": [...], "scalars": [...]}`, the form of Swift's Codable."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorbuf._kernels.numbers import read_numbers
from tensorbuf.conversion import convert
from tensorbuf.descriptions import plain_text, python_values
from tensorbuf.dtypes import DataType
from tensorbuf.errors import shown

__all__ = ["check_finite", "decode", "encode", "numbers", "to_dict"]

Array = np.ndarray[Any, Any]

_HEAD = re.compile(
    r'\s*\{\s*"shape"\s*:\s*\[((?:(?:0|[1-9]\d{0,17})(?:, ?(?:0|[1-9]\d{0,17}))*)?)\]\s*,\s*"scalars"\s*:\s*\[',
    re.ASCII,
)
_TAIL = re.compile(r"\]\s*\}\s*\Z")
_TAIL_LENGTH = 20
_NAMES = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _check(array: Array, non_finite: str) -> None:
    _check_choice(non_finite)
    if DataType.of(array.dtype).is_complex:
        raise TypeError(f"JSON has no {array.dtype} numbers; encode the real and the imaginary part")


def _check_choice(non_finite: str) -> None:
    if not isinstance(non_finite, str) or non_finite not in ("raise", "string"):
        raise ValueError(f'non_finite is "raise" or "string", got {shown(non_finite)}')


def _no_number(position: int, what: object) -> ValueError:
    return ValueError(f'scalar {position} is {what}, which JSON has no number for; take non_finite="string"')


def encode(array: Array, non_finite: str) -> str:
    """The JSON text of a C-contiguous array."""
    _check(array, non_finite)
    scalars = plain_text(array)
    # Of all texts of numbers only those of NaN and the infinities have an n.
    if array.dtype != np.bool and (found := scalars.find("n")) >= 0:
        if non_finite == "raise":
            position = scalars.count(",", 0, found)
            raise _no_number(position, array.reshape(-1)[position])
        scalars = scalars.replace("nan", '"nan"').replace("inf", '"inf"').replace('-"inf"', '"-inf"')
    return f'{{"shape": {list(array.shape)}, "scalars": [{scalars}]}}'


def to_dict(array: Array, non_finite: str) -> dict[str, list[Any]]:
    """What `encode` writes, as Python lists and numbers."""
    _check(array, non_finite)
    scalars = python_values(array)
    if DataType.of(array.dtype).is_floating:
        for position in np.flatnonzero(~_finite(array)):
            if non_finite == "raise":
                raise _no_number(int(position), scalars[position])
            scalars[position] = str(scalars[position])
    return {"shape": list(array.shape), "scalars": scalars}


def decode(text: str | bytes | bytearray, non_finite: str) -> tuple[Any, Any]:
    """The shape and the scalars (an array, or a list) of a JSON text.

    Raises
    ------
    TypeError
        If `text` is no text.
    ValueError
        If it is no JSON (the bare tokens NaN and Infinity are none), and for the reasons of `numbers`.
    """
    if isinstance(text, (bytes, bytearray)):
        text = text.decode(json.detect_encoding(text))
    if not isinstance(text, str):
        raise TypeError(f"JSON is a str or bytes, got a {type(text).__name__}")
    _check_choice(non_finite)
    if (plain := _read_plain(text)) is not None:
        return plain
    try:
        decoded = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the JSON text is nested too deep to be an array") from None
    if not isinstance(decoded, dict):
        raise ValueError(f"an array is a JSON object with the keys shape and scalars, got a {type(decoded).__name__}")
    return numbers(decoded, non_finite)


def _read_plain(text: str) -> tuple[list[int], Array] | None:
    """The way of what `encode` writes: numbers go straight into memory. None for all else, errors included."""
    head, tail = _HEAD.match(text), _TAIL.search(text, max(0, len(text) - _TAIL_LENGTH))
    if head is None or tail is None or not text.isascii() or tail.start() < head.end():
        return None
    start, stop = head.end(), tail.start()
    size = text.count(",", start, stop) + 1
    for dtype in (np.int64, np.float64):
        scalars = np.empty(size, dtype)
        if read_numbers(text, start, stop, scalars, dtype is np.float64):
            return [int(dim) for dim in head[1].split(",")] if head[1] else [], scalars
    return None


def _refuse(token: str) -> None:
    raise ValueError(f"{token} is no JSON; non-finite numbers are encoded as strings")


def numbers(decoded: Mapping[str, Any], non_finite: str) -> tuple[Any, list[Any]]:
    """The shape and the scalars of a decoded object, the names of NaN and the infinities as floats.

    Raises
    ------
    TypeError
        If it is no mapping, or `scalars` is no list.
    ValueError
        If a key is missing, or a scalar is text that names no number or may not.
    """
    _check_choice(non_finite)
    if not isinstance(decoded, Mapping):
        raise TypeError(f"expected a mapping with the keys shape and scalars, got a {type(decoded).__name__}")
    for key in ("shape", "scalars"):
        if key not in decoded:
            raise ValueError(f"an array has the keys shape and scalars, and {key} is missing")
    scalars = decoded["scalars"]
    if not isinstance(scalars, list):
        raise TypeError(f"scalars is a list of numbers, got a {type(scalars).__name__}")
    if str in set(map(type, scalars)):
        scalars = [_number(position, scalar, non_finite) for position, scalar in enumerate(scalars)]
    return decoded["shape"], scalars


def _number(position: int, scalar: Any, non_finite: str) -> Any:
    if not isinstance(scalar, str):
        return scalar
    if non_finite == "string" and scalar in _NAMES:
        return _NAMES[scalar]
    raise ValueError(f'scalar {position} is {scalar!r}; only with non_finite="string" may it be nan, inf or -inf')


def check_finite(array: Array, non_finite: str) -> None:
    """ValueError where a scalar is not finite, and `non_finite` is "raise"."""
    if non_finite == "raise" and DataType.of(array.dtype).is_floating and not (finite := _finite(array)).all():
        position = int(finite.argmin())
        raise _no_number(position, array[position])


def _finite(array: Array) -> Array:
    # numpy warns of signalling NaNs in the narrower types.
    doubles: Array = convert(array.reshape(-1), np.float64)
    return np.isfinite(doubles)
