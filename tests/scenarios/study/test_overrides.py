"""What the flags of `probe run` change in a study, and what they leave as it is."""

from probe.training.recipe import Recipe, RecipeChanges
from scenarios.learners.catalog import settings_of
from scenarios.options import RunOptions
from scenarios.study.study_file import apply_flags, check_study

STUDY = check_study(
    {
        "name": "tiny",
        "seeds": 3,
        "scenario": {"data": "digits", "classes_per_task": 5},
        "network": {"name": "cnn3", "features": ["conv2"]},
        "training": {"epochs": 10, "batch_size": 32},
        "retraining": {"epochs": 7, "batch_size": 16},
        "learners": {
            "finetune": {"training": {"epochs": 9, "batch_size": 8}},
            "er": {"memory_per_class": 5, "training": {"batch_size": 8}},
            "er-many": {"kind": "er", "memory_per_class": 50},
        },
    },
    "tiny",
)


def by(*, of=STUDY, **flags):
    """Return the study as flags change it."""
    return apply_flags(of, RunOptions(**flags))


def changed(study):
    """Return the fields that differ from those of the study above."""
    was, now = STUDY.model_dump(), study.model_dump()
    return {name for name in was if was[name] != now[name]}


def test_epochs_are_those_of_all_recipes_that_there_are_and_make_none():
    study = by(epochs=2)
    assert study.training == Recipe(epochs=2, batch_size=32)
    assert study.retraining == Recipe(epochs=2, batch_size=16)
    assert study.learners["finetune"].training == RecipeChanges(epochs=2, batch_size=8)
    # Nor epochs where a learner's recipe leaves them open.
    assert study.learners["er"] == STUDY.learners["er"]
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]
    assert changed(study) == {"training", "retraining", "learners"}
    follows = by(
        of=check_study({**STUDY.model_dump(), "retraining": None}, "tiny"), epochs=2
    )
    assert follows.retraining is None
    assert follows.retraining_recipe == Recipe(epochs=2, batch_size=32)
    # Where a recipe counts iterations, they are no longer counted.
    counting = STUDY.model_dump()
    counting["training"]["iterations"] = 90
    recipe = by(of=check_study(counting, "tiny"), epochs=2).training
    assert recipe == Recipe(epochs=2, batch_size=32)
    # And they reach learners that the study does not have.
    study = by(epochs=2, learners="offline,fel,geppnet")
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]


def test_learners_are_the_studys_own_or_have_default_settings():
    study = by(learners="offline, er-many,er")
    assert list(study.learners) == ["offline", "er-many", "er"]
    assert study.learners["offline"] == settings_of({"kind": "offline"})
    assert {
        study.learners[name] == STUDY.learners[name] for name in ("er", "er-many")
    } == {True}
    assert changed(study) == {"learners"}
