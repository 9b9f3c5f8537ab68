"""After which tasks layers are retrained by default: the counted multiply-adds decide."""

from functools import partial

import pytest
import torch
from torch import nn

from probe.by_layer.affordable import _MOST, with_steps
from probe.by_layer.probing import ProbingSpec
from probe.retrain import SAMPLE

DENSE = nn.Linear(100, 50)
RUN = partial(DENSE, torch.zeros(SAMPLE, 100))
FITS = int(_MOST / (3 * 100 * 50 * 10))  # examples of ten tails; a backward pass is two forward


@pytest.mark.parametrize(("examples", "steps"), [(FITS, "all"), (FITS + 1, "ends")])
def test_all_rows_are_retrained_up_to_a_number_of_multiply_adds(examples: int, steps: str) -> None:
    readouts = with_steps(ProbingSpec(), RUN, examples, tails=10).readouts
    assert {name: readout.steps for name, readout in readouts.items()} == {
        "retrain": steps,
        "linear": "spread",
    }


@pytest.mark.parametrize("steps", ["ends", "all", "last", [0, 1]])
def test_what_is_asked_for_is_not_changed_and_nothing_is_run(steps: object) -> None:
    probing = ProbingSpec.model_validate({"readouts": {"retrain": steps}})
    assert with_steps(probing, lambda: pytest.fail("it ran"), 10**12, tails=10) is probing
