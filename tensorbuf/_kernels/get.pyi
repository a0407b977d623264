from typing import Any

import numpy as np

def use(level: int) -> None: ...
def gather(
    view: np.ndarray[Any, Any], tables: tuple[np.ndarray[Any, Any] | None, ...] | None, out: np.ndarray[Any, Any]
) -> None: ...
def scatter(
    values: np.ndarray[Any, Any], view: np.ndarray[Any, Any], tables: tuple[np.ndarray[Any, Any] | None, ...] | None
) -> None: ...
def may_overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool: ...
def transpose_runs(
    array: np.ndarray[Any, Any],
    start: int,
    height: int,
    width: int,
    pitch: int,
    size: int,
    together: int,
    seen: np.ndarray[Any, Any],
    kept: np.ndarray[Any, Any],
) -> None: ...
