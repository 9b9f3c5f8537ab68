"""Chains: the passes written out are those of autograd, and are left where they would not be."""

import copy
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
import torch
from hypothesis import example, given, strategies as st
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from probe.examples import Examples
from probe.seeding import stream
from probe.training import chain, loop
from probe.training.costs import OpsMeter
from probe.training.evaluation import SelectedOutputs
from probe.training.loop import Objective, fit
from probe.training.recipe import Recipe

RECIPE = Recipe(
    epochs=4,
    batch_size=7,
    learning_rate=1e-2,
    clip_norm=5.0,
)


@st.composite
def networks(draw):
    """Draw a chain in float64 for images of 2 channels and 6 x 5 pixels."""
    layers = list[nn.Module]()
    x = torch.zeros(1, 2, 6, 5)
    ints = st.integers
    torch.manual_seed(draw(ints(0, 99)))
    for kind in draw(
        st.lists(
            st.sampled_from(
                [
                    "conv",
                    "relu",
                    "tanh",
                    "pool",
                    "identity",
                ]
            ),
            max_size=5,
        )
    ):
        width, sides = x.shape[1], x.shape[2:]
        after = isinstance(layers[-1], nn.Conv2d) if layers else False
        layer = nn.ReLU(inplace=after and draw(st.booleans()))
        if kind == "conv":
            layer = nn.Conv2d(
                width,
                draw(ints(1, 4)),
                tuple(draw(ints(1, min(3, side))) for side in sides),
                stride=(draw(ints(1, 3)), draw(ints(1, 3))),
                padding=(draw(ints(0, 2)), draw(ints(0, 2))),
                bias=draw(st.booleans()),
            )
        elif kind != "relu":
            others = {"tanh": nn.Tanh(), "identity": nn.Identity()}
            layer = others.get(kind) or nn.MaxPool2d(min(2, *sides))
        layers.append(layer)
        x = layer.eval()(x)
    last = [
        nn.Flatten(),
        nn.Linear(x.numel(), 5),
        nn.Linear(5, 3),
    ]
    model = nn.Sequential(nn.Sequential(*layers), *last).double().train()
    for p in model.parameters():
        p.requires_grad_(draw(ints(0, 4)) > 0)
    model[-1].requires_grad_()
    return model


class Kept(Objective):
    """The plain loss, with the gradients and losses that the training shows."""

    by_scores = True

    def __init__(self):
        self.gradients = list[list[torch.Tensor]]()

    def after_backward(self, model):
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        self.gradients.append([grad.clone() for grad in grads])
        for grad in grads:  # as a penalty does
            grad += 1e-3


class Odd(Kept):
    """A loss with a penalty and a second call of the model."""

    by_scores = True

    def loss(self, model, x, y):
        few = functional.cross_entropy(model(x[:3].clone()), y[:3])
        twice = few + model(x).square().mean()
        return twice + 0.1 * sum(p.square().sum() for p in model.parameters())


def data():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(
        33,
        2,
        6,
        5,
        generator=draw,
        dtype=torch.float64,
    )
    return Examples(x, torch.randint(3, (33,), generator=draw))


def trained(model, objective, *, written=True, meter=None):
    """Train a copy and return it; written: not by autograd alone."""
    own = copy.deepcopy(model)
    none = mock.patch.object(loop, "chained", return_value=nullcontext())
    with nullcontext() if written else none:
        fit(
            own,
            data(),
            RECIPE,
            stream(0),
            objective,
            meter,
        )
    return own


def assert_close(a, b, within):
    for one, other in zip(a, b, strict=True):
        torch.testing.assert_close(one, other, rtol=within, atol=within)


UNEVEN = nn.Sequential(
    nn.Conv2d(2, 3, 3, padding=(2, 0)),
    nn.Flatten(),
    nn.Linear(72, 3),
).double()


