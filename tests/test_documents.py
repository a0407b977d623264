"""The examples of README.md and of the pages in docs/ run; those of the engines' pages in tests/interop."""

import pages
import pytest

PAGES = [pages.ROOT / "README.md", *sorted(set((pages.ROOT / "docs").rglob("*.md")) - set(pages.ENGINE_PAGES))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(pages.ROOT).as_posix())
def test_the_examples_of_a_page_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    pages.run(page)


def test_blocks_keep_their_lines():
    assert pages.examples("a\n```python\n>>> 1\n1\n```\nb\n") == "\n\n>>> 1\n1\n\n\n"
