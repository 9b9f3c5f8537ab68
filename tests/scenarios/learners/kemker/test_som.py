"""The map: its steps in closed form and against loops, its winner and activity by brute force."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probe.seeding import stream
from probe.training.costs import OpsMeter
from scenarios.learners.kemker.geppnet import Geppnet, MapSettings
from scenarios.learners.kemker.online_map import OnlineMap
from scenarios.learners.kemker.som import SelfOrganizingMap
from tests.laws.plain_map import ByUnit

ROWS, COLUMNS, INPUTS = 3, 5, 7


def network(inputs: int = INPUTS, classes: int = 4, **given: object) -> nn.Sequential:
    """Return a map and its readout in float64, with weights far from small."""
    settings = MapSettings.model_validate({"rows": ROWS, "columns": COLUMNS, **given})
    model = Geppnet.network(settings, (inputs,), classes, 2).double()
    for k, parameter in enumerate(model.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=stream(k), dtype=torch.float64)
    assert isinstance(model, nn.Sequential)
    return model


def som(**given: object) -> SelfOrganizingMap:
    found = network(**given)[0]
    assert isinstance(found, SelfOrganizingMap)
    return found


def inputs(count: int, dims: int = INPUTS) -> Tensor:
    return torch.randn(count, dims, generator=stream(9, "x"), dtype=torch.float64)


def labels(count: int) -> Tensor:
    return torch.randint(4, (count,), generator=stream(9, "y"))


def trainer(model: nn.Sequential, rate: float = 0.05) -> OnlineMap:
    return OnlineMap(model[0], model[1], rate, OpsMeter())  # type: ignore[arg-type]


@pytest.mark.parametrize("block", [1, 2, 37, 100])
def test_many_steps_equal_a_loop_over_units(block: int) -> None:
    model, x = network(), inputs(200)
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
    model, x, y = network(), inputs(300), labels(300)
    plain = ByUnit(model, 0.05)
    expected = [k for k in range(300) if plain.learn(x[k].numpy(), int(y[k]), 0.2, 0.8, threshold)]
    own = trainer(model)
    novel = []
    for start in range(0, 300, 60):
        here = slice(start, start + 60)
        novel += [start + k for k in own.learn(x[here], y[here], own.shares(0.2, 0.8), threshold)]
    assert novel == expected
    assert len(novel) == 300 if threshold is None else 10 < len(novel) < 290
    for name, tensor in model.state_dict().items():
        ours = {"som.prototypes": plain.prototypes, "output.weight": plain.weight}
        assert tensor.numpy() == pytest.approx(ours.get(name, plain.bias), abs=1e-9)


def test_the_activity_is_the_formula_s() -> None:
    model, x = network(), inputs(30)
    plain = ByUnit(model)
    with torch.no_grad():
        activity = model[0](x).numpy()
        margins = trainer(model).margins(x, labels(30)).numpy()
    for k, one in enumerate(x.numpy()):
        assert activity[k] == pytest.approx(plain.activity(plain.squared(one)), rel=1e-9)
        assert margins[k] == pytest.approx(plain.margin(one, int(labels(30)[k])), rel=1e-9)
    assert (activity.max(1) == 1).all()
