"""The plan of a study, with its user-defined objects: plain data for engine, status and tables."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from probe.batch import first
from probe.by_layer.features import features_of
from probe.by_layer.fingerprint import data_hash, tensor_hash
from probe.by_layer.plan import UNTRAINED, Plan, PlannedLearner, PlannedTask, probing_fields
from probe.errors import InputError, located
from probe.orders import orders
from probe.results.precision import resolve_precision
from probe.retrain import SAMPLE
from probe.source import source_hash
from probe.tasks import Scenario
from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import LEARNERS, MODULES
from scenarios.networks import ARCHITECTURES, bare, network_for
from scenarios.own_code import REGISTRY, Names, source_of
from scenarios.study.spec import Study
from scenarios.user_model import build_model

OURS: Names = {"network": ARCHITECTURES, "data set": LOADERS, "learner": MODULES}
"""This package's own names, which no user-defined object may have."""

_MODULE = "scenarios.study.learned"


def with_own_features(study: Study, scenario: Scenario) -> Study:
    """Return the study with the features of its user-defined network by depth, the output last.

    A study with one of this package's networks is returned unchanged. Raises InputError as
    `probe.by_layer.features.features_of` does.
    """
    own = REGISTRY.networks.get(study.network.name)
    if own is None:
        return study
    x = first(scenario.tasks[0].test.x, SAMPLE)
    with located(f"network {own.name}"):
        model, call = bare(network_for(own.name, x, scenario.classes))
        chosen = study.network.features or own.features
        features = features_of(model, call, x, scenario.classes, chosen)
    network = study.network.model_copy(update={"features": features})
    return study.model_copy(update={"network": network})


def with_precision(
    study: Study, scenario: Scenario, device: torch.device, root: Path | None
) -> Study:
    """Return the study with the precision that `auto` stands for, see `resolve_precision`."""
    recipes = {"training": study.training, "retraining": study.retraining}
    left = {n: own for n, own in recipes.items() if own and own.precision == "auto"}
    data = scenario.tasks[0].train
    model = network_for(study.network.name, data.x, scenario.classes) if left else nn.Identity()
    update = {n: resolve_precision(own, model, data, device, root) for n, own in left.items()}
    return study.model_copy(update=update)


def plan_of(study: Study, scenario: Scenario, device: torch.device) -> Plan:
    """Return the plan of a study over its scenario, in base order, on a device.

    It hashes all examples, which takes a moment for large data sets. Raises InputError for orders
    that do not fit the tasks, and for a network whose fresh weights are not reproducible.
    """
    sources = sources_of(study)
    if sources != sources_of(study):
        raise InputError(
            f"network {study.network.name} has different weights each time although all generators "
            f"are seeded: draw them with torch, numpy or random, and do not seed by the clock"
        )
    tasks = scenario.tasks
    return Plan(
        name=study.name,
        scenario=study.scenario.title,
        kind=study.scenario.kind,
        network=study.network.name,
        tasks=tuple(PlannedTask(name=task.name, classes=task.classes) for task in tasks),
        learners={name: _learner(study, name, sources, len(tasks)) for name in study.everyone},
        orders=orders(study.orders, len(tasks)),
        seeds=study.each_seed,
        retraining=study.retraining_recipe,
        storage=study.storage,
        **probing_fields(
            study.probing,
            _sources("readout", study.probing.readouts),
            task_aware=study.scenario.told,
        ),
        report=study.report,
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
    )


def _learner(study: Study, name: str, sources: dict[str, str], tasks: int) -> PlannedLearner:
    """Return the plan of one learner of a study."""
    settings = study.everyone[name]
    kind, budget = LEARNERS[settings.kind], settings.budget
    steps = tuple(range(tasks + 1))
    if kind.offline:
        steps = (0,) if settings.kind == UNTRAINED else (0, tasks)
    network, source = study.network.name, sources.get(f"network {study.network.name}")
    record: object = network if source is None else {"own": network, "source": source}
    own = sources.get(f"learner {settings.kind}")
    return PlannedLearner(
        kind=settings.kind,
        modules=(_MODULE, kind.__module__),
        listed=name in study.learners,
        offline=kind.offline,
        task_aware=kind.task_aware or study.scenario.told,
        own_network=bool(kind.own_features),
        features=study.features_of(name),
        steps=steps,
        # A learner that brings its own network does not see the study's.
        network=None if kind.own_features else record,
        settings=settings.recorded() | ({} if own is None else {"source": own}),
        training=study.recipe_of(name),
        **(budget.model_dump(include={"per_class", "total", "sampling"}) if budget else {}),
    )


def sources_of(study: Study) -> dict[str, str]:
    """Return hashes of a study's user-defined network and learners, by kind and name.

    A factory may load weights, or import a class by a computed name: the hash covers the weights
    that it draws from a fixed seed, and the classes of its modules.
    """
    kinds = _sources("learner", (settings.kind for settings in study.learners.values()))
    known = {f"learner {kind}": source for kind, source in kinds.items()}
    own = REGISTRY.networks.get(study.network.name)
    if own is not None:
        model = build_model(own.name, own.build)
        classes = source_hash(*{type(each) for each in model.modules()})
        told = source_of("network", own.name), classes, tensor_hash(model.state_dict())
        known[f"network {own.name}"] = hashlib.sha256(repr(told).encode()).hexdigest()
    return known


def _sources(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return hashes of the user-defined objects among those of a kind, by name."""
    return {name: source for name in names if (source := source_of(kind, name)) is not None}
