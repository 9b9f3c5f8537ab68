"""The layers of learners: outcomes downstream of each feature, stacked over their jobs.

The outcomes of a learner's jobs are stacked: seeds x orders x test examples, in base order. A seed
counts once all of its orders are finished, with its floor and ceiling.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from probe.analysis.layers import LayerOutcomes, Right, TestLayout
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.results.result import Result, Scores, own_head
from probe.tables.layers import Layer
from probe.tables.rows import grouped


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
    if not whole or one.test_counts is None:
        return None
    examples = Examples(one.test_counts, one.job.tasks)
    steps = set.intersection(*(set(runs[s, o]) for s in whole for o in orders))
    used = [runs[s, o][tasks_seen] for s in whole for o in orders for tasks_seen in steps]
    used += [found[s] for found in ends.values() for s in whole if found]

    def row(tasks_seen: int) -> Right:
        each = [[(runs[s, o][tasks_seen], t) for o, t in orders.items()] for s in whole]
        return np.array([[examples.right(*one) for one in own] for own in each])

    def control(kind: str) -> Right | None:
        found = ends.get(kind)
        return np.array([examples.right(found[s], range(T)) for s in whole]) if found else None

    # Of one seed it is the same network in all orders.
    floor = row(0)[:, 0] if one.job.own_network and 0 in steps else control(UNTRAINED)
    return Layer(
        learner=one.job.learner,
        readout=readout,
        feature=feature,
        depth=1 + one.features.index(feature),
        seeds=tuple(whole),
        converged=all(each.converged for each in used),
        chance=_chance(one, readout, one.test_counts) if feature == one.features[-1] else None,
        outcomes=LayerOutcomes(
            rows={tasks_seen: row(tasks_seen) for tasks_seen in sorted(steps)},
            floor=floor,
            ceiling=control(OFFLINE),
        ),
        layout=examples.layout(list(orders.values())),
    )


def _chance(one: Result, readout: str, test_counts: NDArray[np.int64]) -> float:
    """Return the accuracy of guessing, among a task's classes for those that are told the task.

    test_counts: (T, K), of the job's tasks.
    """
    if own_head(one.job) == "multi" or readout in one.per_task:
        guessed = [1 / len(classes) for _, classes in one.tasks]
        return float(np.average(guessed, weights=test_counts.sum(axis=1)))
    return 1 / len({label for _, task in one.tasks for label in task})


def _at_the_end(controls: Sequence[Result], readout: str, feature: str) -> dict[int, Scores]:
    """Return the scores of a readout of a feature at the end of each seed's job."""
    rows = {r.job.seed: r.rows(feature, readout).get(r.job.last) for r in controls}
    return {seed: found for seed, found in rows.items() if found}


class Examples:
    """The test examples of a study, sorted by task in base order, then by class.

    test_counts: (T, K), in a job's order of the tasks; order: that order.
    """

    def __init__(self, test_counts: NDArray[np.int64], order: Sequence[int]) -> None:
        self._sizes = test_counts[np.argsort(order)]
        self._strata = np.repeat(np.arange(self._sizes.size), self._sizes.ravel())

    def layout(self, orders: Sequence[Sequence[int]]) -> TestLayout:
        """Return the task and stratum of each; orders: (O, T) tasks in executed order."""
        tasks = self._strata // self._sizes.shape[1]
        return TestLayout(tasks=tasks, strata=self._strata, orders=np.array(orders))

    def right(self, scores: Scores, order: Sequence[int]) -> Right:
        """Return the examples, (n,), that are right in a job with its tasks in `order`."""
        ends = np.cumsum(self._sizes.sum(axis=1)[list(order)])[:-1]
        parts = np.split(scores.right.right, ends)
        return np.concatenate([parts[task_position] for task_position in np.argsort(order)])
