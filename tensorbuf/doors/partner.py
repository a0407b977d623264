"""Other libraries that a part of the package needs: imported where they are used, and missed in one sentence."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["partner"]

# What is installed under another name than it is imported.
_DISTRIBUTIONS = {"PIL": "Pillow"}


def partner(module: str, user: str, extra: str) -> Any:
    """A module of another library.

    Parameters
    ----------
    module : str
        Its full name, such as ``"torch.utils.dlpack"``.
    user : str
        What needs it, as the sentence of the error begins.
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    ImportError
        If it, or what it needs itself, is not installed: names the command that installs both.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        library = _DISTRIBUTIONS.get(missing, missing)
        sentence = f"{user} needs {library}: pip install 'tensorbuf[{extra}]'"
        raise ModuleNotFoundError(sentence, name=error.name) from None
