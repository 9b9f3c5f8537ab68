"""The jobs of a plan, by learner, order, seed and task left out, and the measurements of a job.

A job is the unit of work: one process does it from beginning to end, and its results
lie in one folder. A measurement, identified by its key, is the unit of results: the
predictions of one readout. Jobs and keys follow from the plan, so every process of a
cluster derives the same ones.
"""

from dataclasses import replace
from itertools import product
from operator import attrgetter

from probe.by_layer.fingerprint import Record, fingerprint
from probe.by_layer.measurement import Key
from probe.by_layer.plan import OFFLINE, UNTRAINED, Plan, recipe_record
from probe.errors import InputError
from probe.extensions import spread_over
from probe.immutable import immutable
from probe.metrics.murata import RETRAIN
from probe.readouts import WIDE
from probe.stored_names import DIAGNOSTICS, Peer, PutBack, ReadoutName, peer_name

MOST_JOBS = 100_000
"""The largest number of jobs that a study may have; more is taken for a typing error."""

_LEARNER_FIELDS = {"kind", "steps", "offline", "task_aware", "own_network"}


@immutable
class Job:
    """One cell of a plan's grid: a learner, order and seed.

    Attributes:
        learner: Name of the learner.
        kind: Kind of the learner.
        order: Name of the order; empty for the controls.
        tasks: The T tasks in executed order, by index in the base order, from 0.
        seed: The seed, from 0.
        steps: The numbers of tasks seen after which its networks are measured.
        weights: Hashes of networks that were trained elsewhere; empty if they are
            trained here.
        offline: Whether the learner learns all tasks at once, or none.
        task_aware: Whether the learner receives the task id.
        own_network: Whether its architecture has layers that differ from the controls'.
        without: Position, from 1, of a task that is tested but never learned; 0 for
            none.
    """

    learner: str
    kind: str
    order: str
    tasks: tuple[int, ...]
    seed: int
    steps: tuple[int, ...] = ()
    weights: tuple[str, ...] = ()
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
    def columns(self) -> Record:
        """The columns of tables that name the job."""
        return {"learner": self.learner, "order": self.order, "seed": self.seed}

    @property
    def earlier(self) -> list[int]:
        """The numbers of tasks learned of the networks before the last, without 0."""
        return [tasks_seen for tasks_seen in self.steps[:-1] if tasks_seen]

    @property
    def last(self) -> int:
        """The number of tasks learned at the end of the job."""
        return self.steps[-1]

    def __str__(self) -> str:
        order = f", order {self.order}" if self.order else ""
        without = f", without task {self.without}" if self.without else ""
        return f"learner {self.learner}{order}, seed {self.seed}{without}"


def jobs_of(plan: Plan) -> list[Job]:
    """Return the plan's jobs: every learner, order and seed; floor and ceiling once per seed.

    If the plan asks for networks that never saw a task, each run has one more job per
    task position. Jobs are sorted by seed, so that a study that is stopped early has
    all learners for its first seeds.

    Raises:
        InputError: There are more than MOST_JOBS jobs, or a step is above the number of
            tasks.
    """
    for readout in plan.readouts:
        plan.steps_of(readout)
    T = len(plan.tasks)
    learners = plan.learners
    # The orders of each learner, and the networks of each run: one of all tasks and,
    # if the plan asks for them, one without each task.
    networks = 1 + T * ("exclusion" in plan.controls)
    # Offline training sees all tasks at once: an order would only repeat it.
    unordered = {"": tuple(range(T))}
    runs = {
        name: (unordered, 1) if learner.offline else (plan.orders, networks)
        for name, learner in learners.items()
    }
    # Counted before they are made: a million jobs would exhaust the memory.
    count = len(plan.seeds) * sum(
        len(orders) * networks for orders, networks in runs.values()
    )
    if count > MOST_JOBS:
        raise InputError(
            f"{plan.name} has {count} jobs, expected {MOST_JOBS} at most: lower seeds"
        )
    fields = {
        name: x.model_dump(include=_LEARNER_FIELDS) for name, x in learners.items()
    }
    return [
        Job(
            learner=name,
            order=order,
            tasks=tasks,
            seed=seed,
            weights=tuple(learners[name].hashes_of(order, seed).values()),
            without=without,
            **fields[name] | ({"steps": (T,)} if without else {}),
        )
        for seed in plan.seeds
        for name, (orders, networks) in runs.items()
        for order, tasks in orders.items()
        for without in range(networks)
    ]


