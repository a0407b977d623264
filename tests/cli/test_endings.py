"""How the command ends: closed pipes, full disks, signals, terminals."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import COMMAND, fail, run

FRAME = ("--from", "uint8", "--shape", "1000", "--to", "float32")


@contextlib.contextmanager
def heeded(number):
    """Child processes obey a signal that this process may have been told to ignore, as jobs in the background are."""
    before = signal.signal(number, signal.SIG_DFL) if signal.getsignal(number) is signal.SIG_IGN else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(number, before)


def test_a_closed_pipe_ends_quietly(tmp_path):
    with open(tmp_path / "in.raw", "wb") as file:
        file.truncate(10_000_000)
    words = [*COMMAND, "convert", str(tmp_path / "in.raw"), "-", *FRAME]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(10) == bytes(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_help_into_a_closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run([*COMMAND, "--help"], stdout=pipe, stderr=subprocess.PIPE, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_progress_is_shown_on_terminals_only():
    assert run("convert", "-", "-", *FRAME, data=bytes(1000)).stderr == b""


if os.name == "posix":
    import pty

    def test_the_pipeline_of_a_shell(tmp_path):
        script = '"$0" -m tensorbuf convert /dev/zero - --from uint8 --shape 10 --to uint8 | head -c 10'
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {script}", sys.executable], capture_output=True, timeout=300, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, bytes(10), b"")

    def test_standard_streams_that_are_closed():
        for redirection, named in [("<&-", "standard input"), (">&-", "standard output")]:
            script = f'"$0" -m tensorbuf convert - - {" ".join(FRAME)} {redirection}'
            done = subprocess.run(
                ["bash", "-c", script, sys.executable], input=bytes(1000), capture_output=True, timeout=300, check=False
            )
            assert done.returncode == 1
            assert done.stderr.decode().startswith(f"tensorbuf: {named}: ")
            assert done.stderr.count(b"\n") == 1

    @pytest.mark.parametrize(
        ("number", "old"),
        [(signal.SIGTERM, None), (signal.SIGTERM, b"old"), (signal.SIGINT, b"old"), (signal.SIGHUP, None)],
    )
    def test_a_signal_leaves_no_file(tmp_path, number, old):
        target = tmp_path / "out.npy"
        if old is not None:
            target.write_bytes(old)
        words = [*COMMAND, "convert", "-", str(target), *FRAME, "--force"]
        with heeded(number), subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(bytes(3_000_000))
            process.stdin.flush()
            while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
                time.sleep(0.01)
            process.send_signal(number)
            assert process.wait(60) == 128 + number
            assert process.stderr.read() == b""
        assert os.listdir(tmp_path) == ([] if old is None else ["out.npy"])
        assert old is None or target.read_bytes() == old

    def test_a_kill_leaves_at_most_the_temporary_file(tmp_path):
        target = tmp_path / "out.npy"
        with subprocess.Popen([*COMMAND, "convert", "-", str(target), *FRAME], stdin=subprocess.PIPE) as process:
            process.stdin.write(bytes(3_000_000))
            process.stdin.flush()
            while not os.listdir(tmp_path):
                time.sleep(0.01)
            process.kill()
            process.wait(60)
        assert not target.exists()
        assert [name for name in os.listdir(tmp_path) if not name.endswith(".part")] == []

    def on_terminal(words, **how):
        """Run it with a terminal as standard error; returns what that shows."""
        terminal, end = pty.openpty()
        with subprocess.Popen(words, stderr=end, **how) as process:
            os.close(end)
            shown = b""
            # An error is how Linux says that nobody writes any more.
            with contextlib.suppress(OSError):
                while part := os.read(terminal, 1000):
                    shown += part
            assert process.wait(60) == 0
        os.close(terminal)
        return shown

    def test_progress_on_a_terminal(tmp_path):
        (tmp_path / "in.raw").write_bytes(bytes(6_000_000))
        shown = on_terminal([*COMMAND, "convert", str(tmp_path / "in.raw"), str(tmp_path / "out.raw"), *FRAME])
        assert b"100%" in shown
        assert b"6000 frames" in shown
        assert b"MB/s" in shown
        assert (tmp_path / "out.raw").stat().st_size == 24_000_000

    def test_progress_of_a_pipe_whose_end_is_not_known(tmp_path):
        target = tmp_path / "out.raw"
        with subprocess.Popen(["head", "-c", "6000000", "/dev/zero"], stdout=subprocess.PIPE) as source:
            shown = on_terminal([*COMMAND, "convert", "-", str(target), *FRAME], stdin=source.stdout)
        assert b"%" not in shown
        assert b"6000 frames" in shown
        assert target.stat().st_size == 24_000_000


if sys.platform == "linux":

    def test_a_full_disk():
        line = fail(1, "convert", "-", "/dev/full", *FRAME, data=bytes(100_000))
        assert line == "tensorbuf: /dev/full: No space left on device\n"
        with open("/dev/full", "wb") as full:
            words = [*COMMAND, "convert", "-", "-", *FRAME]
            done = subprocess.run(
                words, input=bytes(1000), stdout=full, stderr=subprocess.PIPE, timeout=300, check=False
            )
        assert done.returncode == 1
        assert done.stderr == b"tensorbuf: standard output: No space left on device\n"

    @pytest.mark.parametrize("words", [["--help"], ["info", "a.npy"], ["view", "a.npy"]])
    def test_answers_onto_a_full_disk(tmp_path, words):
        np.save(tmp_path / "a.npy", np.zeros(3))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, timeout=300, check=False, cwd=tmp_path
            )
        assert (done.returncode, done.stderr) == (1, b"tensorbuf: standard output: No space left on device\n")

    def test_an_input_that_fails_while_it_is_read():
        line = fail(1, "convert", "/proc/self/mem", "-", *FRAME)
        assert line == "tensorbuf: /proc/self/mem: Input/output error\n"

    @pytest.mark.parametrize("name", ["out.npy", "out.npz", "out.safetensors", "out.raw"])
    @pytest.mark.parametrize("nbytes", [500_000, 1000])
    def test_a_file_that_may_not_grow(tmp_path, name, nbytes):
        script = f'ulimit -f 1; "$0" -m tensorbuf convert - {tmp_path}/{name} {" ".join(FRAME)}'
        done = subprocess.run(
            ["bash", "-c", script, sys.executable], input=bytes(nbytes), capture_output=True, timeout=300, check=False
        )
        assert done.returncode == 1
        assert done.stderr == f"tensorbuf: {tmp_path}/{name}: File too large\n".encode()
        assert os.listdir(tmp_path) == []

    @pytest.mark.release
    def test_a_frame_that_does_not_fit_into_memory(tmp_path):
        np.save(tmp_path / "in.npy", np.zeros(3))
        shape = ",".join(["100000"] * 3)
        line = fail(1, "convert", "-", "-", "--from", "uint8", "--to", "uint8", "--shape", shape, data=b"1")
        assert "memory" in line
        for words in (["convert", "-", "-", "--to", "uint8"], ["info", "-"]):
            line = fail(1, *words, "--from", "uint8", "--shape", f"{shape},{shape}", data=b"1")
            assert f"needs {10**30} bytes, more than " in line
