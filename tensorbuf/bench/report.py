"""The table as it is printed, line by line, or as JSON."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from tensorbuf.bench.table import MET, MISSED, NOT_MEASURED, Line, Result, quantity, verdict

__all__ = ["as_document", "write_document", "write_table"]

_HEAD = (
    f"{'#':8}{'job':49}{'size':>10}{'ours':>10}  {'peer':18}{'theirs':>9}{'ratio':>8}  {'target':10}{'verdict':14}way"
)


def write_table(machine: dict[str, str], results: Iterable[Result], write: Callable[[str], object]) -> str:
    """Write the table, each job when it has been measured, and return the verdict of the whole.

    The ratio is the peer's time in ours, for a target with ``<=`` and for memcpy ours in the peer's.
    """
    for name, value in machine.items():
        write(f"{name:12}{value}")
    write("")
    write(_HEAD)
    verdicts: collections.Counter[str] = collections.Counter()
    for result in results:
        head = f"{result.row:8}{result.name:49}{result.size:>10}{quantity(result.ours, result.unit):>10}  "
        for line in result.lines:
            write(f"{head}{_line(line)}".rstrip())
            head = " " * len(head)
        verdicts[result.verdict] += 1
    write("")
    write(", ".join(f"{verdicts[each]} {each}" for each in (MET, MISSED, NOT_MEASURED)))
    return verdict(verdicts)


def _line(line: Line) -> str:
    theirs = "" if line.peer is None else quantity(line.value, "s")
    ratio = "" if line.peer is None or line.ratio is None else f"{line.ratio:.2f}"
    return f"{line.peer or '':18}{theirs:>9}{ratio:>8}  {line.target:10}{line.verdict:14}{line.way or ''}"


def write_document(machine: dict[str, str], results: Iterable[Result], write: Callable[[str], object]) -> str:
    """Write the whole as JSON, and return its verdict."""
    document = as_document(machine, results)
    write(json.dumps(document, indent=2))
    return str(document["verdict"])


def as_document(machine: dict[str, str], results: Iterable[Result]) -> dict[str, Any]:
    """The table as JSON takes it: seconds and bytes, ratios, targets and verdicts."""
    results = list(results)
    return {
        "machine": machine,
        "verdict": verdict(result.verdict for result in results),
        "rows": [{**asdict(result), "verdict": result.verdict} for result in results],
    }
