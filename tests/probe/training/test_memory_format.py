"""Which layout a network's images get, that it changes nothing but speed, and is borrowed."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import global_stream, stream
from probe.training.loop import Objective, fit
from probe.training.recipe import Recipe
from tests.laws import reference


class Sees(nn.Module):
    """A small convolutional network that notes in which layout its first activations lie.

    turn: what it does to its input first; trained: whether its convolution is; noise:
    what it adds to its output.
    """

    def __init__(self, turn=Tensor.clone, trained=True, noise=0):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).requires_grad_(trained)
        self.head = nn.Linear(4, 3)
        self.turn, self.noise = turn, noise
        self.layouts = set()

    def forward(self, x):
        y = torch.relu(self.conv(self.turn(x)))
        self.layouts.add("channels first" if y.is_contiguous() else "channels last")
        return self.head(y.mean((2, 3))) + torch.rand(self.noise).sum()


# Joins channels and pixels, which channels-last memory does not allow.
Views = partial(Sees, lambda x: x.view(len(x), -1).view(x.shape))
# Reads memory as if it were channel by channel: wrong in silence in any other layout.
Strides = partial(Sees, lambda x: x.as_strided(x.shape, (108, 36, 6, 1)))
# Nothing is left to train in its convolution, as in a tail behind it.
Frozen = partial(Sees, trained=False)
# Gives another output each time.
Shifting = partial(Sees, noise=1)


def images(n=24):
    draw = stream(0, "images")
    return Examples(
        torch.randn(
            n,
            3,
            6,
            6,
            generator=draw,
        ),
        torch.arange(n) % 3,
    )


def built(build):
    with global_stream(stream(0, "build")):
        return build()


@pytest.mark.parametrize(
    ("build", "layout"),
    [
        (Sees, "last"),
        *((build, "first") for build in (Views, Strides, Frozen, Shifting)),
    ],
)
def test_training_takes_the_layout_that_is_fast_and_right(build, layout):
    model = built(build)
    plain = built(build)
    fit(
        model,
        images(),
        Recipe(epochs=2, batch_size=8),
        stream(0),
        Spy(model),
    )
    assert model.layouts == {f"channels {layout}"}
    for key, value in plain.state_dict().items():
        assert model.state_dict()[key].stride() == value.stride()
    assert not model._forward_pre_hooks


class Spy(Objective):
    """Starts each step with a clean record, and sees the batch as the data hold it."""

    def __init__(self, model):
        self.model = model

    def batch(self, x, y):
        assert x.is_contiguous()
        self.model.layouts.clear()
        return x, y


@pytest.mark.parametrize(
    "build",
    [
        Sees,
        Views,
        Strides,
    ],
)
def test_the_layout_moves_no_weight_beyond_rounding(build):
    """Against the plain loop: the same batches, none of them rearranged."""
    model = built(build)
    plain = built(build)
    data = images()
    recipe = Recipe(epochs=3, batch_size=8)
    fit(model, data, recipe, stream(0))
    reference.train(
        plain,
        data.x,
        data.y,
        recipe,
        stream(0),
    )
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
