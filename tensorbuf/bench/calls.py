"""Python's own costs, lists, single calls and the import: rows 16 to 18 and *bytes*."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np

from tensorbuf.bench import peers
from tensorbuf.bench.contest import OURS, Contender, Job, at_least, at_most, contender, inline, seconds
from tensorbuf.bitcasting import bitcast
from tensorbuf.buffers import frombuffer
from tensorbuf.conversion import convert
from tensorbuf.nd_array import NdArray
from tensorbuf.tensor_buffer import TensorBuffer

__all__ = ["JOBS"]


def _list(values: type, dtype: Any, shape: tuple[int, ...]) -> list[Contender]:
    """Floats or ints, in a list of lists where the rank is 2."""
    numbers = np.random.default_rng(0).integers(0, 200, shape).astype(values).tolist()
    buffer = TensorBuffer.create_fixed_size(shape, dtype)

    def loaded() -> Any:
        buffer.load_array(numbers, shape)
        return buffer

    return [
        contender(OURS, "load_array", loaded),
        contender("numpy", "array", lambda: np.array(numbers, dtype)),
    ]


def _eight(statement: str, rival: str, shape: tuple[int, ...]) -> list[Contender]:
    x = np.linspace(0, 200, shape[0], dtype=np.float32)
    names = {"convert": convert, "x": x, "np": np, "out": np.empty(shape, np.uint8)}
    return [inline(OURS, statement, names), inline("astype", rival, names)]


def _scalar(method: str, shape: tuple[int, ...]) -> list[Contender]:
    a = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
    names = {"array": NdArray(a), "a": a}
    return [inline(OURS, f"array.{method}(1, 2)", names), inline("item", "a.item(1, 2)", names)]


def _frombuffer(shape: tuple[int, ...]) -> list[Contender]:
    names = {"frombuffer": frombuffer, "np": np, "owner": bytearray(4 * shape[0])}
    contenders = [
        inline(OURS, "frombuffer(owner, dtype=np.float32)", names),
        inline("numpy", "np.frombuffer(owner, dtype=np.float32)", names),
    ]
    if torch := peers.torch():
        names["torch"] = torch
        contenders.append(inline("torch", "torch.frombuffer(owner, dtype=torch.float32)", names))
    return contenders


def _bitcast(shape: tuple[int, ...]) -> list[Contender]:
    names = {"bitcast": bitcast, "np": np, "x": np.ones(shape, np.float32)}
    return [inline(OURS, "bitcast(x, np.int32)", names), inline("numpy", "x.view(np.int32)", names)]


def _import(_shape: tuple[int, ...]) -> list[Contender]:
    """What `import tensorbuf` costs a program that has numpy already: each time in a process of its own."""
    code = "import time, numpy; start = time.perf_counter(); import tensorbuf; print(time.perf_counter() - start)"

    def time(n: int) -> float:
        return sum(float(subprocess.check_output([sys.executable, "-P", "-c", code])) for _ in range(n))

    return [Contender(OURS, "import tensorbuf", time, lambda: 0)]


_OVERHEAD = seconds(300e-9) + at_most(astype=1.6)
_FAST_LIST = at_least(numpy=4)

JOBS = (
    Job("16", "list of floats to float32", (10_000,), partial(_list, float, "float32"), _FAST_LIST),
    Job("16", "list of ints to uint8", (10_000,), partial(_list, int, "uint8"), _FAST_LIST),
    Job("16", "list of ints to int64", (10_000,), partial(_list, int, "int64"), _FAST_LIST),
    Job("16", "nested list of floats to float32", (1000, 100), partial(_list, float, "float32"), _FAST_LIST),
    Job("16", "nested list of ints to int32", (1000, 100), partial(_list, int, "int32"), _FAST_LIST),
    Job(
        "17",
        "convert of 8 elements into out",
        (8,),
        partial(_eight, "convert(x, np.uint8, out=out)", "x.astype(np.uint8)"),
        _OVERHEAD,
    ),
    Job("17", "convert of 8 elements", (8,), partial(_eight, "convert(x, np.uint8)", "x.astype(np.uint8)"), _OVERHEAD),
    Job("17", "scalar by get_float", (4, 4), partial(_scalar, "get_float"), at_most(item=1.2)),
    Job("17", "scalar by get_object", (4, 4), partial(_scalar, "get_object"), at_most(item=1.2)),
    Job("bytes", "frombuffer of 16 elements", (16,), _frombuffer, at_most(numpy=1.5, torch=1.0)),
    Job("bytes", "bitcast of 16 elements", (16,), _bitcast, at_most(numpy=1.5)),
    Job("18", "import tensorbuf, beyond numpy", (), _import, seconds(0.020)),
)
