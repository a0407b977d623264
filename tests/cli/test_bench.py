"""`tensorbuf bench`: the table and the document, of a few quick jobs."""

import json

import pytest
from command import Here

from tensorbuf._kernels import build
from tensorbuf.bench.jobs import JOBS
from tensorbuf.cli import bench


@pytest.fixture
def here(capsys, monkeypatch):
    monkeypatch.setattr(bench, "JOBS", [job for job in JOBS if job.row == "17"])
    for name, value in (("BUILD_TYPE", "release"), ("KERNEL_CHECKS", False), ("SANITIZE", "")):
        monkeypatch.setattr(build, name, value)
    return Here(capsys)


def test_the_table(here):
    lines = here.succeed("bench").splitlines()
    assert any(line.startswith("processor ") for line in lines)
    assert any("convert of 8 elements into out" in line and "<= 300 ns" in line for line in lines)


def test_json(here):
    document = json.loads(here.succeed("bench", "--json"))
    assert {"processor", "compiler", "build", "numpy", "date"} <= set(document["machine"])
    assert [row["row"] for row in document["rows"]] == ["17"] * 4
    for row in document["rows"]:
        assert row["ours"] > 0
        assert row["verdict"] in ("met", "missed")


def test_a_build_with_checks_is_refused(here, monkeypatch):
    monkeypatch.setattr(build, "KERNEL_CHECKS", True)
    assert "Cython's checks" in here.fail(1, "bench")
