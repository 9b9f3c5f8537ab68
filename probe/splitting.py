"""The one idea: cut a model at a feature into a prefix and a tail, tail(prefix(x)) == model(x)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from probe.errors import InputError
from probe.initialise import Rule, initialise
from probe.layers import named_state, tap
from probe.modes import mode
from probe.origin import Origin, origin

_FEW = 8  # examples, and
_PASSES = 16  # training-mode passes, on which a held feature is seen not to change


@dataclass(frozen=True, eq=False)
class Split:
    """A copy of a model, cut at a feature.

    prefix: maps inputs to what the tail needs, always in eval mode and without gradients;
    tail: the rest, to be re-initialised and trained; frozen: names, in the model, of the parameters
    and buffers that the feature's value depends on, which no training of the tail moves;
    cached: whether the prefix computes the feature. If not, the model's graph was not cut: the
    prefix hands its input on and the tail is the whole model with what is frozen held fixed;
    trainable: whether the output depends on any parameter that is left to the tail; behind the
    model's own output there is none.
    """

    feature: str
    prefix: nn.Module
    tail: nn.Module
    frozen: tuple[str, ...]
    cached: bool
    trainable: bool
    _kept: frozenset[str] = field(repr=False)

    def reinitialise(self, rule: Rule, generator: torch.Generator) -> None:
        """Give everything in the tail that is not frozen a fresh value."""
        initialise(self.tail, rule, generator, keep=self._kept)


def split(model: nn.Module, feature: str, sample: Tensor) -> Split:
    """Cut a copy of `model` at the layer `feature` so that tail(prefix(x)) equals model(x).

    feature: dotted module name; sample: (B, ...) real inputs on which the cut is checked, bit for
    bit. A chain of `nn.Sequential` down to the feature is cut in two; any other model is run whole
    with the frozen part fixed, which is slower and as right. Raises InputError for a feature that
    does not exist, does not run exactly once, or does not stay fixed while the tail is trained.

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cut = split(model, "1", torch.randn(5, 4))
    >>> cut.frozen, cut.cached
    (('0.bias', '0.weight'), True)
    """
    where = origin(model, feature, sample)
    if where.calls != 1:
        raise InputError(
            f"feature {feature!r} runs {where.calls} times in one forward pass: name a layer that "
            f"runs once"
        )
    cut = _cut_chain(_copy(model), feature, where)
    if cut is None or not (_same_output(cut, model, sample) and _row_by_row(cut.prefix, sample)):
        cut = _hold_prefix(_copy(model), feature, where)
        _check_fixed(cut, model, sample)
    return cut


class _Held(nn.Module):
    """The whole model, with the modules that compute the feature in eval mode at all times."""

    def __init__(self, model: nn.Module, held: frozenset[str]) -> None:
        super().__init__()
        self.model = model
        self._held = [model.get_submodule(name) for name in sorted(held)]

    def train(self, mode: bool = True) -> _Held:
        super().train(mode)
        for module in self._held:
            module.training = False
        return self

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.model(x)
        return output


class _Prefix(nn.Sequential):
    """A frozen chain: eval mode and no gradients, whatever is asked of it."""

    def train(self, mode: bool = True) -> _Prefix:
        super().train(False)
        return self

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        for link in self:
            x = link(x)
        return x


def _cut_chain(model: nn.Module, feature: str, where: Origin) -> Split | None:
    """Cut between two links of a chain of Sequentials; None if the model is no such chain.

    Nor is it one where a link behind the feature uses again what the feature depends on.
    """
    links = list(_links(model, "", feature))
    names = [name for name, _ in links]
    if feature not in names:
        return None
    at = names.index(feature) + 1
    prefix = _Prefix(*(module for _, module in links[:at])).requires_grad_(False)
    tail = nn.Sequential(*(module for _, module in links[at:]))
    behind = tuple(f"{name}." for name, _ in links[at:])
    if any(name.startswith(behind) for name in where.state):
        return None
    prefix.eval()
    frozen = tuple(sorted(where.state))
    return Split(feature, prefix, tail, frozen, True, _trainable(model, where), frozenset())


def _links(module: nn.Module, name: str, feature: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the links of a chain in order, opening only the Sequentials that hold the feature."""
    if name == feature or type(module) is not nn.Sequential:
        yield name, module
        return
    # Not `named_children`, which leaves out a module's second occurrence.
    for child_name, child in module._modules.items():
        if child is None:
            continue
        full = f"{name}.{child_name}" if name else child_name
        inside = feature == full or feature.startswith(full + ".")
        yield from _links(child, full, feature) if inside else [(full, child)]


