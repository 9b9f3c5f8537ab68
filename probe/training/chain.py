"""Chains of small layers, trained without autograd.

A step of a small network spends its time on the nodes of autograd and on launching
kernels. Here the passes through the layers are written out
(`probe.training.chain_layers`); autograd sees only the scores, from which a learner's
loss is computed as usual.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes

from probe.batch import Value, first
from probe.examples import Labeled
from probe.modules import trained_of
from probe.training.chain_layers import (
    Link,
    by_autograd,
    dense,
    elementwise,
    flatten,
    gains,
    windows,
)
from probe.training.evaluation import SelectedOutputs
from probe.training.memory_format import channels_last, some
from probe.training.recipe import Recipe

# Layers of a chain. The passes of the first five are written out; pooling builds a graph
# of autograd. With more such layers, a chain would gain little or nothing: docs/speed.md.
_KINDS = {
    nn.Linear,
    nn.Conv2d,
    nn.ReLU,
    nn.Tanh,
    nn.Flatten,
    nn.MaxPool2d,
    nn.AvgPool2d,
}


_Passed = list[tuple[Link, Tensor]]  # links, each with its input


class Chain:
    """The training passes of an `nn.Sequential` of small layers.

    `step` sets the parameters' gradients of the cross-entropy. For any other loss, call
    `open` and then the model once: its scores have no graph to the parameters, and
    `backward` completes the parameters' gradients from those of the scores. A second
    call, and inputs that require gradients, go through autograd.

    Args:
        model: The `nn.Sequential`.
    """

    def __init__(self, model: nn.Sequential) -> None:
        self.model = model
        self._layers = _layers(model)
        trained = trained_of(model)
        self._places = {p: torch.zeros_like(p) for p in trained}
        self._first = next(
            index for index, layer in enumerate(self._layers) if _is_trained(layer)
        )
        self._type = next(model.parameters()).dtype
        self._links: dict[torch.Size, list[Link]] = {}
        self._open = False
        self._scores = torch.empty(0)
        # Links with their inputs, of a pass that waits for its gradients.
        self._pending = _Passed()

    @torch.no_grad()
    def step(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor] | None:
        """Do a forward and a backward pass.

        Args:
            x: The inputs, (B, ...).
            y: The labels, (B,).

        Returns:
            The scores (B, K) and their mean cross-entropy; None for inputs of another
            form.
        """
        if not self._takes(x):
            return None
        links, scores = self._pass(x)
        logs = torch.log_softmax(scores, 1)
        loss = functional.nll_loss(logs, y)
        # The gradient of the mean cross-entropy by the scores: (p - one-hot y) / B.
        labels = y[:, None]
        minus_one = torch.full_like(labels, -1, dtype=self._type)
        gradient = logs.exp_().scatter_add_(1, labels, minus_one).div_(len(y))
        self._backward(links, gradient)
        return scores, loss

    def open(self) -> None:
        """Make the next call of the model, before `backward`, run without a graph."""
        self._open = True

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores (B, K) of a batch, in place of the model's `forward`."""
        eligible = self._open and torch.is_grad_enabled() and self.model.training
        if not eligible or self._pending or not self._takes(x):
            return cast(Tensor, nn.Sequential.forward(self.model, x))  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self._pending, scores = self._pass(x)
        self._scores = scores.detach().requires_grad_()
        return self._scores

    @torch.no_grad()
    def backward(self) -> None:
        """Add the gradients through the scores to the parameters' gradients."""
        links = self._pending
        self._pending = []
        self._open = False
        if links and self._scores.grad is not None:
            self._backward(links, self._scores.grad)

    def _backward(self, links: _Passed, dy: Tensor) -> None:
        """Set the parameters' gradients from the links with their inputs, and that of the scores.

        The first trained layer is the last to be reached: the gradient of its input is
        not needed.
        """
        for index, (link, x) in reversed(list(enumerate(links[self._first :]))):
            dy = link.backward(x, dy, index > 0)
        for p, place in self._places.items():
            # A penalty's, or a second call's.
            if p.grad is not None and p.grad is not place:
                place += p.grad
            p.grad = place

    def _pass(self, x: Tensor) -> tuple[_Passed, Tensor]:
        """Return the links for x (B, ...), each with its input, and the scores (B, K)."""
        links = self._links.setdefault(x.shape, [])
        passed = []
        for index, layer in enumerate(self._layers):
            if index == len(links):  # the first pass of this shape
                with _disable_current_modes():  # no counting of what makes a link
                    links.append(self._link(layer, channels_last(x)))
            passed.append((links[index], x))
            x = links[index].forward(x)
        return passed, x

    def _link(self, layer: nn.Module, x: Tensor) -> Link:
        """Return the link of a layer, for inputs like x (B, ...)."""
        if isinstance(layer, nn.Linear):
            return dense(torch.empty_like(x), layer.weight, layer.bias, self._places)
        if isinstance(layer, nn.Conv2d):
            return windows(layer, x, self._places)
        if isinstance(layer, nn.ReLU | nn.Tanh):
            return elementwise(layer, x)
        if isinstance(layer, nn.Flatten):
            return flatten(x)
        return by_autograd(layer)

    def _takes(self, x: Tensor) -> bool:
        """Return whether the chain can run on x: a plain tensor of the parameters' type."""
        return type(x) is Tensor and x.dtype == self._type and not x.requires_grad


