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

LOOPS = {
    "arithmetic": [
        *("rounding_toward_zero", "rounding_to_even", "rounding_away", "rounding_down", "rounding_up"),
        *("canonicalising", "run", "quantize_to_bytes"),
    ],
    "convert": [
        *("saturating", "wrapping", "finishing", "by_stretches", "all_fit", "all_moderate"),
        *("truth_of_floats", "truth_of_doubles"),
    ],
}
SOURCES = Path(__file__).parents[1] / "tensorbuf" / "_kernels"


class Loop(NamedTuple):
    """A loop by its line in the source."""

    function: str
    line: int


def named_loops(module: str) -> set[Loop]:
    """The innermost loops of the functions that are named."""
    loops, function = set(), ""
    for line, text in enumerate((SOURCES / f"{module}.pyx").read_text().splitlines(), 1):
        if match := re.match(r"cdef .*?(\w+)\($", text) or re.match(r"cdef .*?(\w+)\(.*noexcept nogil:$", text):
            function = match[1]
        elif function in LOOPS[module] and re.match(r"\s+for i in range", text):
            loops.add(Loop(function, line))
    missing = set(LOOPS[module]) - {loop.function for loop in loops}
    if missing:
        raise SystemExit(f"{module}.pyx has no loop in {', '.join(sorted(missing))}")
    return loops


def report(command: list[str], folder: str) -> list[str]:
    """What GCC says of each loop when it compiles once more."""
    place = command.index("-o")
    with tempfile.NamedTemporaryFile("r") as found:
        again = [*command[:place], *command[place + 2 :], "-o", "/dev/null", "-w"]
        subprocess.run([*again, f"-fopt-info-vec-optimized-missed={found.name}"], cwd=folder, check=True)
        return found.read().splitlines()


def source_lines(generated: Path, module: str) -> list[int]:
    """For each line of Cython's C the line of the source that it comes from, 0 before the first one."""
    lines, line = [0], 0
    for text in generated.read_text().splitlines():
        if match := re.match(rf'\s*/\* "[^"]*{module}\.pyx":(\d+)', text):
            line = int(match[1])
        elif re.match(r'\s*/\* "', text):
            line = 0
        lines.append(line)
    return lines


def check(entry: dict[str, str], module: str) -> list[str]:
    """A sentence for each named loop that is not vectors everywhere."""
    command = [part for part in shlex.split(entry["command"]) if not part.endswith("ccache")]
    origins = source_lines(Path(entry["directory"], entry["file"]), module)
    vectors, others = defaultdict(int), defaultdict(int)
    for text in report(command, entry["directory"]):
        if match := re.search(r":(\d+):\d+: (optimized: loop vectorized|missed: couldn't vectorize loop)", text):
            (vectors if match[2].startswith("optimized") else others)[origins[int(match[1])]] += 1
    return [
        f"{entry['output'].partition('.')[0]}: {loop.function}, line {loop.line}: "
        f"{vectors[loop.line]} loops are vectors, {others[loop.line]} are not"
        for loop in sorted(named_loops(module))
        if others[loop.line] or not vectors[loop.line]
    ]


def main(folder: Path) -> int:
    """Print what is no vector, and give 1 if there is any."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    found, modules = [], 0
    for module in LOOPS:
        for entry in entries:
            if re.search(rf"/{module}_\w+\..*{module}\.pyx\.c$", entry["file"]):
                modules += 1
                found += check(entry, module)
    print(*found, f"{modules} modules, {len(found)} loops that are no vectors", sep="\n")
    return int(bool(found) or not modules)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
