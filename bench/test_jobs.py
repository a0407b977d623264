"""Every job of the table: the peers that are installed agree, and our side is timed.

`--benchmark-disable` runs each once, so that none can rot.
"""

import pytest

from tensorbuf.bench.contest import OURS
from tensorbuf.bench.jobs import JOBS
from tensorbuf.bench.race import check

# The rows whose inputs are larger than what they show needs, and the one that starts processes.
HUGE, PROCESSES = "linear", "18"


def name(job):
    return f"{job.row}-{job.name}-{job.size}".replace(" ", "_")


@pytest.mark.parametrize("job", [job for job in JOBS if job.row != PROCESSES], ids=name)
def test_all_agree(job):
    check(job.name, job.contenders(tuple(min(size, 40) for size in job.shape)))


@pytest.mark.parametrize("job", [job for job in JOBS if job.row not in (HUGE, PROCESSES)], ids=name)
def test_ours(job, benchmark):
    ours = job.contenders(job.shape)[0]
    assert ours.peer == OURS
    benchmark(ours.time, 1)


def test_every_row_of_the_table_is_there():
    assert {job.row for job in JOBS} == {*map(str, range(1, 19)), "bytes", "layout", "linear", "threads"}
