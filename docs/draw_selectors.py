"""Draws the pictures of selectors.md from what `slice` really gives: `python docs/draw_selectors.py`.

Each picture shows a matrix of 4 x 6 elements, numbered, with those marked that a slice keeps (darker where it keeps one
several times), and beside it the view.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from tensorbuf import NdArray
from tensorbuf import index as ix

SHAPE = (4, 6)
CELL, GAP, LEFT, TOP = 30, 46, 16, 44
INK, PAPER, PLAIN, KEPT, AGAIN, LINE = "#1f2933", "#ffffff", "#ffffff", "#bcd4f2", "#7ba7e0", "#8695a4"

EXAMPLES = {
    "at": (ix.at(1),),
    "at_keep_dim": (ix.at(1, keep_dim=True),),
    "all": (ix.all(), ix.at(2)),
    "even": (ix.all(), ix.even()),
    "odd": (ix.all(), ix.odd()),
    "step": (ix.all(), ix.step(-2)),
    "flip": (ix.flip(),),
    "range": (ix.range(1, 3), ix.range(-3, -1)),
    "slice": (ix.all(), ix.slice(4, None, -2)),
    "slice_from": (ix.slice_from(2),),
    "slice_to": (ix.all(), ix.slice_to(2)),
    "seq": (ix.seq(2, 0), ix.seq(3, 1, 1)),
    "hyperslab": (ix.all(), ix.hyperslab(0, 3, 2, 2)),
    "newaxis": (ix.at(0), ix.newaxis(), ix.even()),
    "ellipsis": (ix.ellipsis(), ix.at(-1)),
}


def cell(x, y, fill, value):
    return (
        f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}" stroke="{LINE}"/>\n'
        f'<text x="{x + CELL / 2}" y="{y + CELL / 2 + 5}" text-anchor="middle">{value}</text>'
    )


def grid(x, array, fill):
    """The cells of an array of any rank: its last axis from left to right, all others downward."""
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    return [
        cell(x + column * CELL, TOP + row * CELL, fill(value), value)
        for row, values in enumerate(rows.tolist())
        for column, value in enumerate(values)
    ]


def draw(selectors):
    """One picture: a matrix, the elements that the selectors keep, and the view."""
    matrix = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    view = NdArray(matrix).slice(*selectors)
    kept = view.to_numpy()
    times = np.bincount(kept.ravel(), minlength=matrix.size).tolist()
    middle = LEFT + SHAPE[1] * CELL + GAP
    lines = grid(LEFT, matrix, lambda value: [PLAIN, KEPT, AGAIN][min(times[value], 2)])
    lines += grid(middle, kept, lambda value: [PLAIN, KEPT, AGAIN][min(times[value], 2)])
    lines.append(f'<path d="M{middle - GAP + 10} {TOP + 2 * CELL}h20m-6 -5l6 5l-6 5" fill="none" stroke="{INK}"/>')
    title = f"slice({', '.join(map(repr, selectors))})"
    shape = f"shape {tuple(view.shape)}"
    right = middle + (kept.shape[-1] if kept.ndim else 1) * CELL
    width = max(right, LEFT + 8 * len(f"{title}  {shape}")) + LEFT
    height = TOP + SHAPE[0] * CELL + LEFT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        f'<text x="{LEFT}" y="26" font-family="monospace">{escape(title)}  {shape}</text>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def pictures():
    """Every picture by its file name."""
    for name, selectors in EXAMPLES.items():
        yield f"selector_{name}.svg", draw(selectors)


def main(folder):
    folder.mkdir(exist_ok=True)
    for name, picture in pictures():
        (folder / name).write_text(picture, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
