"""Retraining with a cache: no result depends on where values live, and they go when served."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Recipe, partial_retrain
from probe.retrain import cache_plan, retrain_each
from probe.retraining import RetrainSettings
from probe.training.evaluation import predict_each
from probe.values.allocation import CacheSettings, Storage
from probe.values.cache import CachedRows
from tests.laws.zoo.specimens import specimen

SIZE = 16


@pytest.mark.parametrize(
    ("name", "features", "storage"),
    [
        ("reduced_resnet18", ["stem", "layer3"], "fp32"),
        ("a_branch_beside_and_a_skip_across", ["side", "middle"], "fp32"),
        ("dropout_on_both_sides", ["norm", "b"], "fp32"),
        ("cnn3", ["conv1", "conv3"], "bf16"),
    ],
)
def test_no_result_depends_on_where_values_live(
    name: str, features: list[str], storage: Storage, tmp_path: Path
) -> None:
    model, x, y = specimen(name, 24)
    sizes = {p.size for p in cache_plan(model, features, x, (24, 20))}
    settings = [
        CacheSettings(budget=10**9, storage=storage),
        CacheSettings(budget=0, storage=storage, scratch=tmp_path, room=10**9),
        CacheSettings(budget=0, storage=storage),
        CacheSettings(budget=max(sizes), storage=storage, scratch=tmp_path, room=max(sizes)),
    ]
    train, test = Examples(x, y), Examples(x[:20], y[:20])
    recipe = Recipe(epochs=2, batch_size=SIZE, learning_rate=0.01)
    first, *others = (
        partial_retrain(model, features, train, test, [[0, 1], [2]], recipe, cache=cache).counts
        for cache in settings
    )
    assert others == [first] * 3


def test_trained_tails_do_not_depend_on_it_to_the_last_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights tell more than counts; a tail trained on rounded values is the negative control."""
    model, x, y = specimen("reduced_resnet18", 24)

    def weights(cache: CacheSettings) -> dict[str, Tensor]:
        trained: dict[str, Tensor] = {}

        def keep(tail: nn.Module, data: Examples, classes: int, barred: dict[str, None]) -> object:
            trained.update({k: v.clone() for k, v in tail.state_dict().items()})
            return predict_each(tail, data, classes, barred)

        monkeypatch.setattr("probe.protocol.predict_each", keep)
        how = RetrainSettings(recipe=Recipe(epochs=1, batch_size=SIZE), cache=cache)
        list(retrain_each(model, ["layer2"], Examples(x, y), Examples(x, y), 3, how))
        return trained

    memory = weights(CacheSettings(budget=10**9))
    for cache in (CacheSettings(budget=0), CacheSettings(budget=0, scratch=tmp_path)):
        other = weights(cache)
        assert all(torch.equal(memory[key], other[key]) for key in memory)
    rounded = weights(CacheSettings(budget=10**9, storage="bf16"))
    assert not all(torch.equal(memory[key], rounded[key]) for key in memory)


def test_values_are_dropped_once_they_have_served(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[CachedRows] = weakref.WeakSet()

    class Watched(CachedRows):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            alive.add(self)

    monkeypatch.setattr("probe.values.cache.CachedRows", Watched)
    model, x, y = specimen("mlp")
    data, features = Examples(x, y), ["hidden1", "hidden2", "output"]
    each = retrain_each(model, features, data, data, 3, RetrainSettings(recipe=Recipe(epochs=1)))
    left = [len(alive) for _ in each]
    # Of three features for the test and two for training, those that are still to come.
    assert left == [3, 1, 0]


class Asking(nn.Module):
    """Gives a layer a view of a parameter, as attention that pools does."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 6))
        self.first, self.second, self.last = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        asked = self.first(self.query.expand(len(x), -1))
        return self.last(torch.relu(self.second(x * asked)))


def test_work_is_counted_where_a_layer_is_given_a_view_of_a_parameter() -> None:
    (need,) = cache_plan(Asking(), ["second"], torch.randn(8, 6), (24, 8))
    data = Examples(torch.randn(8, 6), torch.arange(8) % 3)
    result = partial_retrain(Asking(), ["second"], data, data, [[0, 1, 2]], Recipe(epochs=1))
    assert (need.feature, *result.features) == ("second", "second")
