"""The map: its steps in closed form and against loops, its winner and activity by brute force."""

import numpy as np
import pytest
import torch
from torch import nn

from probe.seeding import stream
from probe.training.costs import OpsMeter
from scenarios.learners.kemker.geppnet import Geppnet, MapSettings
from scenarios.learners.kemker.online_map import OnlineMap
from tests.laws.plain_map import ByUnit


def network() -> nn.Sequential:
    """Return a map and its readout in float64, with weights far from small."""
    settings = MapSettings.model_validate({"rows": 3, "columns": 5})
    model = Geppnet.network(settings, (7,), 4, 2).double()
    for k, parameter in enumerate(model.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=stream(k), dtype=torch.float64)
    return model


def trainer(model: nn.Module) -> OnlineMap:
    return OnlineMap(model, 0.05, OpsMeter())


X = torch.randn(300, 7, generator=stream(9, "x"), dtype=torch.float64)
Y = torch.randint(4, (300,), generator=stream(9, "y"))


@pytest.mark.parametrize("block", [1, 37])
def test_many_steps_equal_a_loop_over_units(block: int) -> None:
    model, x = network(), X[:200]
    plain = ByUnit(model)
    rates = np.geomspace(0.5, 0.01, 200).tolist()
    radii = np.geomspace(2.5, 0.5, 200).tolist()
    winners = {plain.organize(*step) for step in zip(x.numpy(), rates, radii, strict=True)}
    for start in range(0, 200, block):
        here = slice(start, start + block)
        trainer(model).organize(x[here], rates[here], radii[here])
    assert model[0].prototypes.detach().numpy() == pytest.approx(plain.prototypes, abs=1e-9)
    assert len(winners) > 5


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_learning_equals_a_loop_over_units_and_so_does_what_is_novel(
    threshold: float | None,
) -> None:
    model, plain = network(), ByUnit(network(), 0.05)
    expected = [k for k in range(300) if plain.learn(X[k].numpy(), int(Y[k]), 0.2, 0.8, threshold)]
    own = trainer(model)
    novel = []
    for start in range(0, 300, 60):
        here = slice(start, start + 60)
        novel += [start + k for k in own.learn(X[here], Y[here], own.shares(0.2, 0.8), threshold)]
    assert novel == expected
    assert len(novel) == 300 if threshold is None else 10 < len(novel) < 290
    for name, tensor in model.state_dict().items():
        ours = {"som.prototypes": plain.prototypes, "output.weight": plain.weight}
        assert tensor.numpy() == pytest.approx(ours.get(name, plain.bias), abs=1e-9)


def test_the_activity_is_the_formula_s() -> None:
    model = network()
    plain = ByUnit(model)
    with torch.no_grad():
        activity = model[0](X[:30]).numpy()
    margins = trainer(model).margins(X[:30], Y[:30]).numpy()
    for k, one in enumerate(X[:30].numpy()):
        assert activity[k] == pytest.approx(plain.activity(plain.squared(one)), rel=1e-9)
        assert margins[k] == pytest.approx(plain.margin(one, int(Y[k])), rel=1e-9)
    assert (activity.max(1) == 1).all()
