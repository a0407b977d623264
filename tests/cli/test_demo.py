"""`tensorbuf demo`."""

import re

import numpy as np
from command import succeed
from PIL import Image

from tensorbuf.cli.demo import MEAN, STD, travel
from tensorbuf.cli.main import run


def test_the_demo_writes_its_files_and_says_what_it_did(tmp_path):
    folder = tmp_path / "tensorbuf-demo"
    folder.mkdir()
    (folder / "model_input.npy").write_bytes(b"of an earlier run")
    report = succeed("demo", cwd=tmp_path).decode()
    assert sorted(path.name for path in folder.iterdir()) == [
        "before_and_after.png",
        "model_input.npy",
        "quantised_input.npy",
    ]
    for said in ("(320, 320, 3)", "(3, 320, 320)", "uint8", "float32", "int8", "GB/s", "largest error"):
        assert said in report
    assert len(re.findall(r"[0-9.]+x$", report, re.MULTILINE)) == 4
    model_input = np.load(folder / "model_input.npy")
    assert (model_input.shape, model_input.dtype) == ((3, 320, 320), np.float32)
    quantised = np.load(folder / "quantised_input.npy")
    assert (quantised.shape, quantised.dtype) == ((3, 320, 320), np.int8)
    assert (quantised.min(), quantised.max()) == (-128, 127)
    with Image.open(folder / "before_and_after.png") as image:
        assert image.width > 3 * 320
        pixels = np.asarray(image)
    assert pixels[100:350].std() > 50


def test_the_demo_of_a_folder_of_ones_own(tmp_path, capsys):
    assert run(["demo", str(tmp_path / "a" / "b")]) == 0
    assert (tmp_path / "a" / "b" / "before_and_after.png").exists()
    assert "before_and_after.png" in capsys.readouterr().out


def test_a_file_in_the_place_of_the_folder(here, tmp_path):
    (tmp_path / "taken").write_bytes(b"")
    line = here.fail(1, "demo", tmp_path / "taken")
    assert line == f"tensorbuf: {tmp_path / 'taken'}: is a file, not a folder\n"


def test_the_journey_is_exact():
    photograph = np.random.default_rng(1).integers(0, 256, (6, 8, 3), np.uint8)
    journey = travel(photograph)
    mean, std = np.float32(MEAN), np.float32(STD)
    wanted = ((photograph / np.float32(255) - mean) / std).transpose(2, 0, 1)
    assert np.array_equal(journey.model_input, wanted)
    # Half a step, and the last bits of the float32 arithmetic.
    assert np.abs(journey.dequantised - journey.model_input).max() <= journey.scale * 0.5001
    assert np.abs(journey.picture.astype(int) - photograph).max() <= 1
