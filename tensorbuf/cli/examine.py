"""Running a hazard in a process of its own, and telling what became of it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass

from tensorbuf.cli.hazards import HAZARDS, Hazard

__all__ = ["Outcome", "examine"]

_SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """What became of a hazard.

    Attributes
    ----------
    verdict : str
        "right", "wrong value", "error", "crash" or "not installed".
    detail : str
        The value, the error, or the signal.
    version : str
        Of the module that it was tried in; empty if it is not known.
    """

    verdict: str
    detail: str = ""
    version: str = ""


def examine(number: int, module: str) -> Outcome:
    """Try hazard `number` in `module`, its peer or tensorbuf, in a process of its own."""
    if importlib.util.find_spec(module) is None:
        return Outcome("not installed")
    script = f"from tensorbuf.cli.examine import report; report({number}, {module!r})"
    # The child finds the modules that this process finds, and no others.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    environment.pop("PYTHONFAULTHANDLER", None)
    words = [sys.executable, "-P", "-W", "ignore", "-c", script]
    try:
        done = subprocess.run(words, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Outcome("error", f"no end within {_SECONDS} seconds")
    lines = done.stdout.decode(errors="replace").splitlines()
    version = lines[0] if lines else ""
    if done.returncode < 0 or done.returncode > 255:
        return Outcome("crash", _ending(done.returncode), version)
    if done.returncode or len(lines) < 2:
        return Outcome("error", f"exit status {done.returncode}", version)
    verdict, detail = json.loads(lines[-1])
    return Outcome(verdict, detail, version)


def _ending(status: int) -> str:
    """The name of the signal, or on Windows, which has none, the number of the exception."""
    if status > 255:
        return f"exception {status:#x}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def report(number: int, module: str) -> None:
    """In the child: print the version of `module`, then the verdict on hazard `number` and its detail."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    hazard = HAZARDS[number]
    print(getattr(importlib.import_module(module), "__version__", ""), flush=True)
    print(json.dumps(_judge(hazard, here=module == "tensorbuf")), flush=True)


def _judge(hazard: Hazard, *, here: bool) -> tuple[str, str]:
    try:
        found = hazard.here() if here else hazard.there()
    except hazard.refusal as refusal:
        return "right", f"refused ({type(refusal).__name__})"
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}".splitlines()[0]
    if found == hazard.wanted:
        return "right", str(found)
    return "wrong value", f"{found}, not {hazard.wanted}"
