"""The parameters that are trained downstream of a feature, and the outputs that are read."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probe import Examples, Model, Recipe, partial_retrain
from probe.cut.cuts import cut_each
from probe.seeding import stream
from probe.training.loop import fit

TASKS = [[0, 1], [2, 3]]
RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=0.05)
DATA = Examples(torch.randn(40, 8, generator=stream(0, "x")), torch.arange(40) % 4)


class Adapted(nn.Module):
    """A dense layer with a low-rank adapter: what LoRA makes of it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.base = nn.Linear(8, width)
        self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x))


def lora() -> nn.Sequential:
    """Two adapted layers with a norm in between; their bases and the norm are frozen."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(Adapted(8), nn.ReLU(), nn.BatchNorm1d(8), Adapted(4))
        model(DATA.x)
    for part in (model[0].base, model[2], model[3].base):
        part.requires_grad_(False)
    return model


def test_what_was_frozen_stays_as_it_is() -> None:
    """In its values and without gradients; the adapters are trained anew."""
    model = lora()
    split = cut_each(model, ["0"], DATA.x, trainable="as given").each[0].split()
    split.reinitialize("torch", stream(0))
    fit(split.tail, Examples(split.prefix(DATA.x), DATA.y), RECIPE, stream(0))
    own, adapters = model.state_dict(), {"3.up.weight", "3.down.weight"}
    assert {
        name for name, value in split.fresh_values.items() if value.grad is not None
    } == adapters
    assert all(not torch.equal(split.fresh_values[name], own[name]) for name in adapters)
    [(_, base)] = [pair for pair in split.tail.named_parameters() if "base.weight" in pair[0]]
    assert torch.equal(base, own["3.base.weight"])
    assert base.grad is None


def large_head(outputs: int) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, outputs))


@pytest.mark.parametrize("chosen", [range(4), [90, 17, 40, 99]])
def test_a_large_head_read_at_some_outputs_is_the_head_of_these_alone(chosen) -> None:
    """Rewound to the same values, so that both train the same weights."""
    large, small = large_head(100), large_head(4)
    with torch.no_grad():
        for name in ("weight", "bias"):
            getattr(small[2], name).copy_(getattr(large[2], name)[list(chosen)])
        small[0].load_state_dict(large[0].state_dict())
    read, alone = (
        partial_retrain(Model(net, fresh=net, classes=of), ["1", "2"], DATA, DATA, TASKS, RECIPE)
        for net, of in ((large, chosen), (small, None))
    )
    assert read.counts == alone.counts
