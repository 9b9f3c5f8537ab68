"""Requests that an analysis refuses: in one sentence, before any training."""

from pathlib import Path

import pytest
import torch
from torch import nn

from probe import (
    Measure,
    Model,
    Recipe,
    analyze,
    load,
    predictions,
)
from probe.readouts.readout import Linear
from tests.probe.calls import DATA, TASKS, Scaled, X, check_told, net, normed

NAN = net()
with torch.no_grad():
    NAN[2].weight.fill_(torch.nan)


def asked(models=None, features=("1", "2"), tasks=TASKS, **given):
    models = {2: net()} if models is None else models
    train = given.pop("train", DATA)
    given = {"test": train, "recipe": Recipe(epochs=1), **given}
    return analyze(
        models,
        train,
        tasks=tasks,
        features=features,
        **given,
    )


def called(**given):
    return asked(Model({2: net()}, **given))


def measured(**given):
    return asked(readouts=Measure(**given))


SCALED = nn.Sequential(nn.Linear(4, 4), Scaled(), net())
FILES, LONG = {2: Path("task2.pt")}, "x" * 5000
META, TEN = (
    DATA.changed(y=DATA.y.to("meta")),
    nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 10)),
)
HALF = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)).half()
with torch.no_grad():
    HALF[0].bias.fill_(9.0)
    HALF[1].weight.fill_(6e4)
# The call, and the offending value that the message names.
CASES = (
    (lambda: asked([net()]), "list"),
    (lambda: asked({0: net(), 1: net()}), "no row 2"),
    (lambda: asked({2: net(), 3: net()}), "a row 3"),
    (lambda: asked({1: net(), 2: net().state_dict()}), "the model after 2 tasks: "),
    (lambda: asked({1: net(9), 2: net()}), "'0.bias'"),
    (lambda: asked(untrained=normed()), "the untrained model"),
    (lambda: asked({0: net(), 2: net()}, untrained=net()), "row 0 of `models`"),
    (
        lambda: asked({0: {1: net(), 2: net()}, 1: {2: net()}}),
        "seed 1 has no network after 1 tasks",
    ),
    (lambda: asked(offline=net().to("meta")), "meta"),
    (lambda: asked({1: NAN, 2: net()}), "the model after 1 task has NaN in '2.weight'"),
    (lambda: asked({2: SCALED}, ["0"]), "'1.scale'"),
    (
        lambda: asked(
            {2: SCALED},
            ["0"],
            offline="train",
            readouts=["linear"],
        ),
        "'1.scale'",
    ),
    (lambda: asked(FILES), "Model(files, fresh=build)"),
    (lambda: load(LONG), "holds no result"),
    (lambda: predictions(LONG), "holds no result"),
    (lambda: asked(features=["y" * 10**6]), "unknown feature 'yyy"),
    (lambda: asked(train=(X, META.y)), "y is on the device meta"),
    (lambda: asked({2: TEN}), "Model(..., classes=[...])"),
    (
        lambda: asked(
            {2: HALF},
            ["0"],
            train=(X.half(), DATA.y),
            readouts=["ncm"],
        ),
        "float16",
    ),
    (lambda: asked(train=({"image": X}, DATA.y)), "Examples.of(data, columns='image')"),
    (lambda: asked(Model({"last": "x.pt"}, fresh=net)), "'last'"),
    (lambda: asked(Model({0: net(), 2: "x.pt"}, fresh=net)), "both files and models"),
    (lambda: asked(Model(FILES, fresh=net), untrained=net()), "both files and models"),
    (lambda: asked(Model(FILES, fresh=net), readouts=Measure(seeds=2)), "seeds=2"),
    (lambda: asked(readouts=[]), "there are no readouts"),
    (lambda: measured(controls=["exclusion"]), "controls: exclusion"),
    (lambda: measured(controls=["label"]), "controls.0: "),
    (lambda: asked(readouts="linear"), "got 'linear'"),
    (lambda: asked(readouts=[Linear]), "a readout is a name"),
    (lambda: asked(readouts=["linear", Linear(C=0.1)]), "'linear' is named twice"),
    (lambda: measured(seeds=0), "got 0"),
    (lambda: measured(cache={"budget": 1}), "must be CacheSettings(...)"),
    (lambda: measured(budget=(2, 1)), "2, 1"),
    (lambda: measured(budget=0), "budget: expected a list, got 0"),
    (lambda: measured(steps=["all"]), "got ['all']"),
    (lambda: measured(steps={"linear": 2}), "linear.steps: expected a list, got 2"),
    (lambda: measured(steps={"knn": "all"}), "'knn'"),
    (lambda: asked(readouts=["linear-task"]), "task 0 has only one"),
    (lambda: asked(out=3), "got 3"),
    (lambda: asked(features=["2"]), "no feature has parameters downstream"),
    (lambda: asked(test=DATA.of_classes([1])), "task 1 has 0 test examples"),
    (lambda: called(fresh=net(9)), "it must be of the same architecture"),
    (lambda: asked(readouts=["ncm"]).matrix("1", "linear"), "'linear'"),
)


@pytest.mark.parametrize("case", CASES, ids=[sentence[:40] for _, sentence in CASES])
def test_a_mistake_is_told_in_one_sentence_before_any_training(case, monkeypatch):
    monkeypatch.setattr(
        "probe.readouts.readout.fit_linear", lambda *_: pytest.fail("fitted")
    )
    check_told(case, monkeypatch)


def test_without_a_mistake_something_is_trained(monkeypatch):
    with pytest.raises(pytest.fail.Exception, match="something was trained"):
        check_told((lambda: asked(readouts=["retrain"]), ""), monkeypatch)
