"""A script: create and drop, as many times as it is told; the process must not grow."""

from __future__ import annotations

import contextlib
import pickle
import sys

import ml_dtypes
import numpy as np
from peak_memory import peak

from tensorbuf import NdArray, bitcast, convert, from_arrow, from_dlpack, from_memory, frombuffer
from tensorbuf.memory import pinned, zeros

# What the allocators keep; a million leaks of the smallest object would be 16 MB.
ALLOWED = 2_000_000
OWNER = bytearray(range(64))
BFLOAT16 = np.zeros(8, ml_dtypes.bfloat16)
X = frombuffer(OWNER, dtype="float32")
NUMBERS = [1, 2.5, True, 10**30]


def refused() -> None:
    with contextlib.suppress(ValueError):
        frombuffer(memoryview(OWNER), dtype="int32", count=99)


CASES = {
    "frombuffer": lambda: frombuffer(OWNER, dtype="float32"),
    "a view": lambda: frombuffer(OWNER, dtype="float32")[3:],
    "a refused call": refused,
    "from_memory": lambda: from_memory(OWNER, (3, 5), "uint8", row_stride=8),
    "bitcast": lambda: bitcast(X, "uint8"),
    "bitcast of numpy": lambda: bitcast(BFLOAT16, "uint8"),
    "pinned": lambda: pinned(memoryview(OWNER)),
    "zeros": lambda: zeros((100,), BFLOAT16.dtype),
    "memoryview": lambda: memoryview(X),
    "a capsule": lambda: X.__dlpack__(),
    "a versioned capsule": lambda: X.__dlpack__(max_version=(1, 0)),
    "from_dlpack": lambda: from_dlpack(X),
    "numpy from_dlpack": lambda: np.from_dlpack(X),
    "Arrow": lambda: X.to_arrow().__arrow_c_array__(),
    "from_arrow": lambda: from_arrow(X.to_arrow()),
    "a list": lambda: convert(NUMBERS, "float32"),
    "pickle": lambda: pickle.loads(pickle.dumps(X, 5)),
    "NdArray": lambda: NdArray(BFLOAT16),
}


def main(cycles: int) -> None:
    for case in CASES.values():
        for _ in range(100):
            case()
    for name, case in CASES.items():
        before = peak()
        for _ in range(cycles):
            case()
        grown = peak() - before
        print(f"{name}: {grown}")
        if grown > ALLOWED:
            sys.exit(f"{name}: the process has grown by {grown} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]))
