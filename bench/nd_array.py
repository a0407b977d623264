"""NdArray's calls beside numpy's, in one run. Exits 1 if a limit is passed. Rows 13 and 15 of run.py copy out."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorbuf import NdArray, ndarrays
from tensorbuf import index as ix
from tensorbuf.bench.contest import OURS, inline
from tensorbuf.bench.race import race

FRAME = (224, 224, 3)
SCALARS = (1000, 1000)


class Row(NamedTuple):
    """A job: our expression, numpy's, and how many times numpy's time ours may take."""

    job: str
    ours: str
    peer: str
    limit: float
    names: dict[str, Any]


def walk(array: Any) -> None:
    for _ in np.ndenumerate(array):
        pass


def rows() -> Iterator[Row]:
    a = np.arange(np.prod(FRAME), dtype=np.float32).reshape(FRAME)
    names = {"x": NdArray(a), "a": a, "ix": ix}
    yield Row("scalar, get_float", "x.get_float(5, 7, 1)", "a.item(5, 7, 1)", 1.2, names)
    yield Row("scalar, brackets", "x[5, 7, 1]", "a.item(5, 7, 1)", 1.2, names)
    yield Row("element, get", "x.get(1)", "a[1]", 3.0, names)
    yield Row("element, brackets", "x[1]", "a[1]", 3.0, names)
    yield Row("slice", "x.slice(ix.all(), ix.even())", "a[:, ::2]", 3.0, names)
    yield Row("slice, brackets", "x[:, ::2]", "a[:, ::2]", 3.0, names)
    scalars = ndarrays.of_floats(SCALARS)
    names = {"s": scalars.scalars(), "b": scalars.to_numpy(), "walk": walk, "f": lambda *_: None}
    yield Row("for_each, 10^6 scalars", "s.for_each(f)", "walk(b)", 1.0, names)
    yield Row("for_each_indexed", "s.for_each_indexed(f)", "walk(b)", 1.0, names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="samples a contender (%(default)s)")
    options = parser.parse_args()
    missed = False
    for row in rows():
        ours, theirs = race([inline(OURS, row.ours, row.names), inline("numpy", row.peer, row.names)], options.repeats)
        passed = ours <= row.limit * theirs
        missed |= not passed
        print(
            f"{row.job:26}{ours * 1e6:12.3f} us {row.peer:18}{theirs * 1e6:12.3f} us{ours / theirs:7.2f} <= {row.limit}"
            f"{'' if passed else '  MISSED'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
