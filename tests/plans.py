"""The formulas of Converter, step by step in numpy: each +, -, * and / is one rounded IEEE operation."""

from __future__ import annotations

import numpy as np
import twin
from oracle import ELEMENTS

WIDE = ("float64", "int32", "uint32", "int64", "uint64")


def arithmetic(of: str, to: str) -> str:
    """The type in which a plan computes."""
    return "float64" if of in WIDE or to in WIDE else "float32"


def parameter(given, kind: str, rank: int, axis: int) -> np.ndarray:
    """A parameter in the arithmetic type, rounded once from what was given, along its axis."""
    array = np.asarray(given)
    array = twin.convert(np.array(array.reshape(-1), order="C"), kind).values
    if array.size == 1:
        return array.reshape(())
    return array.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def rounded(y: np.ndarray, rounding: str) -> np.ndarray:
    """To whole numbers, still floats; each of these is exact."""
    if rounding == "nearest_away":
        whole = np.trunc(y)
        return np.where(np.abs(y - whole) >= 0.5, whole + np.copysign(y.dtype.type(1), y), whole)
    return {"truncate": np.trunc, "nearest": np.rint, "floor": np.floor, "ceil": np.ceil}[rounding](y)


def affine(x, to, scale=None, offset=None, axis=-1, **how) -> np.ndarray:
    kind = arithmetic(twin.name_of(x), to)
    y = twin.convert(x, kind).values
    with np.errstate(all="ignore"):
        if scale is not None:
            y = y * parameter(scale, kind, x.ndim, axis)
        if offset is not None:
            y = y + parameter(offset, kind, x.ndim, axis)
    return twin.convert(y, to, **how).values


def normalize(x, mean, std, divide_by=255, to="float32", axis=-1) -> np.ndarray:
    kind = arithmetic(twin.name_of(x), to)
    y = twin.convert(x, kind).values
    with np.errstate(all="ignore"):
        y = y / parameter(divide_by, kind, x.ndim, axis)
        y = y - parameter(mean, kind, x.ndim, axis)
        y = y / parameter(std, kind, x.ndim, axis)
    return twin.convert(y, to).values


def quantize(x, scale, zero_point=0, to="int8", axis=1, rounding="nearest") -> np.ndarray:
    kind = arithmetic(twin.name_of(x), to)
    y = twin.convert(x, kind).values
    with np.errstate(all="ignore"):
        y = y / parameter(scale, kind, x.ndim, axis)
        if ELEMENTS[to].kind == "float":
            return twin.saturate_cast(y, to)
        y = rounded(y, rounding) + parameter(zero_point, kind, x.ndim, axis)
    return twin.convert(y, to).values


def dequantize(x, scale, zero_point=0, to="float32", axis=1) -> np.ndarray:
    kind = arithmetic(twin.name_of(x), to)
    y = twin.convert(x, kind).values
    with np.errstate(all="ignore"):
        y = y - parameter(zero_point, kind, x.ndim, axis)
        y = y * parameter(scale, kind, x.ndim, axis)
    return twin.convert(y, to).values