def keys_of(plan: Plan, job: Job) -> list[Key]:
    """List the keys of a job's measurements, in the order in which they are made.

    The output of each network comes first, then its readouts; see `readout_keys`. The
    rewound networks come last.

    Args:
        plan: The plan.
        job: A job of the plan.

    Returns:
        The keys.
    """
    keys = [*map(Key, job.steps), *readout_keys(plan, job), *rewound_keys(plan, job)]
    keys += inherited_keys(plan, job)
    return sorted(keys, key=attrgetter("tasks_seen"))


def readout_keys(plan: Plan, job: Job) -> list[Key]:
    """List the keys of the measurements downstream of a job's features, except the output.

    Nothing is left to train downstream of the output: its accuracy is the evaluation
    itself. To compare it with task-aware readouts, it is also evaluated multi-head, as
    a separate measurement. Floor and ceiling are measured in the jobs of `untrained`
    and `offline`; a learner whose network has another architecture has its floor in its
    own job, and no ceiling.

    Args:
        plan: The plan.
        job: A job of the plan.

    Returns:
        The keys.
    """
    *features, output = plan.learners[job.learner].features
    keys = []
    for name, readout in plan.readouts.items():
        steps = tuple(
            tasks_seen for tasks_seen in plan.steps_of(name) if tasks_seen in job.steps
        )
        if readout.steps == "spread":
            steps = spread_over(steps)
        if job.offline:
            steps = job.steps[-1:] if readout.has_controls else ()
        elif readout.has_controls and job.own_network and 0 in job.steps:
            steps = (0, *steps)
        probed = [*features, output] if readout.task_aware else features
        for tasks_seen, variant, feature in product(steps, plan.variants(name), probed):
            key = Key(tasks_seen, feature, variant)
            keys.append(replace(key, settings=_settings_digest(plan, job, key)))
    if plan.diagnostics and keys and not job.without:
        digest = fingerprint(_diagnostics_record(plan, job))[:8]
        diagnostics = ReadoutName(base=DIAGNOSTICS)
        keys += [Key(job.last, feature, diagnostics, digest) for feature in features]
    return keys


def rewound_keys(plan: Plan, job: Job) -> list[Key]:
    """List the keys of a job's last network with blocks of an earlier one put back.

    Args:
        plan: The plan.
        job: A job of the plan.

    Returns:
        A key for each earlier network, ten at most.
    """
    if not plan.hybrids or job.offline or job.without or job.last < len(plan.tasks):
        return []
    record = {
        PutBack.SETS: plan.hybrids,
        "blocks": plan.blocks or plan.learners[job.learner].features,
        "orders": "by seed",
        "units": "compared",
    }
    digest = fingerprint(record)[:8]
    return [
        Key(job.last, "", ReadoutName(put_back=PutBack.SETS, since=j), digest)
        for j in spread_over(job.earlier)
    ]


