"""The pictures in docs/ are what their scripts draw now."""

import importlib.util
from pathlib import Path

import pytest

from tensorbuf import index

DOCS = Path(__file__).parent.parent / "docs"


def pictures(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return dict(script.pictures())


@pytest.mark.parametrize(
    ("script", "page", "count"), [("draw_value_semantics", "value_semantics", 8), ("draw_selectors", "selectors", 15)]
)
def test_the_pictures_are_true(script, page, count):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    drawn = pictures(script)
    assert len(drawn) == count
    for name, picture in drawn.items():
        assert f"(pictures/{name})" in text
        assert (DOCS / "pictures" / name).read_text("utf-8") == picture


def test_every_selector_has_a_picture():
    selectors = {name for name in index.__all__ if name != "Selector"}
    assert len(selectors) == 14
    assert {f"selector_{name}.svg" for name in selectors} < set(pictures("draw_selectors"))
