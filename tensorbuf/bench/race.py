"""The race: every answer is checked, then all take turns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from tensorbuf.bench.contest import Array, Contender

__all__ = ["DisagreementError", "check", "race"]

# Long beside the clock's resolution and a timer interrupt, short enough that all take turns many times a second.
_SAMPLE = 0.002


class DisagreementError(AssertionError):
    """Two contenders gave different answers, so their times cannot be compared."""


def check(job: str, contenders: Sequence[Contender]) -> None:
    """Compare every answer with the first contender's.

    Raises
    ------
    DisagreementError
        If a value is further from it than the contender's `within`, or the size differs.
    """
    wanted = np.array(_run(contenders[0]))
    for contender in contenders[1:]:
        if contender.answer is None:
            continue
        answer = np.asarray(_run(contender))
        if answer.size != wanted.size:
            raise DisagreementError(f"{job}: {contender.peer} gives {answer.size} values, tensorbuf {wanted.size}")
        if not _agree(answer.reshape(wanted.shape), wanted, contender.within):
            raise DisagreementError(f"{job}: {contender.peer} ({contender.way}) gives other values than tensorbuf")


def _run(contender: Contender) -> object:
    assert contender.answer is not None
    return contender.answer()


def _agree(answer: Array, wanted: Array, within: float) -> bool:
    if not within:
        return answer.dtype == wanted.dtype and np.array_equal(answer, wanted)
    return bool(np.all(np.abs(answer.astype(np.float64) - wanted.astype(np.float64)) <= within))


def race(contenders: Sequence[Contender], repeats: int) -> list[float]:
    """Seconds of one run of each: medians of `repeats` samples, taken in turn.

    Before each sample its contender runs once untimed, so that its own buffers are in the cache as far as they fit.
    """
    counts = [_runs_a_sample(contender) for contender in contenders]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(repeats):
        for contender, count, times in zip(contenders, counts, samples, strict=True):
            contender.time(1)
            times.append(contender.time(count) / count)
    return [statistics.median(times) for times in samples]


def _runs_a_sample(contender: Contender) -> int:
    contender.time(1)
    count = 1
    while (elapsed := contender.time(count)) < _SAMPLE / 8:
        count *= 8
    return max(1, round(count * _SAMPLE / elapsed))
