"""Types of inputs that a model cannot take, refused before any training with a remedy."""

import re

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from probe.batch import mapped
from probe.errors import InputError
from probe.examples import Examples
from probe.model import Model
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.recipe import Recipe
from tests.laws.zoo.written import Written

N = 20
Y = torch.arange(N) % 2
IMAGES = torch.randint(
    256,
    (N, 3, 6, 6),
    generator=stream(0, "images"),
    dtype=torch.uint8,
)
TOKENS = torch.randint(7, (N, 5), generator=stream(0, "tokens"))


def images():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))


def words():
    """Read one-hot vectors of words, which torch makes of int64 alone."""

    def run(m, x):
        return m.last(torch.relu(m.first(nn.functional.one_hot(x, 7).float())).mean(1))

    return Written(run, {"first": (7, 6), "last": (6, 2)})


def retrained(model, feature, data, call=None):
    recipe = Recipe(epochs=1)
    result = partial_retrain(
        Model(model, call=call),
        [feature],
        data,
        data,
        [[0], [1]],
        recipe,
    )
    assert result.counts[feature].table.sum() == N


CASES = {
    "uint8 (8, 3, 6, 6): if it expects floats, pass call=lambda model, x: model(x.float()": (
        images,
        "1",
        IMAGES,
        lambda x: x.float() / 255,
    ),
    "int32 (8, 5): if it expects int64, pass x.long()": (
        words,
        "first",
        TOKENS.int(),
        Tensor.long,
    ),
}


@pytest.mark.parametrize("says", CASES)
def test_refused_with_a_remedy_that_works(monkeypatch, says):
    build, feature, x, remedy = CASES[says]
    data = Examples.of(TensorDataset(x, Y))
    assert data.x.dtype == x.dtype
    with monkeypatch.context() as patched:
        # No Exception: one that a model raises becomes an InputError.
        patched.setattr("probe.retrain.fit", lambda *_: pytest.fail("it was trained"))
        with pytest.raises(InputError, match=f"^the model raised .*{re.escape(says)}"):
            retrained(build(), feature, data)
    retrained(build(), feature, data, lambda model, x: model(remedy(x)))
    retrained(build(), feature, Examples(mapped(data.x, remedy), data.y))


def test_columns_go_by_their_names_whatever_their_order_in_an_item():
    items = [({"a": torch.tensor([1.0]), "b": torch.tensor([2.0])}, 0)]
    items.append(({"b": torch.tensor([4.0]), "a": torch.tensor([3.0])}, 1))
    x = Examples.of(items).x
    assert (x["a"].tolist(), x["b"].tolist()) == ([[1.0], [3.0]], [[2.0], [4.0]])
