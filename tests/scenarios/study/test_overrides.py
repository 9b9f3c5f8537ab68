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
HALVES = {"halves": (0.5, 0, 0, 0, 0.5, 0, 0)}


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


MINE, B = (1, 0, 0, 0, 0, 0, 0), (0.5, 0, 0, 0, 0, 0, 0.5)
SEVENTH = (0, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("flags", "difference"),
    [
        ({}, {}),
        ({"seeds": 1}, {"seeds": 1}),
        ({"orders": "rotate"}, {"orders": "rotate"}),
        ({"orders": "shuffle:4"}, {"orders": "shuffle:4"}),
        ({"train_limit": 9}, with_one("scenario", "train_limit", 9)),
        ({"validation": 3}, with_one("scenario", "validation", 3)),
        ({"heads": "multi, all"}, with_one("report", "heads", ("multi", "all"))),
        (
            {"weights": ("mine = 1,0,0,0,0,0,0",)},
            with_one("report", "weights", {**HALVES, "mine": MINE}),
        ),
        (
            {"weights": ("halves=0,0,0,0,0,0,1", "b=.5,0,0,0,0,0,.5")},
            with_one("report", "weights", {"halves": SEVENTH, "b": B}),
        ),
    ],
)
def test_a_flag_wins_over_the_file_and_changes_nothing_else(flags, difference):
    assert changed(by(**flags)) == difference


def test_epochs_are_those_of_the_training_and_of_the_retraining():
    study = by(epochs=2)
    assert study.training == Recipe(epochs=2, batch_size=32)
    assert study.retraining == Recipe(epochs=2, batch_size=16)
    assert changed(study).keys() == {"training", "retraining"}
    follows = by(of=but(retraining=None), epochs=2)
    assert follows.retraining is None
    assert follows.retraining_recipe == Recipe(epochs=2, batch_size=32)


def test_epochs_win_over_a_learners_own():
    """And make no recipe where there is none, nor epochs where a recipe leaves them open."""
    trained = {"finetune": {"epochs": 9, "batch_size": 8}, "er": {"batch_size": 8}}
    learners = {name: {"training": training} for name, training in trained.items()}
    own = but(learners={**learners, "ewc": {}})
    study = by(of=own, epochs=2)
    assert study.learners["finetune"].training == RecipeChanges(epochs=2, batch_size=8)
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]
    assert [study.recipe_of(name).batch_size for name in study.learners] == [8, 8, 32]
    assert {study.learners[name] == own.learners[name] for name in ("er", "ewc")} == {True}


def test_epochs_reach_learners_that_the_study_does_not_have():
    study = by(epochs=2, learners="offline,fel,geppnet")
    assert [study.recipe_of(name).epochs for name in study.learners] == [2, 2, 2]
    assert study.learners["fel"] == settings_of({"kind": "fel"})


def test_learners_are_the_studys_own_or_have_default_settings():
    study = by(learners="offline, er-many,er")
    assert list(study.learners) == ["offline", "er-many", "er"]
    assert study.learners["offline"] == settings_of({"kind": "offline"})
    assert study.learners["er"] == settings_of({"kind": "er", "memory_per_class": 5})
    assert study.learners["er-many"] == settings_of({"kind": "er", "memory_per_class": 50})
    assert changed(study).keys() == {"learners"}


def sets(scenario, names):
    return by(of=but(scenario=scenario), sets=names).scenario


def test_sets_take_the_place_of_the_studys():
    both = {"kind": "multimodal", "data": ["digits", "spoken_digits"], "train_limit": 5}
    assert sets(both, "a.npz, b.npz").model_dump() == {
        **sets(both, "digits,spoken_digits").model_dump(),
        "data": ("a.npz", "b.npz"),
    }
    for kind in ("split", "permutation", "incremental"):
        found = sets({"kind": kind, "data": "digits", "train_limit": 5}, "a.npz")
        assert (found.kind, found.data, found.train_limit) == (kind, "a.npz", 5)


@pytest.mark.parametrize(
    ("kind", "names", "message"),
    [
        ("split", "digits,mnist", "--sets names 1 for a scenario of kind split, got 2"),
        ("multimodal", "digits", "--sets names 2 for a scenario of kind multimodal, got 1"),
        ("multimodal", "digits,mnits", "scenario.data.1: .*'mnits': did you mean 'mnist'"),
        ("incremental", "digit", "scenario.data: unknown data set 'digit': did you mean 'digits"),
        ("permutation", "", "--sets expects NAME or A.npz,B.npz, got ''"),
    ],
)
def test_sets_that_cannot_be_are_refused(kind, names, message):
    data = ["digits", "mnist"] if kind == "multimodal" else "digits"
    with pytest.raises(InputError, match=message):
        sets({"kind": kind, "data": data}, names)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *((name, n, f"{name}: .* got {n}") for name in ("seeds", "train_limit") for n in (0, -5)),
        ("epochs", 0, "training.epochs: expected 1 or more, got 0"),
        ("epochs", -1, "training.epochs: expected 1 or more, got -1"),
        ("validation", 0, "scenario.validation: .* got 0"),
        ("heads", "multi,singel", "report.heads.1: .*'single', 'multi' or 'all', got 'singel'"),
        ("heads", "", "report.heads.0: .* got ''"),
        ("heads", "all,all", "report.heads: heads names each head once, got all, all"),
        ("weights", "mine", "--weights expects NAME=w1,...,w7, got 'mine'"),
        ("weights", "mine=1,0,0,a,0,0,0", "--weights expects NAME=w1,...,w7, got 'mine=1,0,0,a"),
        ("weights", "mine=1,0", "report.weights: got 2 weights, expected 7: A, MS, SSS, CE"),
        ("weights", "mine=1,0,0,0,0,0,1", "weights must sum to 1, got 2: divide each by their"),
        ("weights", "mine=1,1,-1,0,0,0,0", "weight of criterion SSS is -1, expected a number"),
        ("weights", "mine=nan,1,0,0,0,0,0", "weight of criterion A is nan, expected a number"),
        ("weights", "W2=1,0,0,0,0,0,0", "W2 is a weighting of the paper: choose another name"),
        ("weights", "=1,0,0,0,0,0,0", "'' is no name for a weighting"),
        ("weights", "a[b=1,0,0,0,0,0,0", r"'a\[b' is no name for a weighting: use letters"),
        ("orders", "shuffle", "unknown orders 'shuffle': expected rotate, none or shuffle:N"),
        ("learners", "finetun", "unknown learner 'finetun': did you mean 'finetune'"),
        ("learners", "er-mani", "unknown learner 'er-mani': did you mean 'er-many'"),
        *(
            ("learners", given, f"--learners expects different names a,b,c, got '{given}'")
            for given in ("er,er", "", "er,")
        ),
    ],
)
def test_a_flag_that_cannot_be_is_refused(name, value, message):
    with pytest.raises(InputError, match=message):
        by(**{name: (value,) if name == "weights" else value})


def test_flags_are_refused_together():
    with pytest.raises(InputError, match=r"orders: unknown orders 'x'.*; seeds: .* got 0"):
        by(seeds=0, orders="x")
