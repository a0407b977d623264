"""save and load: .npy and .npz (tests/interop has .safetensors), every type and layout, damage and failure."""

import gc
import io
import mmap
import sys
import zipfile

import ml_dtypes
import numpy as np
import pytest
from full_disk import check_that_saving_fails

import tensorbuf
from tensorbuf import DataType, FloatNdArray, NdArray, ShapedArray, TensorBuffer, index, load, save

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]
BASE = np.arange(24, dtype="int16").reshape(2, 3, 4)
LAYOUTS = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "transposed": BASE.transpose(1, 0, 2),
    "strided": BASE[:, ::2, ::-1],
    "swapped": BASE.astype(BASE.dtype.newbyteorder("S")),
    "misaligned": np.frombuffer(b"0" + BASE.tobytes(), "int16", offset=1).reshape(BASE.shape),
    "broadcast": np.broadcast_to(BASE[0], BASE.shape),
    "rank 0": np.array(7, "int16"),
    "empty": np.zeros((3, 0, 2), "float32"),
    "rank 1": BASE[0, 0],
    "rank 33": np.zeros((1,) * 33, "uint8"),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_their_logical_order(tmp_path, layout, mapped):
    array = LAYOUTS[layout]
    save(tmp_path / "a.npy", array)
    save(tmp_path / "a.npz", {"one": array, "two": [1.5]})
    loaded = load(tmp_path / "a.npy", mmap=mapped)
    both = load(tmp_path / "a.npz", mmap=mapped)
    assert list(both) == ["one", "two"]
    assert both["two"].tolist() == [1.5]
    for back in (loaded, both["one"], NdArray(np.load(tmp_path / "a.npy"))):
        assert back.shape == array.shape
        assert back.dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
        assert (back.to_numpy() == array).all()
    assert loaded.read_only == mapped
    assert both["one"].read_only == mapped
    if not mapped:
        assert loaded.to_numpy().ctypes.data % 64 == 0


@pytest.mark.parametrize("kind", NUMERIC)
def test_every_type_survives(tmp_path, kind):
    array = np.array([0, 1, 0, 1]).astype(kind.numpy_dtype).reshape(2, 2)
    save(tmp_path / "a.npy", array)
    save(tmp_path / "a.npz", {"x": array})
    for back in (load(tmp_path / "a.npy"), load(tmp_path / "a.npy", mmap=True), load(tmp_path / "a.npz")["x"]):
        assert back.dtype == kind.numpy_dtype
        assert back.to_numpy().tobytes() == array.tobytes()
    assert np.load(tmp_path / "a.npy").dtype == kind.numpy_dtype


def test_swapped_types_of_ml_dtypes(tmp_path):
    array = np.array([1, 2], ml_dtypes.bfloat16)
    swapped = array.astype(array.dtype.newbyteorder("S"))
    save(tmp_path / "a.npy", swapped)
    assert load(tmp_path / "a.npy").tolist() == [1.0, 2.0]


def test_every_kind_can_be_saved(tmp_path):
    buffer = TensorBuffer.create_fixed_size((2,), "float32")
    for x in (buffer, ShapedArray([1.0, 2.0]), NdArray([1.0, 2.0]).slice(index.seq(1, 0)), [1, 2.5], 3, b"ab"):
        save(tmp_path / "a.npy", x)
        back = load(tmp_path / "a.npy")
        assert isinstance(back, NdArray)
        assert back.size in (1, 2)
    save(tmp_path / "A.NPZ", [1, 2])
    assert load(tmp_path / "A.NPZ")["arr_0"].tolist() == [1, 2]
    save(tmp_path / "a.npz", {})
    assert load(tmp_path / "a.npz") == {}
    assert load(str(tmp_path / "a.npz"), mmap=True) == {}


def test_numpy_files_can_be_read(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(np.ones((2, 3), "float32")))
    assert type(load(tmp_path / "a.npy")) is FloatNdArray
    np.savez(tmp_path / "a.npz", x=BASE, y=np.float64(3))
    assert load(tmp_path / "a.npz")["x"].tolist() == BASE.tolist()
    assert load(tmp_path / "a.npz", mmap=True)["y"].tolist() == 3
    np.savez_compressed(tmp_path / "c.npz", x=BASE)
    assert load(tmp_path / "c.npz")["x"].tolist() == BASE.tolist()
    with pytest.raises(ValueError, match="compressed"):
        load(tmp_path / "c.npz", mmap=True)


