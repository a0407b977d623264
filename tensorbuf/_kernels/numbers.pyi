from typing import Any

import numpy as np

def read_numbers(text: str, start: int, stop: int, out: np.ndarray[Any, Any], doubles: bool) -> bool: ...
