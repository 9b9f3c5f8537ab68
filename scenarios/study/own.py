"""What of a study is a user's own code: its network's features, and what a description keeps of it.

`probe status` and `probe figures` read the description of a study without loading anything that it
names: to them the names that stand there are known, but nothing behind them can be built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar, NoReturn

import torch
from pydantic import ConfigDict

from probe.batch import first, tensors
from probe.by_layer.probing import settings_record
from probe.cut.candidates import candidates
from probe.cut.cuts import find_each
from probe.cut.model_call import explained
from probe.errors import InputError, described, located
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import OURS as OUR_READOUTS
from probe.registered import Own, OwnData, OwnLearner, OwnNetwork, marks_of, readout
from probe.retrain import SAMPLE
from scenarios.data.datasets import LOADERS
from scenarios.learners.base import Learner, Settings
from scenarios.learners.catalog import LEARNERS, MODULES
from scenarios.networks import ARCHITECTURES, bare, network_for
from scenarios.own_code import REGISTRY, Names, registered, source_of
from scenarios.streams.task import Scenario
from scenarios.study.spec import Study

OUTPUT = "output"
"""What the output of an own network is called, unless a module gives the logits."""


def with_own_features(study: Study, scenario: Scenario) -> Study:
    """Return the study with the features of its own network by depth, the output last.

    Those that it names, or a good set (`probe.cut.candidates.suggested`) if it names none. A study
    of this package's networks is returned as it is. Raises InputError for a network that cannot be
    called on the data, gives too few outputs, or has no such feature.
    """
    own = REGISTRY.networks.get(study.network.name)
    if own is None:
        return study
    x = first(scenario.tasks[0].test.x, SAMPLE)
    with located(f"network {own.name}"):
        model, call = bare(network_for(own.name, x, scenario.classes))
        with torch.no_grad(), explained(x), _staying():
            outputs = call(model.eval(), x).shape
        if tuple(outputs) != (len(tensors(x)[0]), scenario.classes):
            raise InputError(
                f"its output for {len(tensors(x)[0])} examples has shape {tuple(outputs)}, "
                f"expected one logit for each of {scenario.classes} classes: build it with as "
                f"many outputs"
            )
        chosen = study.network.features or own.features
        if chosen is None:
            found = candidates(model, x, call.output, call.call)
            names = [(each.feature, bool(each.left)) for each in found if each.suggested]
        else:
            each = sorted(find_each(model, list(chosen), x, call), key=lambda feature: feature.at)
            names = [(feature.name, feature.trainable) for feature in each]
    behind = [name for name, left in names if left]
    ends = [name for name, left in names if not left]
    if not behind:
        raise InputError(
            f"network {own.name}: no feature has parameters behind it to retrain: name earlier ones"
        )
    if chosen is not None and len(ends) > 1:
        raise InputError(
            f"network {own.name}: nothing is left to retrain behind {' and '.join(ends)}: they are "
            f"the network as it is, so name one of them at most"
        )
    # A module of that name which is not the output must not pass for it.
    free = next(name for name in (OUTPUT, "logits", "the output") if name not in behind)
    network = study.network.model_copy(update={"features": (*behind, (ends or [free])[-1])})
    return study.model_copy(update={"network": network})


@contextmanager
def _staying() -> Iterator[None]:
    """Let a model that would end the process fail instead."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(described(error)) from error


OURS: Names = {"network": ARCHITECTURES, "data set": LOADERS, "learner": MODULES}
"""This package's own names, which no user's own may have."""


def described_own(study: Study) -> dict[str, Any]:
    """Return what a description of a study has to say of the user's own parts, to be known by."""
    names = _data_of(study)
    kinds = {settings.kind for settings in study.learners.values()} & REGISTRY.learners.keys()
    readouts = {
        name: {
            "settings": settings_record(given.readout),
            "source": source_of("readout", name) or "",
        }
        for name, given in study.probing.readouts.items()
        if name not in (RETRAIN, *OUR_READOUTS)
    }
    # Only where there are any: descriptions of other studies stay as they are.
    return ({"readouts": readouts} if readouts else {}) | {
        "networks": [name for name in [study.network.name] if name in REGISTRY.networks],
        "data": [name for name in names if name in REGISTRY.data],
        "learners": {
            kind: {
                "offline": LEARNERS[kind].offline,
                "own_features": list(LEARNERS[kind].own_features),
                "task_aware": LEARNERS[kind].task_aware,
                "module": LEARNERS[kind].__module__,
            }
            for kind in sorted(kinds)
        },
    }


def _data_of(study: Study) -> tuple[str, ...]:
    names = study.scenario.data
    return (names,) if isinstance(names, str) else names


@contextmanager
def known_as_described(own: Mapping[str, Any]) -> Iterator[None]:
    """Let a study of a description be read within the block, without the user's code.

    own: see `described_own`. What is registered already is left as it is.
    """
    each: list[Own] = [
        OwnNetwork(name=name, build=_not_loaded)
        for name in own.get("networks", ())
        if name not in REGISTRY.networks
    ]
    each += [
        OwnData(name=name, load=_not_loaded)
        for name in own.get("data", ())
        if name not in REGISTRY.data
    ]
    each += [
        OwnLearner(name=kind, learner=_stand_in(flags))
        for kind, flags in own.get("learners", {}).items()
        if kind not in REGISTRY.learners
    ]
    with ExitStack() as registering:
        registering.enter_context(registered(each, "", {}))
        for name, kept in own.get("readouts", {}).items():
            if name not in REGISTRY.readouts:
                annotations = dict.fromkeys(kept["settings"], Any)
                bare_class: type[Any] = type(
                    name, (), {"__annotations__": annotations, "predict": _not_loaded}
                )
                stand_in = readout(name)(bare_class)
                registering.enter_context(registered(marks_of(stand_in), kept["source"], {}))
        yield


def _not_loaded() -> NoReturn:
    raise InputError("a study's own code is not loaded here: give its file with --load")


class _AnySettings(Settings):
    """The settings of a learner whose class is not loaded, as the description has them."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def _stand_in(flags: Mapping[str, Any]) -> type[Learner]:
    """Return a class that says of itself what a learner's class says; it learns nothing."""

    class StandIn(Learner):
        """A learner whose class is not loaded."""

        settings_class: ClassVar[type[Settings]] = _AnySettings
        offline: ClassVar[bool] = bool(flags["offline"])
        own_features: ClassVar[tuple[str, ...]] = tuple(flags["own_features"])
        task_aware: ClassVar[bool] = bool(flags["task_aware"])

    StandIn.__module__ = str(flags["module"])
    return StandIn
