"""Given networks, in files or in memory, as the source of a plan's networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.by_layer.fingerprint import tensor_hash
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.networks import Trained
from probe.by_layer.offline import train_offline
from probe.by_layer.plan import OFFLINE, UNTRAINED, Plan
from probe.by_layer.store import Results
from probe.cut.cuts import Cuts, cut_each
from probe.cut.model_call import ModelCall
from probe.errors import InputError, located
from probe.metrics.task_counts import TaskCounts
from probe.model import Model
from probe.modules import copied, restore, unwrapped
from probe.record.checkpoints import Checkpoints, Run
from probe.record.runs import RunRecord
from probe.record.state_files import fit_state, load_state
from probe.seeding import global_stream, stream
from probe.tasks import Scenario
from probe.training.batch_norm import reestimate
from probe.training.fresh_weights import Fresh, fresh_state, initialize

Network = TypeVar("Network", Path, nn.Module)

Each = Callable[[Sequence[Path]], Iterable[Path]]
"""Iterates over files, as a progress bar does."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """Networks in files, by run and number of tasks learned.

    The controls are runs with their names, without an order. build: makes a network of the same
    architecture; each: iterates over the files; records: what a recorder has kept of its runs.
    """

    runs: Mapping[Run, Mapping[int, Path]]
    build: Callable[[], nn.Module]
    each: Each = iter
    records: Mapping[Run, RunRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Checkpoints, build: Callable[[], nn.Module], each: Each = iter) -> Files:
        """Return the networks of checkpoints; a seed's floor is its first network of step 0."""
        return cls(runs=with_controls(found.runs, found.offline), build=build, each=each)

    def blank(self) -> nn.Module:
        """Return a new network, its weights drawn from a fixed seed."""
        with global_stream(stream(0, "build")):
            return self.build()

    def hashes(self) -> Mapping[Run, Mapping[int, str]]:
        """Read every file into a network.

        Raises InputError for one that does not fit, or is not the network that was recorded.
        """
        paths = dict.fromkeys(path for own in self.runs.values() for path in own.values())
        found, model = dict[Path, str](), self.blank()
        for path in self.each(sorted(paths)):
            state = load_state(path)
            fit_state(unwrapped(model), state, str(path))
            found[path] = _hash_of(state, str(path))
        for run, record in self.records.items():
            other = [t for t, own in record.hashes.items() if found[self.runs[run][t]] != own]
            if other:
                raise InputError(
                    f"{self.runs[run][other[0]]} is not the network that was recorded, and the "
                    f"accuracies are of that: put it back, or record the run again"
                )
        return {run: {t: found[path] for t, path in own.items()} for run, own in self.runs.items()}

    def network(self, run: Run, tasks_seen: int, expected: str) -> nn.Module:
        """Load a network; raises InputError for a file that has changed or does not fit."""
        path, model = self.runs[run][tasks_seen], self.blank()
        state = load_state(path)
        if tensor_hash(state) != expected:
            raise InputError(
                f"{path} has changed since the run started: restore the file, or run the same "
                f"command again"
            )
        fit_state(unwrapped(model), state, str(path))
        return model


@dataclass(frozen=True, kw_only=True)
class Models:
    """Networks in memory, of one architecture, by run and number of tasks learned."""

    runs: Mapping[Run, Mapping[int, nn.Module]]

    def blank(self) -> nn.Module:
        """Return a copy of one of the networks."""
        return copied(next(model for own in self.runs.values() for model in own.values()))

    def hashes(self) -> Mapping[Run, Mapping[int, str]]:
        """Hash the weights of every network; raises InputError for NaN in them."""
        named = {m: spoken(run, t) for run, own in self.runs.items() for t, m in own.items()}
        found = {model: _hash_of(model.state_dict(), name) for model, name in named.items()}
        return {run: {t: found[m] for t, m in own.items()} for run, own in self.runs.items()}

    def network(self, run: Run, tasks_seen: int, expected: str) -> nn.Module:
        """Return a copy of a network."""
        return copied(self.runs[run][tasks_seen])


Weights = Files | Models
"""Given networks."""


def with_controls(
    runs: Mapping[Run, Mapping[int, Network]], offline: Mapping[int, Network]
) -> dict[Run, Mapping[int, Network]]:
    """Add the controls of each seed to runs; the floor is the first network before any task."""
    found = dict(runs)
    for run, own in runs.items():
        if 0 in own:
            found.setdefault(Run(UNTRAINED, "", run.seed), {0: own[0]})
    last = max(tasks_seen for own in runs.values() for tasks_seen in own)
    return found | {Run(OFFLINE, "", seed): {last: own} for seed, own in offline.items()}


def spoken(run: Run, tasks_seen: int) -> str:
    """Return a network's name in messages.

    >>> spoken(Run("model", "0", 0), 1), spoken(Run("offline", "", 0), 3)
    ('the model after 1 task', 'the offline model')
    """
    if not tasks_seen:
        return "the untrained model"
    if run.learner == OFFLINE:
        return "the offline model"
    return f"the model after {tasks_seen} task{'' if tasks_seen == 1 else 's'}"


