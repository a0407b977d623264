"""What is installed: every file, nothing else, and small."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tensorbuf

SOURCES = Path(__file__).parent.parent / "tensorbuf"
BUILT_FROM = {".pyx", ".pxd", ".pxi", ".h", ".c", ".in"}


def installed() -> dict[str, Path]:
    """The files of the package by their path below `tensorbuf/`, without bytecode."""
    root = Path(tensorbuf.__file__).parent
    paths = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path for path in paths}


def test_the_tests_see_the_installed_package():
    assert Path(tensorbuf.__file__).parent != SOURCES


def test_every_python_stub_and_data_file_is_installed():
    paths = (path for path in SOURCES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    wanted = {
        path.relative_to(SOURCES).as_posix()
        for path in paths
        if path.suffix not in BUILT_FROM and path.name != "meson.build"
    }
    assert wanted - installed().keys() == set()


def test_every_compiled_module_has_a_stub():
    # These are built once a level, and a level module has nothing but the table of its kernels.
    modules = {path.name.split(".")[0] for path in (SOURCES / "_kernels").glob("*.pyx")} - {"arithmetic", "convert"}
    assert {path.stem for path in (SOURCES / "_kernels").glob("*.pyi")} >= modules


def test_no_source_is_installed():
    assert [name for name in installed() if Path(name).suffix in BUILT_FROM] == []


def test_an_engine_is_imported_when_it_is_used():
    code = """
import sys
import tensorbuf
from tensorbuf import *
assert not {"dask", "ray", "torch", "tensorbuf.dask", "tensorbuf.ray", "tensorbuf.torch"} & sys.modules.keys()
assert not {"dask", "ray", "torch"} & globals().keys()
assert tensorbuf.dask.convert and tensorbuf.ray.convert and tensorbuf.torch.collate_fn
assert not {"dask", "ray", "torch"} & sys.modules.keys()
assert not hasattr(tensorbuf, "spark")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.release
def test_a_wheel_stays_below_one_megabyte():
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in installed().items():
            archive.write(path, name)
    assert len(wheel.getvalue()) < 1_000_000
