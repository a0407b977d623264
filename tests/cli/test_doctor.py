"""`tensorbuf doctor`, against planted peers that crash, corrupt, refuse, or have mended their faults."""

import os
import re
import textwrap

import pytest
from command import run

from tensorbuf.cli.examine import examine
from tensorbuf.cli.hazards import HAZARDS

NUMBER = {(hazard.name, hazard.peer): number for number, hazard in enumerate(HAZARDS)}
CLEARED = NUMBER["a bytearray cleared under a live tensor", "torch"]
READ_ONLY = NUMBER["a read-only array handed over and written to", "torch"]
EMPTY = NUMBER["an empty buffer", "torch"]

CRASHING = """
    import os, signal
    __version__ = "0.crash"
    uint8 = float32 = float64 = int32 = bfloat16 = None
    def crash(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGSEGV)
    frombuffer = from_dlpack = from_numpy = tensor = crash
"""
MENDED = """
    import tensorbuf
    __version__ = "1.mended"
    uint8, float32, float64, int32, bfloat16 = "uint8", "float32", "float64", "int32", "bfloat16"
    def frombuffer(buffer, dtype):
        return tensorbuf.frombuffer(buffer, dtype=dtype)
    def from_numpy(array):
        return array.copy()
"""
WRONG = """
    import numpy as np
    uint8 = "uint8"
    def frombuffer(buffer, dtype):
        return np.array([7] * len(buffer))
    def from_numpy(array):
        array.flags.writeable = True
        return array
"""
REFUSING = """
    uint8 = float32 = None
    def frombuffer(*args, **kwargs):
        raise RuntimeError("not today\\nnor tomorrow")
    def from_numpy(array):
        raise TypeError("read-only")
"""


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """Puts a module that is called torch before the one that may be installed."""

    def put(source):
        (tmp_path / "torch.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path))

    return put


@pytest.mark.release
def test_a_crash_is_told_with_its_signal(plant):
    plant(CRASHING)
    outcome = examine(CLEARED, "torch")
    assert (outcome.verdict, outcome.detail, outcome.version) == ("crash", "SIGSEGV", "0.crash")


def test_a_mended_fault_is_right(plant):
    plant(MENDED)
    outcome = examine(CLEARED, "torch")
    assert (outcome.verdict, outcome.detail, outcome.version) == ("right", "refused (BufferError)", "1.mended")
    assert examine(READ_ONLY, "torch").verdict == "right"
    assert examine(EMPTY, "torch").verdict == "right"


def test_a_wrong_value_is_told(plant):
    plant(WRONG)
    outcome = examine(READ_ONLY, "torch")
    assert (outcome.verdict, outcome.detail) == ("wrong value", "[9.0, 0.0, 0.0], not [0.0, 0.0, 0.0]")
    assert examine(CLEARED, "torch").verdict == "right"  # this one copies


def test_an_error_is_told_and_a_refusal_is_right(plant):
    plant(REFUSING)
    outcome = examine(EMPTY, "torch")
    assert (outcome.verdict, outcome.detail) == ("error", "RuntimeError: not today")
    assert examine(READ_ONLY, "torch").verdict == "right"


def test_a_peer_that_ends_the_process_is_an_error(plant):
    plant("import os; os._exit(3)")
    assert examine(EMPTY, "torch").verdict == "error"


def test_a_peer_that_is_not_there(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert examine(EMPTY, "torch").verdict == "not installed"


@pytest.mark.release
def test_the_table(plant, tmp_path):
    plant(CRASHING)
    done = run("doctor", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, b"")
    header, *rows = done.stdout.decode().splitlines()
    assert re.split(r"\s{2,}", header) == ["hazard", "tried in", "there", "tensorbuf"]
    assert len(rows) == len(HAZARDS)
    for hazard, row in zip(HAZARDS, rows, strict=True):
        name, tried, there, here = re.split(r"\s{2,}", row)
        assert name == hazard.name
        assert here.startswith("right"), row
        if hazard.peer == "torch":
            assert (tried, there) == ("torch 0.crash", "crash: SIGSEGV")
        else:
            assert re.match(r"(crash|wrong value|error|right): ", there)
