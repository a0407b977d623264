from typing import Any

import numpy as np

class Exporter:
    _array: np.ndarray[Any, Any] | None
    def __buffer__(self, flags: int, /) -> memoryview: ...