def test_a_mapped_file_stays_mapped(tmp_path, monkeypatch):
    save(tmp_path / "a.npy", BASE)
    save(tmp_path / "a.npz", {"x": BASE})
    mappings = []

    def recording(*args, **options):
        mappings.append(original(*args, **options))
        return mappings[-1]

    original = mmap.mmap
    monkeypatch.setattr(mmap, "mmap", recording)
    for read in (lambda: load(tmp_path / "a.npy", mmap=True), lambda: load(tmp_path / "a.npz", mmap=True)["x"]):
        loaded = read()
        part = loaded.get(1).to_numpy()
        del loaded
        mapping = mappings.pop()
        with pytest.raises(BufferError):
            mapping.close()
        assert part.tolist() == BASE[1].tolist()
        del part
        gc.collect()
        mapping.close()


@pytest.mark.parametrize("x", [None, "text", ["a"], np.array([None]), object(), {"x": None}, {1: [1]}, {"x": ["a"]}])
def test_what_cannot_be_saved(tmp_path, x):
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        save(path, x)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_dict_is_not_one_array(tmp_path):
    with pytest.raises(TypeError, match="dict"):
        save(tmp_path / "a.npy", {"x": [1]})


@pytest.mark.parametrize("name", ["a", "a.txt", "a.npy.gz", ".npy"])
def test_suffixes(tmp_path, name):
    with pytest.raises(ValueError, match="npz"):
        save(tmp_path / name, [1])
    with pytest.raises(ValueError, match="npz"):
        load(tmp_path / name)


def test_missing_files(tmp_path):
    for name in ("a.npy", "a.npz"):
        for mapped in (False, True):
            with pytest.raises(FileNotFoundError):
                load(tmp_path / name, mmap=mapped)
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "nowhere" / "a.npy", [1])


def test_nothing_is_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return sys.exit, (1,)

    np.save(tmp_path / "a.npy", np.array([Bomb()], object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=np.array([Bomb()], object))
    np.save(tmp_path / "b.npy", np.zeros(2, "i4,f4"))
    np.save(tmp_path / "c.npy", np.array(["a"]))
    for name in ("a.npy", "a.npz", "b.npy", "c.npy"):
        for mapped in (False, True):
            with pytest.raises(TypeError, match=name):
                load(tmp_path / name, mmap=mapped)


def damaged(tmp_path):
    whole = io.BytesIO()
    np.save(whole, BASE)
    archive = io.BytesIO()
    np.savez(archive, x=BASE)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as file:
        file.writestr("x.txt", "text")
    with zipfile.ZipFile(tmp_path / "cut.npz", "w") as file:
        file.writestr("x.npy", whole.getvalue()[:-1])
    for name, data in {
        "empty.npy": b"", "garbage.npy": b"garbage" * 50, "cut.npy": whole.getvalue()[:-1],
        "header.npy": whole.getvalue()[:40],
        "negative.npy": whole.getvalue().replace(b"(2, 3, 4)", b"(2,-3, 4)"),
        "huge.npy": whole.getvalue().replace(b"(2, 3, 4), }            ", b"(9223372036854775807,9)}"),
        "empty.npz": b"", "garbage.npz": b"garbage" * 50, "half.npz": archive.getvalue()[:200],
        "crc.npz": archive.getvalue().replace(BASE.tobytes(), BASE[::-1].tobytes()),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
    return sorted(path.name for path in tmp_path.iterdir())


def test_damaged_files(tmp_path):
    names = damaged(tmp_path)
    assert len(names) == 12
    for name in names:
        # What is mapped is not read, nor summed up.
        for mapped in (False,) if name == "crc.npz" else (False, True):
            with pytest.raises(ValueError, match=name):
                load(tmp_path / name, mmap=mapped)


if sys.platform == "linux":

    @pytest.mark.parametrize("name", ["a.npy", "a.npz"])
    def test_a_full_disk(tmp_path, name):
        check_that_saving_fails(tmp_path, name)


def test_public_names():
    assert tensorbuf.save is save
    assert tensorbuf.load is load
