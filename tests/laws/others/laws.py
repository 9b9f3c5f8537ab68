"""What must hold for networks of others besides the laws of the zoo: fresh weights as built."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from probe.examples import Examples, Labeled
from probe.model import Model
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state
from probe.training.loop import fit
from probe.training.recipe import Recipe
from tests.laws.zoo.case import Case, same
from tests.laws.zoo.examine import touched
from tests.laws.zoo.laws import LAWS, Law
from tests.laws.zoo.net import Net, count, seed, taken

CLASSES = 4
_BUILDS = 3  # new models, whose values fresh ones are compared with
_RECIPE = Recipe(epochs=1, batch_size=8)
_FAR = 6.0  # standard errors: never by chance, in as many comparisons as are made here


def built(case: Case) -> None:
    """What is fresh is distributed as in a new model, and is not the trained one's.

    After an epoch of training, too, no parameter of the tail is the trained one's.
    """
    case.cut.reinitialize(case.net.build, stream(0, "built"))
    builds = [fresh_state(case.net.build, stream(1, number)) for number in range(_BUILDS)]
    fresh = {name: t for name, t in case.in_tail().items() if name not in case.frozen}
    for name, tensor in fresh.items():
        found = [state[name] for state in builds]
        if found[0].shape != tensor.shape:  # worked out for the size of the inputs
            found = [case.state[name]] * _BUILDS
        assert_distributed(name, tensor.detach(), found)
    _assert_moved(case, fresh, "re-initialized")
    if case.cut.trainable:
        labels = torch.arange(count(case.x)) % case.expected(case.x).shape[1]
        data = Labeled(_Rows(case.cut.prefix(tree_map(torch.clone, case.x))), labels)
        fit(case.cut.tail, data, _RECIPE, stream(0, "fit"))
        _assert_moved(case, fresh, "retrained")


class _Rows:
    """What a prefix gave, by index."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __len__(self) -> int:
        return count(self._value)

    def __getitem__(self, at: Tensor) -> Any:
        return taken(self._value, at)


ALL: dict[str, Law] = {**LAWS, "built": built}


def protocol(net: Net, model: nn.Module, features: list[str]) -> list[str]:
    """Run one epoch of partial retraining behind every feature; a line for all that is broken."""
    before = copy.deepcopy(model.state_dict()), [m.training for m in model.modules()]
    with seed(2):
        train, test = (
            Examples(net.inputs(n), torch.arange(n) % CLASSES) for n in (3 * net.rows, net.rows)
        )
    tasks = [[0, 1], list(range(2, CLASSES))]
    called = Model(model, output=net.output, fresh=net.build)
    result = partial_retrain(called, features, train, test, tasks, _RECIPE)
    broken = [f"untouched by retraining: {what}" for what in touched(model, *before)]
    broken += ["the features are not those asked for"] * (list(result.features) != features)
    short = [f for f, counts in result.counts.items() if int(counts.table.sum()) != len(test)]
    return broken + [f"not every test example is counted: {feature}" for feature in short]


def _assert_moved(case: Case, fresh: dict[str, Tensor], how: str) -> None:
    for name, tensor in fresh.items():
        if isinstance(tensor, nn.Parameter) and tensor.numel():
            assert not same([tensor], [case.state[name]]), f"{how}, {name} is the trained one's"


def assert_distributed(name: str, tensor: Tensor, builds: list[Tensor]) -> None:
    """Compare mean and spread; what is the same in every new model must be that."""
    if all(same([other], [builds[0]]) for other in builds):
        assert same([tensor], [builds[0]]), f"fresh {name} is not what every new model has"
        return
    assert tensor.isfinite().all(), f"fresh {name} is not finite"
    pooled = torch.stack(builds).detach().double()
    tensor = tensor.double()
    mean, spread, n = tensor.mean(), float(pooled.std()), tensor.numel()
    off = abs(float(mean - pooled.mean()))
    assert off <= _FAR * spread / n**0.5 + 1e-9, f"the mean of fresh {name} is off by {off:.2g}"
    if n >= 16:
        ratio = float(tensor.std()) / spread
        far = 2 * _FAR / n**0.5
        assert abs(ratio - 1) <= max(far, 0.05), f"fresh {name} spreads {ratio:.2g} times as far"
