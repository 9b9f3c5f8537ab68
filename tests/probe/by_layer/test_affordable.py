"""After which tasks layers are retrained by default: counted work decides."""

import pytest
import torch
from torch import nn

from probe.by_layer.affordable import _MOST, _STEP, with_steps
from probe.by_layer.probing import ProbingSpec
from probe.retrain import SAMPLE
from probe.training.recipe import Recipe

NETWORK, X = nn.Linear(100, 50, bias=False), torch.zeros(SAMPLE, 100)
RECIPE = Recipe(epochs=2, batch_size=10)
# Tails of 100 examples, each in two epochs of ten steps; a backward pass is two forward
# passes.
FIT = int(_MOST / (2 * (3 * 100 * 50 * 100 + 10 * _STEP)))


@pytest.mark.parametrize(
    ("tails", "budget", "steps"),
    [(FIT, [1], "all"), (FIT + 1, [1], "ends"), (FIT, [1, 2], "ends")],
)
def test_all_rows_are_retrained_up_to_an_amount_of_work(tails, budget, steps):
    probing = ProbingSpec.model_validate({"budget": budget})
    readouts = with_steps(
        probing,
        RECIPE,
        lambda: NETWORK,
        X,
        100,
        tails,
    ).readouts
    found = {name: readout.steps for name, readout in readouts.items()}
    assert found == {"retrain": steps, "linear": "spread"}


def test_what_torch_does_not_count_is_not_free():
    class Last(nn.LSTM):
        def forward(self, x):  # type: ignore[no-untyped-def, override]
            return super().forward(x)[0][:, -1]

    readouts = with_steps(
        ProbingSpec(),
        RECIPE,
        lambda: Last(100, 100, batch_first=True),
        torch.zeros(SAMPLE, 5, 100),
        10**6,
        10**3,
    ).readouts
    assert readouts["retrain"].steps == "ends"


@pytest.mark.parametrize(
    "steps",
    [
        "ends",
        "all",
        "last",
        [0, 1],
    ],
)
def test_what_is_asked_for_is_not_changed_and_no_network_is_built(steps):
    probing = ProbingSpec.model_validate({"readouts": {"retrain": steps}})
    built = with_steps(
        probing,
        RECIPE,
        lambda: pytest.fail("it was built"),
        X,
        10**12,
        tails=10,
    )
    assert built is probing
