from typing import Any, Self, SupportsIndex

import numpy as np
from typing_extensions import disjoint_base

POINT: int
KEPT: int
BOUNDED: int
CLIPPED: int
LISTED: int
WRAPPED: int
BLOCKS: int
NEW_AXIS: int
ELLIPSIS: int
FITS: int
OUTSIDE: int
BOUND_OUTSIDE: int
TOO_MANY: int
NOT_SCALAR: int
TWO_ELLIPSES: int
TOO_DEEP: int
NO_SELECTOR: int

@disjoint_base
class Selector:
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    @property
    def kind(self) -> int: ...
    @property
    def start_bound(self) -> SupportsIndex | None: ...
    @property
    def end_bound(self) -> SupportsIndex | None: ...
    @property
    def coordinates(self) -> np.ndarray[Any, Any] | None: ...
    def __new__(
        cls,
        name: str,
        arguments: tuple[Any, ...] | None,
        kind: int,
        start: SupportsIndex | None = None,
        end: SupportsIndex | None = None,
        step: SupportsIndex = 1,
        count: SupportsIndex = 0,
        block: SupportsIndex = 0,
        coordinates: np.ndarray[Any, Any] | None = None,
    ) -> Self: ...
    def kept(self, length: int, /) -> tuple[int, int | range | np.ndarray[Any, Any] | None]: ...
