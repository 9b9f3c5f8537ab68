"""What a model cannot take is refused before anything is trained, and served with the remedy."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from probe.batch import mapped
from probe.errors import InputError
from probe.examples import Examples
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.recipe import Recipe

N = 20
Y = torch.arange(N) % 2
IMAGES = torch.randint(256, (N, 3, 6, 6), generator=stream(0, "images"), dtype=torch.uint8)
TOKENS = torch.randint(7, (N, 5), generator=stream(0, "tokens"))


def images() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))


class Words(nn.Module):
    """One-hot vectors of its words, which torch makes of int64 alone."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(7, 6), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        hot = nn.functional.one_hot(x, 7).float()
        return self.last(torch.relu(self.first(hot)).mean(1))


def embedding() -> nn.Module:
    return nn.Sequential(nn.Embedding(7, 6), nn.Flatten(), nn.Linear(30, 2))


def retrained(model: nn.Module, feature: str, data: Examples[Any], call: Any = None) -> None:
    recipe = Recipe(epochs=1)
    result = partial_retrain(model, [feature], data, data, [[0], [1]], recipe, call=call)
    assert result.counts[feature].table.sum() == N


@pytest.mark.parametrize(
    ("build", "feature", "x", "says", "remedy", "call"),
    [
        (
            images,
            "1",
            IMAGES,
            "uint8 (8, 3, 6, 6): if it expects floats, pass call=lambda model, x: model(x.float()",
            lambda x: x.float() / 255,
            lambda model, x: model(x.float() / 255),
        ),
        (
            images,
            "1",
            IMAGES.double(),
            "float64 (8, 3, 6, 6): if its weights are float32, pass x.float()",
            lambda x: x.float(),
            lambda model, x: model(x.float()),
        ),
        (
            Words,
            "first",
            TOKENS.int(),
            "int32 (8, 5): if it expects int64, pass x.long()",
            lambda x: x.long(),
            lambda model, x: model(x.long()),
        ),
    ],
    ids=["uint8 images", "float64 images", "int32 tokens"],
)
def test_refused_with_a_remedy_that_serves(
    monkeypatch: pytest.MonkeyPatch,
    build: Any,
    feature: str,
    x: Tensor,
    says: str,
    remedy: Any,
    call: Any,
) -> None:
    data = Examples.of(TensorDataset(x, Y))
    assert data.x.dtype == x.dtype

    def trained(*_: object) -> None:
        pytest.fail("it was trained")  # no Exception: what a model raises becomes an InputError

    with monkeypatch.context() as patched:
        patched.setattr("probe.protocol.fit", trained)
        with pytest.raises(InputError, match=re.escape(says)) as error:
            retrained(build(), feature, data)
        assert str(error.value).startswith("the model raised ")
        with pytest.raises(pytest.fail.Exception, match="it was trained"):
            retrained(build(), feature, data, call)
    retrained(build(), feature, data, call)
    retrained(build(), feature, Examples(mapped(data.x, remedy), data.y))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_tokens_that_a_model_takes_are_served_as_they_are(dtype: torch.dtype) -> None:
    data = Examples.of(TensorDataset(TOKENS.to(dtype), Y))
    assert data.x.dtype == dtype
    retrained(embedding(), "0", data)
