"""Orders of named axes, such as ``"HWC->CHW"``."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensorbuf.errors import ShapeError, shown

__all__ = ["Layout", "read_layout"]

Item = TypeVar("Item")


class Layout(NamedTuple):
    """The letters of the axes, as they come and as they go."""

    before: str
    after: str

    def move(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array, of a rank that was checked, with its axes in the new order; *shares* its memory."""
        return array.transpose([self.before.index(letter) for letter in self.after])

    def reorder(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """What there is for each axis, such as a shape or slices, in the new order."""
        return tuple(items[self.before.index(letter)] for letter in self.after)

    def back(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What `move` gave, with its axes in the first order again; *shares* its memory."""
        return array.transpose([self.after.index(letter) for letter in self.before])

    def check_rank(self, shape: tuple[int, ...]) -> None:
        """ShapeError if a shape has not as many axes as there are letters."""
        if len(shape) != len(self.before):
            raise ShapeError(f"layout {self} needs rank {len(self.before)}, got shape {shape}")

    def batched(self) -> Layout:
        """The same with a new first axis, which stays the first."""
        letter = next(letter for letter in "Nabcdefghijklmnopqrstuvwxyz" if letter not in self.before)
        return Layout(letter + self.before, letter + self.after)

    def __str__(self) -> str:
        return f"{self.before}->{self.after}"


def read_layout(layout: object) -> Layout | None:
    """A layout argument, ``"SRC->DST"`` with the same distinct letters on both sides; None stays None.

    Raises
    ------
    TypeError
        If it is no string.
    ValueError
        If it is another string.
    """
    if layout is None:
        return None
    if not isinstance(layout, str):
        raise TypeError(f'a layout is a string such as "HWC->CHW", got {shown(layout)}')
    before, arrow, after = layout.partition("->")
    letters = set(before)
    if not arrow or not before.isalpha() or len(letters) != len(before) or sorted(before) != sorted(after):
        raise ValueError(
            f'layout {layout!r} must name the same distinct letters on both sides of "->", such as "HWC->CHW"'
        )
    return Layout(before, after)
