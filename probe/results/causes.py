"""The causes of forgetting, from stored predictions: by task position, with intervals and verdicts.

Over the test examples of each earlier task: forgotten = competition + lost, where
competition = R[j, j] minus the score of the last network with all blocks put back,
among the classes that compete after all tasks; what is attributed to the blocks adds up
to lost. See `probe.rewinding.hybrids`. A seed counts once all of its orders are
finished.
"""

from collections.abc import Iterator
from itertools import product
from typing import cast

import numpy as np

from probe.analysis.statements import MARGIN
from probe.results.layers import learners_jobs
from probe.results.result import Results, count_trainings
from probe.results.stored_pairs import stored_position
from probe.rewinding.estimates import Position, Study
from probe.tables.schemas import Row
from probe.tasks import TestExamples

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
            if reason := stored_position(result, j, "accuracy", hybrids).withheld:
                yield {
                    **result.job.columns,
                    "tasks_seen": result.job.last,
                    "note": WITHHELD.format(j, reason),
                }


def _complete(results: Results) -> Iterator[tuple[str, Results]]:
    """Yield the runs of each learner, of seeds with all orders, by seed and order."""
    for learner, jobs in learners_jobs(results).items():
        orders = dict.fromkeys(result.job.order for result in jobs)
        by_run = {
            (result.job.seed, result.job.order): result
            for result in jobs
            if result.rewound
        }
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
    features = runs[0].features
    by_position: dict[int, Position] = {}
    for j in sorted(set.intersection(*(set(run.rewound) for run in runs))):
        positions = [stored_position(run, j, score, hybrids) for run in runs]
        by_position[j] = Position.stacked(positions, (seeds, len(orders)))
    study = Study(
        tasks=cast(TestExamples, runs[0].test).tasks,
        orders=np.array(orders),
        is_accuracy=score == "accuracy",
        margin=MARGIN if score == "accuracy" else 0.0,
        trainings=count_trainings(runs),
    )
    for row in study.rows(by_position):
        feature = row["feature"]
        yield {
            **row,
            "depth": 1 + features.index(feature) if feature in features else None,
        }
