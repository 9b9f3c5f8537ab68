"""The features that a model offers: every module run at which it can be cut, and the cost of it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from probe.cut.batch_dimension import BatchedShape
from probe.cut.checks import mixed_rows
from probe.cut.eval_mode import PartlyEval
from probe.cut.feature import Feature
from probe.cut.names import INPUT, Name
from probe.cut.outputs import Output
from probe.cut.plan import CutPlan, plan_cut
from probe.cut.replay import Prefix
from probe.cut.suggestion import suggested
from probe.cut.trace import Trace, trace
from probe.errors import Failed
from probe.modules import unwrapped


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A feature at which a model can be cut, and what the cut costs.

    feature: its name, as `split` takes it; kind: the module's class; shape: of one example's value,
    of the first of its `tensors` tensors; values: how many values are cached; bytes: what they take
    per example in fp32 storage, the model's own input not counted; frozen, left: the number of
    parameters (elements) that the feature depends on, and of the others that the logits depend on;
    slow: why nothing can be cached there, empty if it can; suggested: whether it is of a good set.
    """

    feature: str
    kind: str
    shape: tuple[int, ...]
    tensors: int
    values: int
    bytes: int
    frozen: int
    left: int
    slow: str
    suggested: bool


def candidates(
    model: nn.Module,
    sample: Tensor,
    output: Output = None,
    progress: Callable[[Sequence[Feature]], Iterable[Feature]] = iter,
) -> list[Candidate]:
    """Return every run of a module that can be a feature, in execution order.

    sample: (B, ...) inputs, B from 3, of any values; output: where in what the model returns the
    logits are, if it does not return them alone; progress: goes through the features, one by one,
    as `tqdm` does. What `split` checks on real examples is not checked here: it may still take the
    slow way, or refuse. Left out is what depends on no input or is random in eval mode. Raises
    InputError if the model cannot be followed.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> [(c.feature, c.shape, c.bytes, c.frozen) for c in candidates(model, torch.randn(5, 4))]
    [('0', (3,), 12, 15), ('1', (3,), 12, 15), ('2', (2,), 8, 23)]
    """
    seen = trace(unwrapped(model), sample, output)
    features = list(_features(seen))
    planner = _Planner(seen)
    plans = [planner.plan(feature) for feature in progress(features)]
    found = list(zip(features, plans, strict=True))
    narrow = {f.name for f, plan in found if isinstance(plan, CutPlan) and len(plan.kept) == 1}
    chosen = suggested(seen, features, narrow)
    return [_candidate(feature, plan, feature.name in chosen) for feature, plan in found]


class _Planner:
    """Plans the cuts at all features of a model.

    Whether the rows of a value mix examples is known for all features once it is known for one.
    """

    def __init__(self, seen: Trace) -> None:
        self._trace = seen
        self._model = copy.deepcopy(seen.model)
        self._mixed: set[Name] = set()
        self._own: set[Name] = set()

    def plan(self, feature: Feature) -> CutPlan | str:
        """Return the plan of a cut at the feature, or why there is none."""
        # Switches between two calls of a module stay on the model that they are fastened to.
        own = copy.deepcopy(self._trace.model) if feature.eval_part.calls else self._model
        model = PartlyEval(own, feature.eval_part, self._trace.output).train().model
        try:
            while True:
                plan = plan_cut(feature, model, self._mixed)
                if self._one_row_each(plan):
                    return plan
        except Failed as failure:
            return str(failure)
        except Exception as error:  # the user's code, in modes that it was not written for
            return f"training behind it fails ({type(error).__name__}: {error})"

    def _one_row_each(self, plan: CutPlan) -> bool:
        """Whether each row of what is kept belongs to a single example."""
        kept = set(plan.kept)
        if not self._own >= kept:
            mixed = mixed_rows(Prefix(self._trace, plan))
            self._mixed |= mixed
            self._own |= kept - mixed
        return self._own >= kept


def _features(seen: Trace) -> Iterator[Feature]:
    """Yield every run of a module whose value can be held fixed and depends on the input."""
    runs = Counter(visit.module for visit in seen.large.visits)
    before: Counter[str] = Counter()
    for at, visit in enumerate(seen.large.visits):
        call = before[visit.module]
        before[visit.module] += 1
        name = visit.module if runs[visit.module] == 1 else f"{visit.module}#{call + 1}"
        feature = Feature(name, seen, at, call)
        if visit.module and INPUT[0] in feature.upstream and not feature.random:
            yield feature


def _candidate(feature: Feature, plan: CutPlan | str, chosen: bool) -> Candidate:
    seen = feature.trace
    kept = {} if isinstance(plan, str) else {name: plan.shapes[name].seen for name in plan.kept}
    return Candidate(
        feature=feature.name,
        kind=type(seen.model.get_submodule(feature.module)).__name__,
        shape=_shape(feature),
        tensors=len(feature.visit.names),
        values=len(kept),
        bytes=sum(kept[name].bytes // seen.sizes[0] for name in kept if name != INPUT),
        frozen=_parameters(seen, feature.frozen),
        left=_parameters(seen, seen.behind_logits - feature.frozen),
        slow=plan if isinstance(plan, str) else "",
        suggested=chosen,
    )


def _shape(feature: Feature) -> tuple[int, ...]:
    """Return the shape of one example's value, all of it if no single dimension is the batch's."""
    seen = feature.trace
    name, metadata = feature.visit.names[0], feature.visit.metadata[0]
    other = seen.small.metadata.get(name, metadata)
    if len(other.shape) != len(metadata.shape):
        return metadata.shape
    batched = BatchedShape.of(metadata, other, seen.sizes)
    if batched.dim is None:
        return metadata.shape
    per = batched.per[batched.dim]
    rest = tuple(size for dim, size in enumerate(metadata.shape) if dim != batched.dim)
    return rest if per == 1 else (per, *rest)


def _parameters(seen: Trace, names: frozenset[str]) -> int:
    """Count the elements of the parameters among the names, shared ones once."""
    own = dict(seen.model.named_parameters(remove_duplicate=False))
    groups = [group for group in seen.state.values() if names.intersection(group)]
    return sum(own[group[0]].numel() for group in groups if group[0] in own)
