"""The causes of forgetting, from stored predictions: by task position, with intervals and verdicts.

Over the test examples of each earlier task: forgotten = competition + lost, where competition =
R[j, j] minus the score of the last network with all blocks put back, among the classes that compete
after all tasks; what is attributed to the blocks adds up to lost. See `probe.rewinding.hybrids`. A
seed counts once all of its orders are finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from probe.analysis.variance import Floats
from probe.by_layer.measurement import UNLIKE_RECORDED, Measurement, blocks_put_back
from probe.by_layer.plan import CONTROLS
from probe.results.layers import jobs_by_learner, layout_of
from probe.results.result import JobResult, Results, count_trainings, main_head
from probe.rewinding.correspondence import relations_in, unrelated
from probe.rewinding.estimates import MARGIN, Position, Study
from probe.rewinding.hybrids import Rewinding
from probe.rewinding.pairs import deficit_doubt, law_failure
from probe.tables.schemas import Row

WITHHELD = "causes withheld after task {}: {}"
"""The note on a pair of networks of which nothing can be said."""


def cause_rows(results: Results, hybrids: int) -> Iterator[Row]:
    """Yield the rows of `causes`.

    Args:
        results: The results of a plan's jobs.
        hybrids: The most sets of blocks that were put back.

    Yields:
        The rows, by learner and score.
    """
    for learner, runs in _complete(results):
        for score in ("accuracy", "loss"):
            for row in _of_learner(runs, score, hybrids):
                yield {"learner": learner, "score": score, **row}


def withheld_notes(results: Results, hybrids: int) -> Iterator[Row]:
    """Yield a note on each pair of networks of which nothing can be said.

    Args:
        results: The results of a plan's jobs.
        hybrids: The most sets of blocks that were put back.
    """
    for result in results:
        for j in result.rewound:
            pair = StoredPair(run=result, position=j, score="accuracy", hybrids=hybrids)
            if pair.withheld:
                text = WITHHELD.format(j, pair.withheld)
                yield {**result.job.columns, "tasks_seen": result.job.last, "note": text}


def law_holds(run: JobResult, position: int) -> bool:
    """Return whether the last network with all blocks put back is the earlier one.

    Args:
        run: The result of a run.
        position: The position of the earlier network's task.
    """
    if position not in run.rewound:
        return True
    return not StoredPair(run=run, position=position, score="accuracy", hybrids=0).broken_law


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredPair:
    """The stored predictions of an earlier network and of the last one with its blocks put back.

    Attributes:
        run: The result of the run.
        position: The position of the earlier network's task.
        score: `accuracy` or `loss`.
        hybrids: The most sets of blocks that were put back.
    """

    run: JobResult
    position: int
    score: str
    hybrids: int

    @cached_property
    def result(self) -> Rewinding:
        """The scores by set of blocks."""
        measurement = self._rewound
        scores = {
            tuple(blocks_put_back(name)): _scores(measurement, name, self.score)
            for name in measurement.predicted
        }
        return Rewinding(
            scores=scores, of_task=self._of_task, limit=self.hybrids, seed=self.run.job.seed
        )

    @cached_property
    def broken_law(self) -> str:
        """The reason why the law of rewinding fails, empty if it holds or cannot be checked.

        Where an example is predicted as a class that does not compete after all tasks, nothing
        can be compared.
        """
        tested = self.run.tested.get(self.position)
        head = "multi" if main_head(self.run.job) == "multi" else "all"
        if tested is None or head not in tested.predicted:
            return ""
        if tested.values.get(UNLIKE_RECORDED):
            return "its file does not predict what was recorded: files hold no attributes"
        competing = [label for _, classes in self.run.tasks for label in classes]
        saved = tested.predicted[head]
        compared = self._of_task & np.isin(saved, competing)
        whole = max(self._rewound.predicted, key=lambda name: len(blocks_put_back(name)))
        again = self._rewound.predicted[whole]
        return law_failure(saved[compared], again[compared], self._rewound.notes)

    @cached_property
    def withheld(self) -> str:
        """The reason why nothing can be said of blocks, empty if there is none: for accuracy."""
        relations = relations_in(self._rewound.values)
        hidden = [name for name in self.run.features[:-1] if name in self.result.blocks]
        labels = {label for _, classes in self.run.tasks for label in classes}
        chance = 1 / len(labels)
        return self.broken_law or unrelated(relations, hidden) or deficit_doubt(self.result, chance)

    def position_values(self, withheld: str) -> Position:
        """Return the quantities of each test example, by task, then by class.

        Args:
            withheld: The reason why nothing is said of blocks, empty if there is none.
        """
        test = self._rewound.test
        by_class = np.lexsort((test.labels, test.tasks))
        features = self.run.features
        blocks = dict.fromkeys([*features, *self.result.blocks])
        values = self.result.quantities(blocks)
        if learned := self.run.tested.get(self.position):
            at_first = _scores(learned, main_head(self.run.job), self.score)
            put_back = self.result.scores[self.result.blocks]
            values["", "competition"] = np.where(self.result.of_task, at_first - put_back, 0)
            values["", "forgotten"] = values["", "competition"] + values["", "lost"]
        if withheld:
            values = {} if self.broken_law else {n: x for n, x in values.items() if not n[0]}
        return Position(
            values={name: x[by_class] for name, x in values.items()},
            errors=self.result.sampling_error,
            unchanged=frozenset(features) - set(self.result.blocks),
            withheld=withheld,
        )

    @property
    def _rewound(self) -> Measurement:
        return self.run.rewound[self.position]

    @cached_property
    def _of_task(self) -> NDArray[np.bool_]:
        task = self.run.job.tasks[self.position - 1]
        return np.asarray(self._rewound.test.tasks == task)


def _complete(results: Results) -> Iterator[tuple[str, Results]]:
    """Yield the runs of each learner, of seeds with all orders, by seed and order."""
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for learner, jobs in jobs_by_learner(learned).items():
        orders = dict.fromkeys(result.job.order for result in jobs)
        by_run = {(result.job.seed, result.job.order): result for result in jobs if result.rewound}
        seeds = [
            seed
            for seed in dict.fromkeys(result.job.seed for result in jobs)
            if by_run.keys() >= set(product([seed], orders))
        ]
        if seeds:
            yield learner, [by_run[run] for run in product(seeds, orders)]


def _of_learner(runs: Results, score: str, hybrids: int) -> Iterator[Row]:
    """Yield the rows of one learner."""
    seeds = len({run.job.seed for run in runs})
    orders = [run.job.tasks for run in runs[: len(runs) // seeds]]
    test, features = runs[0].test, runs[0].features
    if test is None:
        return
    by_position: dict[int, Position] = {}
    for j in sorted(set.intersection(*(set(run.rewound) for run in runs))):
        pairs = [StoredPair(run=run, position=j, score=score, hybrids=hybrids) for run in runs]
        # The same for every score.
        reasons = [replace(pair, score="accuracy").withheld for pair in pairs]
        positions = [
            pair.position_values(reason) for pair, reason in zip(pairs, reasons, strict=True)
        ]
        by_position[j] = Position.stacked(positions, (seeds, len(orders)))
    layout = layout_of(test, orders)
    study = Study(
        tasks=layout.tasks,
        orders=layout.orders,
        is_accuracy=score == "accuracy",
        margin=MARGIN if score == "accuracy" else 0.0,
        trainings=count_trainings(runs),
    )
    for row in study.rows(by_position):
        feature = row["feature"]
        yield {**row, "depth": 1 + features.index(feature) if feature in features else None}


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return np.asarray(measurement.predicted[head] == measurement.test.labels, dtype=np.float64)
