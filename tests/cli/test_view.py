"""`tensorbuf view`, and the histogram that it draws."""

import subprocess

import numpy as np
import pytest
from command import COMMAND, succeed
from PIL import Image

from tensorbuf.cli.main import run
from tensorbuf.cli.plot import histogram

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
ARRAY = np.arange(24, dtype=np.int16).reshape(2, 3, 4)


@pytest.fixture
def array(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    return tmp_path / "a.npy"


def test_values_are_printed(array):
    assert succeed("view", array) == (np.array2string(ARRAY) + "\n").encode()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0", ARRAY[0]),
        ("0,:,1::2", ARRAY[0, :, 1::2]),
        ("-1, ..., ::-1", ARRAY[-1, ..., ::-1]),
        ("...,0", ARRAY[..., 0]),
        ("1,2,3", ARRAY[1, 2, 3]),
        ("5:", ARRAY[5:]),
    ],
)
def test_slices(array, capsys, text, part):
    assert run(["view", str(array), f"--slice={text}"]) == 0
    assert capsys.readouterr().out == np.array2string(part) + "\n"


@pytest.mark.parametrize("text", ["", "x", "0,", "1:2:3:4", "::0", "None", "1.5", "(0)"])
def test_what_is_no_slice(array, capsys, text):
    assert run(["view", str(array), "--slice", text]) == 2
    assert "--slice" in capsys.readouterr().err


def test_slices_that_do_not_fit(here, array):
    assert "out of bounds" in here.fail(1, "view", array, "--slice", "2")
    assert "too many indices" in here.fail(1, "view", array, "--slice", "0,0,0,0")


def test_raw_frames():
    out = succeed("view", "-", "--from", ">i2", "--shape", "2", data=np.arange(6, dtype=">i2").tobytes())
    assert out == b"[[0 1]\n [2 3]\n [4 5]]\n"
    assert succeed("view", "-", "--from", "int8", "--shape", "2", data=b"\1\2") == b"[1 2]\n"


def test_a_cut_off_frame():
    words = [*COMMAND, "view", "-", "--from", "int8", "--shape", "2", "--slice", "1:"]
    done = subprocess.run(words, input=bytes(range(7)), capture_output=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stdout == b"[[2 3]\n [4 5]]\n"
    assert b"3 whole frames of 2 bytes, 1 bytes left over" in done.stderr


def test_a_picture_of_an_image(here, tmp_path):
    np.save(tmp_path / "a.npy", PIXELS)
    here.succeed("view", tmp_path / "a.npy", "--slice", "10:30,::2", "--plot", tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as image:
        assert np.array_equal(np.asarray(image), PIXELS[10:30, ::2])


def test_a_histogram_of_anything_else(here, array, tmp_path):
    here.succeed("view", array, "--plot", tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as image:
        assert image.size == (960, 540)
        assert np.array_equal(np.asarray(image), histogram(ARRAY))


def test_an_existing_picture_is_replaced_only_with_force(here, array, tmp_path):
    (tmp_path / "out.png").write_bytes(b"old")
    assert "--force" in here.fail(1, "view", array, "--plot", tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes() == b"old"
    here.succeed("view", array, "--plot", tmp_path / "out.png", "--force")
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


def test_a_plot_is_a_picture(array, capsys):
    assert run(["view", str(array), "--plot", "out.npy"]) == 2
    assert "out.npy" in capsys.readouterr().err


def bars(picture):
    """The heights of the bars, in order."""
    blue = (picture == (96, 152, 255)).all(axis=2)
    return [int(column.sum()) for column in blue.T if column.any()]


def test_the_bars_of_a_histogram_are_as_high_as_their_counts():
    heights = bars(histogram(np.array([0] * 30 + [1] * 60 + [2] * 90)))
    assert [round(height / heights[-1], 2) for height in (heights[0], heights[len(heights) // 2], heights[-1])] == [
        0.33,
        0.67,
        1,
    ]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), np.float32),
        np.full(3, np.nan),
        np.array([np.inf, 1]),
        np.array([-1.7e308, 1.7e308]),
        np.array([5e-324, 0]),
        np.array(7),
        np.array([2**64 - 1, 0], np.uint64),
        np.array([1 + 2j, np.nan]),
        np.array([True, False]),
        np.array([1.5, 2], "bfloat16"),
    ],
    ids=str,
)
def test_a_histogram_of_any_values(array):
    picture = histogram(array)
    assert picture.shape == (540, 960, 3)
    assert bool(bars(picture)) == bool(np.isfinite(array.astype(np.complex128)).any())
