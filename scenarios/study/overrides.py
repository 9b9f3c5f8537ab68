"""What flags change in a study: one that is given overrides the preset or file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from probe.errors import InputError, unknown
from scenarios.learners.catalogue import LEARNERS
from scenarios.options import RunOptions, names
from scenarios.study.reading import check_study
from scenarios.study.spec import Study


def overridden(study: Study, options: RunOptions) -> Study:
    """Return the study as the flags change it; raises InputError if a change is not possible."""
    raw = study.model_dump()
    if options.learners is not None:
        raw["learners"] = _learners(names(options.learners), raw["learners"])
    if options.seeds is not None:
        raw["seeds"] = options.seeds
    if options.orders is not None:
        raw["orders"] = options.orders
    if options.train_limit is not None:
        raw["scenario"]["train_limit"] = options.train_limit
    if options.validation is not None:
        raw["scenario"]["validation"] = options.validation
    if options.sets is not None:
        raw["scenario"]["data"] = _sets(names(options.sets), raw["scenario"]["kind"])
    if options.heads is not None:
        raw["report"]["heads"] = names(options.heads)
    raw["report"]["weights"].update(_weightings(options.weights or ()))
    if options.epochs is not None:
        _set_epochs(raw, options.epochs)
    return check_study(raw, "the flags given")


def _learners(chosen: Sequence[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the learners named: as the study sets them, or else with default settings."""
    if "" in chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"--learners expects different names a,b,c, got {','.join(chosen)!r}")
    known = {kind: {"kind": kind} for kind in LEARNERS} | settings
    for name in chosen:
        if name not in known:
            raise unknown("learner", name, known)
    return {name: known[name] for name in chosen}


def _sets(chosen: Sequence[str], kind: str) -> str | list[str]:
    wanted = 2 if kind == "multimodal" else 1
    if "" in chosen:
        raise InputError(f"--sets expects NAME or A.npz,B.npz, got {','.join(chosen)!r}")
    if len(chosen) != wanted:
        raise InputError(f"--sets names {wanted} for a scenario of kind {kind}, got {len(chosen)}")
    return chosen[0] if wanted == 1 else list(chosen)


def _set_epochs(raw: dict[str, Any], epochs: int) -> None:
    """Set the epochs of every recipe that the study gives."""
    for recipe in ("training", "retraining"):
        raw[recipe] = raw[recipe] and {**raw[recipe], "epochs": epochs}
    for settings in raw["learners"].values():
        own = settings.get("training")
        if own and own["epochs"]:
            own["epochs"] = epochs


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
