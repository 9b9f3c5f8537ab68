"""Features at which a model can be cut, the cost of each cut, and a suggested set of features."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from math import ceil

from torch import nn

from probe.arguments import checked
from probe.batch import Value
from probe.cut.feature import Feature
from probe.cut.model_call import Call, ModelCall, Output
from probe.cut.names import INPUT, Names, of_input
from probe.cut.plan import CutPlan, Plans, Progress, plan_each
from probe.cut.trace import Trace, trace
from probe.immutable import immutable
from probe.modules import check_network
from probe.seeding import python_generators

_ENOUGH = 4  # features, with which no further module is opened
_MOST = 20  # features of a suggested set


@immutable
class Candidate:
    """A feature at which a model can be cut, and the cost of the cut.

    Attributes:
        feature: Name of the feature, as `split` takes it.
        kind: The module's class.
        shape: The shape of one example's value, the first of its `tensors` tensors.
        tensors: The number of tensors of its value, of a tuple those with a row for
            each example.
        bytes: Bytes per example of the values to keep, in fp32, without the model's own
            input.
        frozen: The number of parameters (elements) that the feature depends on.
        left: The number of the other parameters (elements) that the logits depend on.
        slow: The reason why nothing can be cached there, empty if something can.
        suggested: Whether it belongs to the suggested set.
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


@checked
def candidates(
    model: nn.Module,
    sample: Value,
    output: Output = None,
    call: Call | None = None,
    progress: Progress = iter,
) -> list[Candidate]:
    """List every run of a module that can be a feature, in execution order.

    Modules whose output does not depend on the input, or is random in eval mode, are
    left out. One without a row for each example is listed and never suggested. The
    checks that `split` makes on real examples are not made here: `split` may still run
    the whole model for a candidate, or refuse it.

    Args:
        model: The model, which is not changed.
        sample: Inputs with any values, one or more tensors (B, ...), B at least 3.
        output: Key or index of the logits, if the model returns more than the logits.
        call: Function that calls the model on a batch, see `ModelCall`.
        progress: Function that wraps the features, as `tqdm` does.

    Returns:
        The candidates.

    Raises:
        InputError: The model cannot be traced.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> [(c.feature, c.shape, c.bytes, c.frozen) for c in candidates(model, torch.randn(5, 4))]
    [('0', (3,), 12, 15), ('1', (3,), 12, 15), ('2', (2,), 8, 23)]
    """
    check_network(model)
    traced = trace(model, sample, ModelCall(call=call, output=output))
    with python_generators():  # of a model that draws from them
        plans = plan_each(_features(traced), progress)
    narrow = _narrow(plans)  # of all features, as all are planned already
    chosen = suggest(traced, [feature for feature, _ in plans], lambda some: narrow)
    return [
        _candidate(feature, plan, feature.name in chosen) for feature, plan in plans
    ]


def suggestions(
    model: nn.Module,
    sample: Value,
    call: ModelCall,
) -> dict[str, bool]:
    """Suggest features as `candidates` does, without planning a cut at each of them.

    Args:
        model: The model, which is not changed.
        sample: Inputs, one or more tensors (B, ...).
        call: The call that gives the logits.

    Returns:
        Whether any parameter is left downstream, by the feature's name.
    """
    traced = trace(model, sample, call)
    features = {feature.name: feature for feature in _features(traced)}
    names = suggest(
        traced, list(features.values()), lambda some: _narrow(plan_each(some))
    )
    upstream = traced.upstream_of_logits
    return {
        name: bool(_parameters(traced, upstream - features[name].frozen))
        for name in names
    }


def _narrow(plans: Plans) -> set[str]:
    """Return the names of the features whose cut keeps a single value computed with weights.

    The rest of the model needs no other value, except masks and the like, which are
    computed without weights.
    """
    narrow = set[str]()
    for feature, plan in plans:
        kept = plan.kept if isinstance(plan, CutPlan) else ()
        state = feature.trace.state.keys()
        upstream = [feature.trace.large.upstream([name]) for name in kept]
        if sum(not state.isdisjoint(calls) for calls in upstream) == 1:
            narrow.add(feature.name)
    return narrow


def _features(traced: Trace) -> list[Feature]:
    """Return every run of a module whose value can be held fixed and depends on the input."""
    modules = [visit.module for visit in traced.large.visits]
    features = list[Feature]()
    for position, module in enumerate(modules):
        call = modules[:position].count(module)
        name = module if modules.count(module) == 1 else f"{module}#{call + 1}"
        feature = Feature(name, traced, position, call)
        if module and INPUT[0] in feature.upstream and not feature.random:
            features.append(feature)
    return features


