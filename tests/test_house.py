"""The floors of docs/house.md: every module stands on one, and imports from none above it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "tensorbuf"
ROW = re.compile(r"^\| (\d) \|.*\|(.*)\|$", re.MULTILINE)

FLOORS = {
    module: int(floor)
    for floor, modules in ROW.findall((ROOT / "docs" / "house.md").read_text("utf-8"))
    for module in re.findall(r"`(\w+)/?`", modules)
}


def module_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of the package that `tree` imports, by their first name, imports for type checkers left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "tensorbuf":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tensorbuf."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tensorbuf."))
        yield from imported(node)


PATHS = sorted(path for path in SOURCES.rglob("*.py") if path != SOURCES / "__init__.py")


def test_every_module_stands_on_a_floor():
    modules = {module_of(path) for path in PATHS}
    assert sorted(modules - FLOORS.keys()) == [], "docs/house.md names no floor for these"
    assert sorted(FLOORS.keys() - modules) == [], "docs/house.md names these, which are not there"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_imports_point_downward(path):
    floor = FLOORS[module_of(path)]
    above = {name for name in imported(ast.parse(path.read_text("utf-8"))) if FLOORS[name] > floor}
    assert above == set()
