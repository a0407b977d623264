"""The two conversions of the demo beside numpy's fastest way to the same values, in one race."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorbuf.bench.contest import OURS, Array, contender
from tensorbuf.bench.numpy_ways import Ways, normalize_ways, quantize_ways
from tensorbuf.bench.race import check, race
from tensorbuf.converter import Converter
from tensorbuf.memory import empty

__all__ = ["report"]

_REPEATS = 9
_HEIGHT, _WIDTH = 1080, 1920


def report(photograph: Array, mean: Sequence[float], std: Sequence[float], scale: float, zero_point: int) -> str:
    """A table of both conversions, of `photograph` and of a 1080p frame that it is tiled into.

    Raises
    ------
    tensorbuf.bench.race.DisagreementError
        If one of numpy's ways gives other values.
    """
    means, stds = np.array(mean, np.float32), np.array(std, np.float32)
    normalize = Converter.normalize(means, stds, layout="HWC->CHW")
    quantize = Converter.quantize(scale, zero_point)
    lines = [f"{'throughput of the input, one thread':47}{'tensorbuf':>12}{'numpy':>12}{'ratio':>7}"]
    for frame in (photograph, _tiled(photograph)):
        size = f"{frame.shape[1]}x{frame.shape[0]}"
        model_input = normalize(frame)
        out = empty(model_input.shape, model_input.dtype)
        ways = normalize_ways(means, stds, frame, out)
        lines.append(_row(f"{size:>9}  uint8 HWC to normalised float32 CHW", normalize, ways, frame, out))
        quantised = empty(model_input.shape, quantize.dtype)
        ways = quantize_ways(scale, zero_point, model_input, quantised)
        lines.append(_row(f"{size:>9}  float32 to quantised int8", quantize, ways, model_input, quantised))
    return "\n".join(lines) + "\n"


def _tiled(photograph: Array) -> Array:
    height, width = photograph.shape[:2]
    tiles = (-(-_HEIGHT // height), -(-_WIDTH // width), 1)
    return np.ascontiguousarray(np.tile(photograph, tiles)[:_HEIGHT, :_WIDTH])


def _row(job: str, converter: Converter, ways: Ways, x: Array, out: Array) -> str:
    contenders = [contender(OURS, "Converter", lambda: converter(x, out=out), out)]
    contenders += [contender("numpy", way, run, out) for way, run in ways.items()]
    check(job, contenders)
    ours, *theirs = race(contenders, _REPEATS)
    speeds = [f"{x.nbytes / seconds / 1e9:.2f} GB/s" for seconds in (ours, min(theirs))]
    return f"{job:47}{speeds[0]:>12}{speeds[1]:>12}{min(theirs) / ours:>6.1f}x"
