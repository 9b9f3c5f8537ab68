"""The layers of learners: the terms of each feature's quantities, stacked over jobs.

Correctness is stacked as seeds x orders x test examples, in base order. A seed counts
once all of its orders, its floor and its ceiling are finished.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from probe.analysis.intervals import Estimate
from probe.analysis.quantities import Right, Terms, columns_of, quantities
from probe.by_layer.jobs import Job
from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.immutable import immutable
from probe.results.predictions import Predictions, Rows, count_trainings, main_head
from probe.stored_names import PutBack, ReadoutName
from probe.tables.schemas import NETWORK, TRAINING, Row
from probe.tasked_examples import TaskOrders


@immutable(eq=False)
class Layer:
    """One feature of a learner's network, with the predictions of one readout.

    Attributes:
        learner: Name of the learner.
        readout: Name of the readout.
        feature: Name of the feature.
        depth: Depth of the feature, from 1.
        seeds: The S seeds of the terms.
        terms: The correctness of each test example.
        converged: Whether all trainings of the readout converged, including those of
            floor and ceiling, which the difference depends on.
        chance: The accuracy of guessing, only at the output.
    """

    learner: str
    readout: str
    feature: str
    depth: int
    seeds: tuple[int, ...]
    terms: Terms
    converged: bool = True
    chance: float | None = None

    @cached_property
    def quantities(self) -> Mapping[tuple[str, int | None], Estimate]:
        """The quantities that the terms allow, by name and task position."""
        return quantities(self.terms)

    @property
    def scope(self) -> str:
        """Whom the intervals speak of, as in `probe.tables.schemas.SCOPES`."""
        return TRAINING if self.terms.of_training else NETWORK

    @property
    def columns(self) -> Row:
        """The columns of tables that name the layer."""
        return {
            "learner": self.learner,
            "readout": self.readout,
            "feature": self.feature,
            "depth": self.depth,
            "scope": self.scope,
        }

    def rows(self) -> Iterator[Row]:
        """Yield a row for each quantity, and the accuracy of guessing where it is known."""
        for (name, position), estimate in self.quantities.items():
            yield {**self.columns, **columns_of(name, position, estimate)}
        if self.chance is not None:
            yield {
                **self.columns,
                "quantity": "chance",
                "value": self.chance,
                "seeds": len(self.seeds),
            }


def layers_of(predictions: Predictions) -> Iterator[Layer]:
    """Yield the layers of each learner that have a finished seed, by readout and depth."""
    for jobs in predictions.by_learner().values():
        for readout, feature in product(
            predictions.readouts_of(jobs), predictions.features(jobs[0])
        ):
            stack = _Stack(
                predictions=predictions,
                jobs=jobs,
                readout=readout,
                feature=feature,
            )
            if stack.seeds:
                yield stack.layer()


@immutable(eq=False)
class _Stack:
    """The rows of one layer of a learner, by seed and order, and those of its controls."""

    predictions: Predictions
    jobs: Sequence[Job]
    readout: str
    feature: str

    @property
    def first_job(self) -> Job:
        """The first job, of a network as all others have."""
        return self.jobs[0]

    @cached_property
    def orders(self) -> TaskOrders:
        """The tasks of each order."""
        return {job.order: job.tasks for job in self.jobs}

    @cached_property
    def rows(self) -> dict[tuple[int, str], Rows]:
        """The rows of A by seed and order."""
        return {
            (job.seed, job.order): self.predictions.rows(
                job, self.feature, self.readout
            )
            for job in self.jobs
        }

    @cached_property
    def controls(self) -> dict[str, Rows]:
        """The last row of floor and ceiling by seed, if there are any.

        A learner with its own network has layers that the controls lack, and its own
        floor.
        """
        controls: dict[str, Rows] = {}
        for job in self.predictions.runs:
            if job.kind in CONTROLS and not self.first_job.own_network:
                row = self._control(job, self.feature)
                if row is not None:
                    controls.setdefault(job.kind, {})[job.seed] = row
        return controls

    def _control(self, control: Job, feature: str) -> int | None:
        """Return the last row of a control, under the head of the learner."""
        head = main_head(self.first_job)
        return self.predictions.at_end(control, feature, self.readout, head)

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds whose orders and controls are all finished."""
        T = len(self.first_job.tasks)
        return [
            seed
            for seed in dict.fromkeys(job.seed for job in self.jobs)
            if all(T in self.rows.get((seed, order), {}) for order in self.orders)
            and all(seed in row_of_seed for row_of_seed in self.controls.values())
        ]

    @cached_property
    def runs(self) -> list[tuple[int, str]]:
        """The seeds and orders that are stacked."""
        return list(product(self.seeds, self.orders))

    @cached_property
    def steps(self) -> list[int]:
        """The numbers of tasks after which every run is measured."""
        return sorted(set.intersection(*(set(self.rows[run]) for run in self.runs)))

    def layer(self) -> Layer:
        """Return the layer."""
        job = self.first_job
        features = self.predictions.features(job)
        used = [self.rows[run][step] for run in self.runs for step in self.steps]
        used += [rows[seed] for rows in self.controls.values() for seed in self.seeds]
        converged = self.predictions.converged
        is_output = self.feature == features[-1]
        return Layer(
            learner=job.learner,
            readout=self.readout,
            feature=self.feature,
            depth=1 + features.index(self.feature),
            # A retraining need not converge: its accuracy is that of its budget.
            converged=ReadoutName.parse(self.readout).is_retraining
            or all(converged[row] for row in used),
            chance=_chance(self.predictions, job, self.readout) if is_output else None,
            terms=self._terms(used),
            seeds=tuple(self.seeds),
        )

    def _terms(self, used: Iterable[int]) -> Terms:
        has_half = not self.predictions.right_at_half.keys().isdisjoint(used)
        measured = self._measured_terms()
        return replace(
            measured,
            upstream=self._with_blocks(PutBack.UPSTREAM, measured.after),
            block=self._with_blocks(PutBack.BLOCK, measured.after),
            half=self._measured_terms(at_half=True) if has_half else None,
        )

    def _measured_terms(self, *, at_half: bool = False) -> Terms:
        """Return the terms of the networks themselves and of the controls."""

        def right(rows: Iterable[int]) -> Right:
            return np.array(
                [self.predictions.correct(row, at_half=at_half) for row in rows]
            )

        shape = len(self.seeds), len(self.orders), -1
        after = {
            step: right(self.rows[run][step] for run in self.runs).reshape(shape)
            for step in self.steps
        }
        of_control = {
            kind: right(rows[seed] for seed in self.seeds)
            for kind, rows in self.controls.items()
        }
        floor = of_control.get(UNTRAINED)
        if self.first_job.own_network and 0 in after:
            # The untrained network of a seed is the same in all orders.
            floor = after[0][:, 0]
        stacked = [job for job in self.jobs if job.seed in self.seeds]
        return Terms(
            tasks=self.predictions.example_tasks,
            orders=np.array(list(self.orders.values())),
            after=after,
            floor=floor,
            ceiling=of_control.get(OFFLINE),
            offline=self._offline_outputs(right),
            trainings=count_trainings(stacked),
        )

    def _offline_outputs(self, right: Callable[[Iterable[int]], Right]) -> Right | None:
        """Return the correctness (S, n) of the offline networks themselves, None if one is missing.

        A task-aware readout is compared with their output among the classes of a task.
        """
        if self.first_job.own_network:
            return None
        rows = {
            job.seed: self._control(job, self.predictions.features(job)[-1])
            for job in self.predictions.runs
            if job.kind == OFFLINE
        }
        outputs = [row for seed in self.seeds if (row := rows.get(seed)) is not None]
        return right(outputs) if len(outputs) == len(self.seeds) else None

    def _with_blocks(
        self, blocks: PutBack, after: Mapping[int, Right]
    ) -> dict[int, Right]:
        """Return correctness with blocks put back, by the earlier network's number of tasks."""
        if self.feature == self.predictions.features(self.first_job)[0]:
            return self._with_nothing_upstream(blocks, after)
        wanted = self.feature, self.readout, blocks
        name_of_run = {(job.seed, job.order): job.name for job in self.jobs}
        rows_of_runs: list[Rows] = []
        for run in self.runs:
            rows = Rows()
            for key, row in self.predictions.with_blocks[name_of_run[run]].items():
                name = key.readout
                if (key.feature, name.planned, name.put_back) == wanted:
                    rows[name.since] = row
            rows_of_runs.append(rows)
        shape = len(self.seeds), len(self.orders), -1
        correct: dict[int, Right] = {}
        for since in set.intersection(*map(set, rows_of_runs)):
            correct[since] = np.array(
                [self.predictions.correct(rows[since]) for rows in rows_of_runs]
            ).reshape(shape)
        return correct

    def _with_nothing_upstream(
        self, blocks: PutBack, after: Mapping[int, Right]
    ) -> dict[int, Right]:
        """Return the same of the first feature, which needs no readout with blocks put back.

        No block is upstream of it, so that putting these back gives the last network.
        With its own block put back the feature is that of the earlier network.
        """
        measured = set(after)
        for job in self.jobs:
            # A training that has not ended takes nothing from the others.
            if (job.seed, job.order) in self.runs:
                keys = self.predictions.with_blocks[job.name]
                measured &= {key.readout.since for key in keys}
        last = len(self.first_job.tasks)
        return {
            since: after[last if blocks == PutBack.UPSTREAM else since]
            for since in measured
        }


def _chance(predictions: Predictions, job: Job, readout: str) -> float:
    """Return the accuracy of guessing, among a task's classes if the readout is task-aware."""
    classes = predictions.classes(job)
    if main_head(job) == "multi" or readout in predictions.task_aware_readouts:
        guessed = [1 / len(task) for task in classes]
        return float(np.average(guessed, weights=predictions.test_sizes(job)))
    return 1 / len(set().union(*classes))
