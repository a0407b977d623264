"""`make bench`: the whole table, the package's own build and size included. Exits 1 if a row is missed."""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tensorbuf.bench import jobs, machine, report, table
from tensorbuf.bench.contest import Target

ROOT = Path(__file__).parent.parent

WHEEL = Target(None, "<=", 1_000_000)
BUILD = Target(None, "<=", 90)


def package() -> Iterator[table.Result]:
    """What row 18 asks of the sources: a build from nothing with two jobs, without a compiler cache."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-build-isolation", "--no-deps"]
        start = time.perf_counter()
        subprocess.run([*command, "-Ccompile-args=-j2", "-w", folder, str(ROOT)], check=True, env=environment)
        seconds = time.perf_counter() - start
        (wheel,) = Path(folder).glob("*.whl")
        size = wheel.stat().st_size
    yield table.Result("18", "wheel", "", size, "B", (table.judge(WHEEL, size, "B"),))
    yield table.Result("18", "full build, two jobs", "", seconds, "s", (table.judge(BUILD, seconds, "s"),))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table into FILE too")
    parser.add_argument("--rows", type=lambda text: text.split(","), help="only these, as in 1,8,threads")
    parser.add_argument("--repeats", type=int, default=table.REPEATS, help="samples a contender (%(default)s)")
    options = parser.parse_args()

    unknown = set(options.rows or ()) - {job.row for job in jobs.JOBS} - {"18"}
    if unknown:
        rows = ", ".join(dict.fromkeys(job.row for job in jobs.JOBS))
        parser.error(f"there is no row {', '.join(sorted(unknown))}; take some of {rows}")
    try:
        machine.check_build()
    except machine.UnfitError as error:
        sys.exit(f"nothing is measured: {error}")
    wanted = [job for job in jobs.JOBS if not options.rows or job.row in options.rows]
    built = package() if not options.rows or "18" in options.rows else ()
    results: list[table.Result] = []

    def kept(result: table.Result) -> table.Result:
        results.append(result)
        return result

    measured = map(kept, itertools.chain(table.measure(wanted, options.repeats), built))
    description = machine.description()
    verdict = report.write_table(description, measured, lambda line: print(line, flush=True))
    if options.json:
        options.json.write_text(json.dumps(report.as_document(description, results), indent=2) + "\n", "utf-8")
    return 1 if verdict == table.MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
