"""The layers of learners: outcomes downstream of each feature, stacked over their jobs.

The outcomes of a learner's jobs are stacked as seeds x orders x test examples, in base
order. A seed counts once all of its orders, its floor and its ceiling are finished.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from probe.analysis.intervals import Estimate
from probe.analysis.layers import LayerOutcomes, Quantity, Right, TestLayout, quantities
from probe.analysis.statements import (
    MARGIN,
    STATEMENTS,
    first_layer,
    seeds_needed,
    verdict,
)
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.immutable import immutable
from probe.metrics.murata import RETRAIN
from probe.results.result import JobResult, Results, Scores, count_trainings, main_head
from probe.stored_names import PutBack
from probe.tables.schemas import NETWORK, TRAINING, Row
from probe.tables.table_file import new_table
from probe.tasks import TestExamples

_AT_OUTPUT = ("below_ceiling", "forgets")


@immutable(eq=False)
class Layer:
    """One feature of a learner's network, with the scores of one readout.

    Attributes:
        learner: Name of the learner.
        readout: Name of the readout.
        feature: Name of the feature.
        depth: Depth of the feature, from 1.
        seeds: The S seeds of the outcomes.
        outcomes: The correctness of each test example.
        layout: The test examples.
        converged: Whether all trainings of the readout converged, including those of
            floor and ceiling, which the difference depends on.
        chance: The accuracy of guessing, only at the output.
    """

    learner: str
    readout: str
    feature: str
    depth: int
    seeds: tuple[int, ...]
    outcomes: LayerOutcomes
    layout: TestLayout
    converged: bool = True
    chance: float | None = None

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities that the outcomes allow."""
        return quantities(self.outcomes, self.layout)

    @property
    def scope(self) -> str:
        """Whom the intervals speak of, as in `probe.tables.schemas.SCOPES`."""
        return TRAINING if self.outcomes.of_training else NETWORK

    @property
    def _columns(self) -> dict[str, Any]:
        names = ("learner", "readout", "feature", "depth", "scope")
        return {name: getattr(self, name) for name in names}

    @property
    def _stated(self) -> Iterator[tuple[str, Quantity, float, str]]:
        """The name, quantity over all tasks, margin and verdict of each statement.

        At the output only the classes seen so far compete, but at the ceiling all
        classes do: that it learns less can be shown there, but not denied.
        """
        over_all = {q.quantity: q for q in self.quantities if q.task_position is None}
        for name, quantity_name in STATEMENTS.items():
            if quantity := over_all.get(quantity_name):
                steps = (
                    self.layout.orders.shape[1] - 1 if name == "loses_plasticity" else 1
                )
                least = MARGIN / steps
                drift = over_all.get(f"{quantity_name}_drift")
                decided = verdict(
                    quantity, least, converged=self.converged, drift=drift
                )
                at_output = name in _AT_OUTPUT or (name, decided) == (
                    "learns_less",
                    "yes",
                )
                if self.chance is None or at_output:
                    yield name, quantity, least, decided

    def rows(self) -> Iterator[Row]:
        """Yield a row for each quantity, and the accuracy of guessing where it is known."""
        for quantity in self.quantities:
            yield {**self._columns, **quantity.columns}
        if self.chance is not None:
            yield {
                **self._columns,
                "quantity": "chance",
                "value": self.chance,
                "seeds": len(self.seeds),
            }

    def statements(self) -> Iterator[Row]:
        """Yield the statements that the quantities allow."""
        for name, quantity, least, decided in self._stated:
            yield {
                **self._columns,
                **quantity.columns,
                "statement": name,
                "verdict": decided,
                "margin": least,
            }

    def statement_seeds(self) -> Iterator[Row]:
        """Yield the value of each seed in each statement."""
        for name, quantity, *_ in self._stated:
            for seed, value in zip(self.seeds, quantity.seed_values, strict=True):
                yield {**self._columns, "statement": name, "seed": seed, "value": value}


def jobs_by_learner(results: Iterable[JobResult]) -> dict[str, list[JobResult]]:
    """Return the results of jobs by learner, in order of first appearance."""
    groups: dict[str, list[JobResult]] = {}
    for result in results:
        groups.setdefault(result.job.learner, []).append(result)
    return groups


