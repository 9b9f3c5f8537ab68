"""The plan of a study, checked before any training, and the loader of its networks and data.

The plan is plain data for the engine, status and tables, and covers user-defined
objects. A study may run for days, so foreseeable failures are found in its first
seconds: each learner's network must take the data, and each budget of exemplars must
suffice for the classes. A few examples of each task suffice, as only shapes and sizes
matter.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import torch
from torch import Tensor

from probe.batch import first, tensor_hash
from probe.by_layer.affordable import with_steps
from probe.by_layer.feature_selection import features_of
from probe.by_layer.networks import Source
from probe.by_layer.plan import (
    UNTRAINED,
    Plan,
    PlannedLearner,
    PlannedTask,
    probing_fields,
)
from probe.errors import InputError, located
from probe.examples import Examples
from probe.files import sha256
from probe.metrics.task_predictions import share_classes
from probe.results.precision import resolve_precision
from probe.retrain import SAMPLE
from probe.source import source_hash
from probe.tasks import Scenario, data_hash, orders
from probe.training.batch_norm import running_norms
from scenarios.data.datasets import LOADERS, Location
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.freezing import check_freezing
from scenarios.learners.modules import MODULES
from scenarios.networks import ARCHITECTURES, bare, network_for
from scenarios.study.scenario_spec import ScenarioSpec
from scenarios.study.spec import Study
from scenarios.study.training import StudyNetworks, network_of
from scenarios.user_code import Names, UserCode, build_model
from scenarios.user_objects import SOURCE_HASHES, USER_NETWORKS

# This package's own names, which no user-defined object may have.
BUILT_IN: Names = {"network": ARCHITECTURES, "data set": LOADERS, "learner": MODULES}


# Loads a plan's networks in any process, with the data on a device and the user's code
# within the block; raises InputError if code or data have changed.
Loader = Callable[[Plan, torch.device], AbstractContextManager[Source]]

# The numbers of training and of test examples of each task.
Sizes = Sequence[tuple[int, int]]

# Networks with a few examples at least, their loader, and the sizes of the tasks.
Prepared = tuple[Source, Loader, Sizes]


def prepare_study(
    study: Study,
    user_code: UserCode,
    location: Location,
    root: Path | None,
    device: torch.device,
) -> Prepared:
    """Plan a study on its data, and check it.

    Args:
        study: The study.
        user_code: The user's code that the study needs.
        location: The data folder.
        root: The run directory, None = there is none.
        device: The device of the jobs.

    Returns:
        The networks with a few examples, their loader, and the sizes of the tasks.

    Raises:
        InputError: The settings do not fit the data, see `plan_of` and
            `refuse_misfits`.
    """
    # The stamps of files before they are read, so that a change meanwhile is noticed.
    stamped = Location(location.folder, files=location.stamps(study.scenario.data))
    scenario = study.scenario.scenario(location)
    study = resolve_settings(study, scenario, device, root)
    # Only a few examples are kept: every process that does a job loads the data.
    sample = sample_of(scenario)
    plan = plan_of(study, scenario, device)
    refuse_misfits(study, scenario)
    source = StudyNetworks(plan=plan, study=study, scenario=sample)
    loader = partial(study_networks, study, stamped, user_code)
    sizes = [(len(task.train), len(task.test)) for task in scenario.tasks]
    return source, loader, sizes


def resolve_settings(
    study: Study, scenario: Scenario, device: torch.device, root: Path | None
) -> Study:
    """Return a study with values in place of `auto` and `affordable`, and with all features.

    The features of a user-defined network are known only once there are examples to
    call it on.

    Args:
        study: The study.
        scenario: The scenario of the study.
        device: The device of the jobs.
        root: The run directory, None = there is none.

    Returns:
        The study.

    Raises:
        InputError: The network cannot be called on the data, has the wrong number of
            outputs, or lacks a feature.
    """
    study = _with_features(study, scenario)
    data = scenario.tasks[0].train
    for name in ("training", "retraining"):
        recipe = getattr(study, name)
        if recipe and recipe.precision == "auto":
            network = network_for(study.network.name, data.x, scenario.classes)
            resolved = resolve_precision(recipe, network, data, device, root)
            study = study.model_copy(update={name: resolved})
    return _with_probing(study, scenario)


def _with_features(study: Study, scenario: Scenario) -> Study:
    """Return the study with the features of a user-defined network."""
    entry = USER_NETWORKS.get(study.network.name)
    if entry is None:
        return study
    x = first(scenario.tasks[0].test.x, SAMPLE)
    with located(f"network {entry.name}"):
        model, call = bare(network_for(entry.name, x, scenario.classes))
        chosen = study.network.features or entry.features
        features = features_of(model, call, x, scenario.classes, chosen)
    network = study.network.model_copy(update={"features": features})
    return study.model_copy(update={"network": network})


def _with_probing(study: Study, scenario: Scenario) -> Study:
    """Return the study with the tasks after which each readout is measured."""
    tasks = scenario.tasks
    x = first(tasks[0].train.x, SAMPLE)
    # The networks of a learner, and the layers to retrain downstream of, over learners.
    n_networks = len(study.seeds) * len(orders(study.orders, len(tasks))) * len(tasks)
    n_layers = 0
    for name, settings in study.learners.items():
        if not LEARNERS[settings.kind].offline:
            n_layers += len(study.features_of(name)) - 1
    probing = with_steps(
        study.probing,
        study.retraining_recipe,
        lambda: network_for(study.network.name, x, scenario.classes),
        x,
        sum(len(task.train) for task in tasks),
        n_networks * n_layers,
    )
    return study.model_copy(update={"probing": probing})


def plan_of(study: Study, scenario: Scenario, device: torch.device) -> Plan:
    """Return the plan of a study.

    All examples are hashed, which takes a moment for large data sets.

    Args:
        study: The study.
        scenario: The scenario of the study, in base order.
        device: The device of the jobs.

    Returns:
        The plan.

    Raises:
        InputError: The orders do not fit the tasks, or a network's fresh weights are
            not reproducible.
    """
    network_source = network_source_of(study)
    if network_source != network_source_of(study):
        raise InputError(
            f"no seed fixes the weights of network {study.network.name!r}: draw them "
            "with torch, numpy or random, and do not seed these from the clock"
        )
    tasks = scenario.tasks
    readouts = study.probing.readouts
    hashes = {name: SOURCE_HASHES.get(f"readout {name}") for name in readouts}
    sources = {name: source for name, source in hashes.items() if source}
    learners = {
        name: _learner(study, name, network_source, len(tasks))
        for name in study.all_learners
    }
    return Plan(
        name=study.name,
        scenario=study.scenario.title,
        kind=study.scenario.kind,
        network=study.network.name,
        tasks=tuple(
            PlannedTask(name=task.name, classes=task.classes) for task in tasks
        ),
        learners=learners,
        orders=orders(study.orders, len(tasks)),
        seeds=study.seeds,
        retraining=study.retraining_recipe,
        storage=study.storage,
        **probing_fields(study.probing, sources, task_aware=study.scenario.task_aware),
        report=study.report,
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
    )


def _learner(
    study: Study, name: str, network_source: str | None, tasks: int
) -> PlannedLearner:
    """Return the plan of one learner of a study.

    Args:
        study: The study.
        name: The learner's name in the study.
        network_source: A hash of a user-defined network, None for a built-in one.
        tasks: The number of tasks, T.
    """
    settings = study.all_learners[name]
    kind = LEARNERS[settings.kind]
    network = study.network.name
    record = {"own": network, "source": network_source} if network_source else network
    steps = tuple(range(tasks + 1))
    if kind.offline:
        steps = (0, tasks)
    if settings.kind == UNTRAINED:
        steps = (0,)
    recorded = settings.recorded()
    if learner_source := SOURCE_HASHES.get(f"learner {settings.kind}"):
        recorded["source"] = learner_source
    if study.scenario.task_aware:
        # The same examples and settings give other networks and readouts with the task id.
        recorded["task_aware"] = True
    memory = {}
    if settings.budget:
        memory = settings.budget.model_dump(include={"per_class", "total", "sampling"})
    return PlannedLearner(
        kind=settings.kind,
        modules=("scenarios.study.training", kind.__module__),
        listed=name in study.learners,
        offline=kind.offline,
        task_aware=kind.task_aware or study.scenario.task_aware,
        own_network=bool(kind.own_features),
        features=study.features_of(name),
        steps=steps,
        # A learner that brings its own network does not see the study's.
        network=None if kind.own_features else record,
        settings=recorded,
        training=study.recipe_of(name),
        **memory,
    )


def network_source_of(study: Study) -> str | None:
    """Return a hash of a study's user-defined network, None for a built-in one.

    A factory may load weights, or import a class by a computed name, so the hash covers
    the weights that it draws from a fixed seed, and the classes of its modules.
    """
    entry = USER_NETWORKS.get(study.network.name)
    if entry is None:
        return None
    model = build_model(entry.name, entry.build)
    classes = source_hash(*{type(module) for module in model.modules()})
    parts = (
        SOURCE_HASHES.get(f"network {entry.name}"),
        classes,
        tensor_hash(model.state_dict()),
    )
    return sha256(repr(parts))


def refuse_misfits(study: Study, scenario: Scenario) -> None:
    """Check that the networks and the settings of a study fit its data.

    Misfits are layers to freeze that no network has, budgets of exemplars that are too
    small, more neighbors than training examples, and batch norm re-estimated in
    networks without any. Every learner is built once, on the CPU; nothing is trained.

    Args:
        study: The study.
        scenario: The scenario of the study.

    Raises:
        InputError: A network cannot take the data, or a setting does not fit them.
    """
    sample = sample_of(scenario)
    n_norms = 0
    # Tasks that share some of their classes, but not all.
    partly_shared = share_classes(tuple({task.classes for task in scenario.tasks}))
    for name, settings in study.learners.items():
        network = network_of(study, name, LEARNERS[settings.kind].view(sample))
        n_norms += len(running_norms(network))
        with located(f"learners.{name}"):
            check_freezing(
                bare(network)[0],
                settings.freeze,
                settings.freeze_from,
                len(scenario.tasks),
            )
        if partly_shared and getattr(settings, "loss_classes", "all") == "task":
            raise InputError(
                f'learners.{name}: loss_classes = "task" '
                "needs tasks that share all classes or none, not a few: set it to all"
            )
        if settings.budget:
            # It raises for a quota of 0.
            settings.budget.quota(sum(len(task.classes) for task in scenario.tasks))
            if not isinstance(sample.tasks[0].train.x, Tensor):
                raise InputError(
                    f"learners.{name}: exemplars need one input tensor: leave it out"
                )
    examples = sum(len(task.train) for task in scenario.tasks)
    knn = study.probing.readouts.get("knn")
    if knn and knn.settings["k"] > examples:
        raise InputError(
            f"probing.readouts.knn.k: expected at most {examples}, the number of "
            f"training examples, got {knn.settings['k']}"
        )
    if study.probing.batch_norm == "reestimated" and not n_norms:
        raise InputError("probing.batch_norm: no network has batch norm: leave it out")


def sample_of(scenario: Scenario) -> Scenario:
    """Return the scenario with only a few examples, which make a learner's view cheap."""

    def few(split: Examples) -> Examples:
        return Examples(first(split.x, SAMPLE), split.y[:SAMPLE])

    tasks = (
        replace(task, train=few(task.train), test=few(task.test))
        for task in scenario.tasks
    )
    return replace(scenario, tasks=tuple(tasks))


