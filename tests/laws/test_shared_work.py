"""Work that is shared or skipped: what differs in one setting gets what it gets on its own."""

import copy
import json
import shutil
from functools import cache
from typing import get_args

import pandas as pd
import pytest
import torch

from probe.readouts.readout import READOUTS
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from scenarios.study import training
from tests.scenarios.learners.tiny_learners import SMALL
from tests.scenarios.table_names import TIMES
from tests.scenarios.tiny_run import Tiny

SHARING = [kind for kind in LEARNERS if "first_task" in vars(LEARNERS[kind])]
# Another value of each setting; a new one needs one here.
OTHER = {
    "iterations": 3,
    "patience": 1,
    "validation": 0.3,
    "epochs": 3,
    "batch_size": 11,
    "optimizer": "nadam",
    "learning_rate": 0.05,
    "weight_decay": 0.3,
    "momentum": 0.9,
    "schedule": "cosine",
    "warmup": 0.6,
    "clip_norm": 0.05,
    "init": "murata",
    "precision": "bf16",
    "C": 0.001,
    "pool": "projection",
    "width": 60,
    "k": 1,
    "strength": 3.0,
    "temperature": 5.0,
    "fisher_examples": 4,
    "anchors": "last",
    "memory_per_class": 2,
    "margin": 0.1,
    "freeze": ["hidden1"],
    "freeze_from": 1,
}
BESIDE = {
    "momentum": {"optimizer": "sgd"},
    "patience": {"validation": 0.3},
    "validation": {"patience": 1},
    "freeze_from": {"freeze": ["hidden1"]},
}
RECIPE = {
    "epochs": 2,
    "batch_size": 7,
    "learning_rate": 0.02,
    "init": "torch",
}
BASE = {
    "orders": {"swapped": [2, 1]},
    "scenario": {
        "data": "digits",
        "classes_per_task": 5,
        "train_limit": 6,
        "test_limit": 12,
    },
    "network": {"name": "cnn3", "features": ["conv1"]},
    "training": RECIPE,
    "retraining": RECIPE,
    "probing": {
        "readouts": {
            "retrain": {"steps": "last"},
            "linear": {"steps": "all", "width": 300},
            "linear-task": {"steps": "last", "width": 300},
            "ncm": {"steps": "last"},
            "knn": {"steps": "last", "k": 5},
        },
        "diagnostics": False,
    },
    "learners": {"finetune": {}, "offline": {}},
}


def changed(study, path, value):
    """Return a copy of a study with one setting changed, and what that needs beside it."""
    study = copy.deepcopy(study)
    *tables, name = path.split(".")
    table = study
    for key in tables:
        table = table.setdefault(key, {})
    table |= {**BESIDE.get(name, {}), name: value}
    return study


def run(folder, study, **flags):
    """Run a study in a folder, or go on with it; return its tables but that of seconds."""
    keys = (f"{name} = {inline(value)}\n" for name, value in study.items())
    Tiny(folder).ran("".join(keys), **flags)
    tables = (folder / "run").glob("*.csv")
    return {path.name: path.read_bytes() for path in tables if path.name != TIMES}


def inline(value):
    """Return a value as TOML has it."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{" + ", ".join(f"{key} = {inline(own)}" for key, own in value.items()) + "}"


def variants(kind):
    """Return a learner's settings, and the same with each of them changed, by name."""
    plain = SMALL.get(kind, {})
    found = {kind: plain}
    for name, field in LEARNERS[kind].settings_class.model_fields.items():
        if name == "training" and kind in ("finetune", "icarl"):
            for each in RecipeChanges.__pydantic_fields__:
                training = {**BESIDE.get(each, {}), each: OTHER[each]}
                found[f"{kind}-{each}"] = {**plain, "training": training}
        elif name == "loss_classes":
            for value in get_args(field.annotation):
                found[f"{kind}-{value}"] = {**plain, name: value}
        elif (
            name == "exemplars" and field.default is None and kind not in ("er", "gem")
        ):
            found[f"{kind}-stored"] = {**plain, name: {"per_class": 2}}
            found[f"{kind}-balanced"] = {**plain, name: {"total": 20, "balanced": True}}
        elif name not in ("kind", "exemplars", "training"):
            beside = BESIDE.get(name, {})
            found[f"{kind}-{name}"] = {**plain, **beside, name: OTHER[name]}
    return {name: {"kind": kind, **own} for name, own in found.items()}


