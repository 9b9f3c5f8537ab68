"""A learner's own recipe: it changes what it names, for that learner's training, and no more."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from probe.errors import InputError
from probe.training.recipe import Recipe
from scenarios.study.source import check_study
from tests.scenarios.tiny_run import PLAIN

RECIPE = Recipe(epochs=3, batch_size=8, optimizer="adam", learning_rate=0.01, init="torch")
RAW: dict[str, Any] = {
    "name": "own",
    "scenario": {"data": "digits", "classes_per_task": 5, "train_limit": 4},
    "network": {"name": "mlp", "features": ["hidden1"]},
    "training": {name: value for name, value in asdict(RECIPE).items() if value is not None},
    "learners": {"finetune": {}},
    "orders": "none",
    "probing": PLAIN,
}


def with_own(training: object) -> dict[str, Any]:
    return {**RAW, "learners": {"finetune": {"training": training}, "er": {}}}


def test_it_is_the_recipe_of_that_learners_training_alone() -> None:
    study = check_study(with_own({"optimizer": "nadam", "batch_size": 9}), "own")
    assert study.recipe_of("finetune") == replace(RECIPE, optimizer="nadam", batch_size=9)
    assert study.recipe_of("er") == study.training == study.retraining_recipe == RECIPE


def test_a_recipe_that_a_learner_does_not_fit_is_refused_by_its_path() -> None:
    """FEL's own recipe has Adam, for which a study's momentum would mean nothing."""
    training = {"optimizer": "sgd", "momentum": 0.9}
    fits = {"optimizer": "adam", "momentum": 0.0}
    own = {**RAW, "training": training, "learners": {"er": {}, "fel": {"training": fits}}}
    assert check_study(own, "own").recipe_of("fel") == Recipe()
    with pytest.raises(InputError, match=r"learners\.fel\.training: momentum 0.9 is for .*'sgd'"):
        check_study({**own, "learners": {"er": {}, "fel": {}}}, "own")
