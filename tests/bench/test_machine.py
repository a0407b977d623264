"""What is measured is described, and what is not made for speed is refused."""

import pytest

from tensorbuf import _kernels
from tensorbuf._kernels import build
from tensorbuf.bench import machine


@pytest.fixture
def release(monkeypatch):
    monkeypatch.setattr(build, "BUILD_TYPE", "release")
    monkeypatch.setattr(build, "KERNEL_CHECKS", False)
    monkeypatch.setattr(build, "SANITIZE", "")


def test_a_release_is_measured(release):
    machine.check_build()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [("BUILD_TYPE", "debug", "debug"), ("KERNEL_CHECKS", True, "checks"), ("SANITIZE", "address", "address")],
)
def test_other_builds_are_refused(release, monkeypatch, name, value, why):
    monkeypatch.setattr(build, name, value)
    with pytest.raises(machine.UnfitError, match=why):
        machine.check_build()


def test_the_description_names_what_the_figures_depend_on():
    facts = machine.description()
    assert facts["level"] == _kernels.level()
    assert facts["compiler"] == build.COMPILER
    assert facts["build"] == build.BUILD_TYPE
    assert {"date", "processor", "cores", "load", "python", "tensorbuf", "numpy", "torch", "cv2", "ml_dtypes"} <= set(
        facts
    )
    assert all(facts.values())
