"""All jobs, in the order of the table."""

from __future__ import annotations

from tensorbuf.bench import calls, casts, frames, promises, quantising, views
from tensorbuf.bench.contest import Job

__all__ = ["JOBS"]

_ROWS = [str(n) for n in range(1, 19)] + ["bytes", "layout", "linear", "threads"]
_MODULES = (casts, frames, quantising, views, calls, promises)

JOBS: tuple[Job, ...] = tuple(sorted((job for m in _MODULES for job in m.JOBS), key=lambda job: _ROWS.index(job.row)))
