"""The table: every job measured, and compared with what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tensorbuf.bench.contest import MEMCPY, Job, Target
from tensorbuf.bench.race import check, race

__all__ = ["MET", "MISSED", "NOT_MEASURED", "REPEATS", "Line", "Result", "judge", "measure", "quantity", "verdict"]

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"

REPEATS = 21

_STEPS = {
    "B": ((1e6, "MB"), (1e3, "kB"), (1, "B")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
}


@dataclass(frozen=True)
class Line:
    """A comparison with one peer, or with a limit where `peer` is None.

    Attributes
    ----------
    peer, way : str or None
        Who, and by which expression.
    value : float or None
        Its seconds; None where it was not measured.
    ratio : float or None
        Its time in ours, or for "<=" and memcpy our time in its; our value itself without a peer.
    target : str
        What is asked, empty where nothing is.
    verdict : str
        ``"met"``, ``"missed"``, ``"not measured"``, or empty where nothing is asked.
    """

    peer: str | None
    way: str | None
    value: float | None
    ratio: float | None
    target: str
    verdict: str


@dataclass(frozen=True)
class Result:
    """A job as measured: `ours` is in `unit`, ``"s"`` or ``"B"``; None if it could not be measured."""

    row: str
    name: str
    size: str
    ours: float | None
    unit: str
    lines: tuple[Line, ...]

    @property
    def verdict(self) -> str:
        """The worst of its lines."""
        return verdict(line.verdict for line in self.lines)


def verdict(verdicts: Iterable[str]) -> str:
    """The worst: missed, then not measured, then met."""
    found = set(verdicts)
    return next((each for each in (MISSED, NOT_MEASURED, MET) if each in found), "")


def measure(jobs: Iterable[Job], repeats: int = REPEATS) -> Iterator[Result]:
    """Check the answers of each job, race, and judge, job by job.

    Raises
    ------
    DisagreementError
        If a peer computes something else.
    """
    for job in jobs:
        contenders = job.contenders(job.shape)
        check(f"{job.name}, {job.size}", contenders)
        times = race(contenders, repeats)
        fastest: dict[str, tuple[float, str]] = {}
        for contender, time in zip(contenders[1:], times[1:], strict=True):
            fastest[contender.peer] = min((time, contender.way), fastest.get(contender.peer, (time, contender.way)))
        yield Result(job.row, job.name, job.size, times[0], "s", _lines(times[0], fastest, job.targets))


def _lines(ours: float, peers: dict[str, tuple[float, str]], targets: tuple[Target, ...]) -> tuple[Line, ...]:
    """One for each target, and one for each peer of whom nothing is asked."""
    lines = []
    for target in targets:
        if target.peer is None:
            lines.append(judge(target, ours, "s"))
            continue
        time, way = peers.get(target.peer, (None, None))
        asked = f"{target.relation} {target.bound:g}"
        if time is None:
            lines.append(Line(target.peer, None, None, None, asked, NOT_MEASURED))
            continue
        ratio = target.ratio(ours, time)
        lines.append(Line(target.peer, way, time, ratio, asked, MET if target.met(ratio) else MISSED))
    named = {target.peer for target in targets}
    for peer, (time, way) in peers.items():
        if peer not in named:
            lines.append(Line(peer, way, time, ours / time if peer == MEMCPY else time / ours, "", ""))
    return tuple(lines)


def judge(target: Target, ours: float | None, unit: str) -> Line:
    """Our value against a limit; None was not measured."""
    asked = f"{target.relation} {quantity(target.bound, unit)}"
    if ours is None:
        return Line(None, None, None, None, asked, NOT_MEASURED)
    return Line(None, None, None, ours, asked, MET if ours <= target.bound else MISSED)


def quantity(value: float | None, unit: str) -> str:
    """Seconds or bytes with three digits."""
    if value is None:
        return "-"
    steps = _STEPS[unit]
    scale, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / scale:.3g} {name}"
