"""What is checked and planned before a study runs, on a few of its examples."""

from __future__ import annotations

from dataclasses import replace

from probe.examples import Examples
from probe.retrain import SAMPLE, cache_plan
from probe.values.allocation import Allocation, CacheSettings
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import network_of
from scenarios.study.spec import Study


def refuse_misfits(study: Study, scenario: Scenario) -> None:
    """Raise InputError for a network that cannot see the data, and for budgets too small."""
    few = _few(scenario)
    for name, settings in study.learners.items():
        network_of(study, name, LEARNERS[settings.kind].view(few))
        if settings.budget:
            settings.budget.quota(scenario.classes)


def cache_plans(
    study: Study, scenario: Scenario, cache: CacheSettings
) -> dict[str, tuple[Allocation, ...]]:
    """Return where jobs keep their features' values, by network: the study's or a learner's own."""
    train = sum(len(task.train) for task in scenario.tasks)
    test = sum(len(task.test) for task in scenario.tasks)
    few, plans = _few(scenario), {}
    for name, settings in study.learners.items():
        kind, features = LEARNERS[settings.kind], study.features_of(name)[:-1]
        network = name if kind.own_features else study.network.name
        if features and not kind.offline and network not in plans:
            seen = kind.view(few)
            model, sample = network_of(study, name, seen), seen.tasks[0].test.x
            recipe = study.retraining_recipe
            plans[network] = cache_plan(model, features, sample, (train, test), recipe, cache)
    return plans


def _few(scenario: Scenario) -> Scenario:
    """Return the scenario with so few examples that a learner's view of it costs nothing."""
    tasks = [
        replace(
            task,
            train=Examples(task.train.x[:SAMPLE], task.train.y[:SAMPLE]),
            test=Examples(task.test.x[:SAMPLE], task.test.y[:SAMPLE]),
        )
        for task in scenario.tasks
    ]
    return replace(scenario, tasks=tuple(tasks))
