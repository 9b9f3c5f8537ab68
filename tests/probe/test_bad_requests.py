"""Tasks, features, settings and weights that cannot be: one sentence, before any training."""

from __future__ import annotations

import pytest
from torch import nn

from probe import Examples, Recipe, candidates, split
from probe.cut.cuts import cut_each
from tests.probe.calls import (
    Case,
    Two,
    X,
    Y,
    check_told,
    net,
    of_cuts,
    retrained,
    unreadable,
)

ASKED_CASES: dict[str, Case] = {
    "a task without classes": (
        lambda: retrained(tasks=[[0], [1], []]),
        "tasks [3] of 3 have no classes: give each task its classes",
    ),
    "no tasks": (lambda: retrained(tasks=[]), "there are no tasks: give each task its classes"),
    "tasks as numbers": (lambda: retrained(tasks=[0, 1]), "class numbers of each task, as [["),
    "tasks as names": (lambda: retrained(tasks=["a", "b"]), "class numbers of each task, as [["),
    "half a class": (lambda: retrained(tasks=[[0], [1.5]]), "got [[0], [1.5]]"),
    "a class twice": (lambda: retrained(tasks=[[0], [0, 1]]), "classes [0] are in more than one"),
    "no features": (lambda: retrained(features=[]), "name at least one layer"),
    "one name": (lambda: retrained(features="1"), "must be a list of names of layers, got '1'"),
    "layers": (lambda: retrained(features=[nn.ReLU()]), "what cut_each returned, got ReLU among"),
    "a split": (lambda: retrained(features=split(net(), "1", X)), "of layers, got Split"),
    "one of the cuts": (
        lambda: retrained(features=cut_each(net(), ["1"], X).each),
        "what cut_each returned, got Cut among them",
    ),
    "an unknown feature": (lambda: retrained(features=["conv"]), "unknown feature 'conv': (known"),
    "a feature twice": (lambda: retrained(features=["1", "1"]), "a feature is named twice"),
    "fewer outputs than classes": (
        lambda: retrained(net(outputs=1)),
        "the model has 1 outputs and the tasks have 2 classes",
    ),
    "more outputs than classes": (lambda: retrained(net(outputs=9)), "say with classes= which"),
    "classes out of range": (lambda: retrained(classes=[0, 7]), "names outputs [7], the model has"),
    "classes as a number": (lambda: retrained(classes=2), "as range(2), got 2"),
    "classes by name": (lambda: retrained(classes=["a", "b"]), "as range(2), got ['a', 'b']"),
    "one class for two": (lambda: retrained(classes=[0, 0]), "a different one for each of the 2"),
    "unknown trainable": (
        lambda: retrained(trainable="all"),
        "unknown choice of what is",
    ),
    "unknown trainable of cuts": (
        lambda: cut_each(net(), ["1"], X, trainable="all"),
        "unknown choice of what is trainable 'all': did you mean 'tail'?",
    ),
    "a recipe as a mapping": (
        lambda: retrained(recipe={"epochs": 3}),
        "must be Recipe(...), got dict",
    ),
    "a cache as a mapping": (lambda: retrained(cache={"budget": 3}), "must be CacheSettings(...)"),
    "momentum with adam": (lambda: Recipe(momentum=0.9), "is for the optimizer 'sgd' alone"),
    "warm-up out of range": (lambda: Recipe(warmup=1.0), "warmup: expected less than 1, got 1.0"),
    "no bound for clipping": (lambda: Recipe(clip_norm=0), "clip_norm: expected more than 0"),
    "an unknown optimizer": (lambda: Recipe(optimizer="lion"), "or 'sgd', got 'lion'"),
    "an unknown schedule": (lambda: Recipe(schedule="linear"), "expected 'constant' or 'cosine'"),
}

WEIGHT_CASES: dict[str, Case] = {
    "fresh of another architecture": (
        lambda: retrained(fresh=lambda: net(9)),
        "fresh has '0.bias' of shape (9,), the model of (8,)",
    ),
    "fresh that raises": (
        lambda: retrained(fresh=unreadable),
        "fresh() raised OSError: no weights here: give a function that makes a new model",
    ),
    "fresh that wants an argument": (
        lambda: retrained(fresh=lambda sizes: net(*sizes)),
        "'sizes': give a function that makes a new model and needs no arguments",
    ),
    "fresh that returns nothing": (lambda: retrained(fresh=lambda: None), "got NoneType"),
    "fresh of a checkpoint's folder": (
        lambda: retrained(fresh={"model": net().state_dict()}),
        "fresh holds no tensor at 'model': pass a state dict",
    ),
    "fresh by an unknown rule": (
        lambda: retrained(fresh="xavier"),
        "unknown rule for fresh",
    ),
    "cuts of another architecture": (
        lambda: of_cuts(net(9)),
        "the cuts are of another architecture, which differs at '0.bias': cut this model itself",
    ),
    "cuts and data of another shape": (
        lambda: of_cuts(net(), Examples(X[:, :3], Y)),
        "on a batch x of float32 (8, 3): check the shapes",
    ),
    "cuts and data of another type": (
        lambda: of_cuts(net(), Examples(X.double(), Y)),
        "pass x.float()",
    ),
    "cuts and a call": (lambda: of_cuts(net(), output="x"), "trainable to cut_each"),
    "a sample too small": (lambda: split(net(), "1", X[:2]), "holds 2 examples, expected 3"),
    "a sample in a list": (
        lambda: split(net(), "1", [X]),
        "the sample must be a tensor with the examples first, or a tuple or mapping of such",
    ),
    "a sample of numpy": (
        lambda: candidates(net(), X.numpy()),
        "got ndarray: use torch.as_tensor",
    ),
    "an uneven sample": (
        lambda: split(Two(), "a", (X, X[:4])),
        "as many examples in each tensor, got (float32 (24, 4), float32 (4, 4))",
    ),
}

CASES = ASKED_CASES | WEIGHT_CASES


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_in_one_sentence_before_any_training(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_told(case, monkeypatch)
