"""A learner's own recipe: it changes what it names, for that learner's training, and no more."""

from dataclasses import asdict, replace
from typing import Any

from probe.training.recipe import Recipe
from scenarios.study.study_file import check_study
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
