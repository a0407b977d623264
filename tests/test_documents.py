"""The examples of README.md and of every page in docs/ run, each page as one doctest."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> str:
    """The fenced Python blocks of `text`, everything else blanked, so that line numbers stay."""
    lines = [""] * len(text.splitlines())
    for block in FENCED.finditer(text):
        first = text.count("\n", 0, block.start(1))
        body = block[1].splitlines()
        lines[first : first + len(body)] = body
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(examples(page.read_text("utf-8")), {}, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    if report:
        pytest.fail("".join(report), pytrace=False)


def test_blocks_keep_their_lines():
    assert examples("a\n```python\n>>> 1\n1\n```\nb\n") == "\n\n>>> 1\n1\n\n\n"
