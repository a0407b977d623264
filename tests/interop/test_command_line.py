"""The command line on .safetensors files."""

import numpy as np
import pytest
from command import Here

from tensorbuf import load, save

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pytest.fixture
def here(capsys):
    return Here(capsys)


@pytest.mark.parametrize(
    "name", ["bool", "uint16", ">i4", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"]
)
def test_every_type_is_kept(tmp_path, here, name):
    (tmp_path / "in.raw").write_bytes(np.ones(6, name).tobytes())
    target = f"{tmp_path}/out.safetensors:layer.0/weight"
    to = name.removeprefix(">i4") or "int32"
    here.succeed("convert", tmp_path / "in.raw", target, "--to", to, "--from", name, "--shape", "2,3")
    found = load(tmp_path / "out.safetensors")
    assert list(found) == ["layer.0/weight"]
    assert found["layer.0/weight"].shape == (2, 3)
    assert found["layer.0/weight"].dtype == np.dtype(to)
    here.succeed("convert", target, tmp_path / "out.npy", "--to", "float32" if to != "complex64" else to)
    assert np.array_equal(np.load(tmp_path / "out.npy"), np.ones((2, 3)))


def test_members(tmp_path, here):
    save(tmp_path / "two.safetensors", {"a": PIXELS, "b": np.zeros(3)})
    save(tmp_path / "none.safetensors", {})
    here.succeed(
        "convert", f"{tmp_path}/two.safetensors:a", tmp_path / "out.npy", "--to", "int32", "--layout", "HWC:CHW"
    )
    assert np.array_equal(np.load(tmp_path / "out.npy"), PIXELS.transpose(2, 0, 1))
    assert "two.safetensors:" in here.fail(2, "convert", tmp_path / "two.safetensors", "-", "--to", "int8")
    assert "'c'" in here.fail(1, "convert", f"{tmp_path}/two.safetensors:c", "-", "--to", "int8")
    assert "no array" in here.fail(1, "convert", tmp_path / "none.safetensors", "-", "--to", "int8")
    (tmp_path / "bad.safetensors").write_bytes(b"12345678{}")
    assert "bad" in here.fail(1, "convert", tmp_path / "bad.safetensors", "-", "--to", "int8")
    assert "complex128" in here.fail(
        1, "convert", tmp_path / "out.npy", f"{tmp_path}/c.safetensors", "--to", "complex128"
    )
    assert not (tmp_path / "c.safetensors").exists()


@pytest.mark.parametrize(("count", "shape"), [(0, (0, 2, 3)), (1, (2, 3)), (3, (3, 2, 3))])
def test_frames(tmp_path, here, count, shape):
    (tmp_path / "in.raw").write_bytes(bytes(range(6 * count)))
    how = ("--to", "int16", "--from", "uint8", "--shape", "2,3")
    here.succeed("convert", tmp_path / "in.raw", tmp_path / "out.safetensors", *how)
    found = load(tmp_path / "out.safetensors")["arr_0"]
    assert found.shape == shape
    assert np.array_equal(found.to_numpy().reshape(-1), np.arange(6 * count))
