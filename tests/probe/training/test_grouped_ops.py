"""Multiply-adds of convolutions in groups, and of per-example gradients, which are one of these."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from probe.examples import Examples
from probe.training.costs import OpsMeter, one_pass_ops

B, C, H, W, D, K = 3, 4, 5, 6, 8, 3


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_forward_and_both_gradients_cost_the_same(groups):
    layer = nn.Conv2d(C, D, K, padding=1, groups=groups)
    once = B * D * H * W * (C // groups) * K * K
    for needs_input_gradient, passes in ((True, 3), (False, 2)):
        meter = OpsMeter()
        x = torch.randn(B, C, H, W, requires_grad=needs_input_gradient)
        with meter.once():
            layer(x).sum().backward()
        assert meter.total == passes * once


def test_a_transposed_convolution_too():
    layer = nn.ConvTranspose2d(C, D, K, padding=1)
    meter = OpsMeter()
    with meter.once():
        layer(torch.randn(B, C, H, W, requires_grad=True)).sum().backward()
    assert meter.total == 3 * B * C * H * W * D * K * K


def test_gradients_of_single_examples_cost_as_much_as_that_of_the_batch():
    model = nn.Sequential(nn.Conv2d(C, D, K), nn.ReLU(), nn.Conv2d(D, D, K))
    x = torch.randn(B, C, H, W)

    def loss(parameters, one):
        return functional_call(model, parameters, (one[None],)).square().sum()

    single, batch = OpsMeter(), OpsMeter()
    with single.once():
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        vmap(grad(loss), in_dims=(None, 0))(parameters, x)
    with batch.once():
        model(x).square().sum().backward()
    assert single.total == batch.total


def test_a_parametrised_model_is_counted_and_left_alone():
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(C, D)), nn.Linear(D, K))
    before = [value.clone() for value in model.state_dict().values()]
    data = Examples(torch.randn(B, C), torch.zeros(B, dtype=torch.int64))
    assert one_pass_ops(model, data, B) == B * (2 * C * D + 3 * D * K)
    assert all(map(torch.equal, before, model.state_dict().values()))
    assert all(p.grad is None for p in model.parameters())
