"""The .safetensors format, with the package of that name and torch as the partners."""

import json
import sys

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from full_disk import check_that_saving_fails

from tensorbuf import DataType, NdArray, load, save

NUMERIC = [kind for kind in DataType if kind not in (DataType.STRING, DataType.COMPLEX128)]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("kind", NUMERIC)
def test_every_type_survives(tmp_path, kind, mapped):
    path = tmp_path / "a.safetensors"
    array = np.array([0, 1, 0, 1, 1, 1]).astype(kind.numpy_dtype).reshape(2, 3)
    save(path, {"x": array, "y": NdArray(array.T)})
    loaded = load(path, mmap=mapped)
    for name, expected in (("x", array), ("y", array.T)):
        assert loaded[name].dtype == kind.numpy_dtype
        assert loaded[name].read_only == mapped
        assert loaded[name].to_numpy().tobytes() == expected.tobytes()
    there = safetensors.torch.load_file(path)
    assert there["x"].dtype == getattr(torch, kind.value)
    assert NdArray(there["y"]).to_numpy().tobytes() == array.T.tobytes()


def test_files_of_the_partner(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"a": torch.arange(6).reshape(2, 3), "b": torch.ones((), dtype=torch.bfloat16), "c": torch.zeros(0, 4)}
    safetensors.torch.save_file(tensors, path, metadata={"by": "torch"})
    for mapped in (False, True):
        loaded = load(path, mmap=mapped)
        assert loaded.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert loaded[name].tolist() == tensor.tolist()
            assert loaded[name].dtype == NdArray(tensor).dtype


def test_layouts(tmp_path):
    path = tmp_path / "a.safetensors"
    base = np.arange(12, dtype="int16").reshape(3, 4)
    for array in (base[::-1, ::2], np.asfortranarray(base), base.astype(">i2"), np.array(5), np.zeros((0, 2))):
        save(path, array)
        assert load(path)["arr_0"].tolist() == array.tolist()
        assert safetensors.numpy.load_file(path)["arr_0"].tolist() == array.tolist()


def test_what_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"old")
    for x in ({"x": np.zeros(2, complex)}, {"x": ["a"]}, {1: [1]}):
        with pytest.raises(TypeError):
            save(path, x)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_damage(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, {"x": [1.0, 2.0]})
    whole = path.read_bytes()
    strange = json.dumps({"x": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}).encode()
    for data in (b"", b"garbage" * 9, whole[:-1], whole[:20], whole.replace(b"[0,16]", b"[0,99]")):
        path.write_bytes(data)
        for mapped in (False, True):
            with pytest.raises(ValueError, match=r"a\.safetensors"):
                load(path, mmap=mapped)
    path.write_bytes(len(strange).to_bytes(8, "little") + strange + b"0")
    with pytest.raises((TypeError, ValueError), match=r"a\.safetensors"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "b.safetensors")


if sys.platform == "linux":

    def test_a_full_disk(tmp_path):
        check_that_saving_fails(tmp_path, "a.safetensors")
