"""The layers of learners: outcomes downstream of each feature, stacked over their jobs.

The outcomes of a learner's jobs are stacked: seeds x orders x test examples, in base order. A seed
counts once all of its orders are finished, with its floor and ceiling.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from probe.analysis.layers import LayerOutcomes, Right, TestLayout
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.results.result import Result, Scores, own_head
from probe.tables.layers import Layer
from probe.tables.rows import grouped
from probe.tasks import TestExamples


def layers_of(results: Sequence[Result]) -> Iterator[Layer]:
    """Yield each learner's layers by readout and depth, where some seed is finished."""
    controls = {kind: [r for r in results if r.job.kind == kind] for kind in CONTROLS}
    learning = (result for result in results if result.job.kind not in CONTROLS)
    for own in grouped(learning, "job.learner").values():
        readouts = dict.fromkeys(name for r in own for name in r.readouts)
        # A learner with another network has other layers than the controls, and its own floor.
        comparable = {} if own[0].job.own_network else controls
        for readout, feature in product(readouts, own[0].features):
            if layer := _layer(own, readout, feature, comparable):
                yield layer


def _layer(
    own: Sequence[Result], readout: str, feature: str, controls: Mapping[str, Sequence[Result]]
) -> Layer | None:
    """Return one layer of a learner, None where no seed is finished.

    controls: the jobs of `untrained` and `offline`.
    """
    one, T = own[0], len(own[0].tasks)
    orders = {r.job.order: r.job.tasks for r in own}
    runs = {(r.job.seed, r.job.order): r.rows(feature, readout) for r in own}
    seeds = dict.fromkeys(r.job.seed for r in own)
    whole = [s for s in seeds if all(T in runs.get((s, o), {}) for o in orders)]
    ends = {kind: _at_the_end(each, readout, feature) for kind, each in controls.items()}
    for found in filter(None, ends.values()):
        whole = [s for s in whole if s in found]
    test = one.test
    if not whole or test is None:
        return None
    steps = set.intersection(*(set(runs[s, o]) for s in whole for o in orders))
    used = [runs[s, o][tasks_seen] for s in whole for o in orders for tasks_seen in steps]
    used += [found[s] for found in ends.values() for s in whole if found]

    def row(tasks_seen: int) -> Right:
        return np.array([[correct(test, runs[s, o][tasks_seen]) for o in orders] for s in whole])

    def control(kind: str) -> Right | None:
        found = ends.get(kind)
        return np.array([correct(test, found[s]) for s in whole]) if found else None

    # Of one seed it is the same network in all orders.
    floor = row(0)[:, 0] if one.job.own_network and 0 in steps else control(UNTRAINED)
    return Layer(
        learner=one.job.learner,
        readout=readout,
        feature=feature,
        depth=1 + one.features.index(feature),
        seeds=tuple(whole),
        converged=all(each.converged for each in used),
        chance=_chance(one, readout) if feature == one.features[-1] else None,
        outcomes=LayerOutcomes(
            rows={tasks_seen: row(tasks_seen) for tasks_seen in sorted(steps)},
            floor=floor,
            ceiling=control(OFFLINE),
        ),
        layout=layout_of(test, list(orders.values())),
    )


def _chance(one: Result, readout: str) -> float:
    """Return the accuracy of guessing, among a task's classes for those that are told the task."""
    if own_head(one.job) == "multi" or readout in one.per_task:
        guessed = [1 / len(classes) for _, classes in one.tasks]
        return float(np.average(guessed, weights=one.test_sizes))
    return 1 / len({label for _, task in one.tasks for label in task})


def _at_the_end(controls: Sequence[Result], readout: str, feature: str) -> dict[int, Scores]:
    """Return the scores of a readout of a feature at the end of each seed's job."""
    rows = {r.job.seed: r.rows(feature, readout).get(r.job.last) for r in controls}
    return {seed: found for seed, found in rows.items() if found}


def layout_of(test: TestExamples, orders: Sequence[Sequence[int]]) -> TestLayout:
    """Return the task and stratum of each test example, by task in base order, then by class.

    Args:
        test: The test examples, N.
        orders: (O, T) tasks in executed order.
    """
    by_class = np.lexsort((test.labels, test.tasks))
    tasks = test.tasks[by_class]
    strata = tasks * (1 + test.labels.max()) + test.labels[by_class]
    return TestLayout(tasks=tasks, strata=strata, orders=np.array(orders))


def correct(test: TestExamples, scores: Scores) -> Right:
    """Return whether each test example is classified correctly, (N,), in the order of a layout."""
    by_class = np.lexsort((test.labels, test.tasks))
    return np.asarray(scores.predicted[by_class] == test.labels[by_class])
