"""Pairs of an earlier and the last network of a run, from their stored predictions."""

from dataclasses import replace

import numpy as np

from probe.analysis.variance import Floats
from probe.by_layer.measurement import Measurement
from probe.notes import RECORDED
from probe.results.result import JobResult, main_head
from probe.rewinding.correspondence import relations_in, unrelated
from probe.rewinding.estimates import Position
from probe.rewinding.hybrids import Rewinding
from probe.rewinding.pairs import deficit_doubt, law_failure, position_of
from probe.stored_names import blocks_in


def stored_position(run: JobResult, j: int, score: str, hybrids: int) -> Position:
    """Return the quantities of every test example for the network after one task.

    Args:
        run: The result of a run.
        j: The position of the task.
        score: `accuracy` or `loss`.
        hybrids: The most sets of blocks that were put back.
    """
    learned = run.tested.get(j)
    saved = _scores(learned, main_head(run.job), score) if learned else None
    result = _rewinding(run, j, score, hybrids)
    return position_of(
        result, run.blocks, saved, broken_law(run, j), _doubt(run, j, hybrids)
    )


def lawful(run: JobResult) -> JobResult:
    """Return a result without readouts of networks for which the law of rewinding fails."""
    broken = {j for j in run.rewound if broken_law(run, j)}
    remaining = [key for key in run.with_blocks if key.readout.since not in broken]
    return replace(run, with_blocks={key: run.with_blocks[key] for key in remaining})


def broken_law(run: JobResult, j: int) -> str:
    """Return why the last network with all blocks put back is not the earlier one.

    Predictions are compared where the class competes after all tasks.

    Args:
        run: The result of a run.
        j: The position of the earlier network's task.

    Returns:
        The reason; empty if the law of rewinding holds, or nothing can be compared.
    """
    tested = run.tested.get(j)
    rewound = run.rewound.get(j)
    head = "multi" if main_head(run.job) == "multi" else "all"
    if tested is None or rewound is None or head not in tested.predicted:
        return ""
    if any(note.startswith(RECORDED) for note in tested.notes):
        return "its file does not predict what was recorded: files hold no attributes"
    competing = [label for _, classes in run.tasks for label in classes]
    saved = tested.predicted[head]
    compared = (rewound.test.tasks == run.job.tasks[j - 1]) & np.isin(saved, competing)
    everything = max(rewound.predicted, key=lambda name: len(blocks_in(name)))
    put_back = rewound.predicted[everything]
    return law_failure(saved[compared], put_back[compared], rewound.notes)


def _doubt(run: JobResult, j: int, hybrids: int) -> str:
    """Return why nothing can be said of the blocks of two networks, empty if something can."""
    result = _rewinding(run, j, "accuracy", hybrids)
    hidden = [name for name in run.features[:-1] if name in result.blocks]
    labels = {label for _, classes in run.tasks for label in classes}
    relations = relations_in(run.rewound[j].values)
    return unrelated(relations, hidden) or deficit_doubt(result, 1 / len(labels))


def _rewinding(run: JobResult, j: int, score: str, hybrids: int) -> Rewinding:
    """Return the scores of the last network by the set of blocks that was put back."""
    rewound = run.rewound[j]
    return Rewinding(
        scores={
            blocks_in(name): _scores(rewound, name, score) for name in rewound.predicted
        },
        of_task=rewound.test.tasks == run.job.tasks[j - 1],
        limit=hybrids,
        seed=run.job.seed,
    )


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return np.asarray(
        measurement.predicted[head] == measurement.test.labels, dtype=np.float64
    )
