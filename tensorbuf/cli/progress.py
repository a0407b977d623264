"""Progress on standard error, where that is a terminal."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator

import click

__all__ = ["progress"]

# Often enough for the eye, and seldom enough not to be felt beside the work.
_SECONDS_BETWEEN = 0.1


@contextlib.contextmanager
def progress(nbytes: int | None) -> Iterator[Callable[[int, int], None]]:
    """Show frames, bytes a second and, where the end is known, the time left.

    Parameters
    ----------
    nbytes : int or None
        The bytes of the whole input, if they are known.

    Yields
    ------
    callable
        To be called with the frames and the bytes that have been read since the last call.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _frames, _nbytes: None
        return
    bar = click.progressbar(
        itertools.repeat(""), nbytes, file=sys.stderr, item_show_func=lambda text: str(text or ""), width=24
    )
    with bar:
        meter = _Meter(bar.update)
        yield meter.advance
        meter.show()


class _Meter:
    def __init__(self, update: Callable[[int, str], None]) -> None:
        self._update = update
        self._start = self._shown = time.monotonic()
        self._frames = self._nbytes = self._pending = 0

    def advance(self, frames: int, nbytes: int) -> None:
        self._frames += frames
        self._nbytes += nbytes
        self._pending += nbytes
        if time.monotonic() - self._shown >= _SECONDS_BETWEEN:
            self.show()

    def show(self) -> None:
        self._shown = time.monotonic()
        rate = self._nbytes / max(self._shown - self._start, 1e-9) / 1e6
        self._update(self._pending, f"{self._frames} frames, {rate:.1f} MB/s")
        self._pending = 0