def inherited_keys(plan: Plan, job: Job) -> list[Key]:
    """List the keys of readouts of the last network with blocks of an earlier one put back.

    The first feature is left out, as nothing is upstream of it.

    Args:
        plan: The plan.
        job: A job of the plan.

    Returns:
        The keys, two for each readout without epochs, feature and earlier network.
    """
    features = plan.learners[job.learner].features[1:-1]
    if (
        job.offline
        or job.without
        or job.last < len(plan.tasks)
        or plan.inherited is False
    ):
        return []
    earlier = spread_over(job.earlier)
    # By default, not if they outnumber the readouts of networks that were trained.
    hybrids = 2 * len(earlier) * len(features)
    if plan.inherited is None and hybrids > len(job.steps) * (1 + len(features)):
        return []
    keys = []
    blocks = PutBack.UPSTREAM, PutBack.BLOCK
    for planned in plan.readouts.keys() - {RETRAIN}:
        measured = set(plan.steps_of(planned)) & set(job.steps)
        name = ReadoutName.parse(planned)
        for j, feature, put_back in product(earlier, features, blocks):
            if {j, job.last} <= measured:
                digest = _settings_digest(plan, job, Key(0, feature, name))
                record = [digest, *plan.learners[job.learner].features]
                settings = fingerprint({"blocks": record})[:8]
                readout = replace(name, put_back=put_back, since=j)
                keys.append(Key(job.last, feature, readout, settings))
    return sorted(keys)


def permutes_labels(plan: Plan, job: Job, key: Key) -> bool:
    """Return whether a readout is also fitted to permuted labels.

    It is a readout of all examples, after all tasks, of a hidden feature.

    Args:
        plan: The plan.
        job: A job of the plan.
        key: A key of the job.

    Returns:
        Whether it is also fitted to permuted labels.
    """
    output = plan.learners[job.learner].features[-1]
    last = key.tasks_seen == job.last and key.feature != output and not job.without
    on_all = not key.readout.is_retraining and key.readout.per_class is None
    return "labels" in plan.controls and last and on_all


def peers_of(plan: Plan, job: Job) -> list[Peer]:
    """Return the networks that a job's last network is compared with.

    They are the job's earlier networks and the controls; before any task, only
    `untrained`.

    Args:
        plan: The plan.
        job: A job of the plan.

    Returns:
        The numbers of tasks learned, and the names of controls.
    """
    offline = plan.learners.get(OFFLINE)
    peers: list[Peer] = [*job.earlier]
    floor = UNTRAINED in plan.learners and not job.offline
    if job.kind != UNTRAINED and (0 in job.steps or floor):
        peers.append(UNTRAINED)
    if offline and offline.listed and not (job.own_network or job.offline):
        peers.append(OFFLINE)
    return peers


def _diagnostics_record(plan: Plan, job: Job) -> dict[str, object]:
    """Return what determines a job's diagnostics and is not in its fingerprint."""
    peers = peers_of(plan, job)
    names = [peer_name(peer) for peer in peers]
    # "units" tells these results from earlier ones, which counted units after pooling.
    record: dict[str, object] = {"similar to": names, "units": "before pooling"}
    if OFFLINE in peers:
        offline = plan.learners[OFFLINE]
        recipe = recipe_record(offline.training)
        if hashes := offline.hashes_of("", job.seed):
            record["offline"] = {str(tasks_seen): h for tasks_seen, h in hashes.items()}
        # A recipe equal to the job's own is in the fingerprint already.
        elif recipe != recipe_record(plan.learners[job.learner].training):
            record["offline"] = recipe
    return record


def _settings_digest(plan: Plan, job: Job, key: Key) -> str:
    """Return a digest of a readout's settings, empty for the plain retraining after all tasks.

    An offline job's fingerprint lacks the retraining's recipe, so that it has a digest
    there, too. The fingerprints of other jobs hold it: of their other retrainings the
    digest tells nothing more, and stays because results are stored by it.
    """
    if not key.readout.is_retraining:
        name = key.readout.planned
        readout = plan.readouts[name]
        record: Record = {name: readout.settings, "wide": WIDE}
        if readout.source is not None:
            record["source"] = readout.source
        if permutes_labels(plan, job, key):
            record["labels"] = "permuted, too"
        return fingerprint(record)[:8]
    is_plain = key.readout == ReadoutName(base=RETRAIN)
    if is_plain and key.tasks_seen == len(job.tasks) and not job.offline:
        return ""
    record = {RETRAIN: recipe_record(plan.retraining), "storage": plan.storage}
    return fingerprint(record)[:8]
