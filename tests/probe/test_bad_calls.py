"""Calls that cannot be answered: one sentence each, before any training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Recipe, split
from probe.errors import InputError
from probe.retraining import PartialRetraining
from tests.laws.zoo.written import Written
from tests.probe.calls import (
    Case,
    Two,
    X,
    Y,
    check_told,
    net,
    normed,
    of_cuts,
    retrained,
    unreadable,
)

WORDS = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(8, 2))
BOTH = {"left": X, "right": X}
NAN = X.index_fill(0, torch.tensor([5]), torch.nan)


def named() -> nn.Module:
    return Written(lambda m, x: {"scores": m.net(x), "x": x}, {"net": net})


def whole_number() -> nn.Module:
    model = net()
    model.register_parameter("steps", nn.Parameter(torch.tensor([1]), requires_grad=False))
    return model


def twice() -> nn.Module:
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, layer, nn.Linear(4, 2))


def in_inference_mode() -> None:
    with torch.inference_mode():
        retrained()


def two(train: Examples, test: Examples | None = None) -> PartialRetraining:
    return retrained(Two(), ["a"], train, test)


def words(x: Tensor) -> PartialRetraining:
    return retrained(WORDS, train=Examples(x.view(24, 2), Y))


CASES: dict[str, Case] = {
    "numpy": (lambda: Examples(X.numpy(), Y), "x must be a tensor, or a tuple or mapping of t"),
    "uneven x and y": (lambda: Examples(X[:3], Y), "got x float32 (3, 4) and y int64 (24,)"),
    "whole labels": (lambda: Examples(X, Y.float()), "got float32 (24,): give y.flatten().l"),
    "labels of both kinds": (
        lambda: retrained(net(outputs=9), classes=[7, 8], tasks=[[7], [8]]),
        "classes [7, 8] of the tasks are outside 0..1: count from 0",
    ),
    "sparse": (lambda: Examples(X.to_sparse(), Y), "got a sparse or nested one"),
    "test of other keys": (
        lambda: two(Examples(BOTH, Y), Examples({"left": X}, Y)),
        "right: float32 (4,)}, of test {left: float32 (4,)}: give both one shape",
    ),
    "NaN in one of several": (lambda: two(Examples((X, NAN), Y)), "NaN or Inf in example 5"),
    "strange labels": (lambda: retrained(train=Examples(X, Y + 5)), "train has labels [5, 6]"),
    "a sample too small": (lambda: split(net(), "1", X[:2]), "holds 2 examples, expected 3"),
    "bytes": (lambda: retrained(train=Examples(X.byte(), Y)), "model(x.float() / 255)"),
    "no logits named": (lambda: retrained(named(), ["net.1"]), "output= one of 'scores', 'x'"),
    "a call of one row": (
        lambda: retrained(call=lambda model, x: model(x[:1])),
        "for 4 examples has shape (1, 2), expected (B, K)",
    ),
    "no gradient": (lambda: retrained(call=lambda m, x: m(x).detach()), "'1' cannot be trained"),
    "whole numbers": (lambda: retrained(whole_number()), "parameter 'steps' holds torch.int64"),
    "a batch of one with batch norm": (
        lambda: retrained(normed(), ["0"], recipe=Recipe(batch_size=1)),
        "cannot be trained on a batch of one example",
    ),
    "inference mode": (in_inference_mode, "under torch.inference_mode(): call it outside"),
    "too few outputs": (lambda: retrained(net(outputs=1)), "1 outputs and the tasks have 2 cl"),
    "lazy": (lambda: retrained(nn.Sequential(nn.LazyLinear(2))), "'0.weight' has no shape yet, as"),
    "a layer that runs twice": (lambda: retrained(twice(), ["0"]), "name the call, 0#1 to 0#2"),
    "an unknown layer": (lambda: retrained(features=["11"]), "feature '11': did you mean '1'"),
    "a tuple": (lambda: retrained(nn.Sequential(net(), nn.LSTM(2, 2)), ["0"]), "returns tuple"),
    "a task without classes": (lambda: retrained(tasks=[[0], [1], []]), "tasks [3] of 3"),
    "one name": (lambda: retrained(features="1"), "must be a list of names of layers, got '1'"),
    "a recipe as a mapping": (lambda: retrained(recipe={"epochs": 3}), "Recipe(...), got dict"),
    "another architecture": (lambda: retrained(fresh=lambda: net(9)), "'0.bias' of shape (9,)"),
    "one that raises": (lambda: retrained(fresh=unreadable), "raised OSError: no weights here"),
    "a part": (lambda: retrained(fresh=nn.Linear(4, 8)), "fresh has no '0.bias', '0.weight'"),
    "cuts of another architecture": (lambda: of_cuts(net(9)), "which differs at '0.bias'"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_in_one_sentence_before_any_training(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_told(case, monkeypatch)


def fussy(m: Any, x: Tensor) -> Tensor:
    """Overwrite what a training step needs: it can be followed, not trained."""
    return m.b(m.a(x)).sigmoid().mul_(2)


def test_what_stops_the_training_itself_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^[^\n]*'a'[^\n]*modified by an inplace operation") as it:
        retrained(Written(fussy, {"a": (4, 8), "b": (8, 2)}), ["a"])
    assert isinstance(it.value.__cause__, RuntimeError)


def test_data_that_ask_for_gradients_get_none() -> None:
    x = X.clone().requires_grad_()
    retrained(train=Examples(x, Y), call=lambda model, x: model(x) + x[:, :2])
    assert x.requires_grad
    assert x.grad is None
