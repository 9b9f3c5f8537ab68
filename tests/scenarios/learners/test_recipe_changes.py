"""A learner's own recipe: it changes what it names, for that learner's training, and no more."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from scenarios.study.job import run_job

from probe.by_layer.jobs import jobs_of
from probe.by_layer.store import Store
from probe.errors import InputError
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.data.datasets import Location
from scenarios.study.source import check_study
from tests.scenarios.tiny_run import PLAIN

RECIPE = Recipe(epochs=3, batch_size=8, optimizer="adam", learning_rate=0.01, init="torch")
CHANGES: dict[str, Any] = {
    "epochs": 1,
    "batch_size": 5,
    "optimizer": "sgd",
    "learning_rate": 0.5,
    "weight_decay": 0.01,
    "momentum": 0.5,
    "schedule": "cosine",
    "warmup": 0.5,
    "clip_norm": 1.0,
}
RAW: dict[str, Any] = {
    "name": "own",
    "scenario": {"data": "digits", "classes_per_task": 5, "train_limit": 4},
    "network": {"name": "mlp", "features": ["hidden1"]},
    "training": {
        f.name: value for f in fields(Recipe) if (value := getattr(RECIPE, f.name)) is not None
    },
    "learners": {"finetune": {}},
    "orders": "none",
    "probing": PLAIN,
}


def with_own(training: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {**RAW, "learners": {"finetune": {"training": training}, "er": {}}, **given}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_changes_one_thing(name: str) -> None:
    before = replace(RECIPE, optimizer="sgd") if name == "momentum" else RECIPE
    changed = RecipeChanges(**{name: CHANGES[name]}).instead_of(before)
    assert changed == replace(before, **{name: CHANGES[name]})
    assert changed != before


def test_it_is_the_recipe_of_that_learners_training_alone() -> None:
    study = check_study(with_own({"optimizer": "nadam", "batch_size": 9}), "own")
    assert study.recipe_of("finetune") == replace(RECIPE, optimizer="nadam", batch_size=9)
    assert study.recipe_of("er") == study.training == study.retraining_recipe == RECIPE


@pytest.mark.parametrize(
    ("training", "problem"),
    [
        ({"batch_size": 0}, "training.batch_size: .* got 0"),
        ({"optimizer": "nadm"}, "training.optimizer: .*'adam', .*'nadam' or 'sgd', got 'nadm'"),
        ({"momentum": 0.9}, "training: momentum 0.9 is for the optimizer 'sgd' alone, got 'adam'"),
        ({"init": "torch"}, "training.init: unknown key"),
        (5, "training: .* got 5"),
    ],
)
def test_a_mistake_is_named_by_its_path(training: Any, problem: str) -> None:
    with pytest.raises(InputError, match=rf"^own: learners\.finetune\.{problem}"):
        check_study(with_own(training), "own")


def test_a_recipe_that_a_learner_does_not_fit_is_refused_by_its_path() -> None:
    """FEL's own recipe has Adam, for which a study's momentum would mean nothing."""
    training = {"optimizer": "sgd", "momentum": 0.9}
    fits = {"optimizer": "adam", "momentum": 0.0}
    own = {**RAW, "training": training, "learners": {"er": {}, "fel": {"training": fits}}}
    assert check_study(own, "own").recipe_of("fel") == Recipe()
    with pytest.raises(InputError, match=r"learners\.fel\.training: momentum 0.9 is for .*'sgd'"):
        check_study({**own, "learners": {"er": {}, "fel": {}}}, "own")


def test_a_learner_trains_by_it_as_in_a_study_of_that_recipe(tmp_path: Path) -> None:
    """Accuracy and costs, and the model retrained by the study's recipe; without, others."""
    training = {**RAW["training"], **CHANGES}
    whole = {**RAW, "training": training, "retraining": RAW["training"]}
    found = []
    for name, raw in {"own": with_own(CHANGES), "whole": whole, "plain": RAW}.items():
        study = check_study(raw, "own")
        job = next(job for job in jobs_of(study, 2) if job.learner == "finetune")
        (tmp_path / name).mkdir()
        store, cpu = Store(tmp_path / name, job.name, {}), torch.device("cpu")
        parts = list(run_job(study, job, study.scenario.scenario(Location()), store, cpu))
        assert parts == ["step-0", "step-1", "step-2", "feature-hidden1"]
        measured = [store.read(part) for part in parts]
        tables = [each.counts["single"][0].table.tolist() for each in measured[1:]]
        found.append((tables, [each.spent.cost.ops for each in measured[1:3]]))
    own, same, other = found
    assert own == same
    assert own[0] != other[0]
    assert all(mine < others for mine, others in zip(own[1], other[1], strict=True))
