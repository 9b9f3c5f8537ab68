"""Parsing of the command line by typer: flags become one object, mistakes an `InputError`.

typer reads the flags of a command from the signature of its function. This module
builds the signature from the fields of an options class, so that a flag is defined
once, with its type, default and help. typer only parses: by itself it would print a
mistake in a box and end the process.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_type_hints

import typer

from probe.errors import InputError
from probe.immutable import AnyFunction

# typer raises it for all mistakes of usage; the class has no public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_LISTS: dict[Any, Any] = {
    tuple[str, ...]: list[str],
    tuple[str, ...] | None: list[str] | None,
}


def with_options(metavars: str, *about: str) -> Callable[[AnyFunction], AnyFunction]:
    """Return a decorator that turns a function into a command.

    The last parameter of the function, `options`, is annotated with a dataclass of
    flags (see `scenarios.options`); the flags of its base class come last. The
    function's docstring becomes the help. Errors that the dataclass raises pass
    through.

    Args:
        metavars: The names of the arguments in the help, with spaces between them.
        about: The description of each argument.

    Returns:
        The decorator.
    """
    described = zip(metavars.split(), about, strict=True)
    infos = [typer.Argument(metavar=metavar, help=text) for metavar, text in described]
    return lambda command: _typed(command, infos)


def _typed(command: AnyFunction, infos: Sequence[Any]) -> AnyFunction:
    """Return the command with a parameter for each flag, as typer expects.

    Args:
        command: A function of arguments and, last, an object with all options.
        infos: The name and the help of each argument, for typer.
    """
    *first, options = inspect.signature(command, eval_str=True).parameters.values()
    kind = options.annotation
    arguments = [
        # Renamed, as a flag may have the name of an argument.
        parameter.replace(
            name=f"argument_{n}", annotation=Annotated[parameter.annotation, info]
        )
        for n, (parameter, info) in enumerate(zip(first, infos, strict=True))
    ]

    def typed(**values: Any) -> Any:
        typed_arguments = [values.pop(argument.name) for argument in arguments]
        # typer gives lists; the object is frozen and can be hashed, so it holds tuples.
        lists = {
            name: tuple(value) for name, value in values.items() if type(value) is list
        }
        return command(*typed_arguments, options=kind(**values | lists))

    hints = get_type_hints(kind)
    specific_first = sorted(
        fields(kind), key=lambda f: f.name not in kind.__annotations__
    )
    flags = [_parameter(field, hints[field.name]) for field in specific_first]
    typed.__signature__ = inspect.Signature([*arguments, *flags])  # type: ignore[attr-defined]
    # Typer prefers annotations to the signature: they hold types without the help.
    typed.__annotations__ = {}
    typed.__doc__ = command.__doc__
    typed.__name__ = command.__name__
    return typed


def _parameter(flag: "Field[Any]", kind: Any) -> inspect.Parameter:
    """Return the parameter from which typer builds the flag; a tuple of strings is repeatable."""
    # A field named like a keyword of Python ends in an underscore, such as `from_`.
    name = f"--{flag.name.rstrip('_').replace('_', '-')}"
    default = inspect.Parameter.empty if flag.default is MISSING else flag.default
    annotation: Any = Annotated[
        _LISTS.get(kind, kind), typer.Option(name, **flag.metadata)
    ]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(flag.name, keyword, default=default, annotation=annotation)


def call(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command of a command line.

    Args:
        app: The commands.
        arguments: The arguments, None = those of this process; if empty, the help is
            shown.

    Returns:
        typer's exit code; 2 if only the help was shown.

    Raises:
        InputError: An unknown command or flag, a missing or superfluous argument, or a
            value of the wrong type.
        BrokenPipeError: The pipe that the command prints to was closed. Other errors of
            the command pass through.
    """
    try:
        return int(app(arguments, prog_name="probe", standalone_mode=False) or 0)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            return 2
        raise InputError(_sentence(error)) from None
    except SystemExit as stop:
        # rich and typer both turn it into exit code 1, which here means that a job
        # failed.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise


def _sentence(error: Any) -> str:
    """Reword the message of typer's usage error, and name the help to read."""
    message = (
        error.format_message().strip().rstrip(".").replace("argument(s)", "argument")
    )
    # pydantic's message ends with the value, which the flag names already.
    message = re.sub(
        r"Input should be (a valid \w+).*", r"expected \1", message, flags=re.S
    )
    # typer has two ways to suggest a name: both become the one of `InputError`.
    near = r"\.? (?:Did you mean|\(Possible options:) ([^?)]*)[?)]"
    message = re.sub(near, r" (near: \1)", message)
    command = error.ctx.command_path if error.ctx else "probe"
    return f"{message[:1].lower()}{message[1:]}: see `{command} --help`"
