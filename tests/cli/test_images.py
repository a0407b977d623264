"""Pictures as arrays and back."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from tensorbuf.cli.images import encode_image, is_picture, read_image

RNG = np.random.default_rng(7)
SAMPLES = {
    "grey": RNG.integers(0, 256, (5, 7), np.uint8),
    "grey and alpha": RNG.integers(0, 256, (5, 7, 2), np.uint8),
    "colour": RNG.integers(0, 256, (5, 7, 3), np.uint8),
    "colour and alpha": RNG.integers(0, 256, (5, 7, 4), np.uint8),
    "deep grey": RNG.integers(0, 65536, (5, 7), np.uint16),
}


def encode(path, array):
    with open(path, "wb") as file:
        encode_image(file, str(path), array)


@pytest.mark.parametrize("name", SAMPLES)
def test_png_keeps_every_sample(tmp_path, name):
    array = SAMPLES[name]
    encode(tmp_path / "a.png", array)
    found = read_image(str(tmp_path / "a.png"))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_one_channel_is_grey(tmp_path):
    encode(tmp_path / "a.png", SAMPLES["grey"][..., np.newaxis])
    assert np.array_equal(read_image(str(tmp_path / "a.png")), SAMPLES["grey"])


def test_bool_is_black_and_white(tmp_path):
    array = SAMPLES["grey"] > 127
    encode(tmp_path / "a.png", array)
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "1"
    assert np.array_equal(read_image(str(tmp_path / "a.png")), np.where(array, 255, 0))


def test_an_array_of_any_strides(tmp_path):
    array = SAMPLES["colour"].transpose(1, 0, 2)[::-1]
    encode(tmp_path / "a.png", array)
    assert np.array_equal(read_image(str(tmp_path / "a.png")), array)


@pytest.mark.parametrize("suffix", ["bmp", "gif", "jpeg", "jpg", "pgm", "png", "ppm", "tif", "tiff", "webp"])
def test_every_suffix_is_written_and_read(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    encode(path, SAMPLES["grey" if suffix == "pgm" else "colour"])
    with Image.open(path) as image:
        assert image.format == {"jpg": "JPEG", "pgm": "PPM", "tif": "TIFF"}.get(suffix, suffix.upper())
    assert read_image(str(path)).shape[:2] == (5, 7)


@pytest.mark.parametrize(
    ("mode", "shape", "dtype"),
    [("1", (5, 7), np.uint8), ("P", (5, 7, 3), np.uint8), ("CMYK", (5, 7, 3), np.uint8), ("F", (5, 7), np.float32)],
)
def test_other_modes(tmp_path, mode, shape, dtype):
    with Image.new(mode, (7, 5)) as image:
        image.save(tmp_path / "a.tif")
    found = read_image(str(tmp_path / "a.tif"))
    assert found.shape == shape
    assert found.dtype == dtype


def test_a_palette_with_a_transparent_colour_has_alpha(tmp_path):
    with Image.new("P", (7, 5)) as image:
        image.save(tmp_path / "a.png", transparency=0)
    found = read_image(str(tmp_path / "a.png"))
    assert found.shape == (5, 7, 4)
    assert not found[..., 3].any()


def test_what_a_picture_is():
    assert all(is_picture(array) for name, array in SAMPLES.items() if name != "deep grey")
    for array in (
        np.zeros(3, np.uint8),
        np.zeros((3, 4), np.int8),
        np.zeros((3, 4, 5), np.uint8),
        np.zeros((0, 3), np.uint8),
    ):
        assert not is_picture(array)


def test_photograph_to_model_input_and_back(here, tmp_path):
    encode(tmp_path / "in.png", SAMPLES["colour"])
    how = ("--layout", "HWC:CHW", "--mean", "0.5", "--std", "0.5")
    here.succeed("convert", tmp_path / "in.png", tmp_path / "x.npy", "--to", "float32", *how)
    x = np.load(tmp_path / "x.npy")
    assert x.shape == (3, 5, 7)
    assert x.dtype == np.float32
    half = np.float32(0.5)
    assert np.array_equal(x, ((SAMPLES["colour"] / np.float32(255) - half) / half).transpose(2, 0, 1))
    back = ("--layout", "CHW:HWC", "--scale", "127.5", "--offset", "127.5", "--rounding", "nearest")
    here.succeed("convert", tmp_path / "x.npy", tmp_path / "out.png", "--to", "uint8", *back)
    assert np.array_equal(read_image(str(tmp_path / "out.png")), SAMPLES["colour"])


def test_shapes_and_types_that_are_no_picture(here, tmp_path):
    np.save(tmp_path / "line.npy", np.zeros(5, np.uint8))
    np.save(tmp_path / "five.npy", np.zeros((4, 4, 5), np.uint8))
    np.save(tmp_path / "alpha.npy", np.zeros((4, 4, 4), np.uint8))
    assert "(5,)" in here.fail(1, "convert", tmp_path / "line.npy", tmp_path / "a.png", "--to", "uint8")
    assert "(4, 4, 5)" in here.fail(1, "convert", tmp_path / "five.npy", tmp_path / "a.png", "--to", "uint8")
    assert "a.jpg" in here.fail(1, "convert", tmp_path / "alpha.npy", tmp_path / "a.jpg", "--to", "uint8")
    assert "float32" in here.fail(2, "convert", tmp_path / "alpha.npy", tmp_path / "a.png", "--to", "float32")
    assert sorted(os.listdir(tmp_path)) == ["alpha.npy", "five.npy", "line.npy"]


@pytest.mark.parametrize("suffix", ["pgm", "png", "tif", "tiff"])
def test_16_bits_where_the_format_has_them(tmp_path, suffix):
    encode(tmp_path / f"a.{suffix}", SAMPLES["deep grey"])
    assert np.array_equal(read_image(str(tmp_path / f"a.{suffix}")), SAMPLES["deep grey"])


@pytest.mark.parametrize("suffix", ["bmp", "gif", "jpg", "ppm", "webp"])
def test_16_bits_are_never_cut_down(tmp_path, suffix):
    with pytest.raises(ValueError, match="8 bits"):
        encode(tmp_path / f"a.{suffix}", SAMPLES["deep grey"])


def test_damaged_pictures(here, tmp_path):
    encode(tmp_path / "a.png", SAMPLES["colour"])
    whole = (tmp_path / "a.png").read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        (tmp_path / "b.png").write_bytes(content)
        assert "b.png" in here.fail(1, "convert", tmp_path / "b.png", "-", "--to", "uint8")


def test_several_frames_are_a_usage_error(here, tmp_path):
    stack = [Image.fromarray(SAMPLES["colour"] + np.uint8(i)) for i in range(3)]
    stack[0].save(tmp_path / "a.tif", save_all=True, append_images=stack[1:])
    assert "3 frames" in here.fail(2, "convert", tmp_path / "a.tif", "-", "--to", "uint8")


def test_without_pillow_the_extra_is_named(tmp_path):
    encode(tmp_path / "a.png", SAMPLES["colour"])
    script = "import sys; sys.modules['PIL'] = None; from tensorbuf.cli import main; main()"
    words = [sys.executable, "-c", script, "convert", str(tmp_path / "a.png"), "-", "--to", "uint8"]
    done = subprocess.run(words, capture_output=True, timeout=300, check=False)
    assert done.returncode == 1
    assert b"tensorbuf[images]" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_full_disk_is_told_as_such():
    class Full(io.BytesIO):
        def write(self, data, /):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        encode_image(Full(), "a.png", SAMPLES["colour"])
    assert caught.value.filename == "a.png"
