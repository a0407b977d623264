"""A file appears whole or not at all."""

import contextlib
import errno
import os
import stat
from pathlib import Path

import pytest

from tensorbuf.doors.whole_file import whole_file


def write(path: Path, content: bytes, *, replace: bool = False, failure: BaseException | None = None) -> None:
    with whole_file(path, replace=replace) as file:
        file.write(content)
        if failure is not None:
            raise failure


def test_the_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    with whole_file(path, replace=False) as file:
        file.write(b"abc")
        assert not path.exists()
    assert path.read_bytes() == b"abc"
    assert os.listdir(tmp_path) == ["out.bin"]


@pytest.mark.parametrize("failure", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_left_after_a_failure(tmp_path: Path, failure: BaseException) -> None:
    with pytest.raises(type(failure)):
        write(tmp_path / "out.bin", b"abc", failure=failure)
    assert os.listdir(tmp_path) == []


def test_an_error_without_a_name_gets_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    with pytest.raises(OSError, match="full") as caught:
        write(path, b"abc", failure=OSError(errno.ENOSPC, "full"))
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as found:
        write(path, b"abc", failure=FileNotFoundError(errno.ENOENT, "gone", "other.bin"))
    assert found.value.filename == "other.bin"
    assert os.listdir(tmp_path) == []


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        write(path, b"new", replace=True, failure=ZeroDivisionError())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.bin"]


def test_an_existing_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_bytes(b"old and longer")
    with pytest.raises(FileExistsError, match="already"), whole_file(path, replace=False):
        raise AssertionError("the block must not be entered")
    write(path, b"new", replace=True)
    assert path.read_bytes() == b"new"


def test_a_file_that_appeared_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(whole_file(path, replace=False))
        file.write(b"mine")
        path.write_bytes(b"theirs")
        with pytest.raises(FileExistsError):
            stack.close()
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["out.bin"]


def test_what_was_written_can_be_read_back_and_changed(tmp_path: Path) -> None:
    with whole_file(tmp_path / "out.bin", replace=False) as file:
        file.write(b"....body")
        file.seek(0)
        file.write(b"head")
        file.seek(0)
        assert file.read() == b"headbody"
    assert (tmp_path / "out.bin").read_bytes() == b"headbody"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), whole_file(tmp_path, replace=True):
        raise AssertionError("the block must not be entered")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"out\.bin"), whole_file(tmp_path / "none" / "out.bin", replace=True):
        raise AssertionError("the block must not be entered")


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".bin")
    write(path, b"abc")
    assert path.read_bytes() == b"abc"


if os.name == "posix":

    def test_permissions_are_those_of_the_old_file(tmp_path: Path) -> None:
        path = tmp_path / "out.bin"
        path.write_bytes(b"old")
        path.chmod(0o640)
        write(path, b"new", replace=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_permissions_of_a_new_file_follow_the_umask(tmp_path: Path) -> None:
        write(tmp_path / "out.bin", b"abc")
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE((tmp_path / "out.bin").stat().st_mode) == 0o666 & ~umask

    def test_a_link_is_followed(tmp_path: Path) -> None:
        (tmp_path / "real.bin").write_bytes(b"old")
        (tmp_path / "link.bin").symlink_to("real.bin")
        write(tmp_path / "link.bin", b"new", replace=True)
        assert (tmp_path / "link.bin").is_symlink()
        assert (tmp_path / "real.bin").read_bytes() == b"new"

    def test_a_pipe_is_written_directly() -> None:
        reader, writer = os.pipe()
        write(Path(f"/dev/fd/{writer}"), b"abc")
        os.close(writer)
        with open(reader, "rb") as pipe:
            assert pipe.read() == b"abc"

    def test_a_device_is_written_directly() -> None:
        write(Path(os.devnull), b"abc")
        assert not Path(os.devnull).is_file()
