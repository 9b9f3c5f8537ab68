"""Loader of a study's networks and data, in any process."""

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import torch

from probe.by_layer.fingerprint import data_hash
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.tasks import Scenario
from scenarios.data.datasets import Location
from scenarios.study.plan import BUILT_IN, sources_of
from scenarios.study.scenario_spec import ScenarioSpec
from scenarios.study.spec import Study
from scenarios.study.training import StudyNetworks
from scenarios.user_code import UserCode


@dataclass(frozen=True, kw_only=True)
class StudyLoader:
    """A study, the location of its data, and the user's code that it needs.

    location: with the stamps of the feature files that the plan's hash is of; sources: hashes of
    that code when the study began, see `plan.sources_of`.
    """

    study: Study
    location: Location
    user_code: UserCode
    sources: Mapping[str, str]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Load the user's code for the block; raises InputError if it has changed."""
        with self.user_code.opened(BUILT_IN):
            if sources_of(self.study) != self.sources:
                raise InputError(
                    "your code has changed since the run started: run the command again"
                )
            yield

    def source(self, plan: Plan, device: torch.device) -> StudyNetworks:
        """Return the networks, with the data on a device; raises InputError for other data."""
        spec = self.study.scenario
        scenario = _loaded(spec, self.location.now(spec.data), str(device), plan.data)
        return StudyNetworks(plan=plan, study=self.study, scenario=scenario)


@lru_cache(maxsize=1)
def _loaded(spec: ScenarioSpec, location: Location, device: str, data: str) -> Scenario:
    """Load the data once per process, however many jobs it does; data: the hash they must have."""
    scenario = spec.scenario(location)
    if not location.checked and data_hash(scenario) != data:
        raise InputError(
            f"the data of {spec.title} on {platform.node()} differ from those with which the "
            f"study began: copy the same files there, and run the same command again"
        )
    return scenario.to(torch.device(device))
