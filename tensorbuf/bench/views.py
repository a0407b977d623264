"""Selected elements, copied out: rows 13 and 15."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorbuf import index as ix
from tensorbuf.bench import peers
from tensorbuf.bench.casts import pixels, samples
from tensorbuf.bench.contest import OURS, Contender, Job, at_least, contender, copying
from tensorbuf.index import Selector
from tensorbuf.nd_array import NdArray

__all__ = ["JOBS"]

_SELECTORS: dict[str, tuple[Selector, slice]] = {
    "odd": (ix.odd(), slice(1, None, 2)),
    "even": (ix.even(), slice(None, None, 2)),
    "flip": (ix.flip(), slice(None, None, -1)),
    "step": (ix.step(3), slice(None, None, 3)),
}


def _selected(name: str, dtype: Any, shape: tuple[int, ...]) -> list[Contender]:
    """The second axis by a selector: that of the elements, or of the pixels where there is a third."""
    selector, python_slice = _SELECTORS[name]
    x = pixels(shape) if dtype == np.uint8 else samples(shape, dtype, 0, 1)
    view = x[:, python_slice]
    out = np.empty(view.shape, dtype)
    ours, target = NdArray(x).slice(ix.all(), selector), NdArray(out)
    return [
        contender(OURS, "slice, copy_to", lambda: ours.copy_to(target), out),
        contender("numpy", "copyto", lambda: np.copyto(out, view), out),
        copying(out, out),
    ]


def _gathered(shape: tuple[int, ...]) -> list[Contender]:
    """Half of the coordinates of two axes, in any order."""
    x = samples(shape, np.float32, 0, 1)
    rows, columns = (np.random.default_rng(0).permutation(n)[: n // 2] for n in shape)
    out = np.empty((rows.size, columns.size), np.float32)
    whole, target = NdArray(x), NdArray(out)

    def take_twice() -> Any:
        return x.take(rows, axis=0).take(columns, axis=1)

    contenders = [
        contender(OURS, "slice, copy_to", lambda: whole.slice(ix.seq(rows), ix.seq(columns)).copy_to(target), out),
        contender("a[np.ix_()]", "copyto", lambda: np.copyto(out, x[np.ix_(rows, columns)]), out),
        contender("a[np.ix_()]", "fresh", lambda: x[np.ix_(rows, columns)]),
        contender("take twice", "numpy", take_twice),
        copying(out, out),
    ]
    if peers.torch():
        tensor = peers.tensor(x)
        torch_rows, torch_columns = peers.tensor(rows), peers.tensor(columns)
        run = lambda: tensor.index_select(0, torch_rows).index_select(1, torch_columns)  # noqa: E731
        contenders.append(contender("torch", "index_select twice", run))
    return contenders


def _jobs() -> list[Job]:
    jobs = []
    for name in _SELECTORS:
        floats, bytes_ = partial(_selected, name, np.float32), partial(_selected, name, np.uint8)
        for shape in ((224, 224), (480, 640)):
            jobs.append(Job("13", f"{name} elements copied out, float32", shape, floats, at_least(numpy=1.7)))
        jobs.append(Job("13", f"{name} pixels copied out, uint8", (480, 640, 3), bytes_, at_least(numpy=10)))
    bounds = at_least(**{"a[np.ix_()]": 5, "take twice": 2})
    jobs.append(Job("15", "seq on two axes, float32", (1024, 1024), _gathered, bounds))
    return jobs


JOBS = tuple(_jobs())
