"""Calls that cannot be answered: one sentence each, before any training."""

import pytest
import torch
from torch import nn

from probe import Examples, Recipe, split
from probe.errors import InputError
from tests.laws.zoo.written import Written
from tests.probe.calls import (
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

WORDS = nn.Sequential(
    nn.Embedding(5, 4),
    nn.Flatten(),
    nn.Linear(8, 2),
)
BOTH = {"left": X, "right": X}
NAN = X.index_fill(0, torch.tensor([5]), torch.nan)


def named():
    return Written(
        lambda m, x: {"scores": m.net(x), "x": x},
        {"net": net},
    )


def whole_number():
    model = net()
    model.register_parameter(
        "steps", nn.Parameter(torch.tensor([1]), requires_grad=False)
    )
    return model


def twice():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, layer, nn.Linear(4, 2))


def two(train, test=None):
    return retrained(Two(), ["a"], train, test)


def words(x):
    return retrained(WORDS, train=Examples(x.view(24, 2), Y))


# The call, and what is wrong with it: the message names this value.
CASES = {
    "None in a mapping": (lambda: Examples({"a": None}, Y), "NoneType"),
    "uneven inputs": (lambda: Examples((X, X[:3]), Y), "(3, 4)"),
    "sparse": (lambda: Examples(X.to_sparse(), Y), "sparse"),
    "whole labels in a pair": (
        lambda: retrained(train=(X, Y.float())),
        "train: labels",
    ),
    "test of other keys": (
        lambda: two(Examples(BOTH, Y), Examples({"left": X}, Y)),
        "{left: ",
    ),
    "NaN in one of several": (lambda: two(Examples((X, NAN), Y)), "example 5"),
    "a sample too small": (lambda: split(net(), "1", X[:2]), "2 examples"),
    "bytes": (lambda: retrained(train=Examples(X.byte(), Y)), "model(x.float() / 255)"),
    "a word too many": (lambda: words(torch.arange(48) // 8), "int64 (24, 2)"),
    "no logits named": (lambda: retrained(named(), ["net.1"]), "'scores', 'x'"),
    "a call of one row": (lambda: retrained(call=lambda m, x: m(x[:1])), "(1, 2)"),
    "no gradient": (lambda: retrained(call=lambda m, x: m(x).detach()), "'1'"),
    "whole numbers": (lambda: retrained(whole_number()), "'steps' holds torch.int64"),
    "one example": (
        lambda: retrained(normed(), ["0"], recipe=Recipe(batch_size=1)),
        "one example",
    ),
    "a class": (lambda: retrained(Two), "the class Two"),
    "one output": (lambda: retrained(net(outputs=1)), "one output: for two classes"),
    "too many outputs": (lambda: retrained(net(outputs=3)), "3 outputs for 2"),
    "classes out of range": (lambda: retrained(classes=[0, 7]), "[7]"),
    "lazy": (lambda: retrained(nn.Sequential(nn.LazyLinear(2))), "'0.weight'"),
    "no room": (
        lambda: retrained(call=lambda m, x: bytearray(2**62)),
        "memory ran out",
    ),
    "a third call": (lambda: retrained(twice(), ["0#3"]), "'3'"),
    "an unknown layer": (lambda: retrained(features=["11"]), "'11': did you mean '1'"),
    "one name": (lambda: retrained(features="1"), "got '1'"),
    "orders": (lambda: retrained(orders="rotate"), "orders="),
    "a recipe as a mapping": (lambda: retrained(recipe={"epochs": 3}), "got dict"),
    "another architecture": (
        lambda: retrained(fresh=lambda: net(9)),
        "'0.bias' of shape (9,)",
    ),
    "one that raises": (
        lambda: retrained(fresh=unreadable),
        "OSError: no weights here",
    ),
    "a part": (lambda: retrained(fresh=nn.Linear(4, 8)), "'0.bias' of shape none"),
    "an unknown rule": (lambda: retrained(fresh="xavier"), "'xavier'"),
    "cuts and a call": (lambda: of_cuts(net(), output="x"), "cut_each"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_in_one_sentence_before_any_training(case, monkeypatch):
    check_told(case, monkeypatch)


def fussy(m, x):
    """Overwrite what a training step needs: it can be followed, not trained."""
    return m.b(m.a(x)).sigmoid().mul_(2)


def test_what_stops_the_training_itself_is_told_in_one_sentence():
    with pytest.raises(
        InputError, match=r"^[^\n]*'a'[^\n]*modified by an inplace operation"
    ) as it:
        retrained(
            Written(fussy, {"a": (4, 8), "b": (8, 2)}),
            ["a"],
        )
    assert isinstance(it.value.__cause__, RuntimeError)


def test_data_that_ask_for_gradients_get_none():
    x = X.clone().requires_grad_()
    retrained(
        train=Examples(x, Y),
        call=lambda model, x: model(x) + x[:, :2],
    )
    assert x.requires_grad
    assert x.grad is None
