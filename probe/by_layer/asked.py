"""What an analysis is asked for: networks, readouts and test data, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from probe.cut.cuts import Cuts
from probe.errors import InputError, located, unknown
from probe.metrics.murata import RETRAIN
from probe.modules import check_model
from probe.readouts.readout import READOUTS, Readout, name_of, readout_named

Step = int | Literal["offline"]
"""Which network: after 0 to T tasks, 0 being untrained, or trained on all of them at once."""

OFFLINE: Literal["offline"] = "offline"

_FEWEST = 2  # test examples of a task, of which one alone has no variance


def network_name(step: Step) -> str:
    """Return a network's name in messages.

    >>> network_name(0), network_name(1), network_name("offline")
    ('the untrained model', 'the model after 1 task', 'the offline model')
    """
    if step == OFFLINE or step == 0:
        return "the offline model" if step else "the untrained model"
    return f"the model after {step} task{'' if step == 1 else 's'}"


def networks_of(
    models: object, untrained: object, offline: object, tasks: int
) -> dict[Step, nn.Module]:
    """Return all networks by step, the rows in order and the offline network behind them.

    models: by tasks learned, 0..T; untrained: the same as row 0; offline: None for none, as
    untrained; tasks: T. Raises InputError for what is no mapping, rows that T tasks do not have, a
    missing last row, two untrained networks, and what is no model.
    """
    if not isinstance(models, Mapping):
        raise InputError(
            f"models must map tasks learned to the model then, as {{{tasks}: model}}, got "
            f"{type(models).__name__}"
        )
    found: dict[Step, Any] = {}
    for key, model in models.items():
        row = _row(key)
        if row is None or not 0 <= row <= tasks:
            raise InputError(
                f"models has a row {key!r}: with {tasks} tasks, rows are numbers of tasks learned "
                f"from 0 to {tasks}"
            )
        found[row] = model
    if tasks not in found:
        raise InputError(
            f"models has no row {tasks}, the model after all {tasks} tasks: what it lacks is what "
            f"is measured, so add it"
        )
    if untrained is not None and 0 in found:
        raise InputError("got untrained and row 0 of models, which are the same: give one of them")
    levels: dict[Step, Any] = {0: untrained, OFFLINE: offline}
    found |= {step: model for step, model in levels.items() if model is not None}
    for step, model in found.items():
        with located(network_name(step)):
            check_model(model)
    return {step: found[step] for step in sorted(found, key=_order)}


def check_alike(cuts: Cuts, networks: Mapping[Step, nn.Module], last: Step) -> None:
    """Raise InputError unless all networks are of one architecture, on one device.

    cuts: of the network of the step `last`, with which the others are compared.
    """
    cut = networks[last]
    for step, model in networks.items():
        name, of = network_name(step), network_name(last)
        if where := cuts.difference(model):
            raise InputError(
                f"{name} is of another architecture than {of}, which differs at {where!r}: give "
                f"models of one architecture"
            )
        if device_of(model) != device_of(cut):
            raise InputError(
                f"{name} is on {device_of(model)} and {of} on {device_of(cut)}: move all models to "
                f"one device"
            )


def device_of(model: nn.Module) -> torch.device:
    """Return where a model's parameters are, the CPU for one without any."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def readouts_of(given: object) -> dict[str, Readout | None]:
    """Return the readouts by name, None for retraining.

    given: names, or settings such as `Linear(C=0.1)`. Raises InputError for an unknown one, for
    none, and for two of one name.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        got = repr(given) if isinstance(given, str) else type(given).__name__
        raise InputError(f"readouts must be a list, as ['retrain', 'linear'], got {got}")
    if not given:
        raise InputError(
            f"there are no readouts: name one or more of {', '.join((RETRAIN, *READOUTS))}"
        )
    found: dict[str, Readout | None] = {}
    for each in given:
        name, readout = _readout(each)
        if name in found:
            raise InputError(f"the readout {name!r} is named twice: analyze with one at a time")
        found[name] = readout
    return found


def check_tested(y: Tensor, tasks: Sequence[Sequence[int]]) -> None:
    """Raise InputError unless each task has test examples; y: their labels, (N,)."""
    for place, classes in enumerate(tasks, 1):
        count = int(torch.isin(y, torch.tensor(classes, device=y.device)).sum())
        if count < _FEWEST:
            raise InputError(
                f"task {place} of {len(tasks)} has {count} test examples, expected {_FEWEST} or "
                f"more: add some"
            )


def check_seeds(seeds: object) -> None:
    """Raise InputError unless seeds says how many, from 1."""
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise InputError(
            f"seeds says how many retrainings each feature gets, 1 or more, got {seeds!r}"
        )


def _order(step: Step) -> float:
    return step if isinstance(step, int) else float("inf")


def _row(key: Any) -> int | None:
    try:
        return index(key)
    except TypeError:
        return None


def _readout(each: object) -> tuple[str, Readout | None]:
    if name := name_of(each):
        return name, cast(Readout, each)
    if not isinstance(each, str):
        raise InputError(
            f"a readout is a name or settings such as Linear(C=0.1), got {type(each).__name__}"
        )
    if each == RETRAIN:
        return each, None
    if each not in READOUTS:
        raise unknown("readout", each, (RETRAIN, *READOUTS))
    return each, readout_named(each)
