"""ShapedArray beside numpy and the standard library's json, in one run. Exits 1 if a limit is passed."""

import argparse
import copy
import json
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorbuf import ShapedArray
from tensorbuf.bench.contest import OURS, inline
from tensorbuf.bench.race import race
from tensorbuf.memory import zeros

SCALARS = 10**6
GIBIBYTE = 2**30


class Row(NamedTuple):
    """A job: our expression, the peer's, and how many times the peer's time ours may take."""

    job: str
    ours: str
    peer: str
    limit: float
    names: dict[str, Any]


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    a = np.arange(12.0).reshape(4, 3)
    small = {"x": ShapedArray(a), "a": a}
    yield Row("element", "x[1]", "a[1]", 2.0, small)
    yield Row("subarray", "x[1:3]", "a[1:3]", 2.0, small)
    for values in (rng.random(SCALARS), rng.random(SCALARS).astype("float32"), rng.integers(0, 10**6, SCALARS)):
        name = values.dtype.name
        a, listed = values.reshape(1000, 1000), values.tolist()
        x = ShapedArray(a)
        names = {"x": x, "y": ShapedArray(a), "a": a, "b": a.copy(), "listed": listed, "np": np, "json": json}
        names |= {"text": x.encode(), "theirs": json.dumps(listed), "decode": ShapedArray.decode, "dtype": name}
        yield Row(f"== {name}", "x == y", "np.array_equal(a, b)", 1.5, names)
        yield Row(f"hash {name}", "hash(x)", "np.array_equal(a, b)", 1.5, names)
        yield Row(f"describe {name}", "x.describe()", "json.dumps(listed)", 1.0, names)
        yield Row(f"full_description {name}", "x.full_description", "json.dumps(listed)", 1.0, names)
        yield Row(f"encode {name}", "x.encode()", "json.dumps(listed)", 1.0, names)
        yield Row(f"decode {name}", "decode(text, dtype)", "json.loads(theirs)", 1.0, names)


def large(repeats: int) -> Iterator[tuple[str, float, int]]:
    """Slicing and copying a GiB: seconds, and the bytes that were allocated meanwhile."""
    names = {"x": ShapedArray._of(zeros((1024, GIBIBYTE // 1024), np.dtype(np.uint8))), "copy": copy.copy}
    for expression in ("x[5]", "x[5:900]", "copy(x)"):
        seconds = race([inline(OURS, expression, names)], repeats)[0]
        code = compile(expression, "large", "eval")
        tracemalloc.start()
        kept = eval(code, names)
        allocated = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del kept
        yield expression, seconds, allocated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="samples a contender (%(default)s)")
    options = parser.parse_args()
    missed = False
    for row in rows():
        ours, theirs = race([inline(OURS, row.ours, row.names), inline("peer", row.peer, row.names)], options.repeats)
        passed = ours <= row.limit * theirs
        missed |= not passed
        verdict = "" if passed else "  MISSED"
        print(
            f"{row.job:26}{ours * 1e6:12.3f} us {row.peer:22}{theirs * 1e6:12.3f} us{ours / theirs:7.2f} <= {row.limit}"
            f"{verdict}"
        )
    for expression, seconds, allocated in large(options.repeats):
        passed = seconds < 10e-6 and allocated < 1000
        missed |= not passed
        print(f"{'1 GiB: ' + expression:26}{seconds * 1e6:12.3f} us {allocated} bytes{'' if passed else '  MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
