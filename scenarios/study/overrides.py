"""What the command line changes in a study: a flag that is given wins over the preset or file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from probe.errors import InputError, unknown
from scenarios.learners.catalogue import LEARNERS
from scenarios.study.reading import check_study
from scenarios.study.spec import Study


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """The flags of `probe run` that change the study; None = not given.

    epochs: of the training and of the retraining; train_limit: examples per class.
    """

    learners: Sequence[str] | None = None
    seeds: int | None = None
    orders: str | None = None
    epochs: int | None = None
    train_limit: int | None = None

    def applied_to(self, study: Study) -> Study:
        """Return the study with these changes; raises InputError if one of them is not possible."""
        if all(getattr(self, field.name) is None for field in fields(self)):
            return study
        raw = study.model_dump()
        if self.learners is not None:
            raw["learners"] = self._learners(raw["learners"])
        if self.seeds is not None:
            raw["seeds"] = self.seeds
        if self.orders is not None:
            raw["orders"] = self.orders
        if self.train_limit is not None:
            raw["scenario"]["train_limit"] = self.train_limit
        if self.epochs is not None:
            for recipe in ("training", "retraining"):
                raw[recipe] = raw[recipe] and {**raw[recipe], "epochs": self.epochs}
        return check_study(raw, "the flags given")

    def _learners(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the learners named: as the study sets them, or else with default settings."""
        names = [name.strip() for name in self.learners or ()]
        if "" in names or len(set(names)) < len(names):
            raise InputError(f"--learners expects different names a,b,c, got {','.join(names)!r}")
        known = {kind: {"kind": kind} for kind in LEARNERS} | settings
        for name in names:
            if name not in known:
                raise unknown("learner", name, known)
        return {name: known[name] for name in names}
