"""Checks and plans before a study runs, on a few of its examples.

A study may run for days, so foreseeable failures are found in its first seconds: each learner's
network must take the data, and each budget of exemplars must suffice for the classes. The values of
features are allocated to memory or disk in advance, too, so that `probe run` can print it. Both use
the first few examples of each task: only shapes and sizes matter.
"""

from dataclasses import replace

from torch import Tensor

from probe.batch import first
from probe.errors import InputError
from probe.examples import Examples
from probe.metrics.task_counts import share_classes
from probe.retrain import SAMPLE, cache_plan
from probe.tasks import Scenario
from probe.training.batch_norm import running_norms
from probe.values.allocation import Allocation, CacheSettings
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import bare
from scenarios.study.spec import Study
from scenarios.study.training import network_of


def refuse_misfits(study: Study, scenario: Scenario) -> None:
    """Raise InputError for a network that cannot take the data, and for settings that do not fit.

    These are budgets of exemplars that are too small, more neighbours than training examples, and
    reestimated batch norm in networks without any. Every learner of the study is built once, on the
    CPU; nothing is trained.
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
                    f"learners.{name}: exemplars are of one tensor, and the data have several: "
                    f"leave it out"
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
            f"probing.batch_norm: no network of {study.name} has batch norm, so there is nothing "
            f"to reestimate: leave it out"
        )


def cache_plans(
    study: Study, sample: Scenario, train: int, test: int, cache: CacheSettings
) -> dict[str, tuple[Allocation, ...]]:
    """Return the allocation of features' values, by network: the study's or a learner's own.

    sample: see `sample_of`; train, test: the numbers of examples of the whole scenario; cache: the
    available memory and disk. There is one allocation for each feature to retrain downstream of, by
    depth. Networks that no learner retrains are left out; learners that share a network share its
    plan, as they keep as much.
    """
    plans = {}
    for name, settings in study.learners.items():
        kind, features = LEARNERS[settings.kind], study.features_of(name)[:-1]
        # A learner's own network may depend on its settings: it is planned for each learner.
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
