"""The examples of a page: its fenced Python blocks, run as one doctest."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE_PAGES = sorted((ROOT / "docs").glob("engine_*.md"))
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> str:
    """The fenced Python blocks of `text`, everything else blanked, so that line numbers stay."""
    lines = [""] * len(text.splitlines())
    for block in FENCED.finditer(text):
        first = text.count("\n", 0, block.start(1))
        body = block[1].splitlines()
        lines[first : first + len(body)] = body
    return "\n".join(lines) + "\n"


def run(page: Path) -> None:
    """Fail with doctest's report unless every example of the page gives what it shows."""
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(examples(page.read_text("utf-8")), names, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    if report:
        pytest.fail("".join(report), pytrace=False)
