"""The scripts behind `make bench` and `make curves`."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from tensorbuf._kernels import build

HERE = Path(__file__).parent


@pytest.fixture
def release(monkeypatch):
    for name, value in (("BUILD_TYPE", "release"), ("KERNEL_CHECKS", False), ("SANITIZE", "")):
        monkeypatch.setattr(build, name, value)


def test_some_rows_as_table_and_document(release, monkeypatch, capsys, tmp_path):
    document = tmp_path / "table.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--rows", "2,7", "--repeats", "1", "--json", str(document)])
    status = runpy.run_path(str(HERE / "run.py"))["main"]()
    measured = json.loads(document.read_text("utf-8"))
    assert [row["row"] for row in measured["rows"]] == ["2", "7"]
    assert "float32 to bfloat16" in capsys.readouterr().out
    assert status == (measured["verdict"] == "missed")


def test_a_row_that_is_not_there_is_refused(release, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "--rows", "2,99"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(HERE / "run.py"))["main"]()
    assert ended.value.code == 2
    assert "there is no row 99; take some of 1, 2, " in capsys.readouterr().err


def test_a_build_that_is_no_release_is_refused_in_a_sentence(release, monkeypatch):
    monkeypatch.setattr(build, "BUILD_TYPE", "debug")
    monkeypatch.setattr(sys, "argv", ["run.py", "--rows", "2"])
    with pytest.raises(SystemExit, match=r"^nothing is measured: the build type is 'debug'"):
        runpy.run_path(str(HERE / "run.py"))["main"]()


def test_the_pictures_are_those_of_the_measurement():
    curves = runpy.run_path(str(HERE / "curves.py"))
    measured = json.loads((HERE / "curves.json").read_text("utf-8"))
    assert measured["curves"].keys() == curves["CURVES"].keys()
    for name, curve in measured["curves"].items():
        picture = (HERE.parent / "docs" / "pictures" / f"{name}.svg").read_text("utf-8")
        assert picture == curves["picture_of"](curve, measured["machine"])


def test_the_sizes_go_from_a_thousand_to_a_hundred_million():
    curves = runpy.run_path(str(HERE / "curves.py"))
    sizes = [height * width * channels for height, width, channels in map(curves["frame"], curves["SIZES"])]
    assert sizes[0] == pytest.approx(1e3, rel=0.01)
    assert sizes[-1] == pytest.approx(1e8, rel=0.01)
    assert sizes == pytest.approx(curves["SIZES"], rel=0.1)
