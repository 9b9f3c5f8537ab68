"""Networks of the zoo: their models, their inputs, the features at which they are cut."""

import random
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._pytree import tree_leaves, tree_map

from probe.modules import copied, innermost
from probe.seeding import python_generators

CACHED = "cached"
SLOW = "slow"
REFUSED = "refused"
RIGHT = (CACHED, SLOW)
SAFE = (CACHED, SLOW, REFUSED)
MOVES = r"not stay\s+fixed"  # why a feature is refused that training would move
CLASSES = 3

Inputs = Tensor | tuple[Tensor, ...] | Mapping[str, Tensor]
"""Inputs of a model: a tensor, several in order, or several by their names; of equal length."""


@dataclass(frozen=True, kw_only=True)
class Net:
    """A network and its cuts.

    features: for each feature the ways in which it may be cut; ways: those of features
    that are not named; refuses: for each feature that must be refused a regular
    expression that the reason matches; output: key, attribute or index of the logits in
    what the model returns; rows: examples to cut with; shows_not: frozen state that the
    feature's value depends on but that no change of it can show, by the beginnings of
    its names; both_sides: something that acts otherwise in training mode stands on both
    sides of the cut, so that no setting of the modules' modes says what training does:
    then `live` says whether chance is live downstream of the cut.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[int], Inputs]
    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ways: tuple[str, ...] = SAFE
    refuses: Mapping[str, str] = field(default_factory=dict)
    output: str | int | None = None
    rows: int = 8
    shows_not: frozenset[str] = frozenset()
    both_sides: bool = False
    live: bool | None = None

    def ways_at(self, feature):
        return self.features.get(feature, self.ways)

    def made(self):
        """Return the model, inputs to cut with, and other ones to check with.

        All state is away from the values that a fresh module has, no two parameters are
        alike, and running statistics fit the data, so that no signal dies on its way.
        """
        with seed(0):
            model = self.build()
            sample = self.inputs(self.rows)
            others = self.inputs(max(3, self.rows * 5 // 8))
            _shake(model)
            _settle(model, sample)
        return model, sample, others

    def logits(self, output):
        """Return the logits in what the model gave; some models name them in train mode only."""
        if self.output is None or isinstance(output, Tensor):
            return output
        if isinstance(self.output, str) and not isinstance(output, Mapping):
            return getattr(output, self.output)
        return output[self.output]


def of_pictures(build, size, **more):
    """Describe a classifier of pictures of `size` pixels a side."""
    build = partial(build, num_classes=CLASSES)
    return Net(build=build, inputs=lambda n: torch.randn(n, 3, size, size), **more)


def taken(x, at):
    """Return these examples, as they are given to the model."""
    return tree_map(lambda tensor: tensor[at], x)


def count(x):
    return len(tree_leaves(x)[0])


def fed(model, x):
    """Call a whole model on inputs that it may write into."""
    _forget(model)
    x = tree_map(torch.clone, x)
    if isinstance(x, Mapping):
        return model(**x)
    if isinstance(x, tuple):
        return model(*x)
    return model(x)


def _forget(model):
    """Let go of what a module in eval mode keeps of its parameters until it is trained again."""
    for module in model.modules():
        if not module.training and type(module).train is not nn.Module.train:
            modes = [(each, each.training) for each in module.modules()]
            module.train()
            module.eval()
            for each, training in modes:
                each.training = training


def tensors(value):
    """Return the tensors in tuples, dicts and dataclasses, in order."""
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, part.name) for part in fields(value)]
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


class _Enough(Exception):
    pass


def feature_value(model, feature, x):
    """Read the feature by a plain hook, copied before anything overwrites it, and stop there.

    "name#2" is the second call of the module.
    """
    name, _, call = feature.partition("#")
    target = model.get_submodule(name)
    seen = []

    def keep(module, inputs, output):
        if module is target:
            seen.append([innermost(tensor).clone() for tensor in tensors(output)])
            if len(seen) == int(call or 1):
                raise _Enough

    scripted = isinstance(target, torch.jit.ScriptModule)  # takes no hook of its own
    register = (
        register_module_forward_hook if scripted else target.register_forward_hook
    )
    hook = register(keep)
    try:
        fed(model, x)
    except _Enough:
        return seen[-1]
    finally:
        hook.remove()
    raise AssertionError(f"{feature} does not run")


def train_mode(model, off):
    """Return a copy in train mode, the modules named `off` (not their children) in eval mode."""
    model = copied(model).requires_grad_(True).train()
    for name in off:
        model.get_submodule(name).training = False
    return model


@contextmanager
def seed(number):
    """Within the block, the generators of torch, numpy and Python start from this seed."""
    with torch.random.fork_rng(devices=()), python_generators():
        torch.default_generator.manual_seed(
            number
        )  # `torch.manual_seed` takes milliseconds
        np.random.seed(number)  # noqa: NPY002
        random.seed(number)
        yield


def seeded(run, x, number=0):
    """Run a part of a cut, or a whole model, without gradients, its chance fixed by a seed."""
    with seed(number), torch.no_grad():
        return run(x)


@torch.no_grad()
def _shake(model):
    for parameter in model.parameters():
        spread = float(parameter.std(correction=0))
        scale = 0.1 if spread < 0.01 else 0.1 * spread
        parameter.add_(torch.randn_like(parameter) * scale)


def _settle(model, sample):
    norms = [
        m for m in model.modules() if isinstance(m, nn.modules.batchnorm._NormBase)
    ]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.9
    with torch.no_grad():
        fed(model.train(), sample)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
        if (
            norm.running_mean is not None
        ):  # norms of the same value have the same statistics
            norm.running_mean += 0.1 * torch.randn_like(norm.running_mean)
            norm.running_var *= 1 + 0.1 * torch.rand_like(norm.running_var)