@example(UNEVEN, Kept)
@given(networks(), st.sampled_from([Kept, Odd]))
def test_training_is_that_of_autograd(model, kind):
    """Gradients of the first step to 1e-10, and all that 20 steps leave."""
    own = kind()
    plain = kind()
    with mock.patch.object(
        chain.Chain,
        "_pass",
        autospec=True,
        side_effect=chain.Chain._pass,
    ) as passes:
        written = trained(model, own)
    assert passes.call_count == 20
    expected = trained(model, plain, written=False)
    assert_close(own.gradients[0], plain.gradients[0], 1e-10)
    assert_close(own.losses, plain.losses, 1e-8)
    assert_close(written.state_dict().values(), expected.state_dict().values(), 1e-7)


def cnn():
    """A chain with taps that see padding alone: images of 2 x 2 after the first layer."""
    torch.manual_seed(0)
    first = nn.Sequential(
        nn.Conv2d(
            2,
            3,
            3,
            stride=3,
            padding=1,
        ),
        nn.ReLU(),
    )
    second = nn.Sequential(
        nn.Conv2d(
            3,
            4,
            3,
            stride=2,
            padding=1,
        ),
        nn.ReLU(),
        nn.Flatten(),
    )
    return nn.Sequential(first, second, nn.Linear(4, 3)).double()


class GradientPenalty(Objective):
    def loss(self, model, x, y):
        loss = functional.cross_entropy(model(x), y)
        grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        return loss + sum(grad.square().sum() for grad in grads)


class Masked(Kept):
    """A learner of a user's that is derived from one that trains without autograd."""

    def loss(self, model, x, y):
        scores = model(x)
        scores[:, 2] = -1e4
        return functional.cross_entropy(scores, y % 2)

    def after_step(self, model):
        for p in model.parameters():
            p.data = p.data.clamp(-0.2, 0.2)


@pytest.mark.parametrize("kind", [GradientPenalty, Masked])
def test_an_objective_that_does_not_ask_for_it_trains_by_autograd(kind):
    both = [trained(cnn(), kind(), written=each).state_dict() for each in (True, False)]
    assert_close(*(each.values() for each in both), 0)


def test_gradients_of_before_count_nowhere():
    both = cnn(), cnn()
    both[0](data().x).sum().backward()
    each = [trained(model, Objective()).state_dict().values() for model in both]
    assert_close(*each, 0)


def test_selected_outputs_alone_have_gradients():
    model = SelectedOutputs(cnn(), torch.tensor([2, 0, 1]))
    both = [
        trained(model, Kept(), written=each).state_dict().values()
        for each in (True, False)
    ]
    assert_close(*both, 1e-8)


def frozen():
    model = cnn()
    model[:2].requires_grad_(False)
    return model


COUNTED = {
    "plain": cnn,
    "frozen taps": frozen,
}


@pytest.mark.parametrize("name", COUNTED)
def test_costs_are_those_of_autograd(name):
    """A convolution's is that of all its windows, by whatever way it is computed."""
    both = (OpsMeter(), OpsMeter())
    for meter, written in zip(both, (True, False), strict=True):
        trained(COUNTED[name](), Objective(), written=written, meter=meter)
    assert both[0].total == both[1].total > 0


def with_hook(name, at="0.0"):
    """Return a chain in which one module or parameter has a hook."""
    model = cnn()
    own = (
        model.get_submodule(at)
        if not at.endswith("weight")
        else model.get_parameter(at)
    )
    getattr(own, f"register_{name}")(lambda *_: None)
    return model


def with_another_forward():
    model = cnn()
    model[2].forward = lambda x: 2 * nn.Linear.forward(model[2], x)
    return model


def of_one_memory():
    model = shared()
    model[2].weight = nn.Parameter(model[1].weight.detach())
    return model


