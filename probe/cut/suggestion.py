"""Which features of a model make a good set: the ends of its blocks, seen in what it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import groupby

from probe.cut.feature import Feature
from probe.cut.names import Name
from probe.cut.trace import Trace

_ENOUGH = 4  # features, and no block of the model needs to be looked into
_MOST = 20


def suggested(trace: Trace, features: Sequence[Feature], narrow: Collection[str]) -> list[str]:
    """Return the names of the features to study first, in execution order.

    The model is opened into the modules that it runs, and so is, while that gives fewer than four
    features, the one of them that holds half of all weights or more (weights: arrays of two or more
    dimensions), if more are found in it. Each of what then runs is a feature if it adds a weight
    and a single value is all that the rest needs: a block at its end, a bare layer after the norm,
    activation and pooling beside it. Of more than 20 every n-th is taken, counted from the output.

    features: in execution order; narrow: the names of those of which the rest of the model needs a
    single value. The model's logits are always the last, if a module returns them.
    """
    tree = _Tree(trace)
    ends = [feature for feature in features if feature.name in narrow or _gives_logits(feature)]
    opened, levels = {""}, []
    while True:
        at_level = [feature for feature in ends if tree.parent[feature.module] in opened]
        levels.append(_blocks(tree, at_level))
        largest = tree.largest(opened)
        if len(levels[-1]) >= _ENOUGH or largest is None:
            break
        opened.add(largest)
    names = [_end(tree, block).name for block in max(levels, key=len)]
    step = -(-len(names) // _MOST) or 1
    return names[::-1][::step][::-1]


def _blocks(tree: _Tree, features: list[Feature]) -> list[list[Feature]]:
    """Return the features by the weights that they bring in, each value once."""
    first: dict[tuple[Name, ...], Feature] = {}
    for feature in features:
        names = feature.visit.names
        if tree.behind(feature) and (feature.module in tree.working or _gives_logits(feature)):
            first.setdefault(names, feature)
    return [list(block) for _, block in groupby(first.values(), key=tree.behind)]


def _end(tree: _Tree, block: Sequence[Feature]) -> Feature:
    """Return the feature that stands for all that brings in no further weights."""
    last = [feature for feature in block if _gives_logits(feature)]
    whole = [feature for feature in block if feature.module in tree.parents]
    around = tree.parent[block[0].module]
    beside = [feature for feature in block if tree.parent[feature.module] == around]
    return (last or whole or beside[-1:])[0]


def _gives_logits(feature: Feature) -> bool:
    return feature.trace.large.logits in feature.visit.names


class _Tree:
    """The modules that run, each below the nearest around it that runs too."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        run = {visit.module for visit in trace.large.visits}
        self.parent = {name: _around(name, run) for name in sorted(run)}
        self.parents = set(self.parent.values()) - {""}
        weights = dict(trace.model.named_parameters(remove_duplicate=False))
        self._weights = frozenset(name for name, weight in weights.items() if weight.dim() > 1)

    @cached_property
    def working(self) -> set[str]:
        """The modules that compute anything: dropout in eval mode does not, nor does a reshape."""
        steps = self._trace.large.steps.values()
        owners = {step.owner for step in steps if {*step.names} - {*step.views}}
        return {name for owner in owners for name in (owner, *self._all_around(owner))}

    def behind(self, feature: Feature) -> frozenset[str]:
        """Return the names of the weights that the feature depends on."""
        return feature.frozen & self._weights

    def largest(self, opened: set[str]) -> str | None:
        """Return the module to open next: it holds half of all weights, or more."""
        weights = self._weights & self._trace.behind_logits
        within = Counter(
            module
            for name in weights
            for module in self._all_around(name)
            if module in self.parents - opened and self.parent[module] in opened
        )
        return next((name for name, n in within.most_common(1) if 2 * n >= len(weights)), None)

    def _all_around(self, name: str) -> list[str]:
        """Return the dotted names of everything around a module or parameter, the model first."""
        parts = name.split(".")
        return [".".join(parts[:end]) for end in range(len(parts))]


def _around(name: str, run: Collection[str]) -> str:
    """Return the nearest module around `name` that runs, "" for the model."""
    while name:
        name = name.rpartition(".")[0]
        if name in run:
            return name
    return ""
