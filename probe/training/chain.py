"""Chains of small layers, trained without autograd.

The time of a small network's step goes into the nodes of autograd and the set-up of kernels. Here
the passes through the layers are written out (`probe.training.links`); autograd sees the scores
alone, from which a learner's loss is computed as ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes

from probe.training.chosen_outputs import ChosenOutputs
from probe.training.links import (
    Autograd,
    Dense,
    Flatten,
    Gradients,
    Kernels,
    Link,
    Relu,
    Windows,
)
from probe.training.memory_format import channels_last
from probe.training.recipe import Precision

_WRITTEN_OUT = frozenset({nn.Linear, nn.Conv2d, nn.ReLU, nn.Flatten})
# They draw, normalize and round as ever, each with a graph of its own.
_BY_AUTOGRAD = frozenset(
    {
        *(nn.Identity, nn.Dropout, nn.Dropout2d, nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm),
        *(nn.MaxPool2d, nn.AvgPool2d),
        *(nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid),
    }
)
# Numbers in the windows of a convolution, above which torch's kernels are faster: docs/speed.md.
_MOST = 2**17


class Chain:
    """The training passes of an `nn.Sequential` of small layers.

    `step` gives the parameters the gradients of the cross-entropy. For any other loss the model,
    called once while the chain is `opened`, gives scores without a graph, and `backward` completes
    the gradients from theirs. A second call, layers with hooks, and inputs that want a gradient
    go through autograd.

    model: the `nn.Sequential`.
    """

    def __init__(self, model: nn.Sequential) -> None:
        self.model, self._layers = model, list(_layers(model))
        self._places = {p: torch.zeros_like(p) for p in model.parameters() if p.requires_grad}
        trained = [any(p in self._places for p in each.parameters()) for each in self._layers]
        self._first = trained.index(True)
        self._type = next(model.parameters()).dtype
        hooks = [
            (m._forward_hooks, m._forward_pre_hooks, m._backward_hooks) for m in model.modules()
        ]
        self._own_hooks, self._hooks = hooks[0], [*chain.from_iterable(hooks[1:])]
        self._known: dict[torch.Size, list[Link]] = {}
        self._open, self._scores = False, torch.empty(0)
        self._passed, self._last = list[Link](), list[Link]()

    @torch.no_grad()
    def step(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the scores (B, K) and their mean cross-entropy; None for other inputs."""
        if any(self._own_hooks) or not self._takes(x):
            return None
        links, scores = self._pass(x)
        chances = torch.log_softmax(scores, 1)
        loss, at = functional.nll_loss(chances, y), y[:, None]
        chances.exp_().scatter_add_(1, at, torch.full_like(at, -1, dtype=self._type))
        self._backward(links, chances.div_(len(y)))
        return scores, loss

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Let the model's next call within the block be without a graph."""
        self._open, self._last = True, []
        try:
            yield
        finally:
            self._open = False

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores (B, K) of a batch, in place of the model's `forward`."""
        usual = self._open and torch.is_grad_enabled() and self.model.training
        if not usual or self._passed or not self._takes(x):
            return cast(Tensor, nn.Sequential.forward(self.model, x))  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self._passed, scores = self._pass(x)
        self._scores = scores.detach().requires_grad_()
        return self._scores

    @torch.no_grad()
    def backward(self) -> None:
        """Add the gradients through the scores to those that the parameters have."""
        links, self._passed = self._passed, []
        if links and self._scores.grad is not None:
            self._backward(links, self._scores.grad)

    def saved(self) -> int:
        """Return the multiply-adds of windows, all zero, that the last pass left out."""
        return sum(link.saved for link in self._last if isinstance(link, Windows))

    def _backward(self, links: list[Link], dy: Tensor) -> None:
        self._last = links[self._first :]
        for link in reversed(self._last):
            dy = link.backward(dy, link is not self._last[0])
        for p, place in self._places.items():
            if p.grad is not None and p.grad is not place:  # a penalty's, or a second call's
                place += p.grad
            p.grad = place

    def _pass(self, x: Tensor) -> tuple[list[Link], Tensor]:
        """Return the links for inputs of the shape of x (B, ...), and the scores (B, K)."""
        known = self._known.setdefault(x.shape, [])
        for at, layer in enumerate(self._layers):
            if at == len(known):
                with _disable_current_modes():  # no counting of what makes a link
                    known.append(_link(layer, channels_last(x), self._places))
            x = known[at].forward(x)
        return known, x

    def _takes(self, x: Tensor) -> bool:
        plain = type(x) is Tensor and x.dtype == self._type and not x.requires_grad
        return plain and not any(self._hooks)


@contextmanager
def chained(model: nn.Module, precision: Precision) -> Iterator[Chain | None]:
    """Give the training passes of a model that is a chain, within the block; None for any other.

    Its parameters are the same; in memory, those of convolutions have their channels last.
    """
    inner = model.network if isinstance(model, ChosenOutputs) else model
    if type(inner) is not nn.Sequential or precision != "fp32" or not _is_chain(inner):
        yield None
        return
    own = {p: p.data for p in inner.parameters()}
    for p in own:
        p.data = channels_last(p.data)
    passes = Chain(inner)
    inner.forward = passes.forward  # type: ignore[method-assign]
    try:
        yield passes
    finally:
        del inner.forward
        for p, data in own.items():
            p.data, p.grad = data.copy_(p.data), None


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the layers of nested `nn.Sequential`s in order."""
    if type(module) is not nn.Sequential:
        yield module
        return
    for child in module:
        yield from _layers(child)


def _is_chain(model: nn.Sequential) -> bool:
    layers, parameters = list(_layers(model)), list(model.parameters())
    # A layer or a parameter that is met twice has the sum of two gradients.
    counts = [len(list(layer.parameters())) for layer in layers]
    once = len(set(layers)) == len(layers) and sum(counts) == len(parameters) > 0
    kinds = {(type(p), p.dtype, p.device.type) for p in parameters}
    plain = any(kinds == {(nn.Parameter, kind, "cpu")} for kind in (torch.float32, torch.float64))
    known = {*map(type, layers)} <= _WRITTEN_OUT | _BY_AUTOGRAD
    trained = any(p.requires_grad for p in parameters)
    return once and plain and known and trained and "forward" not in vars(model)


def _link(layer: nn.Module, x: Tensor, places: Gradients) -> Link:
    """Return the link of a layer, for inputs like x (B, ...)."""
    if isinstance(layer, nn.Linear) and x.ndim == 2:
        return Dense(len(x), layer.weight, layer.bias, places)
    numeric = isinstance(layer, nn.Conv2d) and not isinstance(layer.padding, str)
    if isinstance(layer, nn.Conv2d) and numeric and layer.padding_mode == "zeros" and x.ndim == 4:
        small = 0 < Windows.numbers(layer, x) <= _MOST
        return Windows(layer, x, places) if small else Kernels(layer, places)
    if isinstance(layer, nn.ReLU):
        return Relu(x)
    if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) == (1, -1):
        return Flatten(x)
    return Autograd(layer, places)