@contextmanager
def study_networks(
    study: Study,
    location: Location,
    user_code: UserCode,
    plan: Plan,
    device: torch.device,
) -> Iterator[StudyNetworks]:
    """Load the networks of a study and the user's code that they need, within the block.

    Args:
        study: The study.
        location: The data folder, with the stamps of the feature files that the plan's
            hash covers.
        user_code: The user's code.
        plan: The plan.
        device: The device of the data.

    Yields:
        The networks.

    Raises:
        InputError: The user's code has changed, or the data are not those of the plan.
    """
    with user_code.opened(BUILT_IN):
        source = network_source_of(study)
        n_tasks = len(plan.tasks)
        learners = {n: _learner(study, n, source, n_tasks) for n in plan.learners}
        if plan.learners != learners:
            raise InputError("your code has changed since the run started: run again")
        scenario = _scenario_on(
            study.scenario, location.now(study.scenario.data), device, plan.data
        )
        yield StudyNetworks(plan=plan, study=study, scenario=scenario)


@lru_cache(maxsize=1)
def _scenario_on(
    spec: ScenarioSpec, location: Location, device: torch.device, data: str
) -> Scenario:
    """Return the scenario on a device; it is loaded once per process, however many jobs it does.

    Raises InputError if the hash of the data is not the expected one, `data`.
    """
    scenario = spec.scenario(location)
    if not location.checked and data_hash(scenario) != data:
        raise InputError(
            f"the data of {spec.title} on {platform.node()} "
            "are not those of the first run: copy them there"
        )
    return scenario.to(device)
