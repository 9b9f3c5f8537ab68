"""The jobs of a study, one for each learner, order and seed, and the parts of a job.

A job is the unit of work: one process does it from beginning to end, and its results lie in one
folder. A part is the unit of results: one evaluation, stored in one file. Both lists follow from
the study and the number of tasks alone, so every process of a cluster comes to the same ones
without asking the others, and the same names mean the same work.
"""

from __future__ import annotations

from dataclasses import dataclass

from probe.errors import InputError
from scenarios.learners.catalog import LEARNERS
from scenarios.streams.orders import orders
from scenarios.study.spec import Study

MOST_JOBS = 100_000
"""The most jobs that a study may have: more is a slip of the pen."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One cell of a study's grid.

    learner: its name in the study; kind: which learner that is, by its name in the catalog;
    order: the order's name, empty for offline training; tasks: the T tasks in executed order, by
    their index in the base order, from 0; seed: from 0.
    """

    learner: str
    kind: str
    order: str
    tasks: tuple[int, ...]
    seed: int

    @property
    def offline(self) -> bool:
        """Whether the learner learns all tasks at once."""
        return LEARNERS[self.kind].offline

    @property
    def name(self) -> str:
        """A name that no other job of the study has; also that of its folder.

        >>> Job(learner="er", kind="er", order="2", tasks=(1, 0), seed=3).name
        'er.order-2.seed-3'
        """
        order = f"order-{self.order}." if self.order else ""
        return f"{self.learner}.{order}seed-{self.seed}"


def jobs_of(study: Study, tasks: int) -> list[Job]:
    """Return the study's jobs: every learner, order and seed; offline once per seed.

    tasks: T. They come seed by seed, so that a study that is stopped early has all learners for its
    first seeds. Raises InputError for more than MOST_JOBS, and for orders that do not fit T tasks.
    """
    named = orders(study.orders, tasks)
    # Offline training sees all tasks at once: an order would only repeat it.
    base = {"": tuple(range(tasks))}
    own = {
        learner: base if LEARNERS[settings.kind].offline else named
        for learner, settings in study.learners.items()
    }
    # Counted before they are made: a million jobs would take the memory first.
    count = study.seeds * sum(map(len, own.values()))
    if count > MOST_JOBS:
        raise InputError(
            f"{study.name} has {count} jobs, one for each learner, order and seed, expected no "
            f"more than {MOST_JOBS}: lower seeds or the number of orders"
        )
    return [
        Job(learner=learner, kind=study.learners[learner].kind, order=order, tasks=t, seed=seed)
        # Seeds outermost: a study that is stopped early has every learner for its first seeds.
        for seed in range(study.seeds)
        for learner, executed in own.items()
        for order, t in executed.items()
    ]


def parts_of(study: Study, job: Job) -> list[str]:
    """Return the names of a job's parts, in the order in which they are finished.

    `step-i`: the evaluation after i tasks, i from 0 to T (offline: only before and after all);
    `feature-NAME`: that of the model retrained behind a feature (not for offline). There is none
    for the output, the last of a network's features: behind it nothing is left to retrain.
    """
    tasks = len(job.tasks)
    if job.offline:
        return ["step-0", f"step-{tasks}"]
    steps = [f"step-{i}" for i in range(tasks + 1)]
    return steps + [f"feature-{feature}" for feature in study.features_of(job.learner)[:-1]]
