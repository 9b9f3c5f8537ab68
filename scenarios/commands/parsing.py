"""How typer reads a command line here: flags become one object, mistakes become one sentence.

typer reads a command's flags from the signature of its function. `probe run` has too many for one,
and they are to travel as one object anyway; so the signature is made from the fields of
`RunOptions`, and what typer gives for them is put back into such an object. A flag then is written
down once, with its type, its default and its help.

For a mistake typer would print a box of several lines and end the process by itself. Here it only
parses: its errors become an `InputError` in the words of all other errors, with where to read on.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from probe.errors import InputError

_Options = TypeVar("_Options")

# What typer raises for all mistakes of usage; it gives the class itself no public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_KINDS = {"integer": "whole number", "number": "number"}  # pydantic's words, and ours


def with_options(
    kind: type[_Options],
) -> Callable[[Callable[[Any, _Options], None]], Callable[..., None]]:
    """Make a command of one argument and many flags of a function that takes them as one object.

    kind: a dataclass whose fields are the flags, each annotated with its help as `Annotated[type,
    "help"]`. The function's first parameter is the argument, its second the object; its docstring
    stays the command's help. What the dataclass raises for values that do not fit together comes
    out of the command.
    """

    def decorate(command: Callable[[Any, _Options], None]) -> Callable[..., None]:
        def typed(argument: Any, **flags: Any) -> None:
            # typer gives lists; the object is frozen and can be hashed, so it holds tuples.
            lists = {name: tuple(value) for name, value in flags.items() if type(value) is list}
            command(argument, kind(**flags | lists))

        hints = get_type_hints(kind, include_extras=True)
        first, *_ = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        flags = [
            inspect.Parameter(
                f.name, keyword, default=f.default, annotation=_flag(hints[f.name], f.name)
            )
            for f in fields(kind)  # type: ignore[arg-type]
        ]
        typed.__signature__ = inspect.Signature([first.replace(name="argument"), *flags])  # type: ignore[attr-defined]
        # Else typer would take the argument's plain type from there, without its help.
        typed.__annotations__ = {}
        typed.__doc__ = command.__doc__
        typed.__name__ = command.__name__
        return typed

    return decorate


def _flag(hint: Any, name: str) -> Any:
    """Return how typer is told of a field: its type and its help; a switch cannot be undone.

    A field that is a tuple of strings is a flag that can be given several times.
    """
    kind, told = get_args(hint)
    # A word of Python's has a line behind it, as `from_`.
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    several = tuple[str, ...] in get_args(kind)
    return Annotated[list[str] | None if several else kind, typer.Option(flag, help=told)]


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
