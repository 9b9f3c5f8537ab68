"""The jobs of a study, one for each learner, order and seed, and the parts of a job.

A job is the unit of work: one process does it from beginning to end, and its results lie in one
folder. A part is the unit of results: one evaluation, stored in one file. Both lists follow from
the study and the number of tasks alone, so every process of a cluster comes to the same ones
without asking the others, and the same names mean the same work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from probe.by_layer.probing import DIAGNOSTICS, Reading, digest_of, recorded, settings_record
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.readouts.pooling import WIDE
from scenarios.learners.catalog import LEARNERS
from scenarios.own_code import source_of
from scenarios.streams.orders import orders
from scenarios.study.spec import Study

MOST_JOBS = 100_000
"""The most jobs that a study may have: more is a slip of the pen."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One cell of a study's grid.

    learner: its name in the study; kind: which learner that is, by its name in the catalog;
    order: the order's name, empty for offline training; tasks: the T tasks in executed order, by
    their index in the base order, from 0; seed: from 0; given: after how many tasks there is a
    network, where networks are given and not trained here; empty = after each.
    """

    learner: str
    kind: str
    order: str
    tasks: tuple[int, ...]
    seed: int
    given: tuple[int, ...] = ()

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
    first seeds. Raises InputError for more than MOST_JOBS, and for orders and steps that do not fit
    T tasks.
    """
    named, everyone = orders(study.orders, tasks), study.everyone
    for readout in study.probing.readouts:
        study.probing.at(readout, tasks)
    # Offline training sees all tasks at once: an order would only repeat it.
    base = {"": tuple(range(tasks))}
    own = {
        learner: base if LEARNERS[settings.kind].offline else named
        for learner, settings in everyone.items()
    }
    # Counted before they are made: a million jobs would take the memory first.
    count = len(study.each_seed) * sum(map(len, own.values()))
    if count > MOST_JOBS:
        raise InputError(
            f"{study.name} has {count} jobs, one for each learner, order and seed, expected no "
            f"more than {MOST_JOBS}: lower seeds or the number of orders"
        )
    return [
        Job(
            learner=learner,
            kind=everyone[learner].kind,
            order=order,
            tasks=t,
            seed=seed,
            given=tuple(sorted(everyone[learner].given(order, seed))),
        )
        # Seeds outermost: a study that is stopped early has every learner for its first seeds.
        for seed in study.each_seed
        for learner, executed in own.items()
        for order, t in executed.items()
    ]


def parts_of(study: Study, job: Job) -> list[str]:
    """Return the names of a job's parts, in the order in which they are finished.

    `step-i`: the evaluation after i tasks, i from 0 to T (offline: only before and after all,
    untrained only before); after each of them the readings of that step, see `readings_of`.
    """
    readings = readings_of(study, job)
    parts: list[str] = []
    for step in steps_of(job):
        parts.append(f"step-{step}")
        parts += [each.part for each in readings if each.step == step]
    return parts


def is_retraining(part: str) -> bool:
    """Whether a part is partial retraining, by its name.

    >>> is_retraining("feature-conv1"), is_retraining("row-2.conv1.linear-0123abcd")
    (True, False)
    """
    return part.startswith("feature-") or f".{RETRAIN}" in part


def steps_of(job: Job) -> tuple[int, ...]:
    """Return after how many tasks a job is evaluated."""
    tasks = len(job.tasks)
    if job.offline:
        return (0,) if job.kind == "untrained" else (0, tasks)
    # Before any task there always is one: it is made where it is not given.
    return tuple(sorted({0, *job.given})) if job.given else tuple(range(tasks + 1))


def readings_of(study: Study, job: Job) -> list[Reading]:
    """Return what is measured behind the features of a job, for each but the output.

    Behind the output nothing is left to train: what stands there is the evaluation itself. Floor
    and ceiling are those of `untrained` and `offline`; a learner that brings its own network has a
    floor of its own, and no ceiling.
    """
    probing, T = study.probing, len(job.tasks)
    features = study.features_of(job.learner)[:-1]
    readings = []
    for readout in probing.readouts:
        level, steps = probing.at(readout, T)
        if job.offline:
            steps = steps_of(job)[-1:] if level else ()
        elif level and LEARNERS[job.kind].own_features:
            steps = (0, *steps)
        steps = tuple(step for step in steps if step in steps_of(job))
        for step, name, feature in product(steps, probing.variants(readout), features):
            reading = Reading(step=step, feature=feature, readout=name)
            readings.append(replace(reading, digest=_digest(study, job, reading)))
    if probing.diagnostics and readings:
        digest = digest_of(_similar_to(study, job))
        last = Reading(step=steps_of(job)[-1], feature="", readout=DIAGNOSTICS, digest=digest)
        readings += [replace(last, feature=feature) for feature in features]
    return readings


def peers_of(study: Study, job: Job) -> list[str]:
    """Return with what networks a job's last one is compared: those of steps, and levels by name.

    The network before any task is `untrained`.
    """
    after = [f"step-{step}" for step in steps_of(job)[1:-1]]
    own = bool(LEARNERS[job.kind].own_features)
    offline = ["offline"] if "offline" in study.learners and not (own or job.offline) else []
    untrained = [] if job.kind == "untrained" else ["untrained"]
    return [*after, *untrained, *offline]


def _similar_to(study: Study, job: Job) -> dict[str, object]:
    """Return what decides a job's similarities beside its fingerprint."""
    peers = peers_of(study, job)
    if "offline" in peers:
        given = study.everyone["offline"].given("", job.seed)
        if given:
            return {"similar to": peers, "offline": {str(k): g.hash for k, g in given.items()}}
        recipe = recorded(study.recipe_of("offline"))
        # By the job's own recipe, as the fingerprint has it, it is one network.
        if recipe != recorded(study.recipe_of(job.learner)):
            return {"similar to": peers, "offline": recipe}
    return {"similar to": peers}


def _digest(study: Study, job: Job, reading: Reading) -> str:
    """Return what tells a reading's settings from others, empty where the fingerprint does."""
    settings = study.probing.settings_of(reading.base)
    if settings is not None:
        source = source_of("readout", reading.base)
        record = {reading.base: settings_record(settings), "wide": WIDE}
        return digest_of(record if source is None else {**record, "source": source})
    last = not job.offline and reading.step == len(job.tasks)
    if last and reading.readout == RETRAIN:
        return ""
    return digest_of({RETRAIN: recorded(study.retraining_recipe), "storage": study.storage})
