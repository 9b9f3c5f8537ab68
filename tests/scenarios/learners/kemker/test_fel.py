"""FEL: what of the network learns, what stays fixed, and its size in Kemker's table."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from probe.cut.split import split_each
from probe.examples import Examples
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.kemker.fel import FelSettings, FixedExpansion
from scenarios.streams.task import Task
from tests.laws.learning import digits, learn, resumed, same

SMALL = FelSettings(hidden=64, units=300, connected=0.2, firing=0.04)


def learner(recipe: Recipe | None = None, settings: FelSettings = SMALL) -> FixedExpansion:
    recipe = recipe or Recipe(epochs=3, batch_size=16, init="torch")
    model = FixedExpansion.network(settings, (1, 8, 8), 10, 5)
    initialize(model, recipe.init, stream(0, "init"))
    return FixedExpansion(model, recipe, settings, 0)


def state(own: FixedExpansion) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in own.model.state_dict().items()}


def test_the_defaults_give_the_size_in_the_papers_table() -> None:
    model = FixedExpansion.network(FelSettings(), (1, 28, 28), 10, 10)
    numbers = sum(tensor.numel() for tensor in model.state_dict().values())
    assert round(4 * numbers / 1e6, 2) == 4.54


def test_the_default_training_is_the_supplements() -> None:
    training = FelSettings().training
    assert training is not None
    recipe = training.instead_of(Recipe(epochs=7))
    wanted = Recipe(epochs=7, batch_size=256, optimizer="adam", learning_rate=2e-2)
    assert recipe == wanted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"connected": 0.003}, "connected x hidden is 0.003 x 400, which is 1 units, .*raise"),
        ({"hidden": 10}, "connected x hidden is 0.1 x 10, which .*: raise connected or hidden"),
        (
            {"firing": 2e-4},
            "firing x units is 0.0002 x 2000, which is 0 .*raise firing or units",
        ),
    ],
)
def test_shares_of_less_than_two_units_are_refused(change: dict[str, float], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        FelSettings.model_validate(change)
    two = FelSettings(connected=0.005, firing=0.001)
    assert (two.joined, two.fired) == (2, 2)


def test_training_moves_all_but_the_fixed_weights() -> None:
    own = learner()
    before = state(own)
    learn(own, digits()[:2])
    moved = {name for name, tensor in state(own).items() if not torch.equal(tensor, before[name])}
    assert moved == before.keys() - {"fel.weight"}
    assert "fel.weight" not in dict(own.model.named_parameters())


def test_an_example_teaches_only_what_its_firing_units_are_joined_to() -> None:
    """One step of SGD on one example; the negative control has every unit fire."""
    x = digits()[0].train.x[:1]
    data = Examples(x, torch.tensor([0]))
    task = Task(index=1, name="one", classes=(0,), train=data, test=data)
    recipe = Recipe(epochs=1, batch_size=1, optimizer="sgd", learning_rate=0.1, init="torch")
    changed = {}
    for share in (0.04, 1.0):
        own = learner(recipe, SMALL.model_copy(update={"firing": share}))
        before = state(own)
        hidden = own.model.get_submodule("hidden")(x)
        fired = (own.model.get_submodule("fel")(hidden) != 0).squeeze(0)
        own.learn(task)
        after = state(own)
        columns = (after["output.weight"] != before["output.weight"]).any(0)
        assert torch.equal(columns, fired)
        rows = (after["hidden.1.weight"] != before["hidden.1.weight"]).any(1)
        joined = (before["fel.weight"][fired] != 0).any(0) & (hidden > 0).squeeze(0)
        assert torch.equal(rows, joined)
        changed[share] = int(columns.sum()), int(rows.sum())
    assert changed[0.04][0] == 12
    assert changed[1.0][0] == 300
    assert changed[0.04][1] < changed[1.0][1]


@pytest.mark.parametrize("done", [1, 3])
def test_a_learner_continued_from_its_state_is_the_learner(done: int) -> None:
    assert same(*resumed(learner, digits(), done))


def test_it_learns() -> None:
    """Four of five digits right when all are learned at once, one of ten before."""
    tasks = digits(100)
    x, y = (torch.cat([getattr(task.train, name) for task in tasks]) for name in "xy")
    data = Examples(x, y)
    own = learner(Recipe(epochs=20, batch_size=32, learning_rate=2e-2, init="torch"))
    right = partial(accuracy, own.model, data)
    assert right() < 0.3
    own.learn(Task(index=1, name="all", classes=tuple(range(10)), train=data, test=data))
    assert right() > 0.8


@torch.no_grad()
def accuracy(model: nn.Module, data: Examples) -> float:
    return float((model(data.x).argmax(1) == data.y).float().mean())


def test_it_can_be_cut_at_each_feature() -> None:
    own = learn(learner(), digits()[:1])
    x = digits()[1].train.x
    cuts = split_each(own.model, FixedExpansion.own_features, x)
    assert [cut.cached for cut in cuts] == [True] * 3
    assert [cut.trainable for cut in cuts] == [True, True, False]
    assert "fel.weight" in cuts[1].frozen
    assert "fel.weight" not in cuts[0].frozen
    for cut in cuts:
        with torch.no_grad():
            assert torch.equal(cut.tail.eval()(cut.prefix(x)), own.model(x))


def test_retraining_behind_it_mends_the_output() -> None:
    tasks = digits()
    own = learn(learner(), tasks)
    x, y = (torch.cat([getattr(task.train, name) for task in tasks]) for name in "xy")
    data, classes = Examples(x, y), [task.classes for task in tasks]
    recipe = Recipe(epochs=20, batch_size=16, learning_rate=1e-2, init="torch")
    found = partial_retrain(own.model, FixedExpansion.own_features, data, data, classes, recipe)
    assert found.pra["hidden"] > 0.9
    assert found.pra["fel"] > 0.9
    assert found.pra["output"] < 0.6
