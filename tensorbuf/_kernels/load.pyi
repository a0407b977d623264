from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import disjoint_base

BOOL: int
INT: int
NEGATIVE: int
ABOVE_INT64: int
FLOAT: int
COMPLEX: int

@disjoint_base
class Leaves:
    shape: tuple[int, ...]
    seen: int
    def __init__(self, nested: object, resolve: Callable[[object], object]) -> None: ...
    def restart(self) -> None: ...
    def take(self) -> np.ndarray[Any, Any] | int | None: ...