def learners_jobs(results: Results) -> dict[str, list[JobResult]]:
    """Return the results of jobs by learner as `jobs_by_learner`, without those of controls."""
    return jobs_by_learner(
        result for result in results if result.job.kind not in CONTROLS
    )


def layers_of(results: Results) -> Iterator[Layer]:
    """Yield the layers of each learner that have a finished seed, by readout and depth."""
    controls = {kind: [r for r in results if r.job.kind == kind] for kind in CONTROLS}
    for runs in learners_jobs(results).values():
        readouts = dict.fromkeys(name for run in runs for name in run.readouts)
        # A learner with its own network has layers that the controls lack, and its own
        # floor.
        comparable = {} if runs[0].job.own_network else controls
        for readout, feature in product(readouts, runs[0].features):
            if layer := _layer(runs, readout, feature, comparable):
                yield layer


def _layer(
    results: Results, readout: str, feature: str, controls: Mapping[str, Results]
) -> Layer | None:
    """Return one layer of a learner; None if no seed is finished.

    controls: the jobs of `untrained` and `offline`.
    """
    run, T, test = results[0], len(results[0].tasks), results[0].test
    orders = {r.job.order: r.job.tasks for r in results}
    by_run = {(r.job.seed, r.job.order): r for r in results}
    rows = {name: r.rows(feature, readout) for name, r in by_run.items()}
    ends = {
        kind: {
            r.job.seed: scores for r in jobs if (scores := r.at_end(feature, readout))
        }
        for kind, jobs in controls.items()
    }
    ends = {
        kind: scores_by_seed for kind, scores_by_seed in ends.items() if scores_by_seed
    }
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

    def outcomes(at_half: bool = False) -> LayerOutcomes:
        by_row = {
            t: np.array(
                [[correct(test, rows[s, o][t], at_half) for o in orders] for s in seeds]
            )
            for t in sorted(every)
        }
        of_control = {
            kind: np.array([correct(test, scores_by_seed[s], at_half) for s in seeds])
            for kind, scores_by_seed in ends.items()
        }
        # Of one seed it is the same network in all orders.
        own_floor = run.job.own_network and 0 in every
        floor = by_row[0][:, 0] if own_floor else of_control.get(UNTRAINED)
        return LayerOutcomes(
            rows=by_row,
            floor=floor,
            ceiling=of_control.get(OFFLINE),
            offline=_offline_outputs(test, controls.get(OFFLINE, ()), readout, seeds),
            trainings=count_trainings([r for r in results if r.job.seed in seeds]),
        )

    measured = outcomes()

    def with_blocks(which: PutBack) -> dict[int, Right]:
        """Return the outcomes of the last network with blocks of earlier ones put back."""
        of_runs = [
            {
                key.readout.since: scores
                for key, scores in by_run[s, o].with_blocks.items()
                if (key.feature, key.readout.planned, key.readout.put_back)
                == (feature, readout, which)
            }
            for s, o in product(seeds, orders)
        ]
        if feature == run.features[0] and run.with_blocks:
            # Nothing is upstream: what it forgot is its own.
            earlier = set.intersection(
                *({key.readout.since for key in r.with_blocks} for r in results)
            )
            return {
                j: measured.rows[T if which == PutBack.UPSTREAM else j]
                for j in earlier & every
            }
        shape = len(seeds), len(orders), -1
        return {
            j: np.array([correct(test, of_run[j]) for of_run in of_runs]).reshape(shape)
            for j in set.intersection(*map(set, of_runs))
        }

    return Layer(
        learner=run.job.learner,
        readout=readout,
        feature=feature,
        depth=1 + run.features.index(feature),
        # A retraining states what it reaches within its budget.
        converged=readout.startswith(RETRAIN)
        or all(scores.converged for scores in used),
        chance=_chance(run, readout) if feature == run.features[-1] else None,
        outcomes=replace(
            measured,
            upstream=with_blocks(PutBack.UPSTREAM),
            block=with_blocks(PutBack.BLOCK),
            half=outcomes(at_half=True)
            if any(x.half_bits is not None for x in used)
            else None,
        ),
        layout=layout_of(test, list(orders.values())),
        seeds=tuple(seeds),
    )


