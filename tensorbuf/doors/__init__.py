"""The doors to other libraries and to files; each library is imported inside the function that needs it.

The doors themselves are imported when they are gone through.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorbuf.doors import arrow as arrow
    from tensorbuf.doors import dlpack as dlpack
    from tensorbuf.doors import torch as torch
else:

    def __getattr__(name: str) -> Any:
        if name in ("arrow", "dlpack", "torch"):
            return importlib.import_module(f"tensorbuf.doors.{name}")
        raise AttributeError(f"module 'tensorbuf.doors' has no attribute {name!r}")
