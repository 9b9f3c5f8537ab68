"""Commands whose flags are the fields of one frozen object."""

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

    kind: a dataclass whose fields are the flags, each annotated with its help.
    """

    def decorate(command: Callable[[str, _Options], None]) -> Callable[..., None]:
        def typed(argument: str, **flags: Any) -> None:
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
        typed.__annotations__ = {}
        typed.__doc__ = command.__doc__
        typed.__name__ = command.__name__
        return typed

    return decorate


def _flag(hint: Any, name: str) -> Any:
    """Return how typer is told of a field: its type and its help; a switch cannot be undone."""
    kind, told = get_args(hint)
    if kind is bool:
        return Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", help=told)]
    several = tuple[str, ...] in get_args(kind)
    return Annotated[list[str] | None if several else kind, typer.Option(help=told)]