class Own(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


def tied():
    layer = nn.Linear(60, 60)
    return nn.Sequential(nn.Flatten(), layer, layer, nn.Linear(60, 3))


def shared():
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(60, 60), nn.Linear(60, 60), nn.Linear(60, 3)
    )
    model[2].weight = model[1].weight
    return model


OTHERS = {
    "own forward": lambda: Own(nn.Flatten(), nn.Linear(60, 3)),
    "a layer twice": tied,
    "a parameter twice": shared,
    "flattening of some dimensions": lambda: nn.Sequential(
        nn.Flatten(2), nn.MaxPool2d(1), nn.Flatten(), nn.Linear(60, 3)
    ),
    "rows of a sequence": lambda: nn.Sequential(
        nn.Linear(5, 5), nn.Flatten(), nn.Linear(60, 3)
    ).double(),
    "groups of channels": lambda: nn.Sequential(
        nn.Conv2d(2, 2, 3, groups=2), nn.Flatten(), nn.Linear(24, 3)
    ).double(),
    "two parameters in one memory": of_one_memory,
    "a layer with another forward": with_another_forward,
    "a hook of a parameter": lambda: with_hook("hook", "0.0.weight"),
    "a later hook of a parameter": lambda: with_hook(
        "post_accumulate_grad_hook", "0.0.weight"
    ),
    **{
        f"a {name.replace('_', ' ')} at {at or 'the root'}": partial(
            with_hook, name, at
        )
        for name in ("forward_hook", "forward_pre_hook", "full_backward_hook")
        for at in ("", "0.1")
    },
    "a backward pre-hook": lambda: with_hook("full_backward_pre_hook"),
    "a parametrization": lambda: nn.Sequential(
        nn.Flatten(), parametrizations.weight_norm(nn.Linear(60, 3))
    ),
    "another layer": lambda: nn.Sequential(
        nn.Flatten(), nn.Bilinear(1, 1, 1), nn.Linear(60, 3)
    ),
    "half": lambda: cnn().bfloat16(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_networks_are_no_chains(name):
    model = OTHERS[name]()
    x = data().x.to(next(model.parameters()).dtype)
    with chain.chained(model, Examples(x, data().y), RECIPE) as passes:
        assert passes is None


def test_inputs_that_require_a_gradient_have_one():
    model = cnn()
    x = data().x.requires_grad_()
    with chain.chained(model, data(), RECIPE) as passes:
        passes.open()
        model(x).sum().backward()
    assert x.grad.any()


def test_no_chain_below_full_precision_or_for_data_of_another_type():
    bf16 = replace(RECIPE, precision="bf16")
    for model, recipe in ((cnn(), bf16), (cnn().float(), RECIPE)):
        with chain.chained(model, data(), recipe) as passes:
            assert passes is None


@pytest.mark.parametrize("height", [256, 257])
@pytest.mark.parametrize("outputs", [1, 2])
def test_only_small_convolutions_are_in_a_chain(height, outputs):
    """Up to 196,608 numbers in all windows, and a third as many in all outputs."""
    images = Examples(torch.zeros(2, 3, height, 256), torch.zeros(2, dtype=torch.long))
    model = nn.Sequential(nn.Conv2d(3, outputs, 1), nn.Flatten())
    with chain.chained(model, images, replace(RECIPE, batch_size=1)) as passes:
        assert bool(passes) == ((height, outputs) == (256, 1))


class Failing(Objective):
    by_scores = True

    def after_backward(self, model):
        raise ZeroDivisionError


def test_a_network_is_as_before_after_a_failure():
    model = cnn()
    plain = cnn()
    places = [(p.data_ptr(), p.stride()) for p in model.parameters()]
    with pytest.raises(ZeroDivisionError):
        fit(model, data(), RECIPE, stream(0), Failing())
    assert [(p.data_ptr(), p.stride()) for p in model.parameters()] == places
    assert "forward" not in vars(model)
    assert_close(model.state_dict().values(), plain.state_dict().values(), 0)
