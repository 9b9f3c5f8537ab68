"""The plan of a study, checked before any training, and the loader of its networks and data.

The plan is plain data for engine, status and tables, user-defined objects included. A study may run
for days, so foreseeable failures are found in its first seconds: each learner's network must take
the data, and each budget of exemplars must suffice for the classes. The values of features are
allocated to memory or disk in advance, too, so that `probe run` can print it. Both use the first
few examples of each task: only shapes and sizes matter.
"""

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from probe.batch import first
from probe.by_layer.features import features_of
from probe.by_layer.fingerprint import data_hash, tensor_hash
from probe.by_layer.plan import UNTRAINED, Plan, PlannedLearner, PlannedTask, probing_fields
from probe.errors import InputError, located
from probe.examples import Examples
from probe.metrics.task_predictions import share_classes
from probe.orders import orders
from probe.results.precision import resolve_precision
from probe.retrain import SAMPLE, cache_plan
from probe.source import source_hash
from probe.tasks import Scenario
from probe.training.batch_norm import running_norms
from probe.values.allocation import Allocation, CacheSettings
from scenarios.data.datasets import LOADERS, Location
from scenarios.learners.catalog import LEARNERS, MODULES
from scenarios.networks import ARCHITECTURES, bare, network_for
from scenarios.study.scenario_spec import ScenarioSpec
from scenarios.study.spec import Study
from scenarios.study.training import StudyNetworks, network_of
from scenarios.user_code import REGISTRY, Names, UserCode, build_model, source_of

BUILT_IN: Names = {"network": ARCHITECTURES, "data set": LOADERS, "learner": MODULES}
"""This package's own names, which no user-defined object may have."""

_MODULE = "scenarios.study.training"


def with_user_features(study: Study, scenario: Scenario) -> Study:
    """Return the study with the features of its user-defined network by depth, the output last.

    A study with one of this package's networks is returned unchanged.

    Args:
        study: The study.
        scenario: The scenario, for examples to call the network on.

    Returns:
        The study with features.

    Raises:
        InputError: As `probe.by_layer.features.features_of`.
    """
    entry = REGISTRY.networks.get(study.network.name)
    if entry is None:
        return study
    x = first(scenario.tasks[0].test.x, SAMPLE)
    with located(f"network {entry.name}"):
        model, call = bare(network_for(entry.name, x, scenario.classes))
        chosen = study.network.features or entry.features
        features = features_of(model, call, x, scenario.classes, chosen)
    network = study.network.model_copy(update={"features": features})
    return study.model_copy(update={"network": network})


def with_precision(
    study: Study, scenario: Scenario, device: torch.device, root: Path | None
) -> Study:
    """Return the study with the precision that `auto` stands for, see `resolve_precision`.

    Args:
        study: The study.
        scenario: Its scenario.
        device: The device of the jobs.
        root: The run directory.

    Returns:
        The study.
    """
    recipes = {"training": study.training, "retraining": study.retraining}
    recipes = {n: recipe for n, recipe in recipes.items() if recipe and recipe.precision == "auto"}
    if not recipes:
        return study
    data = scenario.tasks[0].train
    model = network_for(study.network.name, data.x, scenario.classes)
    update = {
        n: resolve_precision(recipe, model, data, device, root)
        for n, recipe in recipes.items()
        if recipe
    }
    return study.model_copy(update=update)


def plan_of(study: Study, scenario: Scenario, device: torch.device) -> Plan:
    """Return the plan of a study.

    All examples are hashed, which takes a moment for large data sets.

    Args:
        study: The study.
        scenario: Its scenario, in base order.
        device: The device of the jobs.

    Returns:
        The plan.

    Raises:
        InputError: The orders do not fit the tasks, or a network's fresh weights are not
            reproducible.
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
        learners={name: _learner(study, name, sources, len(tasks)) for name in study.all_learners},
        orders=orders(study.orders, len(tasks)),
        seeds=study.seed_numbers,
        retraining=study.retraining_recipe,
        storage=study.storage,
        **probing_fields(
            study.probing,
            _sources("readout", study.probing.readouts),
            task_aware=study.scenario.task_aware,
        ),
        report=study.report,
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
    )


def _learner(study: Study, name: str, sources: dict[str, str], tasks: int) -> PlannedLearner:
    """Return the plan of one learner of a study."""
    settings = study.all_learners[name]
    kind, budget = LEARNERS[settings.kind], settings.budget
    steps = tuple(range(tasks + 1))
    if kind.offline:
        steps = (0,) if settings.kind == UNTRAINED else (0, tasks)
    network, source = study.network.name, sources.get(f"network {study.network.name}")
    record: object = network if source is None else {"own": network, "source": source}
    learner_source = sources.get(f"learner {settings.kind}")
    return PlannedLearner(
        kind=settings.kind,
        modules=(_MODULE, kind.__module__),
        listed=name in study.learners,
        offline=kind.offline,
        task_aware=kind.task_aware or study.scenario.task_aware,
        own_network=bool(kind.own_features),
        features=study.features_of(name),
        steps=steps,
        # A learner that brings its own network does not see the study's.
        network=None if kind.own_features else record,
        settings=settings.recorded()
        | ({} if learner_source is None else {"source": learner_source}),
        training=study.recipe_of(name),
        **(budget.model_dump(include={"per_class", "total", "sampling"}) if budget else {}),
    )


def sources_of(study: Study) -> dict[str, str]:
    """Return hashes of a study's user-defined network and learners, by kind and name.

    A factory may load weights, or import a class by a computed name: the hash covers the weights
    that it draws from a fixed seed, and the classes of its modules.
    """
    kinds = _sources("learner", (settings.kind for settings in study.learners.values()))
    sources = {f"learner {kind}": source for kind, source in kinds.items()}
    entry = REGISTRY.networks.get(study.network.name)
    if entry is not None:
        model = build_model(entry.name, entry.build)
        classes = source_hash(*{type(module) for module in model.modules()})
        parts = source_of("network", entry.name), classes, tensor_hash(model.state_dict())
        sources[f"network {entry.name}"] = hashlib.sha256(repr(parts).encode()).hexdigest()
    return sources


def _sources(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Return hashes of the user-defined objects among those of a kind, by name."""
    return {name: source for name in names if (source := source_of(kind, name)) is not None}


