"""Commands whose flags are the fields of one frozen object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

_Flags = TypeVar("_Flags")


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The flags of `probe run` as they were typed; None = not given."""

    learners: Annotated[str | None, typer.Option(help="Only these, as a,b.")] = None
    seeds: Annotated[int | None, typer.Option(help="Number of seeds.")] = None
    orders: Annotated[str | None, typer.Option(help="rotate, none or shuffle:N.")] = None
    epochs: Annotated[int | None, typer.Option(help="Of training and retraining.")] = None
    train_limit: Annotated[int | None, typer.Option(help="Training examples per class.")] = None
    validation: Annotated[
        int | None, typer.Option(help="Test on this many training examples per class instead.")
    ] = None
    sets: Annotated[str | None, typer.Option(help="Other data, as NAME or A.npz,B.npz.")] = None
    heads: Annotated[str | None, typer.Option(help="To report, of single,multi,all.")] = None
    weights: Annotated[
        list[str] | None,
        typer.Option(help="A weighting of CLscore, NAME=w1,...,w7; repeatable."),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Run directory; runs/NAME by default.")] = None
    data: Annotated[Path | None, typer.Option(help="Data folder; or set PROBE_DATA.")] = None
    download: Annotated[bool, typer.Option("--download", help="Fetch missing data.")] = False
    executor: Annotated[
        str | None,
        typer.Option(help="inline, pool or ray; pool where there is more than one worker."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Jobs side by side; all cores or GPUs by default.")
    ] = None
    ray_address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster, or auto; one of this machine by default.")
    ] = None
    gpus_per_job: Annotated[
        float | None, typer.Option(help="Share of a GPU that a job takes on Ray; 1 by default.")
    ] = None
    shard: Annotated[
        str | None, typer.Option(help="This is process i of n on one run directory, as i/n.")
    ] = None
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu"
    cache_budget: Annotated[
        str | None, typer.Option(help="Memory for features' values, as 4GB; half of what is free.")
    ] = None


def with_flags(
    kind: type[_Flags],
) -> Callable[[Callable[[str, _Flags], None]], Callable[..., None]]:
    """Make a command of one argument and many flags of a function that takes them as one object.

    kind: a dataclass whose fields, annotated for typer, are the flags.
    """

    def decorate(command: Callable[[str, _Flags], None]) -> Callable[..., None]:
        def typed(argument: str, **flags: Any) -> None:
            command(argument, kind(**flags))

        hints = get_type_hints(kind, include_extras=True)
        first, *_ = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name])
            for f in fields(kind)  # type: ignore[arg-type]
        ]
        typed.__signature__ = inspect.Signature([first.replace(name="argument"), *options])  # type: ignore[attr-defined]
        typed.__annotations__ = {}
        typed.__doc__ = command.__doc__
        typed.__name__ = command.__name__
        return typed

    return decorate
