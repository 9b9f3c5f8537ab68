"""The engine: networks of one run go in, stored counts come out.

`measure` takes the networks of a job after each number of tasks learned (`Networks`: learned now,
read from files, or in memory), tests them, retrains or reads out downstream of their features
(`probe.by_layer.reader`), and stores each measurement as soon as it is made (`Results`: a run
directory or memory). It knows neither processes nor locks, learners nor files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from probe.by_layer.jobs import Job, readings_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.plan import Plan
from probe.by_layer.reader import Reader
from probe.by_layer.store import Checkpoint
from probe.cut.cuts import Cuts
from probe.cut.model_call import ModelCall
from probe.errors import located
from probe.tasks import Scenario
from probe.training.fresh_weights import Fresh
from probe.values.allocation import CacheSettings


class Trained(Protocol):
    """A network after some tasks."""

    @property
    def model(self) -> nn.Module:
        """The network itself, on the device of the data."""

    def evaluated(self) -> Measurement:
        """Test it on all tasks under every head."""


class Networks(Protocol):
    """The networks of one run.

    scenario: the tasks in executed order, as the run's learner sees them; call: how a network is
    asked for logits; fresh: where the weights of a retrained tail come from, None = the recipe's
    rule.
    """

    scenario: Scenario
    call: ModelCall
    fresh: Fresh | None

    def after(self, step: int) -> Trained:
        """Return the network after so many tasks."""

    def compared_with(self, peer: str) -> nn.Module:
        """Return a network that the last one is compared with, see `jobs.peers_of`."""

    def cuts(self, model: nn.Module, features: Sequence[str], sample: object) -> Cuts:
        """Return the cuts of the first network at all features, which serve all others."""


class Results(Protocol):
    """The measurements of one job, and networks trained for it, by name."""

    def read(self, part: str) -> Measurement | None:
        """Return a finished part, None if there is none."""

    def write(self, part: str, measured: Measurement) -> None:
        """Keep a finished part."""

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        """Return a network trained here and what its learner carries, None if there is none."""

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a network and what its learner carries."""


@dataclass
class InMemory:
    """Results in memory."""

    parts: dict[str, Measurement] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def read(self, part: str) -> Measurement | None:
        """Return a finished part, None if there is none."""
        return self.parts.get(part)

    def write(self, part: str, measured: Measurement) -> None:
        """Keep a finished part."""
        self.parts[part] = measured

    def load_checkpoint(self, step: str) -> Checkpoint | None:
        """Return a network trained here and what its learner carries, None if there is none."""
        return self.checkpoints.get(step)

    def save_checkpoint(
        self, step: str, model: Mapping[str, Tensor], learner: Mapping[str, Tensor]
    ) -> None:
        """Keep a network and what its learner carries."""
        copies = ({name: x.detach().clone() for name, x in s.items()} for s in (model, learner))
        self.checkpoints[step] = Checkpoint(*copies, code="")


Offline = Callable[[], nn.Module]
"""Gives the network of the offline job of the same seed, on the device."""


class Source(Protocol):
    """The networks of all runs of a plan, with the data on the device."""

    plan: Plan

    def networks(self, job: Job, results: Results, offline: Offline) -> Networks:
        """Return the networks of a job; offline: asked where the last is compared with it."""

    def offline_network(self, job: Job, results: Results) -> nn.Module:
        """Return the network of an offline job, which is trained here unless it is at hand."""


def measure(
    plan: Plan, job: Job, networks: Networks, results: Results, cache: CacheSettings
) -> Iterator[str]:
    """Make the measurements of a job that are missing and yield the name of each as it is stored.

    cache: memory and disk for features' values. The names are those of `jobs.parts_of`. The same
    bits come out however often the job was stopped, as all randomness comes from named streams of
    the job's seed. torch has one thread meanwhile, so that they are the same on any number of
    cores. Raises InputError, naming the job, for networks that diverge, and what `results` raises.
    """
    with located(str(job)), one_thread():
        reader = Reader(plan=plan, job=job, networks=networks, cache=cache)
        readings = readings_of(plan, job)
        for step in job.steps:
            name, own = f"step-{step}", [each for each in readings if each.step == step]
            left = [each for each in own if results.read(each.part) is None]
            untested = results.read(name) is None
            if not (left or untested):
                continue
            network = networks.after(step)
            with located(f"after {_last_task(networks.scenario, job, step)}"):
                if untested:
                    results.write(name, network.evaluated())
                    yield name
                for reading, measured in reader.read(network.model, left):
                    results.write(reading.part, measured)
                    yield reading.part


@contextmanager
def one_thread() -> Iterator[None]:
    """Lend torch one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _last_task(scenario: Scenario, job: Job, step: int) -> str:
    """Return the last of the tasks learned as it is named in an error."""
    if not step:
        return "no task"
    if job.offline:
        return "all tasks"
    return f"task {scenario.tasks[step - 1].name} ({step} of {len(scenario.tasks)})"
