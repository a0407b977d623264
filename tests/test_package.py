"""What is installed: every file, nothing else, and small."""

import ast
import io
import pickle
import pydoc
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


def in_a_new_process(code: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_an_engine_is_imported_when_it_is_used():
    in_a_new_process("""
import sys
import tensorbuf
from tensorbuf import *
assert not {"dask", "ray", "torch", "tensorbuf.dask", "tensorbuf.ray", "tensorbuf.torch"} & sys.modules.keys()
assert not {"dask", "ray", "torch"} & globals().keys()
assert tensorbuf.dask.convert and tensorbuf.ray.convert and tensorbuf.torch.collate_fn
assert not {"dask", "ray", "torch"} & sys.modules.keys()
assert not hasattr(tensorbuf, "spark")
""")


def test_a_family_is_imported_when_it_is_used():
    in_a_new_process("""
import sys
import numpy
before = set(sys.modules)
import tensorbuf
tensorbuf.Converter.normalize((0, 0, 0), (1, 1, 1))(numpy.zeros((2, 2, 3), "uint8"))
loaded = sys.modules.keys() - before
families = ("shaped_array", "data_buffer", "databuffers", "layouts", "sparse", "litert", "tensor_buffer", "files")
assert not {f"tensorbuf.doors.{name}" for name in ("arrow", "dlpack", "torch")} & loaded
assert not {f"tensorbuf.{name}" for name in families} & loaded
assert not {"dataclasses", "fractions", "json", "mmap", "zipfile"} & loaded
assert isinstance(tensorbuf.ShapedArray([1]), tensorbuf.ShapedArray)
assert "tensorbuf.shaped_array" in sys.modules and "tensorbuf.files" not in sys.modules
""")


def test_a_public_name_is_an_attribute_from_the_first():
    in_a_new_process("""
import tensorbuf
listed = dir(tensorbuf)
assert listed == sorted(listed)
for name in tensorbuf.__all__:
    assert name in listed
    assert getattr(tensorbuf, name) is getattr(tensorbuf, name) is vars(tensorbuf)[name]
""")


def test_a_star_gives_all_names():
    in_a_new_process("""
from tensorbuf import *
import tensorbuf
assert all(globals()[name] is getattr(tensorbuf, name) for name in tensorbuf.__all__)
""")


def test_type_checkers_are_told_the_names_that_come_later():
    tree = ast.parse((SOURCES / "__init__.py").read_text("utf-8"))
    told = {
        alias.asname or alias.name: node.module.rpartition(".")[2] if "." in node.module else None
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        for alias in node.names
    }
    assert told == {**tensorbuf._LATER, **dict.fromkeys(tensorbuf._MODULES)}


def test_help_tells_of_the_names_that_come_later():
    page = pydoc.plain(pydoc.render_doc(tensorbuf))
    assert all(name in page for name in tensorbuf.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'tensorbuf' has no attribute 'Converters'"):
        _ = tensorbuf.Converters


def test_threads_that_ask_for_names_at_the_same_time():
    in_a_new_process("""
import threading
import tensorbuf
names = [*tensorbuf._LATER, *tensorbuf._MODULES]
start, found = threading.Barrier(8), []
def ask(k):
    start.wait()
    turned = names[k:] + names[:k] if k % 2 else names[k::-1] + names[:k:-1]
    found.append({name: getattr(tensorbuf, name) for name in turned})
threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and all(values == found[0] for values in found)
assert all(values[name] is getattr(tensorbuf, name) for values in found for name in names)
""")


def test_pickles_find_classes_that_were_not_imported():
    arrays = [
        tensorbuf.ShapedArray([1, 2]),
        tensorbuf.SparseNdArray.from_dense(tensorbuf.NdArray([0, 3])),
        tensorbuf.databuffers.of([4, 5]),
    ]
    in_a_new_process(f"""
import pickle
import tensorbuf
shaped, sparse, buffer = pickle.loads({pickle.dumps(arrays)!r})
assert shaped == tensorbuf.ShapedArray([1, 2])
assert sparse.get_object(1) == 3 and isinstance(sparse, tensorbuf.SparseNdArray)
assert buffer.get_object(1) == 5 and isinstance(buffer, tensorbuf.DataBuffer)
assert isinstance(tensorbuf.convert(shaped, "uint8"), tensorbuf.ShapedArray)
""")


@pytest.mark.release
def test_a_wheel_stays_below_one_megabyte():
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in installed().items():
            archive.write(path, name)
    assert len(wheel.getvalue()) < 1_000_000