def _hash_of(state: Mapping[str, Tensor], name: str) -> str:
    """Return a hash of a network's weights; raises InputError for NaN in them."""
    if broken := [key for key, own in state.items() if own.isnan().any()]:
        raise InputError(
            f"{name} has NaN in {broken[0]!r}: its training diverged; take an earlier one, or "
            f"train it again"
        )
    return tensor_hash(state)


@dataclass(kw_only=True)
class GivenNetworks:
    """The source of a plan whose networks are given."""

    plan: Plan
    weights: Weights
    model: Model
    scenario: Scenario
    _cuts: Cuts | None = field(default=None, init=False)

    @property
    def fresh(self) -> Fresh:
        """The source of fresh weights."""
        return self.model.source(self.plan.retraining.init)

    def networks(self, job: Job, results: Results) -> _Networks:
        """Return the networks of a job."""
        own = self.scenario.reordered(job.tasks)
        return _Networks(source=self, job=job, scenario=own, results=results)

    def given(self, learner: str, order: str, seed: int, tasks_seen: int) -> nn.Module | None:
        """Return a given network, on the device of the data; None if there is none."""
        hashes = self.plan.learners[learner].given_of(order, seed)
        if tasks_seen not in hashes:
            return None
        model = self.weights.network(Run(learner, order, seed), tasks_seen, hashes[tasks_seen])
        return model.to(self.scenario.tasks[0].test.y.device)

    def recorded(self, run: Run, tasks_seen: int) -> TaskCounts | None:
        """Return what was recorded of a network, where the same outputs competed; else None."""
        records = self.weights.records if isinstance(self.weights, Files) else {}
        if (own := records.get(run)) and self.model.told in (own.head == "multi", own.called):
            return own.rows.get(tasks_seen)
        return None

    def drawn(self, seed: int) -> nn.Module:
        """Return a network with fresh weights, the same for all runs of a seed."""
        model, fresh, generator = unwrapped(self.weights.blank()), self.fresh, stream(seed, "init")
        if isinstance(fresh, str):
            initialize(model, fresh, generator)
        else:
            with torch.no_grad():
                restore(model, fresh_state(fresh, generator))
        return model.to(self.scenario.tasks[0].test.y.device)

    def shared_cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of the first network, which serve the networks of all jobs."""
        if self._cuts is None:
            call = self.model.class_call
            self._cuts = cut_each(
                model, features, sample, call.output, call.call, self.model.trainable
            )
        return self._cuts


@dataclass(kw_only=True)
class _Networks:
    """The networks of one job."""

    source: GivenNetworks
    job: Job
    scenario: Scenario
    results: Results

    @property
    def call(self) -> ModelCall:
        return self.source.model.class_call

    @property
    def fresh(self) -> Fresh:
        return self.source.fresh

    def after(self, tasks_seen: int) -> Trained:
        job, cost = self.job, None
        model = self.source.given(job.learner, job.order, job.seed, tasks_seen)
        if model is None and tasks_seen:
            model, cost = self._trained_offline()
        if model is None:
            model = self.source.drawn(job.seed)
        if job.kind == UNTRAINED:
            self._reestimate(model)
        tasks = self.scenario.tasks[
            : len(self.scenario.tasks) if job.offline and tasks_seen else tasks_seen
        ]
        seen = tuple(dict.fromkeys(c for task in tasks for c in task.classes))
        scores = partial(self.call, model)
        return Trained(
            model=model,
            scores=scores,
            scenario=self.scenario,
            seen=seen,
            task_aware=job.task_aware,
            cost=cost,
            recorded=self.source.recorded(Run(job.learner, job.order, job.seed), tasks_seen),
        )

    def compared_with(self, peer: str) -> nn.Module:
        tasks_seen = 0 if peer == UNTRAINED else int(peer.removeprefix("step-"))
        model = self.after(tasks_seen).model
        if peer == UNTRAINED:
            self._reestimate(model)
        return model

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        return self.source.shared_cuts(model, features, sample)

    def _reestimate(self, model: nn.Module) -> None:
        """Give an untrained network's batch norm the statistics of the training inputs.

        The initial statistics, which come from no data, would make the floor too low.
        """
        reestimate(model, self.scenario.merged.train.x, self.call)

    def _trained_offline(self) -> tuple[nn.Module, TrainingCost]:
        """Return the offline network, from its checkpoint or trained here, and its cost."""
        model = self.source.drawn(self.job.seed)
        if (kept := self.results.load_checkpoint(self.job.last)) and kept.learner:
            model.load_state_dict(kept.model)
            return model, TrainingCost.of_state(dict(kept.learner))
        recipe = self.source.plan.learners[OFFLINE].training
        with located("all tasks"):
            cost = train_offline(model, self.call, self.scenario, recipe, self.job.seed)
        self.results.save_checkpoint(self.job.last, model.state_dict(), cost.to_state())
        return model, cost
