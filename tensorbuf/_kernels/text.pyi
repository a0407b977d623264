from typing import Any

import numpy as np

def fill_powers() -> None: ...
def write_bools(values: np.ndarray[Any, Any], out: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None: ...
def write_integers(
    values: np.ndarray[Any, Any], signed: bool, out: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]
) -> None: ...
def write_floats(
    values: np.ndarray[Any, Any],
    precision: int,
    least: int,
    plain_limit: float,
    out: np.ndarray[Any, Any],
    ends: np.ndarray[Any, Any],
) -> None: ...
def pad(texts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], width: int, out: np.ndarray[Any, Any]) -> None: ...
