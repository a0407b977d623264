"""What was measured, and on what: every table and every curve says it."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

from tensorbuf import _kernels
from tensorbuf._kernels import build
from tensorbuf.bench import peers

__all__ = ["UnfitError", "check_build", "description"]


class UnfitError(RuntimeError):
    """The build is none whose speed says anything."""


def check_build() -> None:
    """Refuse a build that is not made for speed.

    Raises
    ------
    UnfitError
        If the package was not built as a release, or with Cython's checks or a sanitizer.
    """
    if build.BUILD_TYPE != "release":
        raise UnfitError(f"the build type is {build.BUILD_TYPE!r}, and only a release is measured: -Dbuildtype=release")
    if build.KERNEL_CHECKS:
        raise UnfitError("the kernels were built with Cython's checks, and are measured without: -Dkernel_checks=false")
    if build.SANITIZE:
        raise UnfitError(f"the kernels were built with the sanitizer {build.SANITIZE!r}, and are measured without")


def description() -> dict[str, str]:
    """The machine, the build, the versions and the time, each by its name."""
    versions = {peer: peers.version(peer) for peer in peers.DISTRIBUTIONS}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": _load(),
        "system": platform.platform(),
        "compiler": build.COMPILER,
        "build": build.BUILD_TYPE,
        "level": _kernels.level(),
        "python": platform.python_version(),
        "tensorbuf": importlib.metadata.version("tensorbuf"),
        **{peer: version or "not installed" for peer, version in versions.items()},
    }


def _processor() -> str:
    """Its name; `platform` knows but the architecture on Linux."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _load() -> str:
    """How many processes wanted a core in the last minute, ours included: above 1 the figures are not to be trusted."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
