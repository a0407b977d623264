"""Frames of pixels for a model, by one Converter: rows 8 to 10 and 14."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorbuf.bench import peers
from tensorbuf.bench.casts import pixels
from tensorbuf.bench.contest import (
    FRAME,
    FULL_HD,
    OURS,
    Array,
    Contender,
    Job,
    at_least,
    at_most,
    contender,
    copying,
)
from tensorbuf.bench.numpy_ways import affine_ways, normalize_ways
from tensorbuf.converter import Converter

__all__ = ["JOBS", "MEAN", "STD"]

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
SCALE = 1 / (255 * STD)
OFFSET = -MEAN / STD

# Results lie between -2.2 and 2.7; a folded formula differs from the one of three operations by a few last bits.
_FOLDED = 4e-6

_BLOB, _SPLIT = "blobFromImage", "split+addWeighted"


def _to_channels_first(exact: bool, shape: tuple[int, ...]) -> list[Contender]:
    """uint8 HWC to float32 CHW: by `normalize` where it must be exact, else by scale and offset."""
    height, width, channels = shape
    x, out = pixels(shape), np.empty((channels, height, width), np.float32)
    layout = "HWC->CHW"
    converter = (
        Converter.normalize(MEAN, STD, layout=layout)
        if exact
        else Converter("float32", scale=SCALE, offset=OFFSET, layout=layout)
    )
    ways = normalize_ways(MEAN, STD, x, out) if exact else affine_ways(SCALE, OFFSET, x, out)
    contenders = [contender(OURS, "Converter", lambda: converter(x, out=out), out)]
    contenders += [contender("numpy", way, run, out) for way, run in ways.items()]
    contenders.append(copying(x, out))
    if peers.torch():
        contenders.append(_torch_channels_first(exact, x, out))
    if peers.cv2():
        contenders += _opencv_channels_first(x, out)
    return contenders


def _torch_channels_first(exact: bool, x: Array, out: Array) -> Contender:
    source, result = peers.tensor(x).permute(2, 0, 1), peers.tensor(out)
    mean, std, scale, offset = (peers.tensor(each.reshape(3, 1, 1)) for each in (MEAN, STD, SCALE, OFFSET))

    def normalize() -> None:
        result.copy_(source).div_(255).sub_(mean).div_(std)

    def affine() -> None:
        result.copy_(source).mul_(scale).add_(offset)

    if exact:
        return contender("torch", "copy_, div_, sub_, div_", normalize, out)
    return contender("torch", "copy_, mul_, add_", affine, out)


def _opencv_channels_first(x: Array, out: Array) -> list[Contender]:
    cv2 = peers.cv2()
    planes = [np.empty(x.shape[:2], np.uint8) for _ in range(3)]
    plan = cv2.dnn.Image2BlobParams()
    plan.mean = (*(255 * MEAN).tolist(), 0.0)
    plan.scalefactor = (*SCALE.tolist(), 0.0)
    weights = [
        (plane, float(s), float(o), out[c]) for c, (plane, s, o) in enumerate(zip(planes, SCALE, OFFSET, strict=True))
    ]

    def split_then_weigh() -> None:
        cv2.split(x, planes)
        for plane, scale, offset, target in weights:
            cv2.addWeighted(plane, scale, plane, 0.0, offset, dst=target, dtype=cv2.CV_32F)

    blob = lambda: cv2.dnn.blobFromImageWithParams(x, plan)  # noqa: E731
    return [
        contender(_BLOB, "blobFromImageWithParams", blob, within=_FOLDED),
        contender(_SPLIT, "split, addWeighted", split_then_weigh, out, within=_FOLDED),
    ]


def _channels_last(exact: bool, shape: tuple[int, ...]) -> list[Contender]:
    """uint8 HWC to float32 HWC."""
    x, out = pixels(shape), np.empty(shape, np.float32)
    converter = Converter.normalize(MEAN, STD) if exact else Converter("float32", scale=SCALE, offset=OFFSET)
    # The same arithmetic on whole rows, with parameters as long as a row: what broadcasting is slow at is gone.
    rows, result_rows = (each.reshape(len(x), -1) for each in (x, out))
    tiles: list[Array] = [np.tile(each, shape[1]) for each in (MEAN, STD, SCALE, OFFSET)]

    def arithmetic(source: Array, result: Array, mean: Array, std: Array, scale: Array, offset: Array) -> None:
        if exact:
            np.divide(source, np.float32(255), out=result, dtype=np.float32)
            np.subtract(result, mean, out=result)
            np.divide(result, std, out=result)
        else:
            np.multiply(source, scale, out=result, dtype=np.float32)
            np.add(result, offset, out=result)

    contenders = [
        contender(OURS, "Converter", lambda: converter(x, out=out), out),
        contender("numpy", "broadcasting", lambda: arithmetic(x, out, MEAN, STD, SCALE, OFFSET), out),
        contender("numpy, rows", "parameters tiled", lambda: arithmetic(rows, result_rows, *tiles), out),
        copying(x, out),
    ]
    if peers.torch():
        source, result = peers.tensor(x), peers.tensor(out)
        mean, std, scale, offset = (peers.tensor(each) for each in (MEAN, STD, SCALE, OFFSET))
        normalize = lambda: result.copy_(source).div_(255).sub_(mean).div_(std)  # noqa: E731
        affine = lambda: result.copy_(source).mul_(scale).add_(offset)  # noqa: E731
        contenders.append(contender("torch", "broadcasting", normalize if exact else affine, out))
    return contenders


def _moved(shape: tuple[int, ...]) -> list[Contender]:
    """uint8 HWC to CHW, nothing else."""
    height, width, channels = shape
    x, out = pixels(shape), np.empty((channels, height, width), np.uint8)
    converter = Converter("uint8", layout="HWC->CHW")
    moved = x.transpose(2, 0, 1)

    def by_channel() -> None:
        for channel in range(channels):
            np.copyto(out[channel], x[:, :, channel])

    contenders = [
        contender(OURS, "Converter", lambda: converter(x, out=out), out),
        contender("numpy", "copyto of the transposed", lambda: np.copyto(out, moved), out),
        contender("numpy", "copyto by channel", by_channel, out),
        copying(x, out),
    ]
    if peers.torch():
        source, result = peers.tensor(x).permute(2, 0, 1), peers.tensor(out)
        contenders.append(contender("torch", "copy_", lambda: result.copy_(source), out))
    if cv2 := peers.cv2():
        planes: list[Any] = list(out)
        contenders.append(contender("cv2", "split", lambda: cv2.split(x, planes), out))
    return contenders


def _bounds(numpy: float, torch: float, blob: float, split: float) -> Any:
    return at_least(**{"numpy": numpy, "torch": torch, _BLOB: blob, _SPLIT: split})


_AFFINE, _EXACT = "uint8 HWC to float32 CHW, scale and offset", "uint8 HWC to float32 CHW, normalize"
_LAST_AFFINE, _LAST_EXACT = "uint8 to float32 HWC, scale and offset", "uint8 to float32 HWC, normalize"

JOBS = (
    Job("8", _AFFINE, FRAME, partial(_to_channels_first, False), _bounds(5, 5, 5, 3)),
    Job("8", _EXACT, FRAME, partial(_to_channels_first, True), _bounds(2.5, 2.5, 2.5, 1.5)),
    Job("9", _AFFINE, FULL_HD, partial(_to_channels_first, False), _bounds(5, 4, 4, 2.5) + at_most(memcpy=1)),
    Job("9", _EXACT, FULL_HD, partial(_to_channels_first, True), _bounds(4, 3.5, 3.5, 2) + at_most(memcpy=1.1)),
    Job("10", _LAST_EXACT, FRAME, partial(_channels_last, True), at_least(numpy=10, torch=5)),
    Job("10", _LAST_EXACT, FULL_HD, partial(_channels_last, True), at_least(numpy=10, torch=5)),
    Job("10", _LAST_AFFINE, FRAME, partial(_channels_last, False), at_least(numpy=20, torch=8)),
    Job("10", _LAST_AFFINE, FULL_HD, partial(_channels_last, False), at_least(numpy=20, torch=8)),
    Job("14", "uint8 HWC to CHW", FRAME, _moved, at_least(numpy=7, torch=7, cv2=1.1)),
    Job("14", "uint8 HWC to CHW", FULL_HD, _moved, at_least(numpy=7, torch=7, cv2=1.1)),
)
