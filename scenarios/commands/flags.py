"""Commands whose flags are the fields of one frozen object.

typer reads a command's flags from the signature of its function. `probe run` has too many for one,
and they are to travel as one object anyway; so the signature is made from the fields of
`RunOptions`, and what typer gives for them is put back into such an object. A flag then is written
down once, with its type, its default and its help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

_Options = TypeVar("_Options")


def with_options(
    kind: type[_Options],
) -> Callable[[Callable[[str, _Options], None]], Callable[..., None]]:
    """Make a command of one argument and many flags of a function that takes them as one object.

    kind: a dataclass whose fields are the flags, each annotated with its help as `Annotated[type,
    "help"]`. The function's first parameter is the argument, its second the object; its docstring
    stays the command's help. What the dataclass raises for values that do not fit together comes
    out of the command.
    """

    def decorate(command: Callable[[str, _Options], None]) -> Callable[..., None]:
        def typed(argument: str, **flags: Any) -> None:
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
    if kind is bool:
        return Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", help=told)]
    several = tuple[str, ...] in get_args(kind)
    return Annotated[list[str] | None if several else kind, typer.Option(help=told)]