def _candidate(feature: Feature, plan: CutPlan | str, chosen: bool) -> Candidate:
    """Describe a feature as users see it: sizes, cost, and whether it is suggested."""
    traced = feature.trace
    visit = feature.visit
    names = feature.readable or visit.names
    kept = plan.kept if isinstance(plan, CutPlan) else ()
    stored = [name for name in kept if not of_input(name)]
    return Candidate(
        feature=feature.name,
        kind=type(traced.model.get_submodule(feature.module)).__name__,
        shape=traced.outputs.get(names[0], visit.shapes[0]).example,
        tensors=len(names),
        bytes=sum(traced.shapes[name].bytes // traced.examples for name in stored),
        frozen=_parameters(traced, feature.frozen),
        left=_parameters(traced, traced.upstream_of_logits - feature.frozen),
        slow=plan if isinstance(plan, str) else "",
        suggested=chosen,
    )


def _parameters(traced: Trace, names: frozenset[str]) -> int:
    """Count the elements of the parameters among the names, shared ones once."""
    parameters = dict(traced.model.named_parameters(remove_duplicate=False))
    groups = (group for group in traced.state.values() if names.intersection(group))
    firsts = (group[0] for group in groups)
    return sum(parameters[name].numel() for name in firsts if name in parameters)


def suggest(
    trace: Trace,
    features: Sequence[Feature],
    narrow: Callable[[Sequence[Feature]], Collection[str]],
) -> list[str]:
    """Suggest the features to study first, in execution order.

    The model is opened into the modules that it runs. While that gives fewer than four
    features, the module that holds at least half of all weights (arrays of two or more
    dimensions) is opened too, if there are more features inside. A feature must add a
    weight, and the rest of the model must need no other value: so a block is cut at its
    end, and a bare layer after the norm, activation and pooling that follow it. If
    there are more than 20 features, only every n-th is kept, counted from the output.

    Args:
        trace: The traced model.
        features: Features of the model in execution order.
        narrow: Function that returns the names of some features' narrow ones, see
            `_narrow`.

    Returns:
        The names; the last is the model's logits, if a module returns them.
    """
    run = {visit.module for visit in trace.large.visits}
    parent = {name: _parent(name, run) for name in run}
    parameters = trace.model.named_parameters(remove_duplicate=False)
    weights = {name for name, parameter in parameters if parameter.dim() > 1}
    possible = _possible(trace, features, weights)
    opened = set[str]()
    ends = set[str]()
    levels = list[list[list[Feature]]]()
    module: str | None = ""  # to open next, first the model itself
    while module is not None:
        opened.add(module)
        ends.update(narrow([f for f in possible if parent[f.module] == module]))
        shown = [
            f
            for f in possible
            if parent[f.module] in opened and (f.name in ends or _gives_logits(f))
        ]
        levels.append(_blocks(shown, weights))
        if len(levels[-1]) >= _ENOUGH:
            break
        module = _largest_closed(parent, opened, weights & trace.upstream_of_logits)
    # A deeper level may have fewer: in a block with a skip around it no feature is narrow.
    return _every_nth(
        [_feature_of(parent, block).name for block in max(levels, key=len)]
    )


def _largest_closed(
    parent: Mapping[str, str],
    opened: Collection[str],
    weights: Collection[str],
) -> str | None:
    """Return the module to open next: one that holds at least half of the weights.

    It runs other modules and lies directly in an opened one; None if there is no such
    module. parent: the module around each module.
    """
    inside = {name for name, outer in parent.items() if outer in opened}
    closed = inside.intersection(parent.values()).difference(opened)
    # Sorted: of two modules with equally many weights, the same one wins every time.
    within = Counter[str]()
    for weight in sorted(weights):
        within.update(module for module in _around(weight) if module in closed)
    for module, count in within.most_common(1):
        if 2 * count >= len(weights):
            return module
    return None


def _every_nth(names: Sequence[str]) -> list[str]:
    """Return every n-th name, counted from the last, for the smallest n that leaves 20 or fewer."""
    step = max(1, ceil(len(names) / _MOST))
    return [*names[::-step]][::-1]


def _parent(name: str, run: Collection[str]) -> str:
    """Return the innermost of the modules around a module that runs itself, else the model."""
    around = [module for module in _around(name) if module in run or not module]
    return around[-1]


def _possible(
    trace: Trace, features: Sequence[Feature], weights: Collection[str]
) -> list[Feature]:
    """Return the features that use weights, compute something, and are needed by the logits."""
    # Dropout in eval mode and reshapes compute nothing: all of their results are views.
    steps = trace.large.steps.values()
    working = set[str]()
    for owner in {step.owner for step in steps if {*step.names} - {*step.views}}:
        working.update([owner, *_around(owner)])
    possible = []
    for feature in features:
        is_needed = trace.needed.intersection(name[0] for name in feature.visit.names)
        computes = feature.readable and feature.module in working
        if (
            is_needed
            and not feature.frozen.isdisjoint(weights)
            and (computes or _gives_logits(feature))
        ):
            possible.append(feature)
    return possible


def _blocks(
    features: Sequence[Feature], weights: Collection[str]
) -> list[list[Feature]]:
    """Group consecutive features that depend on the same weights.

    If several have the same value, such as a block and its last layer, the first stays.
    """
    distinct: dict[Names, Feature] = {}
    for feature in features:
        distinct.setdefault(feature.visit.names, feature)
    blocks = groupby(distinct.values(), lambda feature: feature.frozen & {*weights})
    return [list(block) for _, block in blocks]


def _feature_of(parent: Mapping[str, str], block: Sequence[Feature]) -> Feature:
    """Choose the feature at which to cut, among those of a block.

    The one that gives the logits; else the first module that runs others, such as a
    residual block; else the last one with the first one's parent, such as the pooling
    after a convolution.
    """
    giving_logits = [feature for feature in block if _gives_logits(feature)]
    containers = [feature for feature in block if feature.module in parent.values()]
    first_parent = parent[block[0].module]
    siblings = [f for f in block if parent[f.module] == first_parent]
    return (giving_logits or containers or siblings[-1:])[0]


def _gives_logits(feature: Feature) -> bool:
    """Return whether the feature's value is the model's logits."""
    return feature.trace.large.logits in feature.visit.names


def _around(name: str) -> list[str]:
    """Return the names of the modules around a module or parameter, the model's "" first.

    >>> _around("layer1.0.conv")
    ['', 'layer1', 'layer1.0']
    """
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(len(parts))]
