"""What the cost of a conversion does not depend on: the layout of the input, its size, and a second thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from tensorbuf.bench.casts import samples
from tensorbuf.bench.contest import FRAME, FULL_HD, OURS, Array, Contender, Job, at_most, contender
from tensorbuf.conversion import convert

__all__ = ["JOBS"]

_CONVERSIONS_A_THREAD = 8
_PIECES = at_most(**{"ten calls": 1.2, "thousand calls": 1.2})


def _strided(x: Array) -> Array:
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def _misaligned(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


_LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "strided": _strided,
    "misaligned": _misaligned,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "Fortran": np.asfortranarray,
}


def _laid_out(layout: str, source: str, target: str, shape: tuple[int, ...]) -> list[Contender]:
    x = samples(shape, source, 0, 256)
    other, out = _LAYOUTS[layout](x), np.empty(shape, target)
    return [
        contender(OURS, layout, lambda: convert(other, target, out=out), out),
        contender("contiguous", "convert", lambda: convert(x, target, out=out), out),
    ]


def _in_pieces(shape: tuple[int, ...]) -> list[Contender]:
    """The same memory in one call, and in ten and a thousand: the traffic is the same."""
    x, out = np.zeros(shape, np.float32), np.empty(shape, np.uint8)
    x[::7] = 300.0

    def pieces(count: int) -> None:
        step = -(-x.size // count)
        for start in range(0, x.size, step):
            convert(x[start : start + step], np.uint8, out=out[start : start + step])

    return [
        contender(OURS, "one call", lambda: convert(x, np.uint8, out=out), out),
        contender("ten calls", "convert", lambda: pieces(10), out),
        contender("thousand calls", "convert", lambda: pieces(1000), out),
    ]


def _two_threads(shape: tuple[int, ...]) -> list[Contender]:
    """Two frames in two threads beside one frame in one; without a second core there is none to race against."""
    frames = [samples(shape, np.float32, -100, 400) for _ in range(2)]
    outs = [np.empty(shape, np.uint8) for _ in frames]

    def one(number: int) -> None:
        for _ in range(_CONVERSIONS_A_THREAD):
            convert(frames[number], np.uint8, out=outs[number])

    pool = ThreadPoolExecutor(2)

    def in_parallel(numbers: Iterable[int]) -> Any:
        list(pool.map(one, numbers))
        return outs[0]

    contenders = [contender(OURS, "two frames, two threads", lambda: in_parallel(range(2)))]
    if len(_cores()) > 1:
        contenders.append(contender("one frame", "one thread", lambda: in_parallel(range(1))))
    return contenders


def _cores() -> Any:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def _jobs() -> list[Job]:
    jobs = [
        Job("layout", f"{layout} {source} to {target}", FRAME, partial(_laid_out, layout, source, target), bound)
        for layout in _LAYOUTS
        for source, target in (("float32", "uint8"), ("int32", "float32"))
        for bound in [at_most(contiguous=2)]
    ]
    jobs.append(Job("linear", "10^8 float32 to uint8", (10**8,), _in_pieces, _PIECES))
    jobs.append(Job("threads", "two frames in two threads", FULL_HD, _two_threads, at_most(**{"one frame": 1.2})))
    return jobs


JOBS = tuple(_jobs())
