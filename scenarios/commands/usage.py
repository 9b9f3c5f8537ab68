"""What is wrong with a command line as it was typed, as one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

import typer

from probe.errors import InputError

# What typer raises for all of them; it gives the class itself no name of its own.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_KINDS = {"integer": "whole number", "number": "number"}  # as pydantic calls them, and as we do


def call(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command of a command line and return the exit code that typer ends it with.

    arguments: None = those of this process. Raises InputError for an unknown command or flag, a
    missing or superfluous argument and a value of the wrong kind, BrokenPipeError if the reader of
    what is printed is gone; whatever else the command raises goes through. Without any argument the
    help is shown, and the code is 2.
    """
    try:
        return int(app(arguments, prog_name="probe", standalone_mode=False) or 0)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return 2
        raise InputError(_sentence(error)) from None
    except SystemExit as stop:
        # Both rich and typer make it the exit code that here says that a job has failed.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise


def _sentence(error: Exception) -> str:
    """Return what was wrong, lower case and without its full stop, and where the usage is shown."""
    said = _message(error).strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "probe"
    return f"{said[:1].lower()}{said[1:]}: see `{command} --help`"


def _message(error: Exception) -> str:
    # Of a value typer tells pydantic's words, which do not say what was got.
    whole = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    whole = whole.replace("argument(s)", "argument")
    for kind in _KINDS:
        start, found, _ = whole.partition(f"Input should be a valid {kind}")
        if found:
            return f"{start}expected a {_KINDS[kind]}"
    return re.sub(r"\.? (?:Did you mean|\(Possible options:) ([^?)]*)[?)]", r" (near: \1)", whole)
