"""Parsing of the command line by typer: flags become one object, mistakes an `InputError`.

typer reads the flags of a command from the signature of its function. This module makes the
signature from the fields of an options class, so that a flag is defined once, with its type,
default and help. typer only parses: by itself it would print a box for a mistake and end the
process.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from probe.errors import InputError

_Options = TypeVar("_Options")

# typer raises it for all mistakes of usage; the class has no public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_KINDS = {"integer": "whole number", "number": "number"}  # pydantic's words, and ours


def with_options(
    kind: type[_Options],
) -> Callable[[Callable[[Any, _Options], None]], Callable[..., None]]:
    """Make a command with one argument and many flags from a function of two parameters.

    kind: a dataclass whose fields are the flags, each annotated as `Annotated[type, "help"]`; the
    fields of its base class come last. The function takes the argument and an object of that class;
    its docstring becomes the help of the command. Errors of the dataclass pass through the command.
    """

    def decorate(command: Callable[[Any, _Options], None]) -> Callable[..., None]:
        def typed(argument: Any, **flags: Any) -> None:
            # typer gives lists; the object is frozen and can be hashed, so it holds tuples.
            lists = {name: tuple(value) for name, value in flags.items() if type(value) is list}
            command(argument, kind(**flags | lists))

        hints = get_type_hints(kind, include_extras=True)
        first, *_ = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        own_first = sorted(fields(kind), key=lambda f: f.name not in kind.__annotations__)  # type: ignore[arg-type]
        flags = [
            inspect.Parameter(
                f.name, keyword, default=f.default, annotation=_flag(hints[f.name], f.name)
            )
            for f in own_first
        ]
        typed.__signature__ = inspect.Signature([first.replace(name="argument"), *flags])  # type: ignore[attr-defined]
        # Else typer would take the argument's plain type from there, without its help.
        typed.__annotations__ = {}
        typed.__doc__ = command.__doc__
        typed.__name__ = command.__name__
        return typed

    return decorate


def _flag(hint: Any, name: str) -> Any:
    """Return typer's annotation of a field; a tuple of strings is a repeatable flag."""
    kind, told = get_args(hint)
    # A field named like a keyword of Python ends in an underscore, such as `from_`.
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    several = tuple[str, ...] in get_args(kind)
    return Annotated[list[str] | None if several else kind, typer.Option(flag, help=told)]


def call(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command of a command line; return typer's exit code.

    arguments: None = those of this process; without any, the help is shown and the code is 2.
    Raises InputError for an unknown command or flag, a missing or superfluous argument and a value
    of the wrong type, BrokenPipeError if the reader of the output is gone; any other error of the
    command passes through.
    """
    try:
        return int(app(arguments, prog_name="probe", standalone_mode=False) or 0)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return 2
        raise InputError(_sentence(error)) from None
    except SystemExit as stop:
        # rich and typer both turn it into exit code 1, which here means that a job failed.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise


def _sentence(error: Any) -> str:
    """Reword the message of typer's usage error, and name the help to read."""
    message = error.format_message().strip().rstrip(".").replace("argument(s)", "argument")
    for kind, ours in _KINDS.items():
        # pydantic's message ends with the value, which the flag names already.
        message = re.sub(
            f"Input should be a valid {kind}.*", f"expected a {ours}", message, flags=re.S
        )
    # typer has two ways to suggest a name: both become the one of `InputError`.
    near = r"\.? (?:Did you mean|\(Possible options:) ([^?)]*)[?)]"
    message = re.sub(near, r" (near: \1)", message)
    command = error.ctx.command_path if error.ctx else "probe"
    return f"{message[:1].lower()}{message[1:]}: see `{command} --help`"
