"""The two conversions of the demo, side by side with numpy's best that gives the same values."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorbuf.converter import Converter
from tensorbuf.memory import empty

__all__ = ["report"]

Array = npt.NDArray[Any]
Job = Callable[[Array, Array], object]

_REPEATS = 9
_FRAME = (1080, 1920)


def report(photograph: Array, scale: float, zero_point: int, mean: Sequence[float], std: Sequence[float]) -> str:
    """Time both conversions on `photograph` and on a 1080p frame that it is tiled into, and write a table.

    Raises
    ------
    AssertionError
        If a way of numpy's gives other values.
    """
    height, width = photograph.shape[:2]
    tiles = (-(-_FRAME[0] // height), -(-_FRAME[1] // width), 1)
    large = np.ascontiguousarray(np.tile(photograph, tiles)[: _FRAME[0], : _FRAME[1]])
    normalize = Converter.normalize(mean, std, layout="HWC->CHW")
    quantize = Converter.quantize(scale, zero_point)
    lines = [f"{'throughput of the input, one thread':47}{'tensorbuf':>12}{'numpy':>12}{'ratio':>7}"]
    for frame in (photograph, large):
        jobs = (
            ("uint8 HWC to normalised float32 CHW", normalize, numpy_normalize(mean, std), frame),
            ("float32 to quantised int8", quantize, numpy_quantize(scale, zero_point), normalize(frame)),
        )
        for name, ours, theirs, source in jobs:
            fast, slow = _race(ours, theirs, source)
            size = f"{frame.shape[1]}x{frame.shape[0]}"
            speeds = [f"{source.nbytes / seconds / 1e9:.2f} GB/s" for seconds in (fast, slow)]
            lines.append(f"{size:>9}  {name:36}{speeds[0]:>12}{speeds[1]:>12}{slow / fast:>6.1f}x")
    return "\n".join(lines) + "\n"


def _race(ours: Converter, theirs: Sequence[Job], source: Array) -> tuple[float, float]:
    """Seconds of ours and of the fastest of theirs: medians of interleaved repeats into memory that is there."""
    wanted = ours(source)
    out = empty(wanted.shape, wanted.dtype)
    jobs: list[Job] = [lambda x, out: ours(x, out=out), *theirs]
    for job in jobs:
        out.fill(0)
        job(source, out)
        if not np.array_equal(out, wanted):
            raise AssertionError("numpy and tensorbuf disagree, so their speeds cannot be compared")
    seconds: list[list[float]] = [[] for _ in jobs]
    for _ in range(_REPEATS):
        for job, times in zip(jobs, seconds, strict=True):
            start = time.perf_counter()
            job(source, out)
            times.append(time.perf_counter() - start)
    medians = [statistics.median(times) for times in seconds]
    return medians[0], min(medians[1:])


def numpy_normalize(mean: Sequence[float], std: Sequence[float]) -> list[Job]:
    """numpy's ways to normalise uint8 pixels, channels first, with every operation rounded to float32."""
    means, stds = (np.array(values, np.float32)[:, np.newaxis, np.newaxis] for values in (mean, std))
    levels = np.arange(256, dtype=np.float32)
    tables = (levels / np.float32(255) - means[:, 0]) / stds[:, 0]

    def arithmetic(x: Array, out: Array) -> None:
        np.divide(x.transpose(2, 0, 1), np.float32(255), out=out, dtype=np.float32)
        np.subtract(out, means, out=out)
        np.divide(out, stds, out=out)

    def by_channel(x: Array, out: Array) -> None:
        for channel in range(3):
            plane = out[channel]
            np.divide(x[:, :, channel], np.float32(255), out=plane, dtype=np.float32)
            np.subtract(plane, means[channel], out=plane)
            np.divide(plane, stds[channel], out=plane)

    def lookup(x: Array, out: Array) -> None:
        for channel in range(3):
            np.take(tables[channel], x[:, :, channel], out=out[channel], mode="clip")

    return [arithmetic, by_channel, lookup]


def numpy_quantize(scale: float, zero_point: int) -> list[Job]:
    """numpy's ways to quantise float32 to int8."""
    step = np.float32(scale)
    scratch: dict[tuple[int, ...], Array] = {}

    def quantize(x: Array, out: Array) -> None:
        if x.shape not in scratch:
            scratch[x.shape] = np.empty_like(x)
        y = scratch[x.shape]
        np.divide(x, step, out=y)
        np.rint(y, out=y)
        np.add(y, np.float32(zero_point), out=y)
        np.clip(y, -128, 127, out=y)
        np.copyto(out, y, casting="unsafe")

    return [quantize]
