"""FEL: the expansion layer, who fires and where gradients go; what of the network learns."""

import copy

import torch
from hypothesis import given, strategies as st

from probe.examples import Examples
from probe.tasks import Task
from probe.training.loop import Recipe
from scenarios.learners.kemker.fel import Expansion, FelSettings, FixedExpansion
from tests.scenarios.learners.tiny_learners import digits, learner

TASKS = digits(20).tasks


def test_defaults_are_the_papers():
    """The size in its table, and the supplement's recipe."""
    model = FixedExpansion.network(FelSettings(), (1, 28, 28), 10, 10)
    numbers = sum(tensor.numel() for tensor in model.state_dict().values())
    assert round(4 * numbers / 1e6, 2) == 4.54
    recipe = FelSettings().training.applied_to(Recipe(epochs=7))
    assert recipe == Recipe(
        epochs=7,
        batch_size=256,
        optimizer="adam",
        learning_rate=2e-2,
    )


def test_hidden_units_have_the_activation_of_the_settings():
    x = torch.randn(50, 64)
    for name in ("relu", "tanh", "sigmoid"):
        hidden = FixedExpansion.network(FelSettings(activation=name), (64,), 10, 2)[0]
        assert torch.equal(hidden(x), getattr(torch, name)(hidden[1](x)))


def test_an_example_teaches_only_what_its_firing_units_are_joined_to():
    """One step of SGD on one example; the negative control has every unit fire."""
    x = TASKS[0].train.x[:1]
    data = Examples(x, torch.tensor([0]))
    task = Task(
        index=1,
        name="one",
        classes=(0,),
        train=data,
        test=data,
    )
    recipe = Recipe(
        epochs=1,
        batch_size=1,
        optimizer="sgd",
        learning_rate=0.1,
        init="torch",
    )
    changed = {}
    for share in (0.04, 1.0):
        small = {
            "hidden": 64,
            "units": 300,
            "connected": 0.2,
            "firing": share,
        }
        own = learner("fel", recipe=recipe, **small)
        before = copy.deepcopy(own.model.state_dict())
        hidden = own.model.get_submodule("hidden")(x)
        fired = (own.model.get_submodule("fel")(hidden) != 0).squeeze(0)
        own.learn(task)
        after = own.model.state_dict()
        assert torch.equal(after["fel.weight"], before["fel.weight"])
        columns = (after["output.weight"] != before["output.weight"]).any(0)
        assert torch.equal(columns, fired)
        rows = (after["hidden.1.weight"] != before["hidden.1.weight"]).any(1)
        joined = (before["fel.weight"][fired] != 0).any(0) & (hidden > 0).squeeze(0)
        assert torch.equal(rows, joined)
        changed[share] = int(columns.sum()), int(rows.sum())
    assert (changed[0.04][0], changed[1.0][0]) == (12, 300)
    assert changed[0.04][1] < changed[1.0][1]


@given(
    st.integers(2, 9).flatmap(
        lambda units: st.tuples(
            st.lists(st.integers(-2, 2), min_size=units, max_size=units),
            st.integers(2, units),
        )
    )
)
def test_the_extreme_units_fire_ties_by_number(case):
    excitation = [float(value) for value in case[0]]
    firing = case[1]
    units = range(len(excitation))
    order = sorted(units, key=lambda unit: (-excitation[unit], unit))
    most = order[: firing - firing // 2]
    least = order[len(order) - firing // 2 :]
    expected = [1 if unit in most else -1 if unit in least else 0 for unit in units]
    own = Expansion(2, len(excitation), 2, firing)
    assert own.signs(torch.tensor([excitation]))[0].tolist() == expected
    assert Expansion(12, 6, 6, 3)(torch.zeros(1, 12)).tolist() == [
        [
            1,
            1,
            0,
            0,
            0,
            -1,
        ]
    ]
