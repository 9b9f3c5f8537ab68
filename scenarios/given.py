"""The origin of networks that are given as files, with the user's code that makes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import torch

from probe.batch import first
from probe.by_layer.fingerprint import data_hash
from probe.by_layer.network_source import NetworkSource
from probe.by_layer.plan import Plan
from probe.by_layer.probing import Measure
from probe.by_layer.trained_networks import in_checkpoints
from probe.errors import InputError, located
from probe.model import Model
from probe.record.checkpoints import Checkpoints, Run
from probe.record.data import DataReference
from probe.record.recording import RunRecord
from probe.retrain import SAMPLE, cache_plan
from probe.task_aware import make_task_aware
from probe.tasked_examples import assign_tasks, check_tasks
from probe.tasks import Scenario
from probe.training.recipe import Recipe
from probe.values.allocation import Allocation, CacheSettings
from scenarios.data.datasets import Location, limited, load
from scenarios.data.own import in_order
from scenarios.options import ModelOptions, names
from scenarios.own_code import REGISTRY, OwnCode, source_of
from scenarios.study.planning import OURS
from scenarios.study.preflight import examples_of
from scenarios.user_model import build_model


@dataclass(frozen=True, kw_only=True)
class GivenOrigin:
    """Networks in files, and the code that makes them and loads their data, by name.

    - own: the user's code; network, data: names that it registers, or feature files; checkpoints:
      the files; records: what a recorder has kept of their runs, reference: to its data, if it has
      not kept them; location: of files, once hashed;
    - name, orders: as in `probe.by_layer.network_source.NetworkSource`; tasks: the classes of each
      of T tasks, in base order, None where the data bring tasks; options: the flags; code: a hash
      of the user's code.
    """

    own: OwnCode
    name: str
    network: str
    data: str
    checkpoints: Checkpoints
    records: Mapping[Run, RunRecord]
    reference: DataReference | None
    tasks: tuple[tuple[int, ...], ...] | None
    orders: str | Mapping[str, Sequence[int]] | None
    options: ModelOptions
    code: str | None
    location: Location

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Load the user's code for the block; raises InputError if it has changed."""
        with self.own.opened(OURS):
            if source_of("network", self.network) != self.code:
                raise InputError(
                    "your code has changed since the run started: run the command again"
                )
            yield

    def source(self, plan: Plan, device: torch.device) -> NetworkSource:
        """Return the networks, with the data on a device; raises InputError for other data."""
        source = self.networks(device)
        if not self.location.now(self.data).checked and data_hash(source.scenario) != plan.data:
            raise InputError(
                f"the data of {self.data} have changed since the run started: run the same command "
                f"again"
            )
        source.plan = plan
        return source

    def caches(self, plan: Plan, cache: CacheSettings) -> dict[str, tuple[Allocation, ...]]:
        """Return where jobs keep their features' values, for the network."""
        source = self.networks(torch.device("cpu"))
        features = next(iter(plan.learners.values())).features[:-1]
        call, sample = source.model.model_call, first(source.scenario.tasks[0].test.x, SAMPLE)
        sizes = examples_of(source.scenario)
        blank = source.weights.blank()
        return {
            self.network: cache_plan(
                blank, features, sample, sizes, source.recipe, cache, call.output, call.call
            )
        }

    def networks(
        self, device: torch.device, progress: Callable[..., Iterable[Path]] = iter
    ) -> NetworkSource:
        """Return the networks; to make their plan every file is read, and tried."""
        own, options = REGISTRY.networks[self.network], self.options
        controls = names(options.controls) if options.controls else ()
        build = partial(build_model, own.name, own.build)
        called = Model((), output=own.output, call=own.call, head=options.head, fresh=own.build)
        orders = frozenset(run.order for run in self.checkpoints.runs)
        at = self.location.now(self.data)
        taken = self.reference, options.train_limit
        model, scenario = _loaded(
            self.data, at, self.own, self.tasks, str(device), called, orders, *taken
        )
        given = {name: getattr(options, name) for name in _RECIPE}
        with located("the recipe"):
            recipe = Recipe(**{name: value for name, value in given.items() if value is not None})
        return NetworkSource(
            name=self.name,
            network_name=own.name,
            code=source_of("network", own.name) or "",
            weights=in_checkpoints(self.checkpoints, build, self.records, progress),
            model=model,
            scenario=scenario,
            orders=self.orders,
            features=own.features if options.features == "auto" else names(options.features),
            probing=Measure(readouts=names(options.readouts), controls=controls).probing,
            recipe=recipe,
            train_offline=options.train_offline,
        )


_RECIPE = ("epochs", "batch_size", "learning_rate", "optimizer")


@lru_cache(maxsize=1)
def _loaded(
    name: str,
    location: Location,
    own: OwnCode,
    tasks: tuple[tuple[int, ...], ...] | None,
    device: str,
    model: Model,
    orders: frozenset[str],
    reference: DataReference | None,
    limit: int | None,
) -> tuple[Model, Scenario]:
    """Load the data once per process, however many jobs it does; tell a model the task if asked."""
    data, at = load(name, location), torch.device(device)
    if reference:
        reference.check(data.train, data.test)
    data = limited(data, limit)
    halves = {"train": data.train.to(at), "test": data.test.to(at)}
    if own.class_order and not own.data:
        halves = {half: in_order(each, own.class_order) for half, each in halves.items()}
    if tasks is None and not data.has_tasks:
        raise InputError(
            "there are no tasks: give --tasks 0-1,2-3, the classes of each task, or data that have "
            "tasks, as --data 'sites/{task}.npz'"
        )
    if tasks is not None and data.has_tasks:
        raise InputError(
            f"{data.name} has its tasks: leave out --tasks; --orders names the orders of its tasks"
        )
    if tasks is not None:
        check_tasks(tasks, len(own.class_order) or data.classes)
    build = partial(build_model, name, cast(Any, model.fresh))
    model, given = make_task_aware(model, assign_tasks(halves, tasks), build, orders)
    return model, Scenario.of_examples(data.name, given)
