"""The schedule: the passes that make the missing measurements of a job, in order.

A pass is plain data: it names the keys of the measurements that share work, and what
they share. `probe.by_layer.passes` carries it out on a network. A new kind of
measurement is a pass here and a function there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from probe.by_layer.jobs import Job, peers_of
from probe.by_layer.measurement import Key
from probe.by_layer.plan import Plan
from probe.by_layer.report import Head
from probe.readouts.pooling import Pooling
from probe.stored_names import DIAGNOSTICS, PutBack

Poolings = Mapping[str, Pooling]
"""The poolings that are not the default, by the readout's name."""


@dataclass(frozen=True)
class OutputPass:
    """A test of the network itself.

    Attributes:
        key: The key of the measurement.
        head: The only head to test, None for all.
        checks: Whether to check that an output does not depend on others of its batch.
    """

    key: Key
    head: Head | None
    checks: bool


@dataclass(frozen=True)
class ReadingPass:
    """Readouts and diagnostics of matrices that one pass over the test data fills.

    Attributes:
        readouts: The keys of the readouts.
        diagnostics: The keys of the diagnostics.
        pooling: The rule for wide values, None = the default.
        is_compared: Whether the last network is compared with this one.
        checks: Whether to check that a value does not depend on others of its batch.
    """

    readouts: tuple[Key, ...]
    diagnostics: tuple[Key, ...] = ()
    pooling: Pooling | None = None
    is_compared: bool = False
    checks: bool = False


@dataclass(frozen=True)
class HybridPass:
    """Measurements of the network with blocks of one earlier network put back.

    Attributes:
        since: The number of tasks that the earlier network has learned.
        sets: The keys of tests with sets of blocks put back.
        readings: The readouts with a block put back, and those with the blocks
            upstream.
    """

    since: int
    sets: tuple[Key, ...]
    readings: tuple[ReadingPass, ...]


@dataclass(frozen=True)
class LayerPass:
    """Everything downstream of a network's features, which shares the network's cuts.

    Attributes:
        retrainings: The keys of partial retrainings, which share one pass over the
            data; all budgets of a feature share one training.
        readings: The readouts and diagnostics, those with the default pooling last.
        reestimates: Whether batch norm's statistics are first estimated again.
    """

    retrainings: tuple[Key, ...]
    readings: tuple[ReadingPass, ...]
    reestimates: bool = False

    @property
    def features(self) -> set[str]:
        """The features that are measured."""
        keys = list(self.retrainings)
        for reading in self.readings:
            keys += reading.readouts
            keys += reading.diagnostics
        return {key.feature for key in keys}


Pass = OutputPass | HybridPass | LayerPass


def schedule(
    plan: Plan, job: Job, keys: Iterable[Key], poolings: Poolings
) -> dict[int, list[Pass]]:
    """Arrange measurements in passes.

    Args:
        plan: The plan.
        job: A job of the plan.
        keys: Keys of the job, ascending in the number of tasks learned.
        poolings: The rules for wide values of readouts.

    Returns:
        The passes over each network, by the number of tasks that it has learned.
    """
    peers = peers_of(plan, job)
    output = plan.learners[job.learner].features[-1]
    schedule_of_network: dict[int, list[Pass]] = {}
    for tasks_seen, keys_of_network in groupby(keys, attrgetter("tasks_seen")):
        # Two networks suffice, as all run the same code.
        checks_output = tasks_seen in (job.steps[0], job.last)
        passes: list[Pass] = []
        hybrids: list[Key] = []
        inner: list[Key] = []
        for key in keys_of_network:
            if key.readout.put_back:
                hybrids.append(key)
            elif key.feature in ("", output):
                # The key with a feature is of the test beside task-aware readouts.
                head: Head | None = "multi" if key.feature else None
                passes.append(OutputPass(key, head, checks_output))
            else:
                inner.append(key)
        passes += _hybrid_passes(hybrids, poolings)
        trained = [key for key in inner if not key.readout.reestimates]
        reestimated = [key for key in inner if key.readout.reestimates]
        if trained:
            checks = tasks_seen == job.last
            passes.append(_layer_pass(trained, poolings, tasks_seen in peers, checks))
        if reestimated:
            passes.append(_layer_pass(reestimated, poolings))
        schedule_of_network[tasks_seen] = passes
    return schedule_of_network


def _hybrid_passes(keys: Iterable[Key], poolings: Poolings) -> Iterator[HybridPass]:
    """Yield a pass for each earlier network whose blocks are put back.

    `since` in a key is the number of tasks that this network has learned. All sets of
    blocks are tested in one measurement.
    """
    since = attrgetter("readout.since")
    for tasks_seen, group in groupby(sorted(keys, key=since), since):
        keys_of: defaultdict[str, list[Key]] = defaultdict(list)
        for key in group:
            keys_of[key.readout.put_back].append(key)
        # In two passes, as each holds a matrix of every feature.
        readings = _reading_passes(keys_of[PutBack.BLOCK], poolings)
        readings += _reading_passes(keys_of[PutBack.UPSTREAM], poolings)
        yield HybridPass(tasks_seen, tuple(keys_of[PutBack.SETS]), readings)


def _layer_pass(
    keys: Sequence[Key],
    poolings: Poolings,
    is_compared: bool = False,
    checks: bool = False,
) -> LayerPass:
    """Return the pass of keys downstream of features; all or none of them reestimate statistics."""
    return LayerPass(
        retrainings=tuple(key for key in keys if key.readout.is_retraining),
        readings=_reading_passes(keys, poolings, is_compared, checks),
        reestimates=keys[0].readout.reestimates,
    )


def _reading_passes(
    keys: Sequence[Key],
    poolings: Poolings,
    is_compared: bool = False,
    checks: bool = False,
) -> tuple[ReadingPass, ...]:
    """Return a pass for each pooling; the last, of the default, has the diagnostics, too."""
    keys_of_pooling: dict[Pooling | None, list[Key]] = {}
    for key in keys:
        if not key.readout.is_retraining:
            pooling = poolings.get(key.readout.planned)
            keys_of_pooling.setdefault(pooling, []).append(key)
    if None in keys_of_pooling:
        keys_of_pooling[None] = keys_of_pooling.pop(None)
    passes = []
    for pooling, group in keys_of_pooling.items():
        reading = ReadingPass(
            readouts=tuple(key for key in group if key.readout.base != DIAGNOSTICS),
            diagnostics=tuple(key for key in group if key.readout.base == DIAGNOSTICS),
            pooling=pooling,
            is_compared=is_compared and pooling is None,
            checks=checks,
        )
        passes.append(reading)
    return tuple(passes)
