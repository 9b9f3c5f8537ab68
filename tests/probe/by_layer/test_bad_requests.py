"""Requests that an analysis refuses: in one sentence, before any training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from probe import Examples, Measure, Model, Recipe, analyze
from probe.readouts.readout import Linear
from tests.probe.calls import DATA, TASKS, Case, X, Y, check_told, net, normed, unreadable

NAN = net()
with torch.no_grad():
    NAN[2].weight.fill_(torch.nan)


class Scaled(nn.Module):
    """A model with a parameter that no rule writes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.scale, self.last = nn.Linear(4, 8), nn.Parameter(X[:1, :1]), net()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x)[:, :4] * self.scale)


def asked(models: Any = None, features: Any = ("1", "2"), tasks: Any = TASKS, **given: Any) -> Any:
    models = {2: net()} if models is None else models
    train = given.pop("train", DATA)
    given = {"test": train, "recipe": Recipe(epochs=1), **given}
    return analyze(models, train, tasks=tasks, features=features, **given)


def called(**given: Any) -> Any:
    return asked(Model({2: net()}, **given))


def measured(**given: Any) -> Any:
    return asked(readouts=Measure(**given))


FILES = {2: Path("task2.pt")}
CASES: tuple[Case, ...] = (
    (lambda: asked([net()]), "models must map tasks learned to the model then, as {2: model}"),
    (lambda: asked({0: net(), 1: net()}), "models has no row 2, the model after all 2 tasks"),
    (lambda: asked({2: net(), 3: net()}), "models has a row 3: with 2 tasks, rows are numbers of"),
    (lambda: asked({1: net(), 2: net().state_dict()}), "the model after 2 tasks: the model must"),
    (
        lambda: asked({1: net(9), 2: net()}),
        "the model after 1 task is of another architecture than the model after 2 tasks, which "
        "differs at '0.bias'",
    ),
    (lambda: asked(untrained=normed()), "the untrained model is of another architecture than"),
    (lambda: asked({0: net(), 2: net()}, untrained=net()), "got untrained and row 0 of models"),
    (lambda: asked(offline=net().to("meta")), "the offline model: it is on meta and the model aft"),
    (lambda: asked({1: NAN, 2: net()}), "the model after 1 task has NaN in '2.weight': its"),
    (lambda: asked({2: Scaled()}, ["first"]), "no rule re-initializes 'scale'"),
    (
        lambda: asked({2: Scaled()}, ["first"], offline="train", readouts=["linear"]),
        "no rule re-initializes 'scale'",
    ),
    (lambda: asked(FILES), "networks in files need a function that makes the network anew"),
    (lambda: asked(Model(FILES, fresh=unreadable)), "fresh() raised OSError: no weights here"),
    (lambda: asked(Model({"last": "x.pt"}, fresh=net)), "files are given by tasks learned"),
    (lambda: asked(Model({0: net(), 2: "x.pt"}, fresh=net)), "networks are files or models, got"),
    (lambda: asked(Model(FILES, fresh=net), untrained=net()), "networks are files or models, got"),
    (
        lambda: asked(Model(FILES, fresh=net), readouts=Measure(seeds=2)),
        "from files each run is retrained once, from its own seed; got seeds=2",
    ),
    (lambda: analyze({2: net()}, tasks=[[0], [1]]), "train and test are needed"),
    (lambda: asked(readouts=["linaer"]), "unknown readout 'linaer': did you mean 'linear' or"),
    (lambda: asked(readouts=[]), "there are no readouts: name one or more of ret"),
    (
        lambda: measured(controls=["exclusion"]),
        "controls: exclusion trains networks, but your",
    ),
    (lambda: measured(controls=["label"]), "controls.0: "),
    (lambda: asked(readouts="linear"), "readouts must be a list such as ['retrain', 'linear']"),
    (lambda: asked(readouts=Measure), "readouts must be a list such as ['retrain', 'linear']"),
    (lambda: asked(readouts=[Linear]), "a readout is a name or settings such as Linear(C=0.1)"),
    (lambda: asked(readouts=["linear", Linear(C=0.1)]), "the readout 'linear' is named twice"),
    (lambda: measured(seeds=0), "retrainings, 1 or more, got 0"),
    (lambda: measured(cache={"budget": 1}), "must be CacheSettings(...)"),
    (lambda: measured(budget=(2, 1)), "ascending"),
    (lambda: measured(budget=0), "budget: expected a list, got 0"),
    (lambda: measured(steps=["all"]), "in {'linear': 'all'}, got ['all']"),
    (lambda: measured(steps={"linear": 2}), "linear.steps: expected a list, got 2"),
    (lambda: measured(steps={"knn": "all"}), "unknown readout of this measure 'knn'"),
    (lambda: asked(readouts=["linear-task"]), "tells a task's classes apart, and task 0 has only"),
    (lambda: measured(steps={"retrain": [0, 5]}), "there are 2 tasks, so steps are from 0 to 2"),
    (lambda: asked(out=3), "out is a run directory, got 3: give arguments after tasks by name"),
    (lambda: asked(features=[]), "name at least one layer"),
    (lambda: asked(features="1"), "must be a list of names of layers, got '1'"),
    (lambda: asked(features=["conv"]), "unknown feature 'conv': (known"),
    (lambda: asked(features=["2"]), "no feature has parameters downstream of it to retrain"),
    (lambda: asked(tasks=[]), "there are no tasks: give each task its classes"),
    (lambda: asked({1: net()}, tasks=[[0]]), "train has labels [1]"),
    (lambda: asked(tasks=[[0], [0, 1]]), "classes [0] are in two tasks"),
    (
        lambda: asked({3: net()}, tasks=[[0], [1], [2]], train=Examples(X, torch.arange(24) % 3)),
        "its output for 8 examples has shape (8, 2), expected one logit for each of 3 classes",
    ),
    (lambda: asked(test=DATA.of_classes([1])), "task 1 of 2 has 0 test examples, expected 2 or"),
    (lambda: asked(train=X, test=DATA), "train: item 0 of the data: a Tensor is neither a pair"),
    (lambda: asked(test=Examples(X[:, :3], Y)), "make both alike"),
    (lambda: called(fresh=unreadable), "fresh() raised OSError: no weights here"),
    (lambda: called(fresh=net(9)), "it must be of the same architecture"),
    (lambda: called(classes=[0, 0]), "1 outputs for 2 classes"),
    (lambda: asked(readouts=["ncm"]).matrix("3", "ncm"), "unknown feature of this analysis '3'"),
    (lambda: asked(readouts=["ncm"]).matrix("1", "linear"), "unknown readout of this analysis"),
)


@pytest.mark.parametrize("case", CASES, ids=[sentence[:40] for _, sentence in CASES])
def test_a_mistake_is_told_in_one_sentence_before_any_training(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probe.readouts.readout.fit_linear", lambda *_: pytest.fail("fitted"))
    check_told(case, monkeypatch)


def test_without_a_mistake_something_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.fail.Exception, match="something was trained"):
        check_told((lambda: asked(readouts=["retrain"]), ""), monkeypatch)
