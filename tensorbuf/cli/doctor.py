"""``tensorbuf doctor``."""

from __future__ import annotations

import concurrent.futures
import os
import textwrap

import click

from tensorbuf.cli.examine import Outcome, examine
from tensorbuf.cli.hazards import HAZARDS

__all__ = ["doctor"]

_WIDTHS = (45, 17, 48)


@click.command(short_help="What crashes or corrupts silently in the stack that is installed.")
def doctor() -> None:
    """Try tiny inputs that crash or silently corrupt in common stacks.

    Each runs in a process of its own, against what is installed and against tensorbuf. A row tells what became of it: a
    crash with its signal, a wrong value, an error, or the right value (or refusal). The exit status is 1 if tensorbuf
    itself is not right in every row.
    """
    click.echo(_row("hazard", "tried in", "there", "tensorbuf"))
    sound = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        modules = [(number, module) for number, hazard in enumerate(HAZARDS) for module in (hazard.peer, "tensorbuf")]
        outcomes = pool.map(lambda task: examine(*task), modules)
        for hazard, there, here in zip(HAZARDS, outcomes, outcomes, strict=False):
            click.echo(_row(hazard.name, f"{hazard.peer} {there.version}", _tell(there), _tell(here)))
            sound = sound and here.verdict == "right"
    if not sound:
        raise ValueError("tensorbuf is not right in every row")


def _row(*cells: str) -> str:
    return "".join(cell.ljust(width) + "  " for cell, width in zip(cells, _WIDTHS, strict=False)) + cells[-1]


def _tell(outcome: Outcome) -> str:
    told = f"{outcome.verdict}: {outcome.detail}" if outcome.detail else outcome.verdict
    return textwrap.shorten(told, _WIDTHS[-1], placeholder=" ...")
