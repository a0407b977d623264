"""Scalars as text: shortest digits, and Swift's layout of nested brackets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tensorbuf._kernels import text as _text
from tensorbuf.conversion import convert
from tensorbuf.dtypes import DataType

__all__ = ["describe", "full_description", "plain_text", "python_values", "representation"]

Array = np.ndarray[Any, Any]

_SEPARATOR = ", "
_OMITTED = "..."
_REPRESENTED = 60
_WIDEST_FLOAT = len("-2.2250738585072014e-308")

# Of each float type: the bits of precision, and the exponent of the least bit of the least subnormal.
_PRECISION = {
    DataType.FLOAT8_E4M3FN: (4, -9),
    DataType.FLOAT8_E5M2: (3, -16),
    DataType.FLOAT16: (11, -24),
    DataType.BFLOAT16: (8, -133),
    DataType.FLOAT32: (24, -149),
    DataType.FLOAT64: (53, -1074),
}
# Above these, floats are written with an exponent.
_PLAIN_DOUBLES, _PLAIN_NARROWER = 2.0**53, 2.0**24


class _Texts(NamedTuple):
    """The texts of scalars in ASCII, one after the other with a separator behind each, and where each text ends."""

    characters: Array
    ends: Array

    @property
    def width(self) -> int:
        """The length of the longest text, 3 if there is none."""
        if not self.ends.size:
            return 3
        starts = self.ends[:-1] + len(_SEPARATOR)
        return max(int(self.ends[0]), int((self.ends[1:] - starts).max(initial=0)))

    def joined(self) -> str:
        return str(self.characters[: self.ends[-1]].data, "ascii") if self.ends.size else ""

    def padded(self, width: int) -> str:
        """All texts padded on the left to `width`, a separator behind each."""
        out = np.empty(self.ends.size * (width + len(_SEPARATOR)), np.uint8)
        if out.size:
            _text.pad(self.characters, self.ends, width, out)
        return str(out.data, "ascii")


def _texts(array: Array) -> _Texts:
    values = array.reshape(-1)
    kind = DataType.of(values.dtype)
    if kind.is_complex:
        return _complex_texts(values)
    room = _WIDEST_FLOAT if kind.is_floating else max(len(str(kind.min)), len(str(kind.max)))
    texts = _Texts(np.empty(values.size * (room + len(_SEPARATOR)), np.uint8), np.empty(values.size, np.intp))
    if not values.size:
        return texts
    if kind is DataType.BOOL:
        _text.write_bools(values.view(np.uint8), *texts)
    elif kind.is_integer:
        signed = kind.min < 0
        _text.write_integers(values.astype(np.int64 if signed else np.uint64), signed, *texts)
    else:
        plain_limit = _PLAIN_DOUBLES if kind is DataType.FLOAT64 else _PLAIN_NARROWER
        _text.write_floats(convert(values, np.float64), *_PRECISION[kind], plain_limit, *texts)
    return texts


def _complex_texts(values: Array) -> _Texts:
    # numpy prints a complex64 as Python prints a complex, with the digits of float32.
    written = [repr(value) for value in values.tolist()] if values.dtype == np.complex128 else list(map(str, values))
    characters = np.frombuffer(_SEPARATOR.join([*written, ""]).encode("ascii"), np.uint8)
    return _Texts(characters, np.cumsum([len(text) + len(_SEPARATOR) for text in written], dtype=np.intp) - 2)


def plain_text(array: Array) -> str:
    """The texts of all scalars in row-major order, joined by a comma and a space."""
    return _texts(array).joined()


def python_values(array: Array) -> list[Any]:
    """All scalars as Python numbers, in row-major order; narrower floats as what their shortest digits stand for."""
    values = array.reshape(-1)
    if DataType.of(values.dtype).is_floating and values.dtype != np.float64:
        return [float(text) for text in plain_text(values).split(_SEPARATOR)] if values.size else []
    found: list[Any] = values.tolist()
    return found


def full_description(array: Array) -> str:
    """Everything on one line, without padding."""
    texts = _texts(array)
    text = texts.joined()
    if array.ndim == 0:
        return text
    length = array.shape[-1]
    ends = texts.ends[length - 1 :: length].tolist() if texts.ends.size else [0] * math.prod(array.shape[:-1])
    starts = [0, *(end + len(_SEPARATOR) for end in ends)]
    parts = [f"[{text[start:end]}]" for start, end in zip(starts, ends, strict=False)]
    for axis in range(array.ndim - 2, -1, -1):
        length = array.shape[axis]
        runs = range(math.prod(array.shape[:axis]))
        parts = [f"[{_SEPARATOR.join(parts[run * length : (run + 1) * length])}]" for run in runs]
    return parts[0]


def representation(name: str, array: Array) -> str:
    """The call that makes an array of that class; of more than 60 scalars the first and the last ones are shown."""
    dtype = DataType.of(array.dtype).value
    values = array.reshape(-1)
    if 0 < values.size <= _REPRESENTED:
        nested: Any = python_values(values)
        for length in array.shape[:0:-1]:
            nested = [nested[start : start + length] for start in range(0, len(nested), length)]
        return f"{name}({nested if array.ndim else nested[0]!r}, dtype={dtype!r})"
    shown = [repr(value) for part in (values[:3], values[-3:]) for value in python_values(part)]
    scalars = _SEPARATOR.join([*shown[:3], _OMITTED, *shown[3:]] if shown else [])
    return f"{name}(shape={array.shape}, scalars=[{scalars}], dtype={dtype!r})"


def describe(array: Array, line_width: int, edge_element_count: int, summarizing: bool) -> str:
    """Swift's description.

    Parameters
    ----------
    array : numpy.ndarray
        C-contiguous, of a numeric dtype.
    line_width : int
        A line has as many scalars as fit when only their digits count, and at least one.
    edge_element_count : int
        How many elements are shown at either end of an axis that is summarised.
    summarizing : bool
        Whether axes longer than twice that are shortened.
    """
    texts = _texts(array)
    if array.ndim == 0:
        return texts.joined()
    return _Layout(texts, array.shape, line_width, edge_element_count if summarizing else None).block(0, 0)


class _Layout:
    """Nested brackets around texts of one width."""

    def __init__(self, texts: _Texts, shape: tuple[int, ...], line_width: int, edge: int | None) -> None:
        width = texts.width
        self.cells = texts.padded(width)
        self.pitch = width + len(_SEPARATOR)
        self.per_line = max(1, line_width // width)
        self.length = shape[-1]
        self.steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        self.shown = [_shown(length, edge) for length in shape]
        self.separators = ["," + "\n" * max(1, len(shape) - 1 - axis) + " " * (axis + 1) for axis in range(len(shape))]

    def block(self, axis: int, start: int) -> str:
        """The text of the part of `axis` and the axes behind it whose first scalar is `start`."""
        if axis == len(self.steps) - 1:
            parts = self.lines(start)
        else:
            step = self.steps[axis]
            parts = [_OMITTED if i is None else self.block(axis + 1, start + i * step) for i in self.shown[axis]]
        return f"[{self.separators[axis].join(parts)}]"

    def lines(self, start: int) -> list[str]:
        """The lines of the row whose first scalar is `start`."""
        cells, pitch, shown = self.cells, self.pitch, self.shown[-1]
        if isinstance(shown, range):
            begin, end, step = start * pitch, (start + self.length) * pitch, self.per_line * pitch
            return [cells[at : min(at + step, end) - 2] for at in range(begin, end, step)]
        entries = [_OMITTED if i is None else cells[(start + i) * pitch : (start + i + 1) * pitch - 2] for i in shown]
        return [_SEPARATOR.join(entries[at : at + self.per_line]) for at in range(0, len(entries), self.per_line)]


def _shown(length: int, edge: int | None) -> range | list[int | None]:
    """The coordinates that are shown on an axis; None stands for those that are left out."""
    if edge is None or length <= 2 * edge:
        return range(length)
    return [*range(edge), None, *range(length - edge, length)]
