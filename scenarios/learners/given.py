"""Networks that are given as files and not trained here: what a learner's settings say of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from scenarios.learners.base import Settings
from scenarios.learners.given_network import GivenNetwork


class GivenSettings(Settings):
    """Settings of a learner whose networks may be given; networks: all of them, of every run."""

    networks: Annotated[tuple[GivenNetwork, ...], Field(strict=False)] = ()

    @cached_property
    def _by_run(self) -> dict[tuple[str, int], dict[int, GivenNetwork]]:
        found: dict[tuple[str, int], dict[int, GivenNetwork]] = {}
        for each in self.networks:
            found.setdefault((each.order, each.seed), {})[each.step] = each
        return found

    def given(self, order: str, seed: int) -> Mapping[int, GivenNetwork]:
        return self._by_run.get((order, seed), {})

    def recorded(self, order: str, seed: int) -> dict[str, Any]:
        record = super().recorded(order, seed)
        del record["networks"]
        # By what is in them: where they lie does not count, nor do other runs.
        if hashes := {str(step): each.hash for step, each in self.given(order, seed).items()}:
            record["networks"] = hashes
        return record
