"""Whether GCC makes vectors of the kernels' loops, by its own report. `make vectors` runs it on the folder of a build.

The innermost loops of the functions named here, whose variable is `i`, must be vectors in every specialisation: one
that is not is several times slower, and gives the same results, so that no other test would see it.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

# Of each module, the functions by the files that they stand in.
LOOPS = {
    "arithmetic": {
        "arithmetic.pyx": [
            *("rounding_toward_zero", "rounding_to_even", "rounding_away", "rounding_down", "rounding_up"),
            *("canonicalising", "run", "quantize_to_bytes"),
        ],
    },
    "convert": {
        "convert.pyx": [
            *("saturating", "wrapping", "finishing", "by_stretches", "all_moderate"),
            *("truth_of_floats", "truth_of_doubles"),
        ],
        "scans.pxd": ["all_fit"],
    },
}
SOURCES = Path(__file__).parents[1] / "tensorbuf" / "_kernels"


class Loop(NamedTuple):
    """A loop by its place in the source."""

    function: str
    file: str
    line: int


def named_loops(file: str, functions: list[str]) -> set[Loop]:
    """The innermost loops of the functions that are named."""
    loops, function = set(), ""
    for line, text in enumerate((SOURCES / file).read_text("utf-8").splitlines(), 1):
        if match := re.match(r"cdef .*?(\w+)\($", text) or re.match(r"cdef .*?(\w+)\(.*noexcept nogil:$", text):
            function = match[1]
        elif function in functions and re.match(r"\s+for i in range", text):
            loops.add(Loop(function, file, line))
    missing = set(functions) - {loop.function for loop in loops}
    if missing:
        raise SystemExit(f"{file} has no loop in {', '.join(sorted(missing))}")
    return loops


def report(command: list[str], folder: str) -> list[str]:
    """What GCC says of each loop when it compiles once more."""
    place = command.index("-o")
    with tempfile.NamedTemporaryFile("r") as found:
        again = [*command[:place], *command[place + 2 :], "-o", "/dev/null", "-w"]
        subprocess.run([*again, f"-fopt-info-vec-optimized-missed={found.name}"], cwd=folder, check=True)
        return found.read().splitlines()


def source_places(generated: Path) -> list[tuple[str, int]]:
    """For each line of Cython's C the file and the line that it comes from."""
    place = "", 0
    places = [place]
    for text in generated.read_text("utf-8").splitlines():
        if match := re.match(r'\s*/\* "([^"]*)":(\d+)', text):
            place = Path(match[1]).name, int(match[2])
        places.append(place)
    return places


def check(entry: dict[str, str], files: dict[str, list[str]]) -> list[str]:
    """A sentence for each named loop that is not vectors everywhere."""
    command = [part for part in shlex.split(entry["command"]) if not part.endswith("ccache")]
    origins = source_places(Path(entry["directory"], entry["file"]))
    vectors: dict[tuple[str, int], int] = defaultdict(int)
    others: dict[tuple[str, int], int] = defaultdict(int)
    for text in report(command, entry["directory"]):
        if match := re.search(r":(\d+):\d+: (optimized: loop vectorized|missed: couldn't vectorize loop)", text):
            (vectors if match[2].startswith("optimized") else others)[origins[int(match[1])]] += 1
    loops = sorted(loop for file, functions in files.items() for loop in named_loops(file, functions))
    return [
        f"{entry['output'].partition('.')[0]}: {loop.function}, {loop.file}:{loop.line}: "
        f"{vectors[loop[1:]]} loops are vectors, {others[loop[1:]]} are not"
        for loop in loops
        if others[loop[1:]] or not vectors[loop[1:]]
    ]


def main(folder: Path) -> int:
    """Print what is no vector, and give 1 if there is any."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    found, modules = [], 0
    for module, files in LOOPS.items():
        for entry in entries:
            if re.search(rf"/{module}_\w+\..*{module}\.pyx\.c$", entry["file"]):
                modules += 1
                found += check(entry, files)
    print(*found, f"{modules} modules, {len(found)} loops that are no vectors", sep="\n")
    return int(bool(found) or not modules)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
