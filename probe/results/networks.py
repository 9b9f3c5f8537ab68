"""The networks of an analysis: models in memory, files, or the recording of a loop."""

from collections.abc import Mapping
from dataclasses import replace
from operator import index
from pathlib import Path
from typing import Any

import torch
from torch import nn

from probe.by_layer.given import Files, Models, spoken, with_controls
from probe.by_layer.plan import OFFLINE
from probe.errors import InputError, located
from probe.model import Model
from probe.modules import check_model, check_values
from probe.record.checkpoints import Checkpoints, Run
from probe.record.recording import Recording
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state

LEARNER, ORDER = "model", "0"
"""The names in tables of a run that has no other."""

Controls = tuple[nn.Module | None, nn.Module | str | Path | None]
"""The untrained network and the offline one, as a caller gives them."""


def networks_of(
    model: Model, controls: Controls, recording: Recording | None, tasks: int, seeds: int
) -> Files | Models:
    """Return the networks, for so many seeds; raises InputError for some of both kinds."""
    untrained, offline = controls
    given, ceiling = model.network, None if offline == "train" else offline
    values = given.values() if isinstance(given, Mapping) else ()
    if not isinstance(given, str | Path) and not any(isinstance(v, str | Path) for v in values):
        return _models(given, untrained, ceiling, tasks, seeds)
    if seeds != 1:
        raise InputError(
            f"from files each run is retrained once, from its own seed; got seeds={seeds}: give "
            f"the networks of several seeds"
        )
    if model.build is None:
        raise InputError(
            "networks in files need a function that makes the network anew: Model(files, "
            "fresh=build)"
        )
    if untrained is not None or isinstance(ceiling, nn.Module):
        raise _MIXED
    fresh_state(model.build, stream(0, "check"))
    files = Files.of(_files(given, ceiling, recording, tasks), model.build)
    return replace(files, records=recording.records) if recording else files


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model's parameters, the CPU for one without any."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


_MIXED = InputError(
    "networks are files or models, got some of both: save all with torch.save, the untrained one "
    "as task 0"
)


def _files(
    given: Mapping[Any, Any] | str | Path,
    ceiling: str | Path | None,
    recording: Recording | None,
    tasks: int,
) -> Checkpoints:
    """Return the files of all networks."""
    if recording is not None:
        if ceiling is not None:
            raise InputError("offline= is kept by rec.offline(model), or 'train': leave it out")
        return recording.checkpoints
    if isinstance(given, str | Path):
        return Checkpoints.find(given, ceiling, LEARNER)
    run: dict[int, Path] = {}
    for tasks_seen, path in given.items():
        if not isinstance(path, str | Path):
            raise _MIXED
        if not isinstance(tasks_seen, int) or tasks_seen < 0:
            raise InputError(
                f"files are given by tasks learned, as {{{tasks}: 'task{tasks}.pt'}}, got one for "
                f"{tasks_seen!r}"
            )
        run[tasks_seen] = Path(path)
    offline = {} if ceiling is None else {0: Path(ceiling)}
    return Checkpoints(runs={Run(LEARNER, ORDER, 0): run}, offline=offline)


def _models(given: object, untrained: Any, offline: Any, tasks: int, seeds: int) -> Models:
    """Return networks in memory, the same for each seed.

    Raises InputError for anything but a mapping to models, for rows that T tasks do not have, a
    missing last row, and two untrained networks.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"models must map tasks learned to the model then, as {{{tasks}: model}}, got "
            f"{type(given).__name__}"
        )
    rows: dict[int, nn.Module] = {}
    for key, model in given.items():
        if not hasattr(key, "__index__") or not 0 <= key <= tasks:
            raise InputError(
                f"models has a row {key!r}: with {tasks} tasks, rows are numbers of tasks learned "
                f"from 0 to {tasks}"
            )
        rows[index(key)] = model
    if tasks not in rows:
        raise InputError(
            f"models has no row {tasks}, the model after all {tasks} tasks, which is the one to be "
            f"measured: add it"
        )
    if untrained is not None and 0 in rows:
        raise InputError("got untrained and row 0 of models, which are the same: give one of them")
    rows |= {} if untrained is None else {0: untrained}
    named = {spoken(Run(LEARNER, ORDER, 0), tasks_seen): own for tasks_seen, own in rows.items()}
    named |= {} if offline is None else {spoken(Run(OFFLINE, "", 0), tasks): offline}
    for name, model in named.items():
        with located(name):
            check_model(model)
    device = device_of(rows[tasks])
    for name, model in named.items():
        if device_of(model) != device:
            raise InputError(
                f"{name}: it is on {device_of(model)} and the model after {tasks} tasks on "
                f"{device}: move all models to one device"
            )
        check_values(model)
    runs = {Run(LEARNER, ORDER, seed): dict(sorted(rows.items())) for seed in range(seeds)}
    ceilings = {} if offline is None else dict.fromkeys(range(seeds), offline)
    return Models(runs=with_controls(runs, ceilings))
