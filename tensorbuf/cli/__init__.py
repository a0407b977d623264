"""The command ``tensorbuf``: one file a sub-command, and files for what they share."""

from tensorbuf.cli.main import main

__all__ = ["main"]
