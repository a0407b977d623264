"""The .npy format, written for numpy to read and read as numpy writes it."""

import io
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorbuf.doors import npy
from tensorbuf.dtypes import CODES

SHAPES = [(), (0,), (3,), (2, 0, 4), (2, 3, 4), (1,) * 40]


@pytest.mark.parametrize("dtype", CODES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_reads_what_is_written(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    found = np.load(io.BytesIO(npy.header(shape, dtype) + array.tobytes()), allow_pickle=False)
    assert found.shape == shape
    assert found.dtype == dtype
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["<f4", ">f4", "|b1", ">c16", "|u1", "<i8"])
def test_what_numpy_writes_is_read(tmp_path: Path, name: str, shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(name), order=order)
    np.save(tmp_path / "a.npy", array)
    with open(tmp_path / "a.npy", "rb") as file:
        read = npy.read_array(file)
    for found in (npy.map_array(tmp_path / "a.npy"), read):
        assert found.shape == shape
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
    assert read.flags.writeable


def test_the_second_format_version_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(3), version=(2, 0))
    assert npy.map_array(tmp_path / "a.npy").tolist() == [0, 1, 2]


def test_elements_are_aligned_and_numpy_agrees_on_the_text() -> None:
    for shape in SHAPES:
        head = npy.header(shape, np.dtype("<f4"))
        assert len(head) % 64 == 0
        assert npy.read_header(io.BytesIO(head)) == (shape, np.dtype("<f4"), False)


def test_a_header_can_be_written_again_in_the_same_room() -> None:
    room = len(npy.header((2**63 - 1, 4, 5), np.dtype("<f4")))
    for shape in [(4, 5), (0, 4, 5), (1000, 4, 5)]:
        assert len(npy.header(shape, np.dtype("<f4"), room=room)) == room


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_the_types_of_ml_dtypes_survive(tmp_path: Path, name: str) -> None:
    array = np.array([1, -2, 0.5], name)
    (tmp_path / "a.npy").write_bytes(npy.header((3,), array.dtype) + array.tobytes())
    assert npy.map_array(tmp_path / "a.npy").dtype == array.dtype
    assert npy.map_array(tmp_path / "a.npy").tolist() == [1, -2, 0.5]


def test_a_mapped_array_is_read_only(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        npy.map_array(tmp_path / "a.npy")[0] = 1


def test_a_member_of_an_archive_is_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", loss=np.arange(100_000))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive, archive.open("loss.npy") as file:
        assert np.array_equal(npy.read_array(file), np.arange(100_000))


@pytest.mark.parametrize("size", [0, 5, 9, 64, 127, 128, 140])
def test_a_cut_off_file_is_refused(tmp_path: Path, size: int) -> None:
    np.save(tmp_path / "a.npy", np.arange(3, dtype="<f8"))
    whole = (tmp_path / "a.npy").read_bytes()
    assert len(whole) == 152
    (tmp_path / "a.npy").write_bytes(whole[:size])
    with pytest.raises(ValueError, match=r"no \.npy file|cut off"):
        npy.map_array(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"no \.npy file|cut off"):
        npy.read_array(io.BytesIO(whole[:size]))


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.zeros(2, "i4,f4"), np.zeros(2, "M8[s]")])
def test_types_that_are_none_of_ours_are_refused(array: np.ndarray[Any, Any]) -> None:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    file.seek(0)
    with pytest.raises(TypeError):
        npy.read_array(file)


def test_a_bfloat16_file_of_numpy_is_refused() -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(2, ml_dtypes.bfloat16))
    file.seek(0)
    with pytest.raises(TypeError, match="V2"):
        npy.read_array(file)


@pytest.mark.parametrize("shape", [(-1,), (2**62, 2**62)])
def test_a_header_that_promises_the_impossible_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (tmp_path / "a.npy").write_bytes(npy.header(shape, np.dtype("<f4")) + b"\0" * 64)
    with pytest.raises(ValueError, match=r"damaged|cut off"):
        npy.map_array(tmp_path / "a.npy")
