"""The layers of learners: outcomes downstream of each feature, stacked over their jobs.

The outcomes of a learner's jobs are stacked: seeds x orders x test examples, in base order. A seed
counts once all of its orders are finished, with its floor and ceiling.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from probe.analysis.layers import LayerOutcomes, Right, TestLayout
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.results.result import JobResult, Scores, main_head
from probe.tables.layers import Layer
from probe.tasks import TestExamples


def jobs_by_learner(results: Iterable[JobResult]) -> dict[str, list[JobResult]]:
    """Return the results of jobs by learner, in order of first appearance."""
    groups: dict[str, list[JobResult]] = {}
    for result in results:
        groups.setdefault(result.job.learner, []).append(result)
    return groups


def layers_of(results: Sequence[JobResult]) -> Iterator[Layer]:
    """Yield each learner's layers by readout and depth, where some seed is finished."""
    controls = {kind: [r for r in results if r.job.kind == kind] for kind in CONTROLS}
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for runs in jobs_by_learner(learned).values():
        readouts = dict.fromkeys(name for run in runs for name in run.readouts)
        # A learner with another network has other layers than the controls, and its own floor.
        comparable = {} if runs[0].job.own_network else controls
        for readout, feature in product(readouts, runs[0].features):
            if layer := _layer(runs, readout, feature, comparable):
                yield layer


def _layer(
    results: Sequence[JobResult],
    readout: str,
    feature: str,
    controls: Mapping[str, Sequence[JobResult]],
) -> Layer | None:
    """Return one layer of a learner, None where no seed is finished.

    controls: the jobs of `untrained` and `offline`.
    """
    run, T, test = results[0], len(results[0].tasks), results[0].test
    orders = {r.job.order: r.job.tasks for r in results}
    rows = {(r.job.seed, r.job.order): r.rows(feature, readout) for r in results}
    ends = {
        kind: {r.job.seed: scores for r in jobs if (scores := r.at_end(feature, readout))}
        for kind, jobs in controls.items()
    }
    ends = {kind: scores_by_seed for kind, scores_by_seed in ends.items() if scores_by_seed}
    seeds = [
        seed
        for seed in dict.fromkeys(r.job.seed for r in results)
        if all(T in rows.get((seed, order), {}) for order in orders)
        and all(seed in scores_by_seed for scores_by_seed in ends.values())
    ]
    if not seeds or test is None:
        return None
    complete = [rows[key] for key in product(seeds, orders)]
    every = set.intersection(*map(set, complete))
    used = [row_of[tasks_seen] for row_of in complete for tasks_seen in every]
    used += [scores_by_seed[s] for scores_by_seed in ends.values() for s in seeds]

    def row(tasks_seen: int) -> Right:
        return np.array([[correct(test, rows[s, o][tasks_seen]) for o in orders] for s in seeds])

    by_control = {kind: np.array([correct(test, ends[kind][s]) for s in seeds]) for kind in ends}
    # Of one seed it is the same network in all orders.
    floor = row(0)[:, 0] if run.job.own_network and 0 in every else by_control.get(UNTRAINED)
    return Layer(
        learner=run.job.learner,
        readout=readout,
        feature=feature,
        depth=1 + run.features.index(feature),
        converged=all(scores.converged for scores in used),
        chance=_chance(run, readout) if feature == run.features[-1] else None,
        outcomes=LayerOutcomes(
            rows={tasks_seen: row(tasks_seen) for tasks_seen in sorted(every)},
            floor=floor,
            ceiling=by_control.get(OFFLINE),
        ),
        layout=layout_of(test, list(orders.values())),
        seeds=tuple(seeds),
    )


def _chance(result: JobResult, readout: str) -> float:
    """Return the accuracy of guessing, among a task's classes for what is task-aware."""
    if main_head(result.job) == "multi" or readout in result.task_aware_readouts:
        guessed = [1 / len(classes) for _, classes in result.tasks]
        return float(np.average(guessed, weights=result.test_sizes))
    return 1 / len({label for _, classes in result.tasks for label in classes})


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
    """Return whether each test example is classified correctly.

    Args:
        test: The test examples.
        scores: The scores with their predictions.

    Returns:
        (N,), in the order of a layout.
    """
    by_class = np.lexsort((test.labels, test.tasks))
    right = np.unpackbits(scores.right_bits, count=len(by_class)).astype(bool)
    return np.asarray(right[by_class])
