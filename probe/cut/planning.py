"""Plans of cuts at many features of one model, which do not mix examples.

For each feature, other modules are in eval mode while the rest is retrained. If the modes change
only what modules do by themselves, the pass is combined from one in eval and one in training mode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import nn

from probe.batch import close, first, flipped, tensors
from probe.cut.batch_dimension import BatchedShape
from probe.cut.feature import EvalCalls, Feature, PartlyEval
from probe.cut.names import Name
from probe.cut.plan import CutPlan, plan_cut
from probe.cut.replay import collect
from probe.cut.trace import Pass, Trace, follow
from probe.errors import Failed, described
from probe.modules import copied

_TRIES = 12  # at finding values that are each example's own
_SOME = 8  # examples

Progress = Callable[[Sequence[Feature]], Iterable[Feature]]


def plan_each(
    features: Sequence[Feature], progress: Progress = iter
) -> list[tuple[Feature, CutPlan | str]]:
    """Plan a cut at each feature of one trace so that each cached row belongs to one example.

    A feature that can only be cut with the code around it in eval mode is returned in that form.

    Args:
        features: The features of one trace.
        progress: Wraps the features, as `tqdm` does.

    Returns:
        Each feature with its plan, or with the reason why it has none, the end of a sentence.
    """
    if not features:
        return []
    trace = features[0].trace
    passes = _TrainingPasses(trace)
    pairs = [_first_plan(feature, passes) for feature in progress(features)]
    features, plans = [feature for feature, _ in pairs], [plan for _, plan in pairs]
    # Before a value that mixes examples, or behind it, there may be others that do not.
    mixed, unmixed = set[Name](), set[Name]()
    for _ in range(_TRIES):
        cuts = [plan for plan in plans if isinstance(plan, CutPlan)]
        names = {name for plan in cuts for name in plan.kept} - unmixed
        shapes = {name: trace.shapes[name] for name in names}
        try:
            newly_mixed = _mixed_rows(trace, shapes)
        except Exception as error:  # the user's code, on batches of other sizes
            failed = f"running it on other batches fails ({described(error)})"
            plans = [plan if isinstance(plan, str) else failed for plan in plans]
            break
        unmixed |= shapes.keys() - newly_mixed
        mixed |= newly_mixed
        again = [at for at, plan in enumerate(plans) if _keeps(plan, newly_mixed)]
        if not again:
            break
        for at in again:
            plans[at] = _plan(features[at], passes, mixed)
    depends = "the values of an example depend on the other examples of its batch"
    plans = [depends if _keeps(plan, mixed) else plan for plan in plans]
    return list(zip(features, plans, strict=True))


def _first_plan(feature: Feature, passes: _TrainingPasses) -> tuple[Feature, CutPlan | str]:
    """Return a plan that may keep anything, the code around the feature in eval mode if need be."""
    if isinstance(plan := _plan(feature, passes, ()), str):
        calmer = replace(feature, around=plan)
        if isinstance(other := _plan(calmer, passes, ()), CutPlan):
            return calmer, other
    return feature, plan


def _plan(feature: Feature, passes: _TrainingPasses, barred: Collection[Name]) -> CutPlan | str:
    """Return a plan that keeps nothing of what is barred, or why there is none."""
    try:
        return plan_cut(feature, passes.of(feature), barred)
    except Failed as failure:
        return str(failure)
    except Exception as error:  # the user's code, in modes that it was not written for
        return f"training downstream of it fails ({described(error)})"


def _keeps(plan: CutPlan | str, names: set[Name]) -> bool:
    return isinstance(plan, CutPlan) and not names.isdisjoint(plan.kept)


@torch.no_grad()
def _mixed_rows(trace: Trace, shapes: Mapping[Name, BatchedShape]) -> set[Name]:
    """Return the values that depend on the other examples of the batch, or on their number.

    Some examples, their first half and all of them in reverse must give the same rows, up to
    rounding. shapes: of the values, by their names.
    """
    wanted, sample = set(shapes), first(trace.sample, _SOME)
    half = first(sample, len(tensors(sample)[0]) // 2 or 1)
    values, fewer, turned = (collect(trace, wanted, x) for x in (sample, half, flipped(sample)))
    mixed = wanted - (values.keys() & fewer.keys() & turned.keys())
    for name in wanted - mixed:
        try:
            to_rows = shapes[name].to_rows
            rows, few, last = (to_rows(batch[name]) for batch in (values, fewer, turned))
        except RuntimeError:  # its size depends on the data
            mixed.add(name)
            continue
        if not (close(rows[: len(few)], few) and close(rows, last.flip(0))):
            mixed.add(name)
    return mixed


class _TrainingPasses:
    """Passes of copies of a traced model in the modes in which features are retrained."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._model: nn.Module | None = None  # a copy

    def of(self, feature: Feature) -> Pass:
        """Return the pass for a feature of the trace; whatever the model raises is raised."""
        # Downstream of the logits nothing is trained: the modes of training do not matter.
        if not self._trace.trains(feature.frozen):
            return self._trace.large
        calls = feature.eval_calls
        return self._composed(calls) or self._pass(calls)

    def _composed(self, calls: EvalCalls) -> Pass | None:
        """Return the pass with these modules in eval mode, put together from two that are known.

        The one takes each module's calls in eval mode, the other those in training mode. None where
        the modes change more than what a module does by itself: the way, or what comes of it.
        """
        large, training = self._trace.large, self._training
        if training is None or not all(map(all, calls.values())):
            return None
        same = [number for number in training.steps if number in large.steps]
        runs = [[(v.module, v.names) for v in run.visits] for run in (large, training)]
        if same != list(large.steps) or runs[0] != runs[1] or training.logits != large.logits:
            return None
        steps = {
            number: large.steps.get(number, step) if step.owner in calls else step
            for number, step in training.steps.items()
            if step.owner not in calls or number in large.steps
        }
        computed = {name for step in steps.values() for name in step.names}
        read = {name for step in steps.values() for name in step.parents}
        if any(name not in computed and name[0] in training.steps for name in read):
            return None
        return Pass(steps, training.visits, training.logits, training.metadata | large.metadata)

    @cached_property
    def _training(self) -> Pass | None:
        """The pass with all of the model in training mode, None if that fails."""
        try:
            return self._pass({})
        except Exception:  # the user's code
            return None

    def _pass(self, calls: EvalCalls) -> Pass:
        trace, model = self._trace, self._model or copied(self._trace.model)
        # Switches between two calls of a module stay fastened to it: such a copy serves once.
        self._model = model if all(map(all, calls.values())) else None
        training = PartlyEval(model, calls, trace.call).train()
        sample = first(trace.sample, trace.sizes[0])
        return follow(training.model, trace.names, trace.state, sample, trace.call)
