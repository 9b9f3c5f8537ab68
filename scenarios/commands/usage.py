"""What is wrong with a command line as it was typed, as one sentence.

typer would print a box of several lines and end the process by itself. Here it only parses: its
errors become an `InputError` in the words of all other errors, with where to read on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import typer

from probe.errors import InputError

# What typer raises for all mistakes of usage; it gives the class itself no public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_KINDS = {"integer": "whole number", "number": "number"}  # pydantic's words, and ours


def call(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command of a command line; return the exit code that typer ends it with.

    arguments: None = those of this process; with none at all the help is shown, and the code is 2.
    Raises InputError for an unknown command or flag, a missing or superfluous argument and a value
    of the wrong kind, BrokenPipeError if the reader of what is printed is gone; whatever else the
    command raises goes through.
    """
    try:
        return int(app(arguments, prog_name="probe", standalone_mode=False) or 0)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return 2
        raise InputError(_sentence(error)) from None
    except SystemExit as stop:
        # rich and typer both turn it into exit code 1, which here says that a job has failed.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise


def _sentence(error: Exception) -> str:
    """Return what was wrong, in lower case and without its full stop, and where to read on.

    error: one of typer's errors of usage.
    """
    message = _message(error).strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "probe"
    return f"{message[:1].lower()}{message[1:]}: see `{command} --help`"


def _message(error: Exception) -> str:
    """Return typer's message in our words; of a value it tells pydantic's, and not what was got.

    Several arguments are named as one, and what was perhaps meant is told in brackets.
    """
    whole = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    whole = whole.replace("argument(s)", "argument")
    for kind in _KINDS:
        start, found, _ = whole.partition(f"Input should be a valid {kind}")
        if found:
            return f"{start}expected a {_KINDS[kind]}"
    # typer has two ways to name what was perhaps meant: here both read as our own errors do.
    return re.sub(r"\.? (?:Did you mean|\(Possible options:) ([^?)]*)[?)]", r" (near: \1)", whole)
