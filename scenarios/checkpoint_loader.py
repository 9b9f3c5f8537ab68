"""Loading of networks from checkpoints, by the user's code."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import torch

from probe.by_layer.network_source import NetworkSource
from probe.by_layer.plan import Plan
from probe.by_layer.probing import Measure
from probe.by_layer.source_description import SourceDescription
from probe.by_layer.trained_networks import in_checkpoints
from probe.errors import InputError, located
from probe.extensions import NetworkEntry
from probe.immutable import immutable
from probe.metrics.task_predictions import TaskClasses
from probe.model import Model
from probe.record.checkpoints import Checkpoints
from probe.record.recording import Recording
from probe.task_aware import make_task_aware
from probe.tasked_examples import Orders, assign_tasks, check_tasks
from probe.tasks import Scenario, data_hash
from probe.training.recipe import Recipe
from scenarios.data.datasets import Location, in_order, limited, load
from scenarios.options import ModelOptions, names
from scenarios.study.plan import BUILT_IN
from scenarios.user_code import UserCode, build_model, load_callable
from scenarios.user_objects import SOURCE_HASHES, USER_NETWORKS


@immutable
class CheckpointLoader:
    """Loader of networks from checkpoint files, by the user's code.

    Attributes:
        user_code: The user's code.
        name: The name of the run.
        network: The name under which the user's code registers the network.
        data: The name under which the user's code registers the data, or feature files.
        checkpoints: The checkpoint files of all networks.
        recording: The recording of the runs, if there is one.
        tasks: The classes of each of T tasks, in base order; None if the data have
            tasks.
        orders: The task orders: a rule, or the tasks from 1 by the order's name; None =
            only the base order.
        options: The flags of `probe model`.
        code: A hash of the user's code.
        location: The location of the data files, with their sizes and times when they
            were hashed.
    """

    user_code: UserCode
    name: str
    network: str
    data: str
    checkpoints: Checkpoints = field(compare=False)
    recording: Recording | None = field(compare=False)
    tasks: TaskClasses | None
    orders: Orders | None = field(compare=False)
    options: ModelOptions
    code: str | None
    location: Location

    @contextmanager
    def source(self, plan: Plan, device: torch.device) -> Iterator[NetworkSource]:
        """Load the networks and the user's code that they need, within the block.

        Args:
            plan: The plan.
            device: The device of the data.

        Yields:
            The networks.

        Raises:
            InputError: The user's code or the data have changed.
        """
        with self.user_code.opened(BUILT_IN):
            if SOURCE_HASHES.get(f"network {self.network}") != self.code:
                raise InputError(
                    "your code has changed since the run started: run again"
                )
            description = self.networks(device)
            if (
                not self.location.now(self.data).checked
                and data_hash(description.scenario) != plan.data
            ):
                raise InputError(
                    f"the data {self.data} are not those with which the run started: "
                    "seed what their function draws at random, or run again"
                )
            yield NetworkSource(description, plan)

    def networks(
        self, device: torch.device, progress: Callable[..., Iterable[Path]] = iter
    ) -> SourceDescription:
        """Describe the networks, without reading them.

        Args:
            device: The device of the data.
            progress: A wrapper of the files that shows progress, as `tqdm` does, when
                they are read.

        Returns:
            The description.
        """
        entry = USER_NETWORKS[self.network]
        options = self.options
        records = self.recording.records if self.recording else {}
        build = partial(build_model, entry.name, entry.build)
        model, scenario = self._model(entry, device)
        features: Sequence[str] | None = entry.features
        if options.features != "auto":
            features = names(options.features)
        return SourceDescription(
            name=self.name,
            network_name=entry.name,
            code=SOURCE_HASHES.get(f"network {entry.name}", ""),
            weights=in_checkpoints(self.checkpoints, build, records, model, progress),
            model=model,
            scenario=scenario,
            orders=self.orders,
            features=features,
            probing=_measure(options).probing,
            recipe=_recipe(options, scenario),
            train_offline=options.train_offline,
        )

    def _model(
        self, entry: NetworkEntry, device: torch.device
    ) -> tuple[Model, Scenario]:
        """Return how the networks are built, loaded and called, and the data as a scenario."""
        options = self.options
        model = Model(
            (),
            output=entry.output,
            call=entry.call,
            head=options.head,
            fresh=entry.build,
        )
        location = self.location.now(self.data)
        model, scenario = _model_and_data(self, location, device, model)
        functions = {t: load_callable(t, "a function") for t in self.user_code.more}
        # The function that builds the network of each learner; that of "" builds others.
        builds = {"": entry.build}
        for learner, target in options.networks.items():
            if target in functions:
                builds[learner] = functions[target]
        # Among the values of --load, a function reads files; others register objects.
        read = next((functions[t] for t in options.load or () if t in functions), None)
        model = replace(model, fresh=builds, load=read, weights=options.weights)
        return model, scenario


def _recipe(options: ModelOptions, scenario: Scenario) -> Recipe:
    """Return the recipe of the flags, by default with enough epochs for the data."""
    changes = {}
    for name in ("epochs", "batch_size", "learning_rate", "optimizer"):
        value = getattr(options, name)
        if value is not None:
            changes[name] = value
    with located("the recipe"):
        recipe = Recipe(**changes)
    if options.epochs is not None:
        return recipe
    return recipe.long_enough(sum(len(task.train) for task in scenario.tasks))


def _measure(options: ModelOptions) -> Measure:
    """Return what is measured, by the flags."""
    # From entries READOUT=STEPS to steps by readout.
    entries = filter(None, names(options.steps or ""))
    return Measure(
        readouts=names(options.readouts),
        steps=dict(entry.partition("=")[::2] for entry in entries),
        controls=names(options.controls) if options.controls else (),
    )


@lru_cache(maxsize=1)
def _model_and_data(
    loader: CheckpointLoader, location: Location, device: torch.device, model: Model
) -> tuple[Model, Scenario]:
    """Return the model, task-aware if its call is, and the data as tasks.

    They are loaded once per process, however many jobs it does.
    """
    data = load(loader.data, location)
    tasks = loader.tasks
    class_order = loader.user_code.class_order
    if loader.recording and loader.recording.reference:
        loader.recording.reference.check(data.train, data.test)
    data = limited(data, loader.options.train_limit)
    splits = {"train": data.train.to(device), "test": data.test.to(device)}
    # Data that the user's code registers are in this order already.
    if class_order and not loader.user_code.data:
        splits = {name: in_order(split, class_order) for name, split in splits.items()}
    if (tasks is None) != data.has_tasks:
        raise InputError(
            f"{data.name}: give either --tasks 0-1,2-3 or data with tasks, not both"
        )
    if tasks is not None:
        check_tasks(tasks, len(class_order) or data.classes)
    orders = {run.order for run in loader.checkpoints.runs}
    build = partial(build_model, loader.network, cast(Any, model.fresh))
    model, examples = make_task_aware(model, assign_tasks(splits, tasks), build, orders)
    return model, Scenario.of_examples(data.name, examples)
