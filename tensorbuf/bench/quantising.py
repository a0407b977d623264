"""Quantise and dequantise: rows 11 and 12."""

from __future__ import annotations

import timeit
import warnings
from typing import Any

import numpy as np

from tensorbuf.bench import peers
from tensorbuf.bench.casts import samples
from tensorbuf.bench.contest import FRAME, FULL_HD, OURS, TIE, Contender, Job, at_least, contender, copying
from tensorbuf.bench.numpy_ways import quantize_ways
from tensorbuf.converter import Converter

__all__ = ["JOBS"]

_SCALE, _ZERO_POINT = 0.05, 3


def _quantize(shape: tuple[int, ...]) -> list[Contender]:
    x, out = samples(shape, np.float32, -7.5, 7.5), np.empty(shape, np.int8)
    converter = Converter.quantize(_SCALE, _ZERO_POINT)
    contenders = [contender(OURS, "Converter.quantize", lambda: converter(x, out=out), out)]
    contenders += [contender("numpy", way, run, out) for way, run in quantize_ways(_SCALE, _ZERO_POINT, x, out).items()]
    contenders.append(copying(x, out))
    # Both peers multiply by the reciprocal, so a value near the middle between two steps may go to the other one.
    if torch := peers.torch():
        source, result, scratch = peers.tensor(x), peers.tensor(out), peers.tensor(np.empty_like(x))
        reciprocal = 1 / _SCALE

        def multiply() -> None:
            torch.mul(source, reciprocal, out=scratch)
            result.copy_(scratch.round_().add_(_ZERO_POINT).clamp_(-128, 127))

        contenders.append(contender("torch", "mul, round_, add_, clamp_, copy_", multiply, out, within=1))
        if hasattr(torch, "quantize_per_tensor"):
            contenders.append(_torch_quantize(torch, source))
    if cv2 := peers.cv2():
        rows, result_rows = x.reshape(len(x), -1), out.reshape(len(x), -1)

        def weigh() -> None:
            cv2.addWeighted(rows, 1 / _SCALE, rows, 0.0, _ZERO_POINT, dst=result_rows, dtype=cv2.CV_8S)

        contenders.append(contender("cv2", "addWeighted", weigh, out, within=1))
    return contenders


def _torch_quantize(torch: Any, source: Any) -> Contender:
    """torch's own quantised tensor; its values are taken out for the check only."""

    def quantize() -> Any:
        return torch.quantize_per_tensor(source, _SCALE, _ZERO_POINT, torch.qint8)

    # torch says once that the function will be removed.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize()
    timed = timeit.Timer(quantize).timeit
    return Contender("torch", "quantize_per_tensor", timed, lambda: quantize().int_repr(), within=1)


def _dequantize(shape: tuple[int, ...]) -> list[Contender]:
    x, out = samples(shape, np.int8, -128, 128), np.empty(shape, np.float32)
    converter = Converter.dequantize(_SCALE, _ZERO_POINT)
    step, zero_point = np.float32(_SCALE), np.float32(_ZERO_POINT)
    table = (np.arange(256, dtype=np.uint8).view(np.int8) - zero_point) * step

    def arithmetic() -> None:
        np.subtract(x, zero_point, out=out, dtype=np.float32)
        np.multiply(out, step, out=out)

    contenders = [
        contender(OURS, "Converter.dequantize", lambda: converter(x, out=out), out),
        contender("numpy", "subtract, multiply", arithmetic, out),
        contender("numpy", "table", lambda: np.take(table, x.view(np.uint8), out=out, mode="clip"), out),
        copying(x, out),
    ]
    if peers.torch():
        source, result = peers.tensor(x), peers.tensor(out)
        run = lambda: result.copy_(source).sub_(_ZERO_POINT).mul_(_SCALE)  # noqa: E731
        contenders.append(contender("torch", "copy_, sub_, mul_", run, out))
    return contenders


JOBS = (
    Job("11", "float32 to int8, quantise", FRAME, _quantize, at_least(numpy=3.5, cv2=1.3, torch=0.9)),
    Job("11", "float32 to int8, quantise", FULL_HD, _quantize, at_least(numpy=3.5, cv2=1.3, torch=2)),
    Job("12", "int8 to float32, dequantise", FRAME, _dequantize, at_least(numpy=2.5, torch=TIE)),
    Job("12", "int8 to float32, dequantise", FULL_HD, _dequantize, at_least(numpy=2.5, torch=TIE)),
)
