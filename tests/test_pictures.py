"""The pictures in docs/ are what their script draws now."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_pictures_of_value_semantics_are_true():
    spec = importlib.util.spec_from_file_location("draw_value_semantics", DOCS / "draw_value_semantics.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (DOCS / "value_semantics.md").read_text("utf-8")
    drawn = dict(script.pictures())
    assert len(drawn) == 8
    for name, picture in drawn.items():
        assert f"(pictures/{name})" in page
        assert (DOCS / "pictures" / name).read_text("utf-8") == picture
