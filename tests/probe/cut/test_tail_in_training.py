"""What is done to a frozen value behind the feature is done anew at every step."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from probe.cut.cuts import split
from probe.seeding import stream
from tests.laws.zoo.written import Written


def live(between):
    """A feature `a`, something without parameters, a head."""
    model = Written(
        lambda m, x: m.head(between(m, m.a(x))), {"a": (6, 6), "head": (6, 3)}
    )
    return model, torch.randn(12, 6, generator=stream(0))


def test_a_tail_that_writes_in_place_does_not_write_into_what_it_is_given():
    model, x = live(lambda m, h: h.add_(torch.tanh(m.head(h)).sum(1, keepdim=True)))
    cut = split(model, "a", x)
    kept = cut.prefix(x)
    assert torch.equal(cut.tail(kept), cut.tail(kept))


class Checkpointed(nn.Module):
    """A block that runs twice and another one, checkpointed always, in training, or never."""

    def __init__(self, when):
        super().__init__()
        self.when = when
        self.stem = nn.Linear(6, 6)
        self.block = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        self.last = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3))

    def forward(self, x):
        h = self.stem(x)
        for block in (self.block, self.block, self.last):
            if self.when == "always" or (self.when == "training" and self.training):
                h = checkpoint(block, h, use_reentrant=True)
            else:
                h = block(h)
        return h


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("feature", ["stem", "last.0"])
@pytest.mark.parametrize("when", ["always", "training", "never"])
def test_checkpointed_weights_get_the_gradients_that_they_get_without_checkpoints(
    feature, when
):
    plain = Checkpointed("never")
    model = Checkpointed(when)
    model.load_state_dict(plain.state_dict())
    x = torch.randn(12, 6, generator=stream(0))
    cut = split(model, feature, x)
    cut.tail(cut.prefix(x)).square().sum().backward()
    plain(x).square().sum().backward()
    gradients = {n: p.grad for n, p in plain.named_parameters() if n not in cut.frozen}
    assert gradients
    for name, gradient in gradients.items():
        torch.testing.assert_close(cut.fresh_values[name].grad, gradient)
