"""`tensorbuf info`, and the summary that it prints."""

import json
import subprocess

import ml_dtypes
import numpy as np
import pytest
from command import COMMAND, fail

from tensorbuf.cli.summary import Summary

KEYS = ["dtype", "shape", "bytes", "min", "max", "mean", "nan", "inf"]


def summary(*blocks):
    result = Summary()
    for block in blocks:
        result.add(np.asarray(block))
    return result.minimum, result.maximum, result.mean, result.nan, result.inf


def test_json_of_an_array(here, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.5, np.nan, np.inf], [-2, -np.inf, 2]], np.float32))
    facts = json.loads(here.succeed("info", tmp_path / "a.npy", "--json"))
    assert list(facts) == KEYS
    assert facts == {
        "dtype": "float32",
        "shape": [2, 3],
        "bytes": 24,
        "min": -2,
        "max": 2,
        "mean": 0.5,
        "nan": 1,
        "inf": 2,
    }


def test_text_of_an_array(here, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">i2").reshape(2, 3))
    lines = [line.split(maxsplit=1) for line in here.succeed("info", tmp_path / "a.npy").splitlines()]
    assert lines == [
        ["dtype", "int16"],
        ["shape", "(2, 3)"],
        ["bytes", "12"],
        ["min", "0"],
        ["max", "5"],
        ["mean", "2.5"],
        ["nan", "0"],
        ["inf", "0"],
    ]


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.full(4, np.nan), np.full((), np.inf), np.ones(2, np.complex64)])
def test_what_there_is_not_is_null(here, tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    facts = json.loads(here.succeed("info", tmp_path / "a.npy", "--json"))
    assert (facts["min"], facts["max"], facts["mean"]) == (None, None, None)
    assert facts["shape"] == list(array.shape)


@pytest.mark.parametrize(("count", "shape"), [(0, [0, 2, 5]), (1, [2, 5]), (3, [3, 2, 5])])
def test_raw_frames(here, tmp_path, count, shape):
    (tmp_path / "in.raw").write_bytes(np.arange(10 * count, dtype=">u2").tobytes())
    facts = json.loads(here.succeed("info", tmp_path / "in.raw", "--from", ">u2", "--shape", "2,5", "--json"))
    assert (facts["dtype"], facts["shape"], facts["bytes"]) == ("uint16", shape, 20 * count)
    assert facts["max"] == (10 * count - 1 if count else None)


def test_a_cut_off_frame():
    words = [*COMMAND, "info", "-", "--from", "uint8", "--shape", "4", "--json"]
    done = subprocess.run(words, input=bytes(11), capture_output=True, timeout=300, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["shape"] == [2, 4]
    assert b"2 whole frames" in done.stderr
    assert b"3 bytes left over" in done.stderr
    assert "0 whole frames" in fail(1, "info", "-", "--from", "uint8", "--shape", "4", data=b"123")


def test_errors(here, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(2), y=np.zeros(2))
    assert "none.npy" in here.fail(1, "info", tmp_path / "none.npy")
    assert "--from" in here.fail(2, "info", "-")
    assert ":x" in here.fail(2, "info", tmp_path / "a.npz")
    assert json.loads(here.succeed("info", f"{tmp_path}/a.npz:y", "--json"))["shape"] == [2]


def test_integers_are_exact():
    big = np.array([2**63 - 1, 2**63 - 1, -(2**63), 5], np.int64)
    assert summary(big) == (-(2**63), 2**63 - 1, (2**63 - 1 + 4) / 4, 0, 0)
    assert summary(np.full(1000, 2**64 - 1, np.uint64)) == (2**64 - 1, 2**64 - 1, float(2**64 - 1), 0, 0)
    assert summary(np.full(9, -(2**31), ">i4")) == (-(2**31), -(2**31), float(-(2**31)), 0, 0)


def test_blocks_count_as_one_array():
    assert summary([1, 2], [3, 10]) == (1, 10, 4, 0, 0)
    assert summary([np.nan], [1.0], [-np.inf, 2]) == (1, 2, 1.5, 1, 1)


def test_floats_of_every_size():
    largest = np.finfo(np.float64).max
    assert summary([largest] * 4) == (largest, largest, largest, 0, 0)
    assert summary([largest, -largest, 5e-324]) == (-largest, largest, 0, 0, 0)
    assert summary([5e-324, 5e-324]) == (5e-324, 5e-324, 5e-324, 0, 0)
    for dtype in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        assert summary(np.array([1.5, -2, np.nan], dtype)) == (-2, 1.5, -0.25, 1, 0)


def test_bool_and_complex():
    assert summary([True, False, False, False]) == (False, True, 0.25, 0, 0)
    values = [complex(np.nan, np.inf), complex(1, -np.inf), 1j]
    assert summary(np.array(values, np.complex128)) == (None, None, None, 1, 1)
