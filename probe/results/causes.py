"""The causes of forgetting, from stored predictions: by task position, with intervals and verdicts.

Over the test examples of each earlier task, forgotten = competition + lost:

- competition is R[j, j] minus the score of the last network with all blocks put back,
  among the classes that compete after all tasks
- lost is the rest, the sum of what is attributed to the blocks

See `probe.rewinding.hybrids`. A seed counts once all of its orders are finished.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from probe.analysis.statements import MARGIN
from probe.by_layer.jobs import Job
from probe.results.predictions import Predictions, count_trainings, note_row
from probe.results.stored_pairs import StoredPairs
from probe.rewinding.estimates import Estimation, Quantities
from probe.tables.schemas import Row

WITHHELD = "causes withheld after task {}: {}"
"""The note on a pair of networks of which nothing can be said."""


def cause_rows(
    predictions: Predictions, jobs: Sequence[Job], pairs: StoredPairs
) -> Iterator[Row]:
    """Yield the rows of `causes` of a learner, by score.

    Args:
        predictions: The predictions of all jobs.
        jobs: The jobs of the learner.
        pairs: The pairs of networks of all jobs.
    """
    complete = _complete(jobs, pairs)
    for score in ("accuracy", "loss") if complete else ():
        for row in _of_score(
            predictions,
            complete,
            pairs,
            score,
        ):
            yield {"learner": jobs[0].learner, "score": score, **row}


def withheld_notes(predictions: Predictions, pairs: StoredPairs) -> Iterator[Row]:
    """Yield a note on each pair of networks on which no cause can be stated."""
    for job in predictions.runs:
        for j, pair in pairs[job.name].items():
            if reason := pair.broken_law or pair.doubt:
                note = WITHHELD.format(j, reason)
                yield note_row(job, job.last, note)


def _complete(jobs: Sequence[Job], pairs: StoredPairs) -> list[Job]:
    """Return a learner's jobs, by seed and order, of the seeds whose orders are all finished."""
    orders = dict.fromkeys(job.order for job in jobs)
    job_of_run = {(job.seed, job.order): job for job in jobs if pairs[job.name]}
    seeds = [
        seed
        for seed in dict.fromkeys(job.seed for job in jobs)
        if job_of_run.keys() >= set(product([seed], orders))
    ]
    return [job_of_run[run] for run in product(seeds, orders)]


def _of_score(
    predictions: Predictions, jobs: Sequence[Job], pairs: StoredPairs, score: str
) -> Iterator[Row]:
    """Yield the rows of one learner by one score."""
    seeds = len({job.seed for job in jobs})
    orders = [job.tasks for job in jobs[: len(jobs) // seeds]]
    features = predictions.features(jobs[0])
    of_jobs = [pairs[job.name] for job in jobs]
    by_position: dict[int, Quantities] = {}
    for j in sorted(set.intersection(*map(set, of_jobs))):
        of_runs = [of_job[j].quantities(score) for of_job in of_jobs]
        by_position[j] = Quantities.stacked(of_runs, (seeds, len(orders)))
    estimation = Estimation(
        tasks=predictions.test_examples.tasks,
        orders=np.array(orders),
        is_accuracy=score == "accuracy",
        margin=MARGIN if score == "accuracy" else 0.0,
        trainings=count_trainings(jobs),
    )
    for row in estimation.rows(by_position):
        feature = row["feature"]
        depth = 1 + features.index(feature) if feature in features else None
        yield {**row, "depth": depth}
