"""A job, those who compete in it, and what is asked of tensorbuf."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "FRAME",
    "FULL_HD",
    "MEMCPY",
    "OURS",
    "TIE",
    "Array",
    "Contender",
    "Job",
    "Target",
    "at_least",
    "at_most",
    "contender",
    "copying",
    "inline",
    "seconds",
]

Array = npt.NDArray[Any]

FRAME = (224, 224, 3)
FULL_HD = (1080, 1920, 3)

OURS = "tensorbuf"
MEMCPY = "memcpy"

# A ratio of equally fast contenders scatters by some per cent between runs; a tenth slower is no tie any more.
TIE = 0.9


@dataclass(frozen=True)
class Contender:
    """One way to do a job.

    Attributes
    ----------
    peer : str
        Whose way it is. A peer may have several, of which the fastest counts.
    way : str
        The expression, shortened.
    time : callable
        ``time(n)`` runs it n times and gives the seconds of all.
    answer : callable, optional
        Runs it once and gives its result; None for what computes nothing, like memcpy.
    within : float
        How far each value may be from that of tensorbuf: 0, or what the peer's own rounding explains.
    """

    peer: str
    way: str
    time: Callable[[int], float]
    answer: Callable[[], Any] | None
    within: float = 0.0


@dataclass(frozen=True)
class Target:
    """What is asked of tensorbuf.

    ``>=``: the time of `peer` is at least `bound` times ours. ``<=``: our time is at most `bound` times that of `peer`.
    Without a peer: our value is at most `bound`, seconds or bytes.
    """

    peer: str | None
    relation: Literal[">=", "<="]
    bound: float

    def ratio(self, ours: float, theirs: float) -> float:
        """The number that is compared with `bound`."""
        return theirs / ours if self.relation == ">=" else ours / theirs

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.relation == ">=" else ratio <= self.bound


@dataclass(frozen=True)
class Job:
    """What is measured.

    Attributes
    ----------
    row : str
        The row of the table that it belongs to.
    name : str
        What is done.
    shape : tuple of int
        Of the input, as it is measured; `contenders` takes any other of the same rank.
    contenders : callable
        ``contenders(shape)`` makes the inputs and outputs, and gives those who compete; tensorbuf is the first.
    targets : tuple of Target
        What is asked.
    """

    row: str
    name: str
    shape: tuple[int, ...]
    contenders: Callable[[tuple[int, ...]], list[Contender]]
    targets: tuple[Target, ...]

    @property
    def size(self) -> str:
        """The shape in short."""
        if self.shape in (FRAME, FULL_HD):
            return "224" if self.shape == FRAME else "1080p"
        return "x".join(str(n) if n < 1_000_000 or n % 1_000_000 else f"{n // 1_000_000}M" for n in self.shape)


def at_least(**bounds: float) -> tuple[Target, ...]:
    """Targets by peer: that many times as fast."""
    return tuple(Target(peer, ">=", bound) for peer, bound in bounds.items())


def at_most(**bounds: float) -> tuple[Target, ...]:
    """Targets by peer: that many times its time."""
    return tuple(Target(peer, "<=", bound) for peer, bound in bounds.items())


def seconds(bound: float) -> tuple[Target, ...]:
    """The target of a time that is compared with no peer's."""
    return (Target(None, "<=", bound),)


def contender(peer: str, way: str, run: Callable[[], Any], out: Any = None, *, within: float = 0.0) -> Contender:
    """A contender that is called: it fills `out`, or returns a fresh result where that is None."""

    def answer() -> Any:
        if out is None:
            return run()
        out.fill(0)
        run()
        return out

    return Contender(peer, way, timeit.Timer(run).timeit, answer, within)


def inline(peer: str, statement: str, names: Mapping[str, Any]) -> Contender:
    """A contender whose run is so short that the call of a function would count: the expression itself is timed."""
    names = dict(names)
    return Contender(peer, statement, timeit.Timer(statement, globals=names).timeit, lambda: eval(statement, names))


def copying(*arrays: Array) -> Contender:
    """memcpy of the same traffic: half of it is read and half is written."""
    half = sum(array.nbytes for array in arrays) // 2
    source, target = np.ones(half, np.uint8), np.ones(half, np.uint8)
    return Contender(MEMCPY, "np.copyto", timeit.Timer(lambda: np.copyto(target, source)).timeit, None)
