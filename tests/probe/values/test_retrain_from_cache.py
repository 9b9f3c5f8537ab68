"""Retraining with a cache: results depend neither on where values live nor on the device."""

import copy
import weakref

import pytest

from probe import Examples, Model, Recipe, partial_retrain
from probe.retrain import cache_plan, retrain_each
from probe.retraining import RetrainSettings
from probe.values.allocation import CacheSettings
from probe.values.cache import CachedRows
from tests.laws.other_device import OtherDevice
from tests.laws.zoo.specimens import specimen

SIZE = 16


@pytest.mark.parametrize(
    ("name", "features", "storage"),
    [
        ("a_branch_beside_and_a_skip_across", ["side", "middle"], "fp32"),
        ("dropout_on_both_sides", ["norm", "b"], "fp32"),
        ("cnn3", ["conv1", "conv3"], "bf16"),
    ],
)
def test_no_result_depends_on_where_values_live_or_on_the_device(
    name,
    features,
    storage,
    tmp_path,
):
    model, x, y = specimen(name, 24)
    sizes = {p.size for p in cache_plan(model, features, x, (24, 20))}
    settings = [
        CacheSettings(budget=10**9, storage=storage),
        CacheSettings(
            budget=0,
            storage=storage,
            scratch=tmp_path,
            room=10**9,
        ),
        CacheSettings(budget=0, storage=storage),
        CacheSettings(
            budget=max(sizes),
            storage=storage,
            scratch=tmp_path,
            room=max(sizes),
        ),
    ]
    recipe = Recipe(epochs=2, batch_size=SIZE, learning_rate=0.01)

    def counts(
        cache,
        to=lambda held: held,
        seed=0,
    ):
        train = Examples(to(x), to(y))
        test = Examples(to(x[:20]), to(y[:20]))
        own = Model(to(copy.deepcopy(model)), fresh="murata", classes=[2, 0, 1])
        asked = own, features, train, test, [[0, 1], [2]], recipe
        return partial_retrain(*asked, seed=seed, cache=cache).counts

    first, *others = map(counts, settings)
    assert others == [first] * 3
    with OtherDevice() as there:
        elsewhere = [
            counts(cache, lambda held: held.to(there.device)) for cache in settings
        ]
    assert elsewhere == [first] * 4
    assert counts(settings[0], seed=1) != first


def test_values_are_dropped_once_they_have_served(monkeypatch):
    alive = weakref.WeakSet()

    class Watched(CachedRows):
        def __init__(self, *given):
            super().__init__(*given)  # type: ignore[arg-type]
            alive.add(self)

    monkeypatch.setattr("probe.values.cache.CachedRows", Watched)
    model, x, y = specimen("mlp")
    data = Examples(x, y)
    features = ["hidden1", "hidden2", "output"]
    each = retrain_each(
        model,
        features,
        data,
        data,
        3,
        RetrainSettings(recipe=Recipe(epochs=1)),
    )
    left = [len(alive) for _ in each]
    # Of three features for the test and two for training, those that are still to come.
    assert left == [3, 1, 0]