def _hold_prefix(model: nn.Module, feature: str, where: Origin) -> Split:
    """Keep the model whole and hold fixed what the feature's value depends on."""
    # A leaf that took part keeps all its state, also what eval mode does not read (batch counters).
    leaves = frozenset(n for n in where.inside if _is_stateful_leaf(model.get_submodule(n)))
    buffers = {
        f"{name}.{buffer}" if name else buffer
        for name in leaves
        for buffer, _ in model.get_submodule(name).named_buffers(recurse=False)
    }
    frozen = where.state | buffers
    held = {id(tensor) for name, tensor in named_state(model).items() if name in frozen}
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) not in held)
    tail = _Held(model, (where.inside - where.outside) | leaves)
    kept = frozenset(f"model.{name}" for name in frozen)
    trainable = _trainable(model, where)
    return Split(feature, nn.Identity(), tail, tuple(sorted(where.state)), False, trainable, kept)


def _trainable(model: nn.Module, where: Origin) -> bool:
    return bool((where.output - where.state) & dict(model.named_parameters()).keys())


def _is_stateful_leaf(module: nn.Module) -> bool:
    return not list(module.children()) and bool(module.state_dict(keep_vars=True))


def _copy(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).requires_grad_(True)


@torch.no_grad()
def _same_output(cut: Split, model: nn.Module, sample: Tensor) -> bool:
    with mode(model, training=False), mode(cut.tail, training=False):
        expected = model(sample.clone())
        if not isinstance(expected, Tensor):
            raise InputError(
                f"the model returns {type(expected).__name__}, expected one tensor of logits: wrap "
                f"it in a module that returns them"
            )
        value = cut.prefix(sample.clone())
        # Other examples in between: the tail may not read what the prefix left behind elsewhere.
        cut.prefix(sample.flip(0))
        return _identical(cut.tail(value), expected)


@torch.no_grad()
def _row_by_row(prefix: nn.Module, sample: Tensor) -> bool:
    """Whether an example's value is its own, whatever other examples are in the batch."""
    few = max(1, len(sample) // 2)
    value, part = prefix(sample.clone()), prefix(sample[:few].clone())
    if not isinstance(value, Tensor) or value.ndim < 1 or len(value) != len(sample):
        return False
    return torch.allclose(value[:few], part, rtol=1e-3, atol=1e-5, equal_nan=True)


def _check_fixed(cut: Split, model: nn.Module, sample: Tensor) -> None:
    """Raise InputError unless the held model is the model, and its feature stays what it is.

    The feature may change neither with what is not frozen, nor in training mode, nor by what
    training-mode passes do to buffers; seen on a copy, over a number of passes.
    """
    if not _same_output(cut, model, sample):
        raise InputError(
            f"cannot cut at {cut.feature!r}: the model gives different outputs for the same input "
            f"in eval mode, so that no part of it can be held fixed"
        )
    trial = copy.deepcopy(cut)
    few = sample[:_FEW]
    first = _value(trial, few, False)
    _perturb(trial)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        after = [_value(trial, few, training) for training in (False, *[True] * _PASSES, False)]
    if not all(len(v) == len(first) and all(map(_identical, v, first)) for v in after):
        raise InputError(
            f"cannot cut at {cut.feature!r}: its value does not stay fixed while what is behind it "
            f"is trained (it changes in training mode, or by something that torch's functions do "
            f"not show); make the dropout, batch norm or branch that does it a module of its own"
        )


@torch.no_grad()
def _perturb(cut: Split) -> None:
    """Move everything in a held tail that is not frozen."""
    for name, tensor in named_state(cut.tail).items():
        if name not in cut._kept and tensor.is_floating_point():
            tensor.add_(0.5)


@torch.no_grad()
def _value(cut: Split, sample: Tensor, training: bool) -> list[Tensor]:
    """Return the feature's value in the held model, in eval or training mode of the tail."""
    values: list[Tensor] = []

    def keep(name: str, output: object) -> None:
        values.extend(leaf.clone() for leaf in tree_leaves(output) if isinstance(leaf, Tensor))

    with tap(cut.tail, [f"model.{cut.feature}"], keep):
        cut.tail.train(training)(sample.clone())
    return values


def _identical(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
