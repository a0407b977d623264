import sys
from typing import Any

import numpy as np
from typing_extensions import disjoint_base

@disjoint_base
class Exporter:
    _array: np.ndarray[Any, Any] | None
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
