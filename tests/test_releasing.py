"""A failed call holds on to nothing that it was given, not even while its exception lives."""

import numpy as np
import pytest

from tensorbuf import Converter, NdArray, ShapedArray, bitcast, cast, convert, saturate_cast
from tensorbuf.memory import releasing

FAILURES = {
    "convert, raise": lambda raw: convert(memoryview(raw), "int8", overflow="raise"),
    "convert, no memoryview": lambda raw: convert(raw, "int8", overflow="raise"),
    "convert, complex": lambda raw: convert(np.frombuffer(raw, complex), "int8"),
    "convert, dtype": lambda raw: convert(memoryview(raw), "int9"),
    "convert, memory for a dtype": lambda raw: convert([1], memoryview(raw)),
    "convert, memory for a rule": lambda raw: convert([1], "int8", overflow=memoryview(raw)),
    "convert, memory for nan": lambda raw: convert([1], "int8", nan=memoryview(raw)),
    "convert, rounding": lambda raw: convert(memoryview(raw), "int8", rounding="up"),
    "convert, dtype of out": lambda raw: convert(memoryview(raw), "int8", out=memoryview(raw)),
    "convert, shape of out": lambda raw: convert([1, 2], "uint8", out=memoryview(raw)),
    "convert, read-only out": lambda raw: convert([1] * 16, "uint8", out=memoryview(raw).toreadonly()),
    "convert, list": lambda raw: convert([memoryview(raw), None], "uint8"),
    "cast": lambda raw: cast(np.frombuffer(raw, "M8[s]"), "int8"),
    "saturate_cast": lambda raw: saturate_cast(memoryview(raw), "int9"),
    "bitcast": lambda raw: bitcast(np.frombuffer(raw, np.uint8)[:6].reshape(2, 3), "float32"),
    "Converter, raise": lambda raw: Converter("uint8", overflow="raise", scale=100)(memoryview(raw)),
    "Converter, layout": lambda raw: Converter("uint8", layout="HWC->CHW")(memoryview(raw)),
    "Converter, out": lambda raw: Converter("uint8", scale=2)([1, 2], out=memoryview(raw)),
    "Converter, mapping": lambda raw: Converter("int8", overflow="raise")({"a": memoryview(raw)}),
    "NdArray": lambda raw: NdArray(memoryview(raw), "int8"),
    "NdArray, set": lambda raw: NdArray(np.zeros(3, np.uint8)).set(memoryview(raw)),
    "ShapedArray": lambda raw: ShapedArray(shape=[3], scalars=memoryview(raw)),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_failures_lock_nothing(kind):
    raw = bytearray(b"\xff" * 16)
    with pytest.raises((ValueError, TypeError)) as caught:
        FAILURES[kind](raw)
    raw.append(0)
    assert caught.value.__traceback__ is not None


def test_frames_of_others_keep_their_locals():
    def strange(values):
        raise KeyError(values)

    with pytest.raises(KeyError) as caught:
        releasing(strange)([1, 2])
    assert caught.traceback[-1].frame.f_locals["values"] == [1, 2]
    assert releasing(strange).__name__ == "strange"
