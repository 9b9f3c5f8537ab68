"""The source of networks that were trained elsewhere, and the networks of each of its jobs."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial

import torch
from torch import nn

from probe.batch import Named, Value, tensor_hash
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import TrainingCost
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.offline import train_offline
from probe.by_layer.plan import UNTRAINED, Plan
from probe.by_layer.source_description import SourceDescription, by_architecture
from probe.by_layer.store import Results
from probe.cut.cuts import Cuts, cut_each
from probe.cut.model_call import ModelCall
from probe.errors import InputError, located
from probe.extensions import ReadoutEntry
from probe.metrics.murata import RETRAIN
from probe.metrics.task_predictions import TaskPredictions
from probe.modules import restore, unwrapped
from probe.readouts.readout import READOUTS
from probe.record.checkpoints import Run
from probe.seeding import stream
from probe.stored_names import Peer
from probe.tasks import Scenario
from probe.training.batch_norm import reestimate, running_norms
from probe.training.fresh_weights import Fresh, fresh_state, initialize


@dataclass
class SharedWork:
    """Work that the jobs with networks of one architecture share.

    Attributes:
        cuts: The cuts of the first network.
        statistics: The batch-norm statistics of each untrained network.
    """

    cuts: Cuts | None = None
    statistics: dict[object, list[Named]] = field(default_factory=dict)


class NetworkSource:
    """Networks that were trained elsewhere, with the plan of their measurements.

    Args:
        description: The networks.
        plan: Their plan, as by `probe.by_layer.source_plan.plan_by_reading`.
    """

    def __init__(self, description: SourceDescription, plan: Plan) -> None:
        self.plan = plan
        self.scenario = description.scenario
        first, others = by_architecture(description)
        self._first = (first, SharedWork())
        # The same for learners with another architecture, by name.
        self._others = {name: (other, SharedWork()) for name, other in others.items()}

    def networks(self, job: Job, results: Results) -> "JobNetworks":
        """Return the networks of a job: those of its learner's architecture.

        Args:
            job: The job.
            results: The store of its results.

        Returns:
            The networks.
        """
        description, shared = self._others.get(job.learner, self._first)
        return JobNetworks(
            description=description,
            shared=shared,
            plan=self.plan,
            job=job,
            scenario=self.scenario.reordered(job.tasks),
            results=results,
        )

    def share_cuts(self, model: nn.Module, features: Sequence[str]) -> None:
        """Cut a network at features, for the networks of all jobs.

        Args:
            model: A network of the first architecture.
            features: The features.
        """
        description, shared = self._first
        sample = description.sample
        shared.cuts = _cut(description, self.plan, model, features, sample)


@dataclass(kw_only=True)
class JobNetworks:
    """The networks of one job that were trained elsewhere; only the controls are trained here.

    Attributes:
        description: The networks of all jobs with the same architecture.
        shared: Work that these jobs share.
        plan: The plan.
        job: The job.
        scenario: The tasks in executed order.
        results: The store of the job's results.
    """

    description: SourceDescription
    shared: SharedWork
    plan: Plan
    job: Job
    scenario: Scenario
    results: Results

    @cached_property
    def call(self) -> ModelCall:
        """The call that gives a network's logits of the classes."""
        return self.description.model.class_call

    @property
    def fresh(self) -> Fresh:
        """The source of fresh weights."""
        return self.description.fresh

    @property
    def readouts(self) -> Mapping[str, ReadoutEntry]:
        """The readouts that the plan may name."""
        return {**READOUTS, **self.description.readouts}

    def after(self, tasks_seen: int) -> TrainedNetwork:
        """Return the network after a number of tasks."""
        job = self.job
        run = Run(job.learner, job.order, job.seed)
        hashes = self.plan.learners[job.learner].hashes_of(job.order, job.seed)
        cost = None
        notes: Sequence[str] = ()
        if tasks_seen in hashes:
            weights = self.description.weights
            model, fit = weights.load(run, tasks_seen, hashes[tasks_seen])
            model = model.to(self.description.device)
            notes = fit.notes
            if fit.outputs is not None:
                _check_padded(self.description, model, fit.outputs)
        else:
            model = self._fresh_network()
            if tasks_seen:
                cost = self._train_offline(model)
        if job.kind == UNTRAINED:
            self._reestimate(model)
        return TrainedNetwork(
            model=model,
            logits=partial(self.call, model),
            scenario=self.scenario,
            classes_seen=self._classes_seen(tasks_seen),
            task_aware=job.task_aware,
            cost=cost,
            recorded=self._recorded(run, tasks_seen),
            notes=notes,
        )

    def peer_network(self, peer: Peer) -> nn.Module:
        """Return the network of a peer: an earlier one, or the untrained one."""
        if isinstance(peer, int):
            return self.after(peer).model
        model = self.after(0).model
        self._reestimate(model)
        return model

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of the first network, which serve all others.

        Args:
            model: The network.
            features: The features to cut at.
            sample: Real inputs, on which the cuts are checked.

        Returns:
            The cuts.
        """
        if self.shared.cuts is None:
            description = self.description
            self.shared.cuts = _cut(description, self.plan, model, features, sample)
        return self.shared.cuts

    def _classes_seen(self, tasks_seen: int) -> tuple[int, ...]:
        """Return the classes learned, each once; offline training learns all at once."""
        tasks = self.scenario.tasks
        if not self.job.offline or not tasks_seen:
            tasks = tasks[:tasks_seen]
        classes: dict[int, None] = {}
        for task in tasks:
            classes |= dict.fromkeys(task.classes)
        return tuple(classes)

    def _recorded(self, run: Run, tasks_seen: int) -> TaskPredictions | None:
        """Return a network's recorded predictions, None if they were made under another head."""
        record = self.description.weights.records.get(run)
        if record is None or tasks_seen not in record.rows:
            return None
        is_multi = record.head == "multi"
        # A function that called the network may have chosen among the classes itself.
        if self.description.model.task_aware not in (is_multi, record.called):
            return None
        return record.predictions(tasks_seen)

    def _fresh_network(self) -> nn.Module:
        """Return a network with fresh weights, the same for all runs of a seed."""
        model = unwrapped(self.description.weights.blank())
        generator = stream(self.job.seed, "init")
        if isinstance(self.fresh, str):
            initialize(model, self.fresh, generator)
        else:
            with torch.no_grad():
                restore(model, fresh_state(self.fresh, generator))
        return model.to(self.description.device)

    def _reestimate(self, model: nn.Module) -> None:
        """Give an untrained network's batch norm the statistics of the training inputs.

        The initial statistics, which come from no data, would make the floor too low.
        """
        statistics = self.shared.statistics
        norms = running_norms(model)
        key = self.job.tasks, tensor_hash(model.state_dict())
        if key not in statistics:
            reestimate(model, self.scenario.merged.train.x, self.call)
            statistics[key] = [deepcopy(norm.state_dict()) for norm in norms]
        for norm, state in zip(norms, statistics[key], strict=True):
            norm.load_state_dict(state)

    def _train_offline(self, model: nn.Module) -> TrainingCost:
        """Train a new network offline, or load it from its checkpoint; return the cost."""
        checkpoint = self.results.load_checkpoint(self.job.last)
        if checkpoint and checkpoint.learner:
            model.load_state_dict(checkpoint.model)
            self.results.continue_from(checkpoint)
            return TrainingCost.of_state(dict(checkpoint.learner))
        recipe = self.description.recipe
        with located("all tasks"):
            cost = train_offline(model, self.call, self.scenario, recipe, self.job.seed)
        self.results.save_checkpoint(self.job.last, model.state_dict(), cost.to_state())
        return cost


def _cut(
    description: SourceDescription,
    plan: Plan,
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
) -> Cuts:
    """Cut a network, ready to be retrained only if the plan asks for it."""
    call = description.model.class_call
    return cut_each(
        model,
        features,
        sample,
        call.output,
        call.call,
        description.model.trainable,
        RETRAIN in plan.readouts,
    )


def _check_padded(
    description: SourceDescription, model: nn.Module, outputs: int
) -> None:
    """Check that a layer with fewer outputs in a file is the one that gives the classes.

    Args:
        description: The networks.
        model: The network, whose other outputs are never to be predicted.
        outputs: The number of outputs in the file.

    Raises:
        InputError: It is another layer.
    """
    logits = description.logits(model, description.model.class_call)
    in_file = logits[:, :outputs]
    others = logits[:, outputs:]
    if not others.numel() or others.max() >= in_file.min():
        raise InputError(
            f"its file has a layer with {outputs} outputs that does not give the "
            "classes: build the network that was saved"
        )
