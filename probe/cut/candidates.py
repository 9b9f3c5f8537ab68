"""Features that a model offers, the cost of a cut at each, and a good set of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from torch import nn

from probe.batch import Value
from probe.cut.feature import Feature
from probe.cut.model_call import Call, ModelCall, Output
from probe.cut.names import INPUT, Name, of_input
from probe.cut.plan import CutPlan, Progress, plan_each
from probe.cut.trace import Trace, trace

_ENOUGH = 4  # features, and no block of the model needs to be looked into
_MOST = 20  # features of a good set


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A feature at which a model can be cut, and the cost of the cut.

    - feature: its name, as `split` takes it; kind: the module's class;
    - shape: of one example's value, the first of its `tensors` tensors;
    - bytes: what they take per example, in fp32, without the model's own input;
    - frozen: the number of parameters (elements) that the feature depends on;
    - left: the number of the others that the logits depend on;
    - slow: why nothing can be cached there, empty if it can;
    - suggested: whether it is of a good set.
    """

    feature: str
    kind: str
    shape: tuple[int, ...]
    tensors: int
    bytes: int
    frozen: int
    left: int
    slow: str
    suggested: bool


def candidates(
    model: nn.Module,
    sample: Value,
    output: Output = None,
    call: Call | None = None,
    progress: Progress = iter,
) -> list[Candidate]:
    """List every run of a module that can be a feature, in execution order.

    Modules whose output does not depend on the input, or is random in eval mode, are left out. The
    checks that `split` makes on real examples are not made here: `split` may still run the whole
    model for a candidate, or refuse it.

    Args:
        model: The model, which is not changed.
        sample: Inputs with any values, one or more tensors (B, ...), B at least 3.
        output: Key or index of the logits, if the model returns more than the logits.
        call: Function that calls the model on a batch, see `ModelCall`.
        progress: Wraps the features, as `tqdm` does.

    Returns:
        The candidates.

    Raises:
        InputError: The model cannot be traced.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> [(c.feature, c.shape, c.bytes, c.frozen) for c in candidates(model, torch.randn(5, 4))]
    [('0', (3,), 12, 15), ('1', (3,), 12, 15), ('2', (2,), 8, 23)]
    """
    traced = trace(model, sample, ModelCall(call=call, output=output))
    features = list(_features(traced))
    plans = plan_each(features, progress)
    # The number of kept values that were computed with weights; masks do not count.
    weighted = {
        feature.name: sum(bool(traced.large.upstream([n]) & traced.state.keys()) for n in plan.kept)
        for feature, plan in plans
        if isinstance(plan, CutPlan)
    }
    chosen = suggested(traced, features, {name for name, n in weighted.items() if n == 1})
    return [_candidate(feature, plan, feature.name in chosen) for feature, plan in plans]


def _features(traced: Trace) -> Iterator[Feature]:
    """Yield every run of a module whose value can be held fixed and depends on the input."""
    modules = [visit.module for visit in traced.large.visits]
    for at, module in enumerate(modules):
        call = modules[:at].count(module)
        name = module if modules.count(module) == 1 else f"{module}#{call + 1}"
        feature = Feature(name, traced, at, call)
        if module and INPUT[0] in feature.upstream and not feature.random:
            yield feature


