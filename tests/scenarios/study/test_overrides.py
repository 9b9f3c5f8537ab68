"""What the flags of `probe run` change in a study, and what they leave as it is."""

import pytest

from probe.errors import InputError
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.learners.catalog import settings_of
from scenarios.options import RunOptions
from scenarios.study.source import check_study, overridden

STUDY = check_study(
    {
        "name": "tiny",
        "orders": {"back": [2, 1]},
        "seeds": 3,
        "scenario": {"data": "digits", "classes_per_task": 5},
        "network": {"name": "cnn3", "features": ["conv2"]},
        "report": {"weights": {"halves": [0.5, 0, 0, 0, 0.5, 0, 0]}},
        "training": {"epochs": 10, "batch_size": 32},
        "retraining": {"epochs": 7, "batch_size": 16},
        "learners": {
            "finetune": {},
            "er": {"memory_per_class": 5},
            "er-many": {"kind": "er", "memory_per_class": 50},
        },
    },
    "tiny",
)


def by(*, of=STUDY, **flags):
    """Return the study as flags change it."""
    return overridden(of, RunOptions(**flags))


def but(**fields):
    """Return the study with other fields, as in a file."""
    return check_study({**STUDY.model_dump(), **fields}, "tiny")


def changed(study):
    """Return what differs from the study above, by field."""
    was, now = STUDY.model_dump(), study.model_dump()
    return {name: now[name] for name in was if was[name] != now[name]}


def with_one(field, name, value):
    """Return the field of the study above, one entry of it changed, as a difference."""
    return {field: {**STUDY.model_dump()[field], name: value}}


SEVENTH, B = (0, 0, 0, 0, 0, 0, 1), (0.5, 0, 0, 0, 0, 0, 0.5)


@pytest.mark.parametrize(
    ("flags", "difference"),
    [
        ({}, {}),
        ({"seeds": 1}, {"seeds": 1}),
        ({"orders": "shuffle:4"}, {"orders": "shuffle:4"}),
        ({"train_limit": 9}, with_one("scenario", "train_limit", 9)),
        ({"validation": 3}, with_one("scenario", "validation", 3)),
        ({"heads": "multi, all"}, with_one("report", "heads", ("multi", "all"))),
        (
            {"weights": ("halves=0,0,0,0,0,0,1", "b=.5,0,0,0,0,0,.5")},
            with_one("report", "weights", {"halves": SEVENTH, "b": B}),
        ),
    ],
)
def test_a_flag_wins_over_the_file_and_changes_nothing_else(flags, difference):
    assert changed(by(**flags)) == difference


def test_epochs_are_those_of_all_recipes_that_there_are_and_make_none():
    study = by(epochs=2)
    assert study.training == Recipe(epochs=2, batch_size=32)
    assert study.retraining == Recipe(epochs=2, batch_size=16)
    assert changed(study).keys() == {"training", "retraining"}
    follows = by(of=but(retraining=None), epochs=2)
    assert follows.retraining is None
    assert follows.retraining_recipe == Recipe(epochs=2, batch_size=32)
    # Nor epochs where a learner's recipe leaves them open.
    trained = {"finetune": {"epochs": 9, "batch_size": 8}, "er": {"batch_size": 8}}
    learners = {name: {"training": training} for name, training in trained.items()}
    own = but(learners={**learners, "ewc": {}})
    study = by(of=own, epochs=2)
    assert study.learners["finetune"].training == RecipeChanges(epochs=2, batch_size=8)
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]
    assert {study.learners[name] == own.learners[name] for name in ("er", "ewc")} == {True}
    # And they reach learners that the study does not have.
    study = by(epochs=2, learners="offline,fel,geppnet")
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]


def test_learners_are_the_studys_own_or_have_default_settings():
    study = by(learners="offline, er-many,er")
    assert list(study.learners) == ["offline", "er-many", "er"]
    assert study.learners["offline"] == settings_of({"kind": "offline"})
    assert study.learners["er"] == settings_of({"kind": "er", "memory_per_class": 5})
    assert study.learners["er-many"] == settings_of({"kind": "er", "memory_per_class": 50})
    assert changed(study).keys() == {"learners"}


def sets(kind, names, data="digits"):
    scenario = {"kind": kind, "data": data, "train_limit": 5}
    return by(of=but(scenario=scenario), sets=names).scenario


def test_sets_take_the_place_of_the_studys():
    both = ["digits", "spoken_digits"]
    assert sets("multimodal", "a.npz, b.npz", both).model_dump() == {
        **sets("multimodal", "digits,spoken_digits", both).model_dump(),
        "data": ("a.npz", "b.npz"),
    }
    for kind in ("split", "permutation", "incremental"):
        found = sets(kind, "a.npz")
        assert (found.kind, found.data, found.train_limit) == (kind, "a.npz", 5)


def test_a_weighting_is_named_once_and_flags_are_refused_together():
    with pytest.raises(InputError, match="--weights names 'a' twice"):
        by(weights=("a=1,0,0,0,0,0,0",) * 2)
    with pytest.raises(InputError, match=r"orders: unknown orders 'x'.*; seeds: .* got 0"):
        by(seeds=0, orders="x")
