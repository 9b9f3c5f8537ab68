"""The predictions of a study or an analysis: a row for each test example and measurement."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from probe.arrays import Arrays
from probe.by_layer.jobs import Job, jobs_of, keys_of
from probe.by_layer.measurement import HALF, Measurements, from_arrays, to_arrays
from probe.by_layer.plan import CONTROLS, Plan
from probe.immutable import immutable
from probe.results.predictions import Predictions
from probe.results.run_directory import read_plan, store_of

COLUMNS = (
    "learner",
    "order",
    "seed",
    "tasks_seen",
    "feature",
    "readout",
    "head",
    "example",
    "task_position",
    "label",
    "predicted",
)


@immutable(eq=False)
class Records:
    """The measurements of a plan, by the name of the job and the key of the measurement."""

    plan: Plan
    measurements: Mapping[str, Measurements]

    @classmethod
    def read(cls, root: Path) -> Self:
        """Read all finished measurements of a run directory; raises InputError without a plan."""
        plan = read_plan(root)
        stores = {job.name: store_of(plan, root, job) for job in jobs_of(plan)}
        return cls(
            plan=plan,
            measurements={name: s.measurements() for name, s in stores.items()},
        )

    @property
    def of_one_training(self) -> bool:
        """Whether all networks come from the same training, so that seeds are retrainings."""
        learners = self.plan.learners.values()
        runs = [learner for learner in learners if learner.kind not in CONTROLS]
        hashes = [list(learner.weight_hashes.values()) for learner in learners]
        same_weights = all(run == seeds[0] for seeds in hashes for run in seeds)
        one_run = len(runs) == len(self.plan.orders) == 1
        return one_run and same_weights and bool(runs[0].weight_hashes)

    def predictions(self) -> Predictions:
        """Return the predictions in the measurements."""
        return Predictions.of(
            self.plan,
            ((job, self.measurements[job.name]) for job in jobs_of(self.plan)),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the predictions as a frame, see `probe.predictions`."""
        frames = [frame for job in jobs_of(self.plan) for frame in self._frames(job)]
        table = pd.concat(frames or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)
        return table.astype(
            dict.fromkeys(
                ["learner", "order", "feature", "readout", "head"], "category"
            )
        )

    def _frames(self, job: Job) -> Iterator[pd.DataFrame]:
        """Yield a frame of the predictions under each head of each measurement of a job."""
        measurements = self.measurements.get(job.name, {})
        output = self.plan.learners[job.learner].features[-1]
        position_of_task = 1 + np.argsort(job.tasks)
        n_classes = len({label for task in self.plan.tasks for label in task.classes})
        keys = [] if job.without else keys_of(self.plan, job)
        for key in filter(measurements.__contains__, keys):
            measurement = measurements[key]
            for head in measurement.predicted.keys() - {HALF}:
                predicted = measurement.predicted[head]
                # Hybrids are tested on some examples only.
                tested = np.flatnonzero(predicted < n_classes)
                columns = {
                    **job.columns,
                    "tasks_seen": key.tasks_seen,
                    "feature": key.feature or output,
                    "readout": str(key.readout),
                    "head": head,
                    "example": tested,
                    "task_position": position_of_task[measurement.test.tasks[tested]],
                    "label": measurement.test.labels[tested],
                    "predicted": predicted[tested].astype(np.int64),
                }
                yield pd.DataFrame(columns, columns=COLUMNS)

    def to_arrays(self) -> Arrays:
        """Return the measurements as arrays, by job and name; `from_saved` is the inverse."""
        return {
            f"{job}/{name}": array
            for job, measurements in self.measurements.items()
            for name, array in (to_arrays(measurements) if measurements else {}).items()
        }

    @classmethod
    def from_saved(cls, plan: Mapping[str, Any], arrays: Arrays) -> Self:
        """Read records from a plan's JSON values and the arrays of `to_arrays`.

        Args:
            plan: The JSON values.
            arrays: The arrays.

        Returns:
            The records.

        Raises:
            KeyError, ValueError, TypeError, IndexError: The values are damaged or
                inconsistent.
        """
        by_job: dict[str, Arrays] = {}
        for path, array in arrays.items():
            job, _, name = path.partition("/")
            by_job.setdefault(job, {})[name] = array
        checked = Plan.model_validate(plan)
        if missing := {job.name for job in jobs_of(checked)} - by_job.keys():
            raise ValueError(f"no measurements of {missing}")
        return cls(
            plan=checked, measurements={job: from_arrays(by_job[job]) for job in by_job}
        )