def refuse_misfits(study: Study, scenario: Scenario) -> None:
    """Check that the networks and the settings of a study fit its data.

    Budgets of exemplars may be too small, there may be more neighbors than training examples, and
    batch norm may be re-estimated in networks without any. Every learner is built once, on the CPU;
    nothing is trained.

    Args:
        study: The study.
        scenario: Its scenario.

    Raises:
        InputError: A network cannot take the data, or a setting does not fit them.
    """
    sample, norms = sample_of(scenario), 0
    for name, settings in study.learners.items():
        network = network_of(study, name, LEARNERS[settings.kind].view(sample))
        norms += len(running_norms(network))
        parts = share_classes(tuple({task.classes for task in scenario.tasks}))
        if parts and getattr(settings, "loss_classes", "all") == "task":
            what = "is for tasks that share all classes or none; some share a few: set it to all"
            raise InputError(f'learners.{name}: loss_classes = "task" {what}')
        if settings.budget:
            settings.budget.quota(sum(map(len, (task.classes for task in scenario.tasks))))
            if not isinstance(sample.tasks[0].train.x, Tensor):
                raise InputError(
                    f"learners.{name}: exemplars are of one tensor, not of several: leave it out"
                )
    examples, _ = examples_of(scenario)
    knn = study.probing.readouts.get("knn")
    if knn and knn.settings["k"] > examples:
        raise InputError(
            f"probing.readouts.knn.k: {study.name} has {examples} training examples, expected at "
            f"most as many neighbours, got {knn.settings['k']}: lower k"
        )
    if study.probing.batch_norm == "reestimated" and not norms:
        raise InputError(
            f"probing.batch_norm: no network of {study.name} has batch norm: leave it out"
        )


def cache_plans(
    study: Study, sample: Scenario, train: int, test: int, cache: CacheSettings
) -> dict[str, tuple[Allocation, ...]]:
    """Return the allocation of features' values, by network: the study's or a learner's own.

    Networks that no learner retrains are left out; learners that share a network share its plan, as
    they store as much.

    Args:
        study: The study.
        sample: See `sample_of`.
        train: The training examples of the complete scenario.
        test: Its test examples.
        cache: The available memory and disk.

    Returns:
        One allocation for each feature to retrain downstream of, by depth.
    """
    plans = {}
    for name, settings in study.learners.items():
        kind, features = LEARNERS[settings.kind], study.features_of(name)[:-1]
        # A learner's own network may depend on its settings: it is probing_fields for each learner.
        network = name if kind.own_features else study.network.name
        if features and not kind.offline and network not in plans:
            view, recipe = kind.view(sample), study.retraining_recipe
            model, call = bare(network_of(study, name, view))
            x, sizes = view.tasks[0].test.x, (train, test)
            plans[network] = cache_plan(
                model, features, x, sizes, recipe, cache, call.output, call.call
            )
    return plans


def sample_of(scenario: Scenario) -> Scenario:
    """Return the scenario with a few examples, from which a learner's view is cheap."""
    tasks = []
    for task in scenario.tasks:
        splits = task.train, task.test
        train, test = (Examples(first(split.x, SAMPLE), split.y[:SAMPLE]) for split in splits)
        tasks.append(replace(task, train=train, test=test))
    return replace(scenario, tasks=tuple(tasks))


def examples_of(scenario: Scenario) -> tuple[int, int]:
    """Return the numbers of training and of test examples."""
    tasks = scenario.tasks
    return sum(len(task.train) for task in tasks), sum(len(task.test) for task in tasks)


@dataclass(frozen=True, kw_only=True)
class StudyLoader:
    """A study, the location of its data, and the user's code that it needs.

    Attributes:
        study: The study.
        location: The data folder, with the stamps of the feature files that the plan's hash covers.
        user_code: The user's code.
        sources: Hashes of that code when the study began, see `sources_of`.
    """

    study: Study
    location: Location
    user_code: UserCode
    sources: Mapping[str, str]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Load the user's code for the block; raises InputError if it has changed."""
        with self.user_code.opened(BUILT_IN):
            if sources_of(self.study) != self.sources:
                raise InputError("your code has changed since the run started: run again")
            yield

    def source(self, plan: Plan, device: torch.device) -> StudyNetworks:
        """Return the networks, with the data on a device.

        Args:
            plan: The plan.
            device: The device.

        Returns:
            The networks.

        Raises:
            InputError: The data are not those of the plan.
        """
        spec = self.study.scenario
        scenario = _loaded(spec, self.location.now(spec.data), str(device), plan.data)
        return StudyNetworks(plan=plan, study=self.study, scenario=scenario)


@lru_cache(maxsize=1)
def _loaded(spec: ScenarioSpec, location: Location, device: str, data: str) -> Scenario:
    """Load the data once per process, however many jobs it does; data: the hash they must have."""
    scenario = spec.scenario(location)
    if not location.checked and data_hash(scenario) != data:
        raise InputError(
            f"the data of {spec.title} on {platform.node()} differ from those with which the "
            f"study began: copy the same files there, and run the same command again"
        )
    return scenario.to(torch.device(device))
