"""What an analysis cannot be asked for: one sentence each, before any training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from probe import Analysis, Examples, Measure, Model, Recipe, analyze
from probe.errors import InputError
from probe.readouts.readout import Linear
from tests.probe.calls import DATA, TASKS, Case, X, Y, check_told, net, normed, unreadable

NAN = net()
with torch.no_grad():
    NAN[2].weight.fill_(torch.nan)


def asked(models: Any = None, features: Any = ("1", "2"), tasks: Any = TASKS, **given: Any) -> Any:
    models = {2: net()} if models is None else models
    called = {name: given.pop(name) for name in ("fresh", "output", "classes") if name in given}
    models = Model(models, **called) if called else models
    if asked_of := {name: given.pop(name) for name in ("seeds", "cache") if name in given}:
        given["readouts"] = Measure(**asked_of)
    train = given.pop("train", DATA)
    recipe = given.pop("recipe", Recipe(epochs=1))
    test = given.pop("test", train)
    return analyze(models, train, test, tasks, features, recipe=recipe, **given)


def measured() -> Analysis:
    return asked(readouts=["ncm"])


MODELS: dict[str, Case] = {
    "models as a list": (
        lambda: asked([net(), net()]),
        "models must map tasks learned to the model then, as {2: model}, got list",
    ),
    "a model alone": (lambda: asked(net()), "as {2: model}, got Sequential"),
    "no models": (lambda: asked({}), "models has no row 2, the model after all 2 tasks"),
    "no last row": (lambda: asked({0: net(), 1: net()}), "models has no row 2"),
    "a row too many": (
        lambda: asked({2: net(), 3: net()}),
        "models has a row 3: with 2 tasks, rows are numbers of tasks learned from 0 to 2",
    ),
    "a row below 0": (lambda: asked({-1: net(), 2: net()}), "models has a row -1: with 2 tasks"),
    "a row by name": (lambda: asked({"last": net(), 2: net()}), "models has a row 'last'"),
    "half a row": (lambda: asked({2: net(), 1.5: net()}), "models has a row 1.5"),
    "a state dict": (
        lambda: asked({2: net().state_dict()}),
        "the model after 2 tasks: the model must be an instance of torch.nn.Module, got Ordered",
    ),
    "a class for a model": (
        lambda: asked(offline=nn.Linear),
        "the offline model: the model must be an instance of torch.nn.Module, got the class",
    ),
    "another architecture among models": (
        lambda: asked({1: net(9), 2: net()}),
        "the model after 1 task is of another architecture than the model after 2 tasks, which "
        "differs at '0.bias'",
    ),
    "offline of another shape": (
        lambda: asked(offline=net(9)),
        "the offline model is of another architecture than the model after 2 tasks",
    ),
    "untrained of other layers": (
        lambda: asked(untrained=normed()),
        "the untrained model is of another architecture than the model after 2 tasks, which "
        "differs at '1'",
    ),
    "untrained twice": (
        lambda: asked({0: net(), 2: net()}, untrained=net()),
        "got untrained and row 0 of models, which are the same: give one of them",
    ),
    "a model elsewhere": (
        lambda: asked(offline=net().to("meta")),
        "the offline model is on meta and the model after 2 tasks on cpu: move all",
    ),
    "a model that diverged": (
        lambda: asked({1: NAN, 2: net()}),
        "the model after 1 task: the model's output is NaN: its training diverged",
    ),
}

OTHERS: dict[str, Case] = {
    "an unknown readout": (
        lambda: asked(readouts=["retrain", "linaer"]),
        "unknown readout 'linaer': did you mean 'linear'? (known: knn, linear, ncm, retrain)",
    ),
    "no readouts": (lambda: asked(readouts=[]), "there are no readouts: name one or more of ret"),
    "a readout alone": (
        lambda: asked(readouts="linear"),
        "readouts must be a list, as ['retrain', 'linear'], got 'linear'",
    ),
    "a readout as a class": (
        lambda: asked(readouts=[Linear]),
        "a readout is a name or settings such as Linear(C=0.1), got type",
    ),
    "a readout twice": (
        lambda: asked(readouts=["linear", Linear(C=0.1)]),
        "the readout 'linear' is named twice",
    ),
    "no seeds": (
        lambda: asked(seeds=0),
        "seeds says how many retrainings each feature gets, 1 or more, got 0",
    ),
    "seeds by number": (lambda: asked(seeds=[0, 1]), "1 or more, got [0, 1]"),
    "no features": (lambda: asked(features=[]), "name at least one layer"),
    "a feature alone": (lambda: asked(features="1"), "must be a list of names of layers, got '1'"),
    "an unknown feature": (lambda: asked(features=["conv"]), "unknown feature 'conv': (known"),
    "no tasks": (lambda: asked(tasks=[]), "there are no tasks: give each task its classes"),
    "a class in no task": (
        lambda: asked({1: net()}, tasks=[[0]]),
        "train has labels [1], which are not among the 1 classes",
    ),
    "a class twice": (lambda: asked(tasks=[[0], [0, 1]]), "classes [0] are in more than one task"),
    "more tasks than the model has outputs": (
        lambda: asked({3: net()}, tasks=[[0], [1], [2]], test=Examples(X, torch.arange(24) % 3)),
        "the model has 2 outputs and the tasks have 3 classes",
    ),
    "a task without test examples": (
        lambda: asked(test=DATA.of_classes([1])),
        "task 1 of 2 has 0 test examples, expected 2 or more: add some",
    ),
    "tensors for examples": (lambda: asked(train=X, test=DATA), "train must be Examples, got Ten"),
    "test data of another shape": (
        lambda: asked(test=Examples(X[:, :3], Y)),
        "give both one shape and type",
    ),
    "a recipe as a mapping": (lambda: asked(recipe={"epochs": 1}), "must be Recipe(...), got dict"),
    "a cache as a mapping": (lambda: asked(cache={"budget": 1}), "must be CacheSettings(...)"),
    "fresh that raises": (
        lambda: asked(fresh=unreadable),
        "fresh() raised OSError: no weights here: give a function that makes a new model",
    ),
    "an unknown output": (lambda: asked(output=[0]), "must be a name or a position in the output"),
    "an unknown feature of what was measured": (
        lambda: measured().matrix("3", "ncm"),
        "unknown feature of this analysis '3': (known: 1, 2)",
    ),
    "a readout that was not measured": (
        lambda: measured().matrix("1", "linear"),
        "unknown readout of this analysis 'linear': (known: ncm)",
    ),
}

CASES = MODELS | OTHERS


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_in_one_sentence_before_any_training(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probe.readouts.readout.fit_linear", lambda *_: pytest.fail("fitted"))
    check_told(case, monkeypatch)


def test_without_a_mistake_something_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    case: Case = (lambda: asked({1: net(), 2: net()}, untrained=net(), offline=net()), "")
    with pytest.raises(pytest.fail.Exception, match="something was trained"):
        check_told(case, monkeypatch)
    assert not isinstance(pytest.fail.Exception, InputError)
