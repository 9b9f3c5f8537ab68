"""Pairs of an earlier and the last network of a run, from their stored predictions."""

from dataclasses import replace

import numpy as np

from probe.analysis.variance import Floats
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Measurement
from probe.notes import RECORDED
from probe.results.predictions import Predictions, main_head
from probe.rewinding.correspondence import relations_in, unrelated
from probe.rewinding.estimates import Position
from probe.rewinding.hybrids import Rewinding
from probe.rewinding.pairs import deficit_doubt, law_failure, position_of
from probe.stored_names import blocks_in


def stored_position(predictions: Predictions, job: Job, j: int, score: str) -> Position:
    """Return the quantities of every test example for the network after one task.

    Args:
        predictions: The predictions of all jobs.
        job: The job of the networks.
        j: The position of the task.
        score: `accuracy` or `loss`.
    """
    learned = predictions.tested(job).get(j)
    saved = _scores(learned, main_head(job), score) if learned else None
    return position_of(
        _rewinding(
            predictions,
            job,
            j,
            score,
        ),
        predictions.blocks(job),
        saved,
        broken_law(predictions, job, j),
        _doubt(predictions, job, j),
    )


def lawful(predictions: Predictions) -> Predictions:
    """Return predictions without readouts of networks for which the law of rewinding fails."""
    remaining = dict(predictions.with_blocks)
    for job in predictions.runs:
        rewound = predictions.rewound(job)
        broken = {j for j in rewound if broken_law(predictions, job, j)}
        remaining[job.name] = {
            key: row
            for key, row in predictions.with_blocks[job.name].items()
            if key.readout.since not in broken
        }
    return replace(predictions, with_blocks=remaining)


def broken_law(predictions: Predictions, job: Job, j: int) -> str:
    """Return why the last network with all blocks put back is not the earlier one.

    Predictions are compared where the class competes after all tasks.

    Args:
        predictions: The predictions of all jobs.
        job: The job of the networks.
        j: The position of the earlier network's task.

    Returns:
        The reason; empty if the law of rewinding holds, or nothing can be compared.
    """
    tested = predictions.tested(job).get(j)
    rewound = predictions.rewound(job).get(j)
    head = "multi" if main_head(job) == "multi" else "all"
    if tested is None or rewound is None or head not in tested.predicted:
        return ""
    if any(note.startswith(RECORDED) for note in tested.notes):
        return "its file does not predict what was recorded: files hold no attributes"
    competing = [label for task in predictions.classes(job) for label in task]
    saved = tested.predicted[head]
    of_task = rewound.test.tasks == job.tasks[j - 1]
    compared = of_task & np.isin(saved, competing)
    everything = max(rewound.predicted, key=lambda name: len(blocks_in(name)))
    put_back = rewound.predicted[everything]
    return law_failure(saved[compared], put_back[compared], rewound.notes)


def _doubt(predictions: Predictions, job: Job, j: int) -> str:
    """Return why nothing can be said of the blocks of two networks, empty if something can."""
    rewinding = _rewinding(
        predictions,
        job,
        j,
        "accuracy",
    )
    *features, _ = predictions.features(job)
    hidden = [name for name in features if name in rewinding.blocks]
    labels = {label for task in predictions.classes(job) for label in task}
    relations = relations_in(predictions.rewound(job)[j].values)
    return unrelated(relations, hidden) or deficit_doubt(rewinding, 1 / len(labels))


def _rewinding(predictions: Predictions, job: Job, j: int, score: str) -> Rewinding:
    """Return the scores of the last network by the set of blocks that was put back."""
    rewound = predictions.rewound(job)[j]
    return Rewinding(
        scores={
            blocks_in(name): _scores(rewound, name, score) for name in rewound.predicted
        },
        of_task=rewound.test.tasks == job.tasks[j - 1],
        limit=predictions.plan.hybrids,
        seed=job.seed,
    )


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return np.asarray(
        measurement.predicted[head] == measurement.test.labels, dtype=np.float64
    )
