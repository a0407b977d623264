from collections.abc import Callable
from typing import Any, ParamSpec, final

import numpy as np

_P = ParamSpec("_P")

@final
class Prepared: ...

def levels() -> tuple[str, ...]: ...
def use(level: int, convert_table: object, arithmetic_table: object) -> None: ...
def has_reciprocals() -> bool: ...
def convert(
    source: np.ndarray[Any, Any],
    source_code: int,
    target: np.ndarray[Any, Any],
    target_code: int,
    mode: int,
    rounding: int,
    nan: int,
    staged: bool,
) -> Prepared: ...
def first_outside(
    source: np.ndarray[Any, Any], source_code: int, least: float, most: float, nan_fits: bool, infinity_fits: bool
) -> int: ...
def apply(
    source: np.ndarray[Any, Any],
    source_code: int,
    wide: bool,
    never_nan: bool,
    operations: list[tuple[int, np.ndarray[Any, Any] | None]],
    reciprocals: list[np.ndarray[Any, Any]],
    axis: int,
    target: np.ndarray[Any, Any],
    target_code: int,
    mode: int,
    nan: int,
    staged: bool,
) -> Prepared: ...
def first_outside_after(
    source: np.ndarray[Any, Any],
    source_code: int,
    wide: bool,
    operations: list[tuple[int, np.ndarray[Any, Any] | None]],
    axis: int,
    least: float,
    most: float,
    nan_fits: bool,
    infinity_fits: bool,
) -> int: ...
def look_up(
    source: np.ndarray[Any, Any],
    source_code: int,
    tables: np.ndarray[Any, Any],
    axis: int,
    target: np.ndarray[Any, Any],
    target_code: int,
) -> Prepared: ...

@final
class Recent:
    def keep(
        self, prepared: Prepared, source: np.ndarray[Any, Any], target: np.ndarray[Any, Any], dtype: np.dtype[Any]
    ) -> None: ...
    def repeat(self, x: object, out: object) -> Any: ...

def know(number: int, code: int) -> None: ...
def remember(dtype_like: object, dtype: np.dtype[Any]) -> None: ...
def at_once(long_way: Callable[_P, Any]) -> Callable[_P, Any]: ...
