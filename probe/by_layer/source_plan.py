"""The plan of the measurements of networks that were trained elsewhere.

The networks are read, and names, steps, orders and fresh weights are checked, before
anything is measured.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

import torch

from probe.batch import tensor_hash
from probe.by_layer.affordable import with_steps
from probe.by_layer.plan import (
    CONTROLS,
    OFFLINE,
    UNTRAINED,
    Plan,
    PlannedLearner,
    PlannedTask,
    probing_fields,
)
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.report import ReportSpec
from probe.by_layer.source_description import SourceDescription, by_architecture
from probe.by_layer.trained_networks import Hashes
from probe.cut.cuts import find_each
from probe.cut.model_call import Called
from probe.errors import InputError, located
from probe.files import sha256
from probe.metrics.murata import RETRAIN
from probe.modules import architecture, architecture_difference
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.retrain import check_rule_covers
from probe.seeding import stream
from probe.source import hash_of
from probe.tasked_examples import Orders, TaskOrders
from probe.tasks import data_hash, orders
from probe.training.fresh_weights import (
    check_fresh,
    fresh_state,
    no_rule_for,
    without_rule,
)

KIND = "checkpoints"
"""The kind of the learners of networks that were trained elsewhere."""

_MODULES = ("probe.by_layer.network_source",)


def plan_by_reading(description: SourceDescription) -> Plan:
    """Read every network, and plan its measurements.

    Args:
        description: The networks.

    Returns:
        The plan.

    Raises:
        InputError: Tasks, orders or features do not fit the networks, or a file cannot
            be read.
    """
    first, others = by_architecture(description)
    plan = _plan_of_one_architecture(first)
    learners = dict(plan.learners)
    expected = architecture(first.blank)
    for name, other in others.items():
        planned = _plan_of_one_architecture(other).learners[name]
        differs = architecture_difference(expected, architecture(other.blank))
        learners[name] = planned.model_copy(update={"own_network": bool(differs)})
    return plan.model_copy(update={"learners": learners})


def _plan_of_one_architecture(description: SourceDescription) -> Plan:
    """Return the plan of networks that share an architecture.

    Raises InputError if runs, steps and orders do not fit the tasks.
    """
    scenario = description.scenario
    runs = description.weights.runs
    learned = [run for run in runs if run.learner not in CONTROLS or run.order]
    _check_names(learned)
    _check_steps(max(max(runs[run]) for run in learned), len(scenario.tasks))
    names = list(dict.fromkeys(run.order for run in learned))
    tasks_of_order = _checked_orders(names, description.orders, len(scenario.tasks))
    learners = _learners(description, _steps_of_learner(description, learned))
    task_aware = description.model.task_aware
    sources = {name: hash_of(entry) for name, entry in description.readouts.items()}
    probing = _with_steps(description, learned)
    return Plan(
        name=description.name,
        scenario=scenario.name,
        network=description.network_name,
        tasks=tuple(
            PlannedTask(name=task.name, classes=task.classes) for task in scenario.tasks
        ),
        learners=learners,
        orders=tasks_of_order,
        seeds=tuple(sorted({run.seed for run in learned})),
        retraining=description.recipe,
        storage=description.storage,
        **probing_fields(probing, sources, task_aware=task_aware),
        report=ReportSpec(heads=("multi" if task_aware else "single",)),
        data=data_hash(scenario),
        device=description.device.type,
        torch=str(torch.__version__),
    )


def _learners(
    description: SourceDescription, steps_of_learner: Mapping[str, Collection[int]]
) -> dict[str, PlannedLearner]:
    """Return the plans of the learners and controls; every network is read."""
    hashes = description.weights.weight_hashes()
    identity = _identity(description)
    return {
        name: _learner(description, name, identity, hashes, steps)
        for name, steps in steps_of_learner.items()
    }


def _steps_of_learner(
    description: SourceDescription, learned: Sequence[Run]
) -> dict[str, set[int]]:
    """Return the numbers of tasks after which each learner and control has a network.

    Raises InputError if fresh weights are missing, or joint networks are there twice.
    """
    T = len(description.scenario.tasks)
    runs = description.weights.runs
    can_draw = not _check_fresh_weights(description)
    has_offline = any(run.learner == OFFLINE for run in runs)
    if description.train_offline and has_offline:
        raise InputError(
            "got joint networks (offline) and a request to train them: choose one"
        )
    steps = set[int]().union(*(runs[run] for run in learned))
    has_start = can_draw or 0 in steps
    if has_start:
        steps.add(0)
    steps_of_learner = {run.learner: steps for run in learned}
    if has_offline or description.train_offline:
        steps_of_learner[OFFLINE] = {0, T} if can_draw else {T}
    if has_start and description.probing.has_floor:
        steps_of_learner[UNTRAINED] = {0}
    return steps_of_learner


def _with_steps(description: SourceDescription, learned: Sequence[Run]) -> ProbingSpec:
    """Return the measurements with the steps that `affordable` stands for."""
    runs = description.weights.runs
    networks = sum(len(runs[run].keys() - {0}) for run in learned)
    return with_steps(
        description.probing,
        description.recipe,
        lambda: Called(description.blank, description.model.class_call),
        description.sample,
        sum(len(task.train) for task in description.scenario.tasks),
        len(description.probed_features[:-1]) * networks,
    )


def _learner(
    description: SourceDescription,
    name: str,
    identity: str,
    hashes: Hashes,
    steps: Collection[int],
) -> PlannedLearner:
    """Return the plan of one learner or control."""
    kind = name if name in CONTROLS else KIND
    weight_hashes = {
        f"{run.order}/{run.seed}": by_tasks_seen
        for run, by_tasks_seen in hashes.items()
        if run.learner == name
    }
    return PlannedLearner(
        kind=kind,
        modules=_MODULES,
        listed=bool(weight_hashes) or kind != UNTRAINED,
        offline=kind in CONTROLS,
        task_aware=description.model.task_aware,
        features=description.probed_features,
        steps=tuple(sorted(steps)),
        network={"own": description.network_name, "source": identity},
        settings={"kind": kind},
        training=description.recipe,
        weight_hashes=weight_hashes,
    )


def _identity(description: SourceDescription) -> str:
    """Return a hash of the network's code, its architecture, and the ranks of its outputs.

    Code does not show the values in a closure or a partial function. Logits themselves
    would not do, as machines round them differently.
    """
    model = description.model
    blank = description.blank
    ranks = description.logits(blank, model.class_call).argsort(dim=1, stable=True)
    fresh = cast(object, description.fresh)
    if not isinstance(description.fresh, str):
        drawn = fresh_state(description.fresh, stream(0, "build"))
        fresh = tensor_hash(dict(drawn))
    ranks_hash = tensor_hash({"ranks": ranks})
    identity = (description.code, str(blank), fresh, model.trainable, ranks_hash)
    return sha256(repr(identity))


def _check_names(runs: Iterable[Run]) -> None:
    """Raise InputError if a learner's or order's name cannot name a folder or job."""
    for run in runs:
        for name in (run.learner, run.order):
            if name in CONTROLS:
                raise InputError(
                    f"the learner {name!r} has the name of a control: rename it"
                )
            if not re.fullmatch(FOLDER_NAME, name):
                raise InputError(
                    f"{name[:20]!r} is not a name: use up to 80 letters, digits, _ "
                    "and -"
                )


def _check_steps(last: int, tasks: int) -> None:
    """Raise InputError unless the last networks are those after all tasks."""
    if last > tasks:
        raise InputError(
            f"a network has learned {last} tasks, but {tasks} are given: add the rest"
        )
    if last < tasks:
        present = "there is only an untrained one"
        if last:
            present = f"the last is after task {last}"
        raise InputError(
            f"there is no network after all {tasks} tasks, which is needed; "
            f"{present}: add it, name fewer tasks, or write {{index}} for {{task}} if "
            "files count tasks from 0"
        )


def _checked_orders(
    names: Sequence[str], listed: Orders | None, tasks: int
) -> TaskOrders:
    """Return the orders of the networks by name, tasks from 0.

    Args:
        names: The names of the networks' orders.
        listed: A rule, or the tasks from 1 by name; None = only the base order.
        tasks: The number of tasks.

    Raises:
        InputError: An order has no tasks.
    """
    if listed is None:
        if len(names) > 1:
            raise InputError(
                f"orders {', '.join(names)} have no tasks: use --orders or "
                "Model(orders=)"
            )
        return {names[0]: tuple(range(tasks))}
    with located("orders"):
        order_by_name = orders(listed, tasks)
    if missing := [name for name in names if name not in order_by_name]:
        raise InputError(
            f"the order {missing[0]!r} is not among {', '.join(order_by_name)}: add it"
        )
    return {name: order_by_name[name] for name in names}


def _check_fresh_weights(description: SourceDescription) -> list[str]:
    """Check that fresh weights can be drawn where needed; return the parameters without a rule.

    Args:
        description: The networks.

    Returns:
        The parameters for which the recipe's rule gives no weights.

    Raises:
        InputError: The offline training or a retraining needs weights of one of them.
    """
    blank = description.blank
    fresh = description.fresh
    check_fresh(fresh, blank)
    not_drawn = without_rule(blank, fresh) if isinstance(fresh, str) else []
    if not_drawn and description.train_offline:
        raise no_rule_for(not_drawn)
    if not_drawn and RETRAIN in description.probing.readouts:
        model = description.model
        cuts = find_each(
            blank,
            description.probed_features[:-1],
            description.sample,
            model.class_call,
            model.trainable,
        )
        check_rule_covers(blank, [cut.facts for cut in cuts], fresh)
    return not_drawn
