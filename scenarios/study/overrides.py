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

    epochs: of the training and of the retraining; train_limit: examples per class; validation:
    training examples per class to test on in place of the test data; sets: the data sets, one or
    two as the scenario has them; heads: those to report;
    weights: further weightings of CLscore, each as NAME=w1,...,w7.
    """

    learners: Sequence[str] | None = None
    seeds: int | None = None
    orders: str | None = None
    epochs: int | None = None
    train_limit: int | None = None
    validation: int | None = None
    sets: Sequence[str] | None = None
    heads: Sequence[str] | None = None
    weights: Sequence[str] | None = None

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
        for name in ("train_limit", "validation"):
            if getattr(self, name) is not None:
                raw["scenario"][name] = getattr(self, name)
        if self.sets is not None:
            sets = [name.strip() for name in self.sets]
            raw["scenario"]["data"] = _sets(sets, raw["scenario"])
        if self.heads is not None:
            raw["report"]["heads"] = [head.strip() for head in self.heads]
        raw["report"]["weights"].update(_weightings(self.weights or ()))
        if self.epochs is not None:
            for recipe in ("training", "retraining"):
                raw[recipe] = raw[recipe] and {**raw[recipe], "epochs": self.epochs}
            for settings in raw["learners"].values():
                own = settings.get("training")
                if own and own["epochs"]:
                    own["epochs"] = self.epochs
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


def _sets(names: Sequence[str], scenario: dict[str, Any]) -> str | list[str]:
    wanted = 2 if scenario["kind"] == "multimodal" else 1
    if "" in names:
        raise InputError(f"--sets expects NAME or A.npz,B.npz, got {','.join(names)!r}")
    if len(names) != wanted:
        kind = scenario["kind"]
        raise InputError(f"--sets names {wanted} for a scenario of kind {kind}, got {len(names)}")
    return names[0] if wanted == 1 else list(names)


def _weightings(texts: Sequence[str]) -> dict[str, list[float]]:
    given: dict[str, list[float]] = {}
    for text in texts:
        name, _, numbers = (part.strip() for part in text.partition("="))
        if name in given:
            raise InputError(f"--weights names {name!r} twice: give each weighting its own name")
        try:
            given[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise InputError(f"--weights expects NAME=w1,...,w7, got {text!r}") from None
    return given
