"""numpy's ways to do what a Converter does: the fastest differs from size to size and from version to version."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorbuf.bench.contest import Array

__all__ = ["affine_ways", "normalize_ways", "quantize_ways"]

Ways = dict[str, Callable[[], None]]

_LEVELS = np.arange(256, dtype=np.float32)


def affine_ways(scale: Array, offset: Array, x: Array, out: Array) -> Ways:
    """``x * scale + offset`` a channel, uint8 of shape (h, w, c) into float32 of shape (c, h, w)."""

    def whole(source: Array, result: Array, scale: Array, offset: Array) -> None:
        np.multiply(source, scale, out=result, dtype=np.float32)
        np.add(result, offset, out=result)

    return _ways(whole, _LEVELS * scale[:, np.newaxis] + offset[:, np.newaxis], x, out, scale, offset)


def normalize_ways(mean: Array, std: Array, x: Array, out: Array) -> Ways:
    """``(x / 255 - mean) / std`` a channel, uint8 of shape (h, w, c) into float32 of shape (c, h, w)."""

    def whole(source: Array, result: Array, mean: Array, std: Array) -> None:
        np.divide(source, np.float32(255), out=result, dtype=np.float32)
        np.subtract(result, mean, out=result)
        np.divide(result, std, out=result)

    table = (_LEVELS / np.float32(255) - mean[:, np.newaxis]) / std[:, np.newaxis]
    return _ways(whole, table, x, out, mean, std)


def _ways(arithmetic: Callable[..., None], table: Array, x: Array, out: Array, *parameters: Array) -> Ways:
    """The arithmetic on all channels at once, on one by one, and a table of the 256 results a channel."""
    planes = x.transpose(2, 0, 1)
    wide = [each[:, np.newaxis, np.newaxis] for each in parameters]
    moved = np.empty(planes.shape, np.uint8)

    def move_first() -> None:
        np.copyto(moved, planes)
        arithmetic(moved, out, *wide)

    def by_channel() -> None:
        for channel, plane in enumerate(planes):
            arithmetic(plane, out[channel], *(each[channel] for each in parameters))

    def looked_up() -> None:
        for channel, plane in enumerate(planes):
            np.take(table[channel], plane, out=out[channel], mode="clip")

    def looked_up_rows() -> None:
        np.copyto(moved, planes)
        for channel, plane in enumerate(moved):
            np.take(table[channel], plane, out=out[channel], mode="clip")

    return {
        "transposed": lambda: arithmetic(planes, out, *wide),
        "moved, then arithmetic": move_first,
        "by channel": by_channel,
        "table": looked_up,
        "moved, then table": looked_up_rows,
    }


def quantize_ways(scale: float, zero_point: int, x: Array, out: Array) -> Ways:
    """``round(x / scale) + zero_point``, clipped, float32 into int8."""
    step, scratch = np.float32(scale), np.empty_like(x)

    def rounded() -> None:
        np.divide(x, step, out=scratch)
        np.rint(scratch, out=scratch)
        np.add(scratch, np.float32(zero_point), out=scratch)

    def clip_then_copy() -> None:
        rounded()
        np.clip(scratch, np.float32(-128), np.float32(127), out=scratch)
        np.copyto(out, scratch, casting="unsafe")

    def clip_into_out() -> None:
        rounded()
        np.clip(scratch, np.float32(-128), np.float32(127), out=out, casting="unsafe")

    return {"divide, rint, add, clip, copyto": clip_then_copy, "divide, rint, add, clip into out": clip_into_out}
