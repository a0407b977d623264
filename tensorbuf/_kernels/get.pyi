from typing import Any

import numpy as np

def gather(
    view: np.ndarray[Any, Any], tables: tuple[np.ndarray[Any, Any] | None, ...] | None, out: np.ndarray[Any, Any]
) -> None: ...
def scatter(
    values: np.ndarray[Any, Any], view: np.ndarray[Any, Any], tables: tuple[np.ndarray[Any, Any] | None, ...] | None
) -> None: ...
def may_overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool: ...