def _candidate(feature: Feature, plan: CutPlan | str, chosen: bool) -> Candidate:
    traced = feature.trace
    shape = traced.shapes.get(feature.visit.names[0])
    kept = [] if isinstance(plan, str) else [name for name in plan.kept if not of_input(name)]
    return Candidate(
        feature=feature.name,
        kind=type(traced.model.get_submodule(feature.module)).__name__,
        shape=feature.visit.shapes[0].shape if shape is None else shape.example,
        tensors=len(feature.visit.names),
        bytes=sum(traced.shapes[name].bytes // traced.examples for name in kept),
        frozen=_parameters(traced, feature.frozen),
        left=_parameters(traced, traced.behind_logits - feature.frozen),
        slow=plan if isinstance(plan, str) else "",
        suggested=chosen,
    )


def _parameters(traced: Trace, names: frozenset[str]) -> int:
    """Count the elements of the parameters among the names, shared ones once."""
    parameters = dict(traced.model.named_parameters(remove_duplicate=False))
    groups = [group for group in traced.state.values() if names.intersection(group)]
    return sum(parameters[group[0]].numel() for group in groups if group[0] in parameters)


def suggested(trace: Trace, features: Sequence[Feature], narrow: Collection[str]) -> list[str]:
    """Suggest the features to study first, in execution order.

    The model is opened into the modules that it runs. While that gives fewer than four features,
    the module that holds at least half of all weights (arrays of two or more dimensions) is opened
    too, if there are more features inside. A feature must add a weight, and the rest of the model
    must need no other value: so a block is cut at its end, and a bare layer after the norm,
    activation and pooling that follow it. Of more than 20 features every n-th is kept, counted from
    the output.

    Args:
        trace: The traced model.
        features: Its features in execution order.
        narrow: Names of the features that are the only value the rest of the model needs.

    Returns:
        The names; the last is the model's logits, if a module returns them.
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
    # A level deeper may have fewer: a block that a skip crosses offers nothing inside.
    names = [_end(tree, block).name for block in max(levels, key=len)]
    step = -(-len(names) // _MOST) or 1
    return names[::-1][::step][::-1]


def _blocks(tree: _Tree, features: list[Feature]) -> list[list[Feature]]:
    """Return the features by the weights that they bring in, each value once."""
    first: dict[tuple[Name, ...], Feature] = {}
    for feature in features:
        names = feature.visit.names
        if tree.weights_of(feature) and (feature.module in tree.working or _gives_logits(feature)):
            first.setdefault(names, feature)
    return [list(block) for _, block in groupby(first.values(), key=tree.weights_of)]


def _end(tree: _Tree, block: Sequence[Feature]) -> Feature:
    """Return the feature that stands for all that brings in no further weights."""
    last = [feature for feature in block if _gives_logits(feature)]
    blocks = [feature for feature in block if feature.module in tree.parents]
    around = tree.parent[block[0].module]
    beside = [feature for feature in block if tree.parent[feature.module] == around]
    return (last or blocks or beside[-1:])[0]


def _gives_logits(feature: Feature) -> bool:
    return feature.trace.large.logits in feature.visit.names


class _Tree:
    """The modules that run, each below the nearest around it that runs too."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        run = {visit.module for visit in trace.large.visits}
        self.parent = {n: [a for a in _around(n) if a in run or not a][-1] for n in run}
        self.parents = set(self.parent.values()) - {""}
        weights = dict(trace.model.named_parameters(remove_duplicate=False))
        self._weights = frozenset(name for name, weight in weights.items() if weight.dim() > 1)

    @cached_property
    def working(self) -> set[str]:
        """The modules that compute anything: dropout in eval mode does not, nor does a reshape."""
        steps = self._trace.large.steps.values()
        owners = {step.owner for step in steps if {*step.names} - {*step.views}}
        return {name for owner in owners for name in (owner, *_around(owner))}

    def weights_of(self, feature: Feature) -> frozenset[str]:
        """Return the names of the weights that the feature depends on."""
        return feature.frozen & self._weights

    def largest(self, opened: set[str]) -> str | None:
        """Return the module to open next: it holds half of all weights, or more."""
        weights = self._weights & self._trace.behind_logits
        # In a fixed order: of two modules with as many weights it is always the same.
        around = (module for name in sorted(weights) for module in _around(name))
        closed = {name for name in self.parents - opened if self.parent[name] in opened}
        within = Counter(module for module in around if module in closed)
        return next((name for name, n in within.most_common(1) if 2 * n >= len(weights)), None)


def _around(name: str) -> list[str]:
    """Return the names of the modules around a module or parameter, the model's "" first.

    >>> _around("layer1.0.conv")
    ['', 'layer1', 'layer1.0']
    """
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(len(parts))]