@contextmanager
def chained(model: nn.Module, data: Labeled, recipe: Recipe) -> Iterator[Chain | None]:
    """Prepare a model that is a chain of small layers for training passes, within the block.

    Within the block, the model's `forward` runs a `Chain`: layers whose gradients are
    computed by formulas into memory that is used again, which is faster on a CPU than
    autograd. The parameters stay the same objects; weights of convolutions become
    channels-last in memory. At the end of the block `forward` and the memory of the
    parameters are what they were, with the trained values, and gradients are dropped.

    Args:
        model: The model.
        data: The examples, on the model's device.
        recipe: The settings of the training.

    Yields:
        The chain; None for any other model, which trains by autograd.
    """
    inner = model.network if isinstance(model, SelectedOutputs) else model
    is_fp32 = recipe.precision == "fp32"
    if type(inner) is not nn.Sequential or not is_fp32 or not _is_chain(inner):
        yield None
        return
    size = min(recipe.batch_size, len(data))
    if not _all_gain(inner, first(some(data), 1), size):
        yield None
        return
    memory = {p: p.data for p in inner.parameters()}
    for p in memory:
        p.data = channels_last(p.data)
    passes = Chain(inner)
    inner.forward = passes.forward  # type: ignore[method-assign]
    try:
        yield passes
    finally:
        del inner.forward
        for p, kept in memory.items():
            p.data = kept.copy_(p.data)
            p.grad = None if p.requires_grad else p.grad


def _layers(model: nn.Module) -> list[nn.Module]:
    """Return the layers of nested `nn.Sequential`s in order."""
    modules = model.named_modules(remove_duplicate=False)
    inert = (nn.Sequential, nn.Identity)
    return [module for _, module in modules if type(module) not in inert]


@torch.no_grad()
def _all_gain(model: nn.Sequential, x: Value, size: int) -> bool:
    """Return whether all layers gain in a chain, for batches of inputs like x (1, ...)."""
    if not isinstance(x, Tensor) or x.dtype != next(model.parameters()).dtype:
        return False
    value: Tensor = x
    for layer in _layers(model):
        if not gains(layer, value, size):
            return False
        value = layer(value)
    return True


def _is_trained(layer: nn.Module) -> bool:
    """Return whether any parameter of a layer or model requires a gradient."""
    return any(p.requires_grad for p in layer.parameters())


def _is_chain(model: nn.Sequential) -> bool:
    """Return whether a model can be a `Chain`.

    It consists of layers of these kinds, without hooks, each used once, whose parameters
    are on the CPU, are all float32 or all float64, and share no memory.
    """
    layers = _layers(model)
    if not {*map(type, layers)} <= _KINDS:
        return False
    parameters = list(model.parameters())
    used = list[nn.Parameter]()
    for layer in layers:
        used += (p for p in layer._parameters.values() if p is not None)
    # A layer, a parameter or memory that is met twice has the sum of two gradients.
    memory = {p.data_ptr() for p in used}
    is_met_once = len(set(layers)) == len(layers) and len(memory) == len(used)
    if not is_met_once or len(used) != len(parameters):
        return False
    types = {p.dtype for p in parameters}
    is_plain = all(type(p) is nn.Parameter and p.is_cpu for p in parameters)
    is_plain &= types in ({torch.float32}, {torch.float64})
    return is_plain and _is_trained(model) and _bare(model)


def _bare(model: nn.Module) -> bool:
    """Return whether a model's modules behave as their types: no hooks or replaced attributes."""
    names = ("forward", "backward", "forward_pre", "backward_pre")
    hooks = [vars(torch.nn.modules.module)[f"_global_{name}_hooks"] for name in names]
    for p in model.parameters():
        hooks += [p._backward_hooks, p._post_accumulate_grad_hooks]
    for module in model.modules():
        hooks += [vars(module)[f"_{name}_hooks"] for name in names]
        if not {"forward", "weight", "bias"}.isdisjoint(vars(module)):
            return False
    return not any(hooks)
