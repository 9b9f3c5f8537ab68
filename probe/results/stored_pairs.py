"""Pairs of an earlier and the last network of a run, from their stored predictions."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from probe.arrays import Array, Bools, Floats
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Measurement
from probe.immutable import immutable
from probe.notes import RECORDED
from probe.results.predictions import Predictions, main_head
from probe.rewinding.correspondence import correspondence_doubt, relations_in
from probe.rewinding.estimates import Quantities
from probe.rewinding.hybrids import Rewinding
from probe.rewinding.pairs import deficit_doubt, law_failure, quantities_of
from probe.stored_names import blocks_in, name_of_blocks

StoredPairs = Mapping[str, Mapping[int, "StoredPair"]]
"""Pairs by the job's name and the number of tasks that the earlier network has learned."""


@immutable(eq=False)
class StoredPair:
    """An earlier and the last network of a job.

    Attributes:
        predictions: The predictions of all jobs.
        job: The job of the networks.
        j: The number of tasks that the earlier network has learned.
        saved: The test of the earlier network as it was saved, None if it is missing.
        rewound: The tests of the last network with blocks of the earlier one.
    """

    predictions: Predictions
    job: Job
    j: int
    saved: Measurement | None
    rewound: Measurement

    @cached_property
    def broken_law(self) -> str:
        """The reason why all blocks put back do not give the earlier network.

        Predictions are compared where the class competes after all tasks. It is empty
        if the law of rewinding holds, or nothing can be compared.
        """
        head = "multi" if main_head(self.job) == "multi" else "all"
        if self.saved is None or head not in self.saved.predicted:
            return ""
        if any(note.startswith(RECORDED) for note in self.saved.notes):
            return (
                "its file does not predict what was recorded: files hold no attributes"
            )
        saved = self.saved.predicted[head]
        compared = self.of_task & np.isin(saved, self._competing)
        put_back, _ = self.predicted
        return law_failure(saved[compared], put_back[compared], self.rewound.notes)

    @property
    def predicted(self) -> tuple[Array, Array]:
        """The predicted classes, (N,): with all blocks put back, and with none."""
        by_blocks = self.rewound.predicted
        everything = max(by_blocks, key=lambda name: len(blocks_in(name)))
        return by_blocks[everything], by_blocks[name_of_blocks(())]

    @cached_property
    def doubt(self) -> str:
        """The reason why nothing can be said of the blocks, empty if something can."""
        rewinding = self._rewinding("accuracy")
        *features, _ = self.predictions.features(self.job)
        hidden = [name for name in features if name in rewinding.blocks]
        chance = 1 / len(set(self._competing))
        relations = relations_in(self.rewound.values)
        return correspondence_doubt(relations, hidden) or deficit_doubt(
            rewinding, chance
        )

    def quantities(self, score: str) -> Quantities:
        """Return the quantities of every test example, as far as they are known.

        Args:
            score: `accuracy` or `loss`.
        """
        saved = None
        if self.saved:
            saved = _scores(self.saved, main_head(self.job), score)
        return quantities_of(
            self._rewinding(score),
            self.predictions.blocks(self.job),
            saved,
            self.broken_law,
            self.doubt,
        )

    @property
    def of_task(self) -> Bools:
        """Whether each test example is of the earlier network's task."""
        return np.asarray(self.rewound.test.tasks == self.job.tasks[self.j - 1])

    @property
    def _competing(self) -> list[int]:
        """The classes that compete after all tasks."""
        return [label for task in self.predictions.classes(self.job) for label in task]

    def _rewinding(self, score: str) -> Rewinding:
        """Return the scores of the last network by the set of blocks that was put back."""
        return Rewinding(
            scores={
                blocks_in(name): _scores(self.rewound, name, score)
                for name in self.rewound.predicted
            },
            of_task=self.of_task,
            limit=self.predictions.plan.hybrids,
            seed=self.job.seed,
        )


def stored_pairs(predictions: Predictions) -> StoredPairs:
    """Return the pairs of networks of all runs."""
    pairs: dict[str, dict[int, StoredPair]] = {}
    for job in predictions.runs:
        tested = predictions.output_tests(job)
        pairs[job.name] = {
            j: StoredPair(
                predictions=predictions,
                job=job,
                j=j,
                saved=tested.get(j),
                rewound=rewound,
            )
            for j, rewound in predictions.hybrid_tests(job).items()
        }
    return pairs


def without_broken_laws(predictions: Predictions, pairs: StoredPairs) -> Predictions:
    """Return predictions without readouts of networks that break the law of rewinding."""
    remaining = dict(predictions.with_blocks)
    for name, of_job in pairs.items():
        broken = {j for j, pair in of_job.items() if pair.broken_law}
        remaining[name] = {
            key: row
            for key, row in predictions.with_blocks[name].items()
            if key.readout.since not in broken
        }
    return replace(predictions, with_blocks=remaining)


def _scores(measurement: Measurement, head: str, score: str) -> Floats:
    """Return the score of each test example, higher is better."""
    if score == "loss":
        return -measurement.loss[head].astype(np.float64)
    return np.asarray(
        measurement.predicted[head] == measurement.test.labels, dtype=np.float64
    )
