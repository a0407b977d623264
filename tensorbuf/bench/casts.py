"""Conversions of one type into another: rows 1 to 7."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tensorbuf.bench import peers
from tensorbuf.bench.contest import (
    FRAME,
    FULL_HD,
    OURS,
    TIE,
    Array,
    Contender,
    Job,
    at_least,
    at_most,
    contender,
    copying,
)
from tensorbuf.conversion import convert

__all__ = ["JOBS", "pixels", "samples"]

_BFLOAT16 = ml_dtypes.bfloat16


def pixels(shape: tuple[int, ...]) -> Array:
    """uint8 values, all of them alike often."""
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def samples(shape: tuple[int, ...], dtype: npt.DTypeLike, low: float, high: float) -> Array:
    """Values between `low` and `high`, alike often."""
    numbers = np.random.default_rng(0).uniform(low, high, shape)
    return np.asarray(numbers, dtype)


def _saturating(
    source: npt.DTypeLike,
    target: npt.DTypeLike,
    span: tuple[float, float],
    shape: tuple[int, ...],
    *,
    direct: str = "numpy",
) -> list[Contender]:
    """Values of `span`, some of which `target` cannot hold; `direct` is whose way it is to clip straight into `out`."""
    x, out = samples(shape, source, *span), np.empty(shape, target)
    limits = np.iinfo(target)
    low, high = x.dtype.type(limits.min), x.dtype.type(limits.max)
    scratch = np.empty_like(x)

    def clip_then_copy() -> None:
        np.clip(x, low, high, out=scratch)
        np.copyto(out, scratch, casting="unsafe")

    contenders = [
        contender(OURS, "convert", lambda: convert(x, target, out=out), out),
        contender("numpy", "clip, copyto", clip_then_copy, out),
        contender(direct, "clip into out", lambda: np.clip(x, low, high, out=out, casting="unsafe"), out),
        contender("numpy", "clip, astype", lambda: np.clip(x, low, high).astype(target)),
        copying(x, out),
    ]
    if torch := peers.torch():
        tensor, result, clamped = peers.tensor(x), peers.tensor(out), peers.tensor(scratch)

        def clamp_then_copy() -> None:
            torch.clamp(tensor, limits.min, limits.max, out=clamped)
            result.copy_(clamped)

        contenders += [
            contender("torch", "clamp, copy_", clamp_then_copy, out),
            contender("torch", "clamp, to", lambda: tensor.clamp(limits.min, limits.max).to(result.dtype)),
        ]
    if (cv2 := peers.cv2()) and x.itemsize == 4:
        depth = {"int8": cv2.CV_8S, "uint8": cv2.CV_8U}[out.dtype.name]
        rows, result_rows = x.reshape(len(x), -1), out.reshape(len(x), -1)
        # OpenCV rounds to the nearest, we truncate.
        run = lambda: cv2.add(rows, 0.0, dst=result_rows, dtype=depth)  # noqa: E731
        contenders.append(contender("cv2", "add", run, out, within=1 if x.dtype.kind == "f" else 0))
    return contenders


def _cast(source: npt.DTypeLike, target: npt.DTypeLike, shape: tuple[int, ...]) -> list[Contender]:
    """Values that `target` can hold; `out` is there."""
    x = samples(shape, source, 0, 256)
    out = np.empty(shape, target)
    owner = "ml_dtypes" if out.dtype == _BFLOAT16 else "numpy"
    contenders = [
        contender(OURS, "convert", lambda: convert(x, target, out=out), out),
        contender(owner, "copyto", lambda: np.copyto(out, x, casting="unsafe"), out),
        contender(owner, "astype", lambda: x.astype(target)),
        copying(x, out),
    ]
    if peers.torch():
        tensor, result = peers.tensor(x), peers.tensor(out)
        contenders.append(contender("torch", "copy_", lambda: result.copy_(tensor), out))
    if (cv2 := peers.cv2()) and x.dtype == np.uint8:
        rows, result_rows = x.reshape(len(x), -1), out.reshape(len(x), -1)
        contenders.append(contender("cv2", "add", lambda: cv2.add(rows, 0.0, dst=result_rows, dtype=cv2.CV_32F), out))
    return contenders


def _fresh(shape: tuple[int, ...]) -> list[Contender]:
    """uint8 to float32 into memory that nobody has touched yet."""
    x = pixels(shape)
    contenders = [
        contender(OURS, "convert", lambda: convert(x, np.float32)),
        contender("numpy", "astype", lambda: x.astype(np.float32)),
    ]
    if torch := peers.torch():
        tensor = peers.tensor(x)
        contenders.append(contender("torch", "to", lambda: tensor.to(torch.float32)))
    return contenders


# Rows 1 and 2 are promised against clip and astype, so the other way of numpy stands apart there.
_PIXELS = partial(_saturating, "float32", "uint8", (-100, 400), direct="numpy, direct")
_SIGNED = partial(_saturating, "float32", "int8", (-300, 300))
_COUNTS = partial(_saturating, "int32", "uint8", (-100, 400))
_LONGS = partial(_saturating, "int64", "int32", (-(2.0**33), 2.0**33))
_IN_CACHE, _IN_MEMORY = at_least(numpy=15, torch=TIE), at_least(numpy=5, torch=TIE)
_NARROW = at_least(numpy=2.4, torch=2, cv2=1.2)

JOBS = (
    Job(
        "1",
        "float32 to uint8, saturating",
        FULL_HD,
        _PIXELS,
        at_least(numpy=2.5, torch=3.5, cv2=1.2) + at_most(memcpy=0.85),
    ),
    Job("2", "float32 to uint8, saturating", FRAME, _PIXELS, at_least(numpy=2.8, torch=5, cv2=2.5)),
    Job("3", "float32 to int8, saturating", FRAME, _SIGNED, _NARROW),
    Job("3", "float32 to int8, saturating", FULL_HD, _SIGNED, _NARROW),
    Job("3", "int32 to uint8, saturating", FRAME, _COUNTS, _NARROW),
    Job("3", "int32 to uint8, saturating", FULL_HD, _COUNTS, _NARROW),
    Job("4", "int64 to int32, saturating", FRAME, _LONGS, at_least(numpy=2, torch=2)),
    Job("4", "int64 to int32, saturating", FULL_HD, _LONGS, at_least(numpy=2, torch=2)),
    Job(
        "5",
        "uint8 to float32",
        FULL_HD,
        partial(_cast, "uint8", "float32"),
        at_least(numpy=1.15, torch=1.15, cv2=1.15),
    ),
    Job("5", "uint8 to float32, fresh output", FULL_HD, _fresh, at_least(numpy=1.6)),
    Job("5", "uint8 to float32, fresh output of 64 MB", (16_000_000,), _fresh, at_least(numpy=3, torch=8)),
    Job("6", "float32 to float16", FRAME, partial(_cast, "float32", "float16"), _IN_CACHE),
    Job("6", "float32 to float16", FULL_HD, partial(_cast, "float32", "float16"), _IN_MEMORY),
    Job("6", "float16 to float32", FRAME, partial(_cast, "float16", "float32"), _IN_CACHE),
    Job("6", "float16 to float32", FULL_HD, partial(_cast, "float16", "float32"), _IN_MEMORY),
    Job("7", "float32 to bfloat16", FRAME, partial(_cast, "float32", _BFLOAT16), at_least(ml_dtypes=3, torch=TIE)),
)
