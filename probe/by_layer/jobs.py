"""The jobs of a plan, by learner, order, seed and task left out, and the measurements of a job.

A job is the unit of work: one process does it from beginning to end, and its results lie in one
folder. A measurement, known by its key, is the unit of results: the predictions of one readout.
Both lists follow from the plan alone, so every process of a cluster derives the same ones.
"""

from dataclasses import dataclass, replace
from itertools import product
from operator import itemgetter
from typing import Any

from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.by_layer.probing import DIAGNOSTICS, Reading, digest_of, recorded
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.readouts.pooling import WIDE
from probe.registered import spread_over

MOST_JOBS = 100_000
"""The largest number of jobs that a study may have; more is taken for a typing error."""

_OF_LEARNER = {"kind", "steps", "offline", "task_aware", "own_network"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One cell of a plan's grid: a learner, order and seed.

    learner: its name; kind: its kind; order: the order's name, empty for the controls; tasks: the
    T tasks in executed order, by their index in the base order, from 0; seed: from 0; steps: the
    numbers of tasks learned after which its networks are measured; given: whether they are given
    instead of learned here; offline, task_aware, own_network: see `PlannedLearner`; without: the
    position, from 1, of a task that is tested but never learned, 0 for none.
    """

    learner: str
    kind: str
    order: str
    tasks: tuple[int, ...]
    seed: int
    steps: tuple[int, ...] = ()
    given: bool = False
    offline: bool = False
    task_aware: bool = False
    own_network: bool = False
    without: int = 0

    @property
    def name(self) -> str:
        """The job's unique name in the plan, which is also the name of its folder.

        >>> Job(learner="er", kind="er", order="2", tasks=(1, 0), seed=3).name
        'er.order-2.seed-3'
        """
        order = f"order-{self.order}." if self.order else ""
        without = f"without-{self.without}." if self.without else ""
        return f"{self.learner}.{order}{without}seed-{self.seed}"

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of tables that name the job."""
        return {"learner": self.learner, "order": self.order, "seed": self.seed}

    @property
    def last(self) -> int:
        """The number of tasks learned at the job's end."""
        return self.steps[-1]

    def __str__(self) -> str:
        order = f", order {self.order}" if self.order else ""
        without = f", without task {self.without}" if self.without else ""
        return f"learner {self.learner}{order}, seed {self.seed}{without}"


def jobs_of(plan: Plan) -> list[Job]:
    """Return the plan's jobs: every learner, order and seed; floor and ceiling once per seed.

    If networks that never saw a task are asked for, each run has one for each task position.

    They are sorted by seed, so that a study that is stopped early has all learners for its first
    seeds. Raises InputError for more than MOST_JOBS, and for steps that do not fit T tasks.
    """
    for readout in plan.readouts:
        plan.at(readout)
    # Offline training sees all tasks at once: an order would only repeat it.
    base = {"": tuple(range(len(plan.tasks)))}
    orders = {name: base if own.offline else plan.orders for name, own in plan.learners.items()}
    T, excluded = len(plan.tasks), "exclusion" in plan.controls
    left_out = {n: range(1 + T * excluded * (not own.offline)) for n, own in plan.learners.items()}
    # Counted before they are made: a million jobs would exhaust the memory.
    count = len(plan.seeds) * sum(len(own) * len(left_out[name]) for name, own in orders.items())
    if count > MOST_JOBS:
        raise InputError(
            f"{plan.name} has {count} jobs, one for each learner, order and seed, expected no more "
            f"than {MOST_JOBS}: lower seeds or the number of orders"
        )
    fixed = {
        name: {**own.model_dump(include=_OF_LEARNER), "given": bool(own.given)}
        for name, own in plan.learners.items()
    }
    return [
        job if not without else replace(job, without=without, steps=(T,))
        for seed in plan.seeds
        for learner, executed in orders.items()
        for order, tasks in executed.items()
        for job in [Job(learner=learner, order=order, tasks=tasks, seed=seed, **fixed[learner])]
        for without in left_out[learner]
    ]


def keys_of(plan: Plan, job: Job) -> list[Key]:
    """Return the keys of a job's measurements, in the order in which they are made.

    The output of each network comes first, then its readings, see `readings_of`.
    """
    keys = [*map(Key, job.steps), *(reading.key for reading in readings_of(plan, job))]
    return sorted(keys, key=itemgetter(0))


def is_retraining(key: Key) -> bool:
    """Return whether a measurement is partial retraining.

    >>> is_retraining(Key(2, "conv1", "retrain@2")), is_retraining(Key(2, "conv1", "linear"))
    (True, False)
    """
    return key.readout.startswith(RETRAIN)


def readings_of(plan: Plan, job: Job) -> list[Reading]:
    """Return the measurements downstream of a job's features, for each but the output.

    Downstream of the output nothing is left to train: its scores are the evaluation itself. To
    compare with readouts of each task it is evaluated multi-head, as a reading of its own. Floor
    and ceiling are measured in the jobs of `untrained` and `offline`; a learner with a network of
    another architecture has its floor in its own job, and no ceiling.
    """
    *features, output = plan.learners[job.learner].features
    permuted = "labels" in plan.controls and not job.without
    readings = []
    for readout in plan.readouts:
        control, steps = plan.at(readout)
        if plan.readouts[readout].steps == "spread":
            steps = spread_over([tasks_seen for tasks_seen in steps if tasks_seen in job.steps])
        if job.offline:
            steps = job.steps[-1:] if control else ()
        elif control and job.own_network:
            steps = (0, *steps)
        steps = tuple(tasks_seen for tasks_seen in steps if tasks_seen in job.steps)
        fitted = permuted and readout != RETRAIN
        read = [*features, output] if plan.readouts[readout].per_task else features
        for tasks_seen, name, feature in product(steps, plan.variants(readout), read):
            labels = fitted and tasks_seen == job.last and feature != output
            reading = Reading(tasks_seen=tasks_seen, feature=feature, readout=name, labels=labels)
            readings.append(replace(reading, digest=_digest(plan, job, reading)))
    if plan.diagnostics and readings and not job.without:
        digest = digest_of(_similar_to(plan, job))
        last = Reading(tasks_seen=job.last, feature="", readout=DIAGNOSTICS, digest=digest)
        readings += [replace(last, feature=feature) for feature in features]
    return readings


def peers_of(plan: Plan, job: Job) -> list[str]:
    """Return the names of the networks with which a job's last network is compared.

    They are those of its earlier steps, and the controls; before any task it is `untrained`.
    """
    offline = plan.learners.get("offline")
    after = [f"step-{tasks_seen}" for tasks_seen in job.steps[:-1] if tasks_seen]
    ceiling = offline and offline.listed and not (job.own_network or job.offline)
    floor = job.kind != "untrained" and (0 in job.steps or "untrained" in plan.learners)
    return [*after, *(["untrained"] if floor else []), *(["offline"] if ceiling else [])]


def _similar_to(plan: Plan, job: Job) -> dict[str, object]:
    """Return everything that determines a job's similarities besides its fingerprint."""
    peers = peers_of(plan, job)
    if "offline" in peers:
        offline = plan.learners["offline"]
        if given := offline.given_of("", job.seed):
            return {"similar to": peers, "offline": {str(k): own for k, own in given.items()}}
        recipe = recorded(offline.training)
        # With the job's own recipe, which the fingerprint holds, it is one network.
        if recipe != recorded(plan.learners[job.learner].training):
            return {"similar to": peers, "offline": recipe}
    return {"similar to": peers}


def _digest(plan: Plan, job: Job, reading: Reading) -> str:
    """Return a digest of a reading's settings, empty where the fingerprint holds them all."""
    if reading.base != RETRAIN:
        own = plan.readouts[reading.base]
        record = {reading.base: own.settings, "wide": WIDE}
        record |= {} if own.source is None else {"source": own.source}
        return digest_of(record | ({"labels": "permuted, too"} if reading.labels else {}))
    last = not job.offline and reading.tasks_seen == len(job.tasks)
    if last and reading.readout == RETRAIN:
        return ""
    return digest_of({RETRAIN: recorded(plan.retraining), "storage": plan.storage})
