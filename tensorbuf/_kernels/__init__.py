"""The compiled loops, and the choice of their instruction-set level.

The conversion kernels are built for the baseline and for v3; v4 are those of v3 with a few functions for AVX-512. The
best level that was built and that the processor can run is taken; the environment variable ``TENSORBUF_LEVEL``
(``baseline``, ``v3``, ``v4``) forces one. Results do not depend on the level.
"""

import importlib
import os

from tensorbuf._kernels import get, pipeline

__all__ = ["level", "levels"]

_BUILDS = {"baseline": "baseline", "v3": "v3", "v4": "v3"}
_NUMBERS = {"baseline": 2, "v3": 3, "v4": 4}  # as those of x86-64


def levels() -> tuple[str, ...]:
    """The names of the levels that were built and that this processor can run, the best one last."""
    return pipeline.levels()


def level() -> str:
    """The name of the level in use."""
    return _LEVEL


def _choose() -> str:
    forced = os.environ.get("TENSORBUF_LEVEL")
    if not forced:
        return levels()[-1]
    if forced not in levels():
        raise ImportError(f"TENSORBUF_LEVEL is {forced!r}; this build and processor have {', '.join(levels())}")
    return forced


_LEVEL = _choose()
_BUILD = _BUILDS[_LEVEL]
pipeline.use(
    _NUMBERS[_LEVEL],
    *(importlib.import_module(f"{__name__}.{name}_{_BUILD}").table for name in ("convert", "arithmetic")),
)
get.use(_NUMBERS[_LEVEL])
