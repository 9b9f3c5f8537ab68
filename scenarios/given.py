"""The origin of networks that are given as files, with the user's code that makes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import torch

from probe.batch import first
from probe.by_layer.fingerprint import data_hash
from probe.by_layer.given import Files, GivenNetworks
from probe.by_layer.measure import Measure
from probe.by_layer.plan import Plan
from probe.by_layer.request import Request
from probe.errors import InputError, located
from probe.model import Model
from probe.numbered import check_tasks
from probe.progress import tracked
from probe.record.checkpoints import Checkpoints
from probe.retrain import SAMPLE, cache_plan
from probe.tasks import Scenario
from probe.training.recipe import Recipe
from probe.values.allocation import Allocation, CacheSettings
from scenarios.data.datasets import load
from scenarios.options import ModelOptions, names
from scenarios.own_code import REGISTRY, OwnCode, source_of
from scenarios.study.planning import OURS
from scenarios.study.preflight import examples_of
from scenarios.user_model import build_model


@dataclass(frozen=True, kw_only=True)
class GivenOrigin:
    """Networks in files, and the code that makes them and loads their data, by name.

    - own: the user's code; network, data: names that it registers; checkpoints: the files;
    - name, orders: as in `probe.by_layer.request.Request`; tasks: the classes of each of T tasks,
      in base order; options: the flags; code: a hash of the user's code.
    """

    own: OwnCode
    name: str
    network: str
    data: str
    checkpoints: Checkpoints
    tasks: tuple[tuple[int, ...], ...]
    orders: str | Mapping[str, Sequence[int]] | None
    options: ModelOptions
    code: str | None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Load the user's code for the block; raises InputError if it has changed."""
        with self.own.opened(OURS):
            if source_of("network", self.network) != self.code:
                raise InputError(
                    "your code has changed since the run started: run the command again"
                )
            yield

    def given(self, device: torch.device) -> GivenNetworks:
        """Return the networks with their plan; every file is read for it, and tried."""
        return self._request(device, partial(tracked, label="reading checkpoints")).given()

    def source(self, plan: Plan, device: torch.device) -> GivenNetworks:
        """Return the networks, with the data on a device; raises InputError for other data."""
        asked = self._request(device)
        if data_hash(asked.scenario) != plan.data:
            raise InputError(
                f"the data of {self.data} have changed since the run started: run the same command "
                f"again"
            )
        return GivenNetworks(
            plan=plan, weights=asked.networks, model=asked.model, scenario=asked.scenario
        )

    def caches(self, plan: Plan, cache: CacheSettings) -> dict[str, tuple[Allocation, ...]]:
        """Return where jobs keep their features' values, for the network."""
        asked = self._request(torch.device("cpu"))
        features = next(iter(plan.learners.values())).features[:-1]
        call, sample = asked.model.model_call, first(asked.scenario.tasks[0].test.x, SAMPLE)
        sizes = examples_of(asked.scenario)
        blank = asked.networks.blank()
        return {
            self.network: cache_plan(
                blank, features, sample, sizes, asked.recipe, cache, call.output, call.call
            )
        }

    def _request(self, device: torch.device, each: Callable[..., Iterable[Path]] = iter) -> Request:
        own, options = REGISTRY.networks[self.network], self.options
        controls = names(options.controls) if options.controls else ()
        build = partial(build_model, own.name, own.build)
        given = {name: getattr(options, name) for name in _RECIPE}
        with located("the recipe"):
            recipe = Recipe(**{name: value for name, value in given.items() if value is not None})
        return Request(
            name=self.name,
            network=own.name,
            source=source_of("network", own.name) or "",
            networks=Files.of(self.checkpoints, build, each),
            model=Model({}, output=own.output, call=own.call, fresh=own.build),
            scenario=_loaded(self.data, self.own, self.tasks, str(device)),
            orders=self.orders,
            features=own.features if options.features == "auto" else names(options.features),
            probing=Measure(readouts=names(options.readouts), controls=controls).probing,
            recipe=recipe,
            train_offline=options.train_offline,
        )


_RECIPE = ("epochs", "batch_size", "learning_rate", "optimizer")


@lru_cache(maxsize=1)
def _loaded(name: str, _: OwnCode, tasks: tuple[tuple[int, ...], ...], device: str) -> Scenario:
    """Load the data once per process, however many jobs it does."""
    data = load(name)
    check_tasks(tasks, data.classes)
    scenario = Scenario.of_classes(data.name, data.train, data.test, tasks)
    return scenario.to(torch.device(device))
