from typing import Any

import numpy as np
from typing_extensions import disjoint_base

@disjoint_base
class Taken: ...

def export(array: np.ndarray[Any, Any], code: int, bits: int, versioned: bool, copied: bool) -> object: ...
def taken(
    capsule: object, dtypes: dict[tuple[int, int], np.dtype[Any]], devices: tuple[int, ...]
) -> np.ndarray[Any, Any]: ...
