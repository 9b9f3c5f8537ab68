"""A study of networks that somebody has trained: their checkpoints, in place of learners.

The same jobs, parts, tables and figures as of any study. A job's networks are read from files in
place of being trained; what is in the files, and not where they lie, is what results belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from probe.errors import InputError, located
from probe.examples import as_tasks, check_tasks
from probe.record.checkpoints import Checkpoints
from probe.record.state_files import fit_state, load_state
from probe.training.recipe import Recipe
from scenarios.own_code import REGISTRY
from scenarios.streams.orders import orders
from scenarios.study.fingerprint import tensor_hash
from scenarios.study.source import check_study
from scenarios.study.spec import Study
from scenarios.user_model import build_model

Each = Callable[[Sequence[Path]], Iterable[Path]]
"""Goes through files, as a progress bar does."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of somebody's checkpoints.

    - network, data: names that are registered (`scenarios.own_code`);
    - tasks: the classes of each of T tasks, in base order;
    - orders: a rule of `scenarios.streams.orders`, or by the name that the files have, the tasks
      as they were learned, from 1; None = there is one order, the base order;
    - features: None = a good set; readouts: by name, with their settings;
    - recipe: of the retraining, and of the offline training; train_offline: whether there is one,
      where no offline networks are given;
    - probing: further settings of `probe.by_layer.probing.ProbingSpec`.
    """

    network: str
    data: str
    tasks: Sequence[Sequence[int]]
    readouts: Mapping[str, Mapping[str, Any]]
    orders: str | Mapping[str, Sequence[int]] | None = None
    features: Sequence[str] | None = None
    recipe: Recipe = field(default_factory=Recipe)
    train_offline: bool = False
    probing: Mapping[str, Any] = field(default_factory=dict)


def study_of(name: str, found: Checkpoints, asked: Asked, each: Each = iter) -> Study:
    """Return the study of these networks; every file is read for it, and tried on the network.

    each: goes through the files. Raises InputError for tasks and orders that do not fit the files,
    and for a file that cannot be read or does not fit the network.
    """
    executed = as_tasks(asked.tasks)
    check_tasks(executed, sum(map(len, executed)))
    _check_steps(found, len(executed))
    if asked.train_offline and found.offline:
        raise InputError("got offline networks, and is to train some: do one of the two")
    files = sorted({path for run in found.runs.values() for path in run.values()})
    hashes = _hashes([*files, *found.offline.values()], _network(asked.network), each)
    learners: dict[str, Any] = {}
    for learner in dict.fromkeys(run.learner for run in found.runs):
        networks = [
            _given(run.order, run.seed, step, path, hashes)
            for run, own in found.runs.items()
            if run.learner == learner
            for step, path in own.items()
        ]
        learners[learner] = {"kind": "checkpoints", "networks": networks}
    if found.offline or asked.train_offline:
        offline = [_given("", s, len(executed), p, hashes) for s, p in found.offline.items()]
        learners["offline"] = {"networks": offline}
    if untrained := list(_untrained(found, hashes)):
        learners["untrained"] = {"networks": untrained}
    raw = {
        "name": name,
        "scenario": {"data": asked.data, "tasks": [list(task) for task in executed]},
        "network": {
            "name": asked.network,
            "features": None if asked.features is None else list(asked.features),
        },
        "training": asked.recipe,
        "learners": learners,
        "orders": _orders(found, asked.orders, len(executed)),
        "seeds": sorted({run.seed for run in found.runs}),
        "probing": {
            "readouts": {name: dict(table) for name, table in asked.readouts.items()},
            **asked.probing,
        },
    }
    return check_study(raw, "the checkpoints")


def _network(name: str) -> nn.Module:
    """Build the network once, to try the files on."""
    return build_model(name, REGISTRY.networks[name].build)


def _hashes(files: Sequence[Path], model: nn.Module, each: Each) -> dict[Path, str]:
    """Return a hash of the tensors of each file; raises InputError for one that does not fit."""
    found = {}
    for path in each(files):
        state = load_state(path)
        fit_state(model, state, str(path))
        if broken := [name for name, each in state.items() if each.isnan().any()]:
            raise InputError(
                f"{path} has NaN in {broken[0]!r}: its training diverged; take an earlier one, or "
                f"train it again"
            )
        found[path] = tensor_hash(state)
    return found


def _given(
    order: str, seed: int, step: int, path: Path, hashes: Mapping[Path, str]
) -> dict[str, object]:
    where = str(path.absolute())
    return {"order": order, "seed": seed, "step": step, "path": where, "hash": hashes[path]}


def _untrained(found: Checkpoints, hashes: Mapping[Path, str]) -> Iterator[dict[str, object]]:
    """Yield the network before any task of each seed, where files have one; the first of them."""
    seeds: set[int] = set()
    for run, own in found.runs.items():
        if 0 in own and run.seed not in seeds:
            seeds.add(run.seed)
            yield _given("", run.seed, 0, own[0], hashes)


def _check_steps(found: Checkpoints, tasks: int) -> None:
    """Raise InputError unless there is a network after all tasks, and none after more."""
    steps = sorted({step for own in found.runs.values() for step in own})
    if steps[-1] > tasks:
        raise InputError(
            f"there is a checkpoint after {steps[-1]} tasks, and there are {tasks} tasks: name all "
            f"tasks, or remove it"
        )
    if steps[-1] < tasks:
        last = "only an untrained network" if steps == [0] else f"none after task {steps[-1]}"
        raise InputError(
            f"there is no checkpoint after all {tasks} tasks ({last}): what its layers lack is "
            f"what is measured, so add it, name fewer tasks, or write {{index}} for {{task}} if "
            f"your files count tasks from 0"
        )


def _orders(
    found: Checkpoints, given: str | Mapping[str, Sequence[int]] | None, tasks: int
) -> dict[str, list[int]]:
    """Return the orders that the files have, by name, tasks from 1."""
    names = list(dict.fromkeys(run.order for run in found.runs))
    if given is None and len(names) > 1:
        raise InputError(
            f"the checkpoints are of the orders {', '.join(names)}: say which order of the tasks "
            f"each of them is, by --orders FILE or orders="
        )
    if given is None:
        return {names[0]: list(range(1, tasks + 1))}
    with located("orders"):
        known = orders(given, tasks)
    if missing := [name for name in names if name not in known]:
        raise InputError(
            f"the checkpoints are of an order {missing[0]!r}, and the orders are "
            f"{', '.join(known)}: name it there"
        )
    return {name: [task + 1 for task in known[name]] for name in names}
