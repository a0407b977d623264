"""The command itself: its sub-commands, and how every one of them ends."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

__all__ = ["main", "run"]

_NAMES = ("convert", "info", "view", "demo", "bench", "doctor")


class _Commands(click.Group):
    """The sub-commands, each imported when it is called for, so that none waits for what the others need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _NAMES:
            return None
        command: click.Command = getattr(importlib.import_module(f"tensorbuf.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Commands, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tensorbuf", message="%(prog)s %(version)s")
def command() -> None:
    """Typed tensors over raw bytes, exact conversion between dtypes."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave the process.

    The exit status is 0, 1 if the data is at fault, 2 if the command line is, and 128 and the number of the signal
    if a signal ended it. Every error is one line on standard error.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the command's name; those of the process if left out.
    """
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def _leave(number: int, _frame: object) -> NoReturn:
    """End by an exception, so that temporary files are removed on the way."""
    raise SystemExit(128 + number)


def run(arguments: list[str]) -> int:
    """Run the command, and report an error; returns the exit status."""
    try:
        with command.make_context("tensorbuf", arguments) as context:
            command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.UsageError as error:
        asked = error.ctx.command_path if error.ctx else "tensorbuf"
        _report(f"{error.format_message()} ({asked} --help tells more)")
        return 2
    except BrokenPipeError:
        _forget_output()
        return 0
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except FileExistsError as error:
        _report(f"{error.filename}: {error.strerror}; --force replaces it")
        return 1
    except OSError as error:
        # Files have names; what has none is the standard output of click.
        _report(f"{error.filename or 'standard output'}: {error.strerror}" if error.errno else str(error))
        if error.filename is None:
            _forget_output()
        return 1
    except MemoryError as error:
        _report(f"not enough memory: {error}")
        return 1
    except Exception as error:  # whatever it is, the user of a command gets a sentence and no traceback
        _report(str(error) or type(error).__name__)
        return 1
    return 0


def _report(sentence: str) -> None:
    with contextlib.suppress(OSError):
        click.echo("tensorbuf: " + " ".join(sentence.split()), err=True)


def _forget_output() -> None:
    """Point standard output nowhere, so that Python's last flush does not fail as the one before did."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