@pytest.mark.parametrize(
    "kinds", [["lwf", "ewc", "gem"], pytest.param(SHARING, marks=pytest.mark.soak)]
)
def test_learners_that_differ_in_one_setting_begin_as_each_does_alone(
    kinds, tmp_path, monkeypatch
):
    """Every setting of every learner whose first task is shared: weights, losses and cost."""
    learn = Learner.learn
    train = Learner.train
    compared = []
    trained = []
    states = set()

    def watched(learner, task, first=None):
        if learner.learned:
            return learn(learner, task, first)
        own = type(learner)
        twin = own(
            copy.deepcopy(learner.model),
            learner.recipe,
            learner.settings,
            learner.seed,
        )
        cost = learn(learner, task, first)
        expected = learn(twin, task)
        assert cost == expected, learner.settings
        assert learner.losses == twin.losses, learner.settings
        there = twin.model.state_dict()
        for name, value in learner.model.state_dict().items():
            assert torch.equal(value, there[name]), (learner.settings, name)
        compared.append(learner.settings)
        states.add(tuple(there[name].double().sum().item() for name in there))
        return cost

    def counted(learner, task, data, meter):
        trained.append(learner.learned)
        train(learner, task, data, meter)

    monkeypatch.setattr(Learner, "learn", watched)
    monkeypatch.setattr(Learner, "train", counted)
    learners = {}
    for kind in kinds:
        learners |= variants(kind)
    study = changed(BASE, "probing.readouts", {"retrain": {"steps": "last"}})
    study = changed(study, "network", {"name": "mlp", "features": ["output"]})
    run(tmp_path / "all", {**study, "learners": learners})
    assert len(compared) == len(learners)
    # One training for each of the twins, and few others: the rest is shared.
    assert len(states) <= trained.count(0) - len(compared) < len(compared) / 2


FIRST, *LATER = Recipe.__pydantic_fields__
CHANGES = [
    (f"retraining.{FIRST}", OTHER[FIRST]),
    ("training.precision", "bf16"),
    ("probing.readouts.linear.steps", "last"),
    ("probing.controls", ["labels", "exclusion"]),
    ("storage", "bf16"),
    ("network.features", ["conv2"]),
    ("scenario.train_limit", 5),
    ("scenario.test_limit", 11),
    ("orders.swapped", [1, 2]),
    ("seeds", [3]),
    ("learners.finetune.exemplars", {"per_class": 2}),
    ("learners.finetune.kind", "si"),
]
MORE = [(f"retraining.{setting}", OTHER[setting]) for setting in LATER]
# The first setting of every readout, all at once, and every setting alone.
READ = BASE
for name, kind in READOUTS.items():
    fields = dict(kind.readout.__pydantic_fields__)
    for unchanged in ("channels", "per_class"):
        fields.pop(unchanged, None)
    changes = [(f"probing.readouts.{name}.{each}", OTHER[each]) for each in fields]
    for change in changes[:1]:
        READ = changed(READ, *change)
    MORE += changes
READ = changed(READ, 'probing.readouts."linear:2"', {"steps": "last"})
CHANGES.append(("probing.readouts", READ["probing"]["readouts"]))
CHANGES += [pytest.param(*change, marks=pytest.mark.soak) for change in MORE]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A function that returns a study, with or without controls, its folder and its tables."""

    @cache
    def begin(alone):
        study = BASE | {"learners": {"finetune": {}}} if alone else BASE
        folder = tmp_path_factory.mktemp("begun") / "study"
        return study, folder, run(folder, study)

    return begin


@pytest.mark.parametrize(("path", "value"), CHANGES)
def test_a_run_that_goes_on_with_another_setting_is_as_one_begun_with_it(
    path, value, begun, tmp_path
):
    """And the setting changes the tables."""
    # What changes a readout or a learner does nothing to the offline network.
    alone = path.startswith(("probing.readouts", "learners"))
    base, folder, tables = begun(alone)
    study = changed(base, path, value)
    shutil.copytree(folder, tmp_path / "study")
    grown = run(tmp_path / "study", study)
    fresh = run(tmp_path / "fresh", study)
    assert fresh != tables
    assert grown == fresh


def test_a_task_aware_network_is_cut_with_the_call_of_its_own_order(
    tmp_path, monkeypatch
):
    study = changed(BASE, "scenario.kind", "task-incremental")
    study |= {
        "network": {"name": "mlp", "features": ["hidden1"]},
        "learners": {"finetune": {}},
        "probing": {"readouts": {"retrain": {}, "ncm": {}}, "diagnostics": False},
    }
    orders = {"base": [1, 2], "swapped": [2, 1]}

    def rows_of(name, chosen):
        monkeypatch.setattr(training, "_LAST", {})
        run(tmp_path / name, study | {"orders": chosen})
        rows = pd.read_csv(tmp_path / name / "run/measurements.csv")
        return rows.set_index("order")

    both = rows_of("both", orders)
    for name, order in orders.items():
        alone = rows_of(name, {name: order})
        pd.testing.assert_frame_equal(alone.loc[name], both.loc[name])
