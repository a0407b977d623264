"""The examples of the engines' pages run, each in a folder of its own beside a copy of examples/."""

import shutil

import pages
import pytest

# That of TensorFlow, which may be missing, runs in test_tensorflow.py.
PAGES = [page for page in pages.ENGINE_PAGES if page.name != "engine_tensorflow.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, monkeypatch, tmp_path):
    shutil.copytree(pages.ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    pages.run(page)
