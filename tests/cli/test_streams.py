"""`tensorbuf convert` of frames one after another: real processes and real pipes."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from command import COMMAND, fail, succeed

FRAME = ("--from", "uint8", "--shape", "4,5,3")
TO_FLOAT = ("--to", "float32", "--layout", "HWC:CHW", "--scale", "0.5")
SIZE = 4 * 5 * 3


def frames(count):
    return np.random.default_rng(count).integers(0, 256, (count, 4, 5, 3), np.uint8)


def converted(pixels):
    """Frames as `TO_FLOAT` makes them."""
    return pixels.transpose(0, 3, 1, 2) * np.float32(0.5)


@pytest.mark.parametrize("count", [0, 1, 20_000])
def test_a_stream_of_frames(count):
    pixels = frames(count)
    out = succeed("convert", "-", "-", *FRAME, *TO_FLOAT, data=pixels.tobytes())
    assert out == converted(pixels).tobytes()


@pytest.mark.parametrize(
    ("count", "shape"), [(0, (0, 3, 4, 5)), (1, (3, 4, 5)), (2, (2, 3, 4, 5)), (5000, (5000, 3, 4, 5))]
)
def test_npy_output_of_frames(here, tmp_path, count, shape):
    pixels = frames(count)
    (tmp_path / "in.rgb").write_bytes(pixels.tobytes())
    here.succeed("convert", tmp_path / "in.rgb", tmp_path / "out.npy", *FRAME, *TO_FLOAT)
    out = np.load(tmp_path / "out.npy")
    assert out.shape == shape
    assert np.array_equal(out, converted(pixels).reshape(shape))


def test_frames_of_scalars():
    data = bytes(range(200))
    assert list(succeed("convert", "-", "-", "--from", "uint8", "--shape", "", "--to", "int8", data=data)) == [
        min(value, 127) for value in data
    ]


def test_a_frame_longer_than_a_pipe_and_a_block():
    data = np.random.default_rng(0).bytes(3 * 1_000_000)
    out = succeed("convert", "-", "-", "--from", "uint8", "--shape", "1000,1000", "--to", "uint8", data=data)
    assert out == data


def test_redirected_input_starts_where_the_file_stands(tmp_path):
    pixels = frames(3)
    (tmp_path / "in").write_bytes(b"head" + pixels.tobytes())
    with open(tmp_path / "in", "rb", buffering=0) as file:
        file.read(4)
        words = [*COMMAND, "convert", "-", "-", *FRAME, *TO_FLOAT]
        done = subprocess.run(words, stdin=file, capture_output=True, timeout=300, check=True)
    assert done.stdout == converted(pixels).tobytes()


def test_every_frame_is_written_as_soon_as_it_is_read():
    pixels = frames(3)
    words = [*COMMAND, "convert", "-", "-", *FRAME, *TO_FLOAT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        for frame in pixels:
            process.stdin.write(frame.tobytes()[:10])
            process.stdin.write(frame.tobytes()[10:])
            out = b""
            while len(out) < 4 * SIZE:
                out += process.stdout.read(4 * SIZE - len(out))
            assert out == converted(frame[np.newaxis]).tobytes()
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


if os.name == "posix":

    def test_pipes_that_do_not_block():
        pixels = frames(2000)
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        words = [*COMMAND, "convert", "-", "-", *FRAME, *TO_FLOAT]
        out_reader, out_writer = os.pipe()
        os.set_blocking(out_writer, False)
        with subprocess.Popen(words, stdin=reader, stdout=out_writer) as process:
            os.close(reader)
            os.close(out_writer)
            with open(out_reader, "rb") as out, open(writer, "wb", buffering=0) as source:
                source.write(pixels[:1].tobytes())
                assert out.read(4 * SIZE) == converted(pixels[:1]).tobytes()
                feed = threading.Thread(target=source.write, args=(pixels[1:].tobytes(),))
                feed.start()
                assert out.read(4 * SIZE * 1999) == converted(pixels[1:]).tobytes()
                feed.join()
                source.close()
                assert out.read() == b""
            assert process.wait(60) == 0


def test_pipes_at_both_ends_are_widened():
    """They hold more than the usual 64 KiB where the system lets them: each end then waits less often."""
    ends = [*os.pipe(), *os.pipe()]
    source, to_source, result, to_result = ends
    try:
        os.write(to_source, bytes(10))
        os.close(to_source)
        words = [*COMMAND, "convert", "-", "-", "--from", "uint8", "--shape", "10", "--to", "int16"]
        subprocess.run(words, stdin=source, stdout=to_result, check=True, timeout=300)
        assert os.read(result, 100) == bytes(20)
        if sys.platform == "linux":
            import fcntl

            assert [fcntl.fcntl(end, fcntl.F_GETPIPE_SZ) for end in (source, result)] == [1 << 20] * 2
    finally:
        for end in (source, result, to_result):
            os.close(end)


@pytest.mark.parametrize("whole", [1, 2, 9000])
def test_a_cut_off_frame_ends_with_the_whole_ones(tmp_path, whole):
    pixels = frames(whole + 1)
    data = pixels.tobytes()[:-7]
    line = fail(1, "convert", "-", tmp_path / "out.npy", *FRAME, *TO_FLOAT, data=data)
    assert f"{whole} whole frame" in line
    assert f"{SIZE - 7} bytes left over" in line
    out = np.load(tmp_path / "out.npy")
    assert np.array_equal(out.reshape(-1, 3, 4, 5), converted(pixels[:whole]))
    assert out.ndim == (3 if whole == 1 else 4)
    assert os.listdir(tmp_path) == ["out.npy"]


def test_a_cut_off_stream_to_standard_output():
    pixels = frames(3)
    words = [*COMMAND, "convert", "-", "-", *FRAME, *TO_FLOAT]
    done = subprocess.run(words, input=pixels.tobytes()[:-1], capture_output=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stdout == converted(pixels[:2]).tobytes()
    assert done.stderr.startswith(b"tensorbuf: ")
    assert b"2 whole frames" in done.stderr
    assert b"59 bytes left over" in done.stderr


def test_less_than_one_frame_leaves_no_file(tmp_path):
    line = fail(1, "convert", "-", tmp_path / "out.npy", *FRAME, *TO_FLOAT, data=b"1234567")
    assert "0 whole frames" in line
    assert "7 bytes left over" in line
    assert os.listdir(tmp_path) == []


def test_a_value_that_does_not_fit_is_named_by_its_frame(tmp_path):
    pixels = np.zeros((1000, 4, 5, 3), np.uint8)
    pixels[700, 1, 2, 0] = 200
    how = ("--to", "int8", "--overflow", "raise")
    line = fail(1, "convert", "-", tmp_path / "out.npy", *FRAME, *how, data=pixels.tobytes())
    assert "frame 700" in line
    assert "200" in line
    assert os.listdir(tmp_path) == []


def test_a_picture_holds_one_frame(here, tmp_path):
    pixels = frames(2)
    source, target = tmp_path / "in.raw", tmp_path / "out.png"
    for count, status in [(2, 2), (0, 1)]:
        source.write_bytes(pixels[:count].tobytes())
        assert "one frame" in here.fail(status, "convert", source, target, *FRAME, "--to", "uint8")
        assert not target.exists()
    source.write_bytes(pixels[0].tobytes())
    here.succeed("convert", source, target, *FRAME, "--to", "uint8")
    here.succeed("convert", target, tmp_path / "out.raw", "--to", "uint8")
    assert (tmp_path / "out.raw").read_bytes() == pixels[0].tobytes()


if sys.platform == "linux":
    MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""

    def peak(*arguments):
        """The largest memory of the process, in MB."""
        words = [sys.executable, "-c", MEASURE, *COMMAND, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, timeout=300, check=True)
        return int(done.stderr) / 1000

    def test_memory_does_not_grow_with_the_input(tmp_path):
        with open(tmp_path / "in.raw", "wb") as file:
            file.truncate(120_000_000)
        np.lib.format.open_memmap(tmp_path / "in.npy", "w+", np.uint8, (600, 200_000)).flush()
        how = ("--from", "uint8", "--shape", "200,1000", "--to", "int8")
        least = peak("--version")
        assert peak("convert", tmp_path / "in.raw", tmp_path / "out.npy", *how) < least + 40
        assert peak("convert", tmp_path / "in.npy", "/dev/null", "--to", "int8") < least + 40
