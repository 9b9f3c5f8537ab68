"""The networks, data and plan that all passes over a job share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from torch import nn

from probe.batch import Named, varied
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Measurement
from probe.by_layer.networks import Networks
from probe.by_layer.plan import Plan
from probe.cut.cuts import Cuts
from probe.cut.resuming import Starts
from probe.notes import of_classes
from probe.readouts.matrix import Matrices
from probe.readouts.readout import Readout
from probe.retrain import SAMPLE
from probe.stored_names import Peer
from probe.tasks import Scenario
from probe.training.fresh_weights import Factory
from probe.training.history import History
from probe.values.allocation import CacheSettings


@dataclass(frozen=True, kw_only=True)
class PassContext:
    """The networks and data of a job, and its plan, which all passes share.

    Attributes:
        plan: The plan.
        job: The job.
        networks: The networks of the job.
        readouts: The readouts of the plan by name.
        cache: Memory and disk for features' values.
        offline: Function that returns the offline network of the same seed.
        earlier: Matrices of earlier networks, kept to compare the last network with.
    """

    plan: Plan
    job: Job
    networks: Networks
    readouts: Mapping[str, Readout]
    cache: CacheSettings
    offline: Factory
    earlier: dict[Peer, Matrices] = field(default_factory=dict)
    _starts: list[Starts | None] = field(default_factory=list)

    @property
    def scenario(self) -> Scenario:
        """The tasks in executed order."""
        return self.networks.scenario

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the job's networks by depth, the output last."""
        return self.plan.learners[self.job.learner].features

    @cached_property
    def class_notes(self) -> list[str]:
        """Notes on classes without examples."""
        labels = ((task.train.y, task.test.y) for task in self.scenario.tasks)
        return of_classes(labels, self.scenario.classes)

    def shared_cuts(self, model: nn.Module) -> Cuts:
        """Return the cuts of the first network at all features."""
        sample = varied(self.scenario.test.x, SAMPLE)
        return self.networks.cuts(model, self.features[:-1], sample)

    def starts(self, model: nn.Module) -> Starts | None:
        """Return the values at which passes may start, None where that saves no time."""
        if not self._starts:
            cuts = self.shared_cuts(model).each
            by_depth = sorted(cuts, key=lambda cut: cut.facts.position)
            self._starts.append(Starts.worthwhile(by_depth))
        return self._starts[0]

    def cuts(
        self, model: nn.Module, features: Collection[str], tails: bool = False
    ) -> Cuts:
        """Return a network's own cuts at some features, in the order of the plan."""
        cuts = self.shared_cuts(model).at(features).of(model, tails)
        return replace(cuts, current=True)

    def measurement(
        self,
        predicted: Named,
        notes: Sequence[str] = (),
        history: History | None = None,
        values: Mapping[str, float] | None = None,
    ) -> Measurement:
        """Return a measurement with predictions by head, given in executed order."""
        in_order = self.scenario.in_callers_order
        return Measurement(
            test=self.scenario.test_examples,
            predicted={head: in_order(labels) for head, labels in predicted.items()},
            history=history,
            values=values or {},
            notes=tuple(notes),
        )
