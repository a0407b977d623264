"""What is created and dropped again leaves nothing behind."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("leaks.py")


def run(cycles):
    # The script imports its neighbour, which PYTHONSAFEPATH hides from it.
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parent)}
    done = subprocess.run(
        [sys.executable, SCRIPT, str(cycles)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.release
def test_some_thousand_cycles():
    run(20_000)


@pytest.mark.proof
def test_a_million_cycles():
    run(1_000_000)


def test_no_cycle_of_references_keeps_an_owner():
    import tensorbuf

    gc.collect()
    gc.disable()
    try:
        owner = bytearray(16)
        x = tensorbuf.frombuffer(owner, dtype="int32")
        tensorbuf.bitcast(x[1:], "uint8")
        tensorbuf.from_dlpack(x)
        x.to_arrow()
        tensorbuf.convert([x, [1, 2, 3, 4]], "uint8")
        del x
        owner.append(1)
    finally:
        gc.enable()
