"""``tensorbuf bench``: this machine's table against the peers that are installed."""

from __future__ import annotations

import click

from tensorbuf.bench.jobs import JOBS
from tensorbuf.bench.machine import check_build, description
from tensorbuf.bench.report import write_document, write_table
from tensorbuf.bench.table import measure

__all__ = ["bench"]

# Fewer than `make bench` takes: a look at a machine rather than a verdict.
_REPEATS = 7


@click.command(short_help="This machine's speed beside the peers that are installed.")
@click.option("--json", "as_json", is_flag=True, help="JSON, when all is measured: seconds, ratios and verdicts.")
def bench(as_json: bool) -> None:
    """Measure tensorbuf beside numpy, ml_dtypes, torch and OpenCV, as far as they are installed.

    One process and one thread; all take turns, and the medians count. Every peer must compute the same values. A
    ratio is the peer's time in ours; where the target is an upper limit (<=), ours in the peer's. It takes some
    minutes, and means something only where nothing else is running.
    """
    check_build()
    write = write_document if as_json else write_table
    write(description(), measure(JOBS, _REPEATS), click.echo)
