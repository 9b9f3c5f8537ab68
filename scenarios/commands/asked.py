"""What the flags of `probe run` ask for: changes of the study, and where it is run."""

from __future__ import annotations

from probe.errors import InputError
from probe.values.byte_sizes import parse_size
from scenarios.commands.flags import RunFlags
from scenarios.commands.run import Options
from scenarios.execution.choosing import Choice
from scenarios.execution.shards import Shard
from scenarios.study.overrides import Overrides
from scenarios.study.shortcut import told


def overrides_of(flags: RunFlags) -> Overrides:
    """Return what the flags change in the study."""
    return Overrides(
        learners=_names(flags.learners),
        seeds=flags.seeds,
        orders=flags.orders,
        epochs=flags.epochs,
        train_limit=flags.train_limit,
        validation=flags.validation,
        sets=_names(flags.sets),
        heads=_names(flags.heads),
        weights=flags.weights,
    )


def options_of(flags: RunFlags) -> Options:
    """Return where and with what the study is run; raises InputError for what does not fit."""
    size = flags.cache_budget
    if flags.shard is not None and flags.executor == "ray":
        raise InputError("--shard is for processes without Ray, which deals out the jobs itself")
    return Options(
        out=flags.out,
        data=flags.data,
        download=flags.download,
        choice=Choice(
            executor=flags.executor,
            workers=flags.workers,
            address=flags.ray_address,
            gpus=flags.gpus_per_job,
        ),
        shard=None if flags.shard is None else Shard.read(flags.shard),
        device=flags.device,
        cache_budget=None if size is None else parse_size(size, "--cache-budget"),
        told=told(flags),
    )


def _names(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")
