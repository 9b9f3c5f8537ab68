"""The description of networks that were trained elsewhere, and of their measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from probe.arrays import Storage
from probe.batch import Value, tensors, varied
from probe.by_layer.feature_selection import features_of
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.trained_networks import TrainedNetworks
from probe.cut.model_call import ModelCall, explained
from probe.errors import InputError, check_known, located
from probe.extensions import ReadoutEntry
from probe.immutable import immutable
from probe.model import Model
from probe.modules import mode, unwrapped
from probe.retrain import SAMPLE
from probe.seeding import every_global_stream, global_stream, stream
from probe.tasked_examples import Orders
from probe.tasks import Scenario
from probe.training.evaluation import check_outputs, outputs_of
from probe.training.fresh_weights import Fresh
from probe.training.recipe import Recipe


@immutable(eq=False)
class SourceDescription:
    """Networks that were trained elsewhere, and the measurements to make of them.

    Attributes:
        name: The name of the run.
        network_name: The name of the network in tables.
        code: A hash of the code that makes and calls the network.
        weights: The networks, by run and tasks learned.
        model: The user's description of the networks, such as how to call them.
        scenario: The data as T tasks, in base order, on the device.
        orders: A rule for the orders of the tasks, or the tasks from 1 by the order's
            name; None = only the base order.
        features: The names of the features; None = a suggested set.
        probing: The readouts and their steps.
        recipe: The recipe of the retraining and of the offline training.
        train_offline: Whether to train the offline network here.
        storage: The type in which features' values are stored.
        readouts: User-defined readouts that are not registered, by name.
    """

    name: str
    network_name: str
    code: str = ""
    weights: TrainedNetworks
    model: Model
    scenario: Scenario
    orders: Orders | None = None
    features: Sequence[str] | None = None
    probing: ProbingSpec
    recipe: Recipe
    train_offline: bool = False
    storage: Storage = "fp32"
    readouts: Mapping[str, ReadoutEntry] = field(default_factory=dict)

    @property
    def fresh(self) -> Fresh:
        """The source of fresh weights."""
        return self.model.source(self.recipe.init)

    @property
    def device(self) -> torch.device:
        """The device of the data, on which networks are measured."""
        return self.scenario.tasks[0].test.y.device

    @cached_property
    def sample(self) -> Value:
        """A few inputs of all tasks."""
        return varied(self.scenario.test.x, SAMPLE)

    @cached_property
    def blank(self) -> nn.Module:
        """A network of the same architecture, on the device."""
        return unwrapped(self.weights.blank()).to(tensors(self.sample)[0].device)

    @cached_property
    def probed_features(self) -> tuple[str, ...]:
        """The features to measure by depth, once a first call of the network has succeeded."""
        classes = self.scenario.classes
        model = self.model
        call = model.class_call
        with located(f"network {self.network_name}"):
            if model.classes is not None:
                logits = self.logits(self.blank, model.model_call)
                outputs_of(classes, logits.shape, model.classes)
            with (
                mode(self.blank, training=False),
                explained(self.sample),
                global_stream(stream(0, "check")),
            ):
                check_outputs(partial(call, self.blank), self.scenario.tasks[0].test)
            chosen = self.features
            return features_of(self.blank, call, self.sample, classes, chosen)

    def logits(self, model: nn.Module, call: ModelCall) -> Tensor:
        """Return a network's logits of the sample."""
        draws = every_global_stream(stream(0, "check"))
        evaluated = mode(model, training=False)
        with torch.no_grad(), explained(self.sample), evaluated, draws:
            logits = call(model, self.sample)
        if logits.ndim != 2:
            raise InputError(
                f"the model's output is {tuple(logits.shape)}, expected (B, K): give "
                "call="
            )
        return logits


def by_architecture(
    description: SourceDescription,
) -> tuple[SourceDescription, dict[str, SourceDescription]]:
    """Part networks of several architectures.

    Args:
        description: All networks.

    Returns:
        The networks of the first architecture, and those of each learner that has
        another.

    Raises:
        InputError: A learner with another architecture has no networks.
    """
    weights = description.weights
    builds = description.model.build_by_learner
    _, *names = builds or [""]
    learners = {run.learner for run in weights.runs}
    for name in sorted(names):
        check_known("method", name, learners)
    others = {
        name: replace(
            description,
            weights=replace(weights.of_learners(name.__eq__), build=builds[name]),
            model=replace(description.model, fresh=builds[name]),
        )
        for name in names
    }
    own = weights.of_learners(lambda name: name not in others)
    return replace(description, weights=own), others
