"""The plan of a study: plain data for the engine, status and tables."""

import hashlib

import torch

from probe.by_layer.fingerprint import data_hash, tensor_hash
from probe.by_layer.plan import UNTRAINED, Plan, PlannedLearner, PlannedTask, planned
from probe.by_layer.probing import ProbingSpec
from probe.errors import InputError
from probe.orders import orders
from probe.source import source_hash
from probe.tasks import Scenario
from scenarios.learners.catalog import LEARNERS
from scenarios.own_code import REGISTRY, source_of
from scenarios.study.spec import Study
from scenarios.user_model import build_model

_MODULE = "scenarios.study.learned"


def plan_of(study: Study, scenario: Scenario, device: torch.device) -> Plan:
    """Return the plan of a study over its scenario, in base order, on a device.

    It hashes all examples, which takes a moment for large data sets. Raises InputError for orders
    that do not fit the tasks, and for a network whose fresh weights are not reproducible.
    """
    sources = sources_of(study)
    if sources != sources_of(study):
        raise InputError(
            f"network {study.network.name} has other weights each time though all generators are "
            f"seeded: draw them with torch, numpy or random, and do not seed them by the time"
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
        **planned(study.probing, readout_sources(study.probing)),
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
        task_aware=kind.task_aware,
        own_network=bool(kind.own_features),
        features=study.features_of(name),
        steps=steps,
        # A learner that brings its own network does not see the study's.
        network=None if kind.own_features else record,
        settings=settings.recorded() | ({} if own is None else {"source": own}),
        training=study.recipe_of(name),
        per_class=budget.per_class if budget else None,
        total=budget.total if budget else None,
        sampling=budget.sampling if budget else "",
    )


def readout_sources(probing: ProbingSpec) -> dict[str, str]:
    """Return hashes of the user-defined readouts, by name."""
    found = {name: source_of("readout", name) for name in probing.readouts}
    return {name: source for name, source in found.items() if source is not None}


def sources_of(study: Study) -> dict[str, str]:
    """Return hashes of a study's user-defined network and learners, by kind and name.

    A factory may load weights, or import a class by a computed name: the hash covers the weights
    that it draws from a fixed seed, and the classes of its modules.
    """
    named = [("learner", settings.kind) for settings in study.learners.values()]
    found = {f"{kind} {name}": source_of(kind, name) for kind, name in named}
    known = {name: source for name, source in found.items() if source is not None}
    own = REGISTRY.networks.get(study.network.name)
    if own is not None:
        model = build_model(own.name, own.build)
        classes = source_hash(*{type(each) for each in model.modules()})
        told = source_of("network", own.name), classes, tensor_hash(model.state_dict())
        known[f"network {own.name}"] = hashlib.sha256(repr(told).encode()).hexdigest()
    return known
