import enum
from typing import Any, Self, SupportsIndex

import numpy as np
from typing_extensions import disjoint_base

class Kind(enum.IntFlag):
    POINT = 0
    KEPT = 1
    BOUNDED = 2
    CLIPPED = 3
    LISTED = 4
    WRAPPED = 5
    BLOCKS = 6
    NEW_AXIS = 7
    ELLIPSIS = 8

class Problem(enum.IntFlag):
    FITS = 0
    OUTSIDE = 1
    BOUND_OUTSIDE = 2
    TOO_MANY = 3
    NOT_SCALAR = 4
    TWO_ELLIPSES = 5
    TOO_DEEP = 6
    NO_SELECTOR = 7

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
