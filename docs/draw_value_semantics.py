"""Draws the pictures of value_semantics.md from what the arrays really do: `python docs/draw_value_semantics.py`.

Each picture shows the storages that exist, one row of cells each, and the holders beneath the part that they hold. Two
holders lie on one storage if their memory says so.
"""

import copy
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from tensorbuf import ShapedArray

CELL, HEIGHT, GAP, LEFT = 44, 30, 18, 20
INK, PAPER, FILL, CHANGED, LINE = "#1f2933", "#ffffff", "#e4ecf7", "#ffd9a8", "#8695a4"


def address(holder):
    return holder.__array_interface__["data"][0] if isinstance(holder, np.ndarray) else address(np.asarray(holder))


def storages(holders):
    """Groups of holders that lie on one storage: [(first address, values, [(name, first cell, cells)])]."""
    groups = []
    for name, held in sorted(holders.items(), key=lambda item: address(item[1])):
        start, values = address(held), np.asarray(held).reshape(-1)
        if groups and start < groups[-1]["end"]:
            group = groups[-1]
        else:
            group = {"start": start, "end": start, "cells": {}, "holders": []}
            groups.append(group)
        first = (start - group["start"]) // values.itemsize
        group["cells"] |= {first + i: value for i, value in enumerate(values.tolist())}
        group["holders"].append((name, first, values.size))
        group["end"] = max(group["end"], start + values.nbytes)
    return sorted(groups, key=lambda group: list(holders).index(group["holders"][0][0]))


def draw(title, holders, before):
    """One picture: the storages of `holders`, cells that are not as in `before` marked."""
    lines, y, width = [], 46, 0
    for group in storages(holders):
        owner = group["holders"][0][0]
        for cell, value in group["cells"].items():
            x = LEFT + cell * CELL
            width = max(width, x + CELL)
            index = cell - group["holders"][0][1]
            old = before.get(owner)
            fill = CHANGED if old is not None and index < len(old) and old[index] != value else FILL
            lines.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{HEIGHT}" fill="{fill}" stroke="{LINE}"/>')
            lines.append(f'<text x="{x + CELL / 2}" y="{y + 20}" text-anchor="middle">{value}</text>')
        y += HEIGHT
        for name, first, size in group["holders"]:
            x, end = LEFT + first * CELL + 4, LEFT + (first + size) * CELL - 4
            lines.append(f'<path d="M{x} {y + 4}v5H{end}v-5" fill="none" stroke="{INK}"/>')
            lines.append(
                f'<text x="{(x + end) / 2}" y="{y + 24}" text-anchor="middle" class="name">{escape(name)}</text>'
            )
            y += 26
        y += GAP
    width = max(width + LEFT, 2 * LEFT + 9 * len(title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}" '
        f'font-family="sans-serif" font-size="14" fill="{INK}">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>.name{font-family:monospace;font-weight:bold}</style>\n"
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        f'<text x="{LEFT}" y="26" font-family="monospace">{escape(title)}</text>\n' + "\n".join(lines) + "\n</svg>\n"
    )


def values(holders):
    return {name: np.asarray(held).reshape(-1).tolist() for name, held in holders.items()}


def pictures():
    """Every picture by its file name."""
    m = ShapedArray(shape=[3, 2], scalars=range(6))
    holders = {"m": m, "c": copy.copy(m), "s": m[1], "r": m[0:2]}
    steps = [
        ("shared", "c = copy.copy(m); s = m[1]; r = m[0:2]", lambda: None),
        ("base", "m[1] = [70, 70]", lambda: m.__setitem__(1, [70, 70])),
        ("slice", "s[0] = -1", lambda: holders["s"].__setitem__(0, -1)),
        ("again", "m[0] = [9, 9]", lambda: m.__setitem__(0, [9, 9])),
    ]
    for name, title, step in steps:
        before = values(holders)
        step()
        yield f"holders_{name}.svg", draw(title, holders, before)
    a = ShapedArray([1, 2, 3, 4])
    exported = {"a": a, "np.asarray(a)": np.asarray(a)}
    yield "export_shared.svg", draw("view = np.asarray(a)", exported, {})
    before = values(exported)
    a[0] = 50
    yield "export_copied.svg", draw("a[0] = 50", exported, before)
    b = ShapedArray(shape=[3, 2], scalars=range(6))
    part = {"part": b[1:3]}
    yield "orphan_shared.svg", draw("part = b[1:3]", {"b": b, **part}, {})
    before = values(part)
    place = address(part["part"])
    del b
    part["part"][0] = [8, 8]
    if address(part["part"]) != place:
        raise AssertionError("a slice whose base has died is mutated in place")
    yield "orphan_in_place.svg", draw("del b; part[0] = [8, 8]", part, before)


def main(folder):
    folder.mkdir(exist_ok=True)
    for name, picture in pictures():
        (folder / name).write_text(picture, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