def _offline_outputs(
    test: TestExamples, offline: Results, readout: str, seeds: Sequence[int]
) -> Right | None:
    """Return the correctness (S, n) of the offline networks themselves, None if one is missing.

    A task-aware readout is compared with their output among the classes of a task.
    """
    ends = {r.job.seed: r.at_end(r.features[-1], readout) for r in offline}
    scores = [ends.get(seed) for seed in seeds]
    if None in scores:
        return None
    return np.array([correct(test, end) for end in scores if end])


def _chance(result: JobResult, readout: str) -> float:
    """Return the accuracy of guessing, among a task's classes if the readout is task-aware."""
    if main_head(result.job) == "multi" or readout in result.task_aware_readouts:
        guessed = [1 / len(classes) for _, classes in result.tasks]
        return float(np.average(guessed, weights=result.test_sizes))
    return 1 / len({label for _, classes in result.tasks for label in classes})


def layout_of(test: TestExamples, orders: Sequence[Sequence[int]]) -> TestLayout:
    """Return the task of each test example, by task in base order, then by class.

    Args:
        test: The N test examples.
        orders: The tasks in executed order, (O, T).
    """
    by_class = np.lexsort((test.labels, test.tasks))
    return TestLayout(tasks=test.tasks[by_class], orders=np.array(orders))


def correct(test: TestExamples, scores: Scores, at_half: bool = False) -> Right:
    """Return whether each test example is classified correctly.

    Args:
        test: The test examples.
        scores: The scores with their predictions.
        at_half: Whether to take those after half of the epochs, where there are any.

    Returns:
        The correctness (N,), in the order of a layout.
    """
    by_class = np.lexsort((test.labels, test.tasks))
    bits = (
        scores.half_bits
        if at_half and scores.half_bits is not None
        else scores.right_bits
    )
    right = np.unpackbits(bits, count=len(by_class)).astype(bool)
    return np.asarray(right[by_class])


def first_layers(statements: pd.DataFrame, depths: Mapping[str, int]) -> pd.DataFrame:
    """Return the range of the first layer for each learner, readout and statement.

    It is left out if a layer lacks the statement: the first of the remaining layers
    need not be the first of all.

    Args:
        statements: The statements on all layers.
        depths: The number of layers of each learner, including the output.

    Returns:
        The table `first_layer`.
    """
    by_layer = statements[statements["statement"] != "loses_plasticity"]
    ranges = []
    for key, rows in by_layer.groupby(["learner", "readout", "statement"], sort=False):
        if len(rows) < depths[key[0]] - (key[2] == "learns_less"):
            continue
        by_depth = list(rows.sort_values("depth", kind="stable").itertuples())
        scope = TRAINING if TRAINING in set(rows["scope"]) else NETWORK
        first, last = first_layer([_in_range(row, scope) for row in by_depth])
        names = [
            "" if index is None else by_depth[index].feature for index in (first, last)
        ]
        seeds_needed = (
            _seeds_needed(by_depth, first, last) if scope == TRAINING else None
        )
        ranges.append((*key, *names, int(rows["seeds"].max()), seeds_needed))
    return new_table("first_layer", ranges)


def _in_range(row: Any, scope: str) -> str:
    """Return the verdict of a layer; a layer with fewer seeds than others is open."""
    if row.scope != scope:
        return "open"
    # What never changes forgets nothing, although that says nothing of learning.
    return "no" if row.verdict == "unchanged" else str(row.verdict)


def _seeds_needed(rows: list[Any], first: int | None, last: int | None) -> int | None:
    """Return about how many seeds would decide the first layer of a long range."""
    if (
        first is None
        or (last is not None and last - first < 2)
        or rows[first].verdict != "open"
    ):
        return None
    row = rows[first]
    return seeds_needed(
        Estimate(value=row.value, low=row.low, high=row.high, seeds=row.seeds),
        row.margin,
    )
