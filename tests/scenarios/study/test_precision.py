"""The precision `auto`: chosen by a measurement, once for a run directory."""

import json

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.results import precision
from probe.training.recipe import Recipe
from tests.scenarios.tiny_run import TINY

AUTO = TINY.replace("epochs = 1", 'epochs = 1\nprecision = "auto"')


@pytest.fixture
def timed(monkeypatch):
    """The seconds of each precision, as a measurement would return them, and what was measured."""
    taken = {"fp32": 0.6, "bf16": 0.5}
    asked = []

    def seconds(model, batch, recipe):
        asked.append((len(batch), recipe.precision))
        return taken[recipe.precision]

    monkeypatch.setattr(precision, "seconds", seconds)
    return taken, asked


def planned(root):
    plan = json.loads((root / "study.json").read_text())["plan"]
    return {each["training"]["precision"] for each in plan["learners"].values()} | {
        plan["retraining"]["precision"]
    }


def test_the_first_run_chooses_and_whoever_goes_on_trains_alike(fresh, timed):
    taken, asked = timed
    fresh.run(AUTO, dry_run=True)
    assert not fresh.root.exists()
    asked.clear()
    fresh.ran(AUTO)
    assert asked == [(8, "fp32"), (8, "bf16")]
    assert planned(fresh.root) == {"bf16"}
    before = fresh.results()
    taken["bf16"] = 2.0  # it would choose fp32 now
    fresh.ran(AUTO, seeds=2)
    assert len(asked) == 2
    assert planned(fresh.root) == {"bf16"}
    assert before.items() <= fresh.results().items()
    assert (fresh.root / "precision.txt").read_text() == "bf16"


def test_a_measurement_trains_a_copy_and_draws_nothing():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout()).requires_grad_(False)
    before = model[0].weight.clone()
    batch = Examples(torch.rand(6, 4), torch.arange(6) % 3)
    state = torch.get_rng_state()
    assert precision.seconds(model, batch, Recipe(epochs=2)) > 0
    assert torch.equal(model[0].weight, before)
    assert not model[0].weight.requires_grad
    assert torch.equal(torch.get_rng_state(), state)
