"""Plans of cuts: the values to freeze and to keep, derived from the computation.

For each feature, other modules are in eval mode while the rest is retrained. If the
modes change only what modules do by themselves, the pass is combined from one in eval
and one in training mode. No value is kept whose rows mix the examples of a batch.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from probe.batch import Value, close, first, flipped, length
from probe.cut.batch_dimension import TensorFacts
from probe.cut.feature import Feature, PartlyEval
from probe.cut.min_cut import minimum_cut
from probe.cut.names import Name, Names, Numbering, words
from probe.cut.trace import Pass, StateCalls, Step, Trace, collect, follow
from probe.errors import Failed, NotKept, described
from probe.modules import copied

_TRIES = 12  # at finding values of which each row belongs to one example
_SOME = 8  # examples

Progress = Callable[[Sequence[Feature]], Iterable[Feature]]


@dataclass(frozen=True)
class CutPlan:
    """The plan of the two parts of a cut.

    Attributes:
        names: The numbers of the model's calls.
        kept: The values that the prefix returns and the tail takes.
        again: Whether the tail computes a frozen call again, by its number.
        steps: The calls, by number.
        shapes: The shape of each value, for any batch size.
        frozen: The parameters and buffers that the feature depends on.
        form: The input's tensors, with no examples.
        writes: Whether the tail writes in place, possibly into its input.
    """

    names: Numbering
    kept: Names
    again: Mapping[int, bool]
    steps: Mapping[int, Step]
    shapes: Mapping[Name, TensorFacts]
    frozen: StateCalls
    form: Value
    writes: bool

    def rows(self, values: Mapping[Name, Tensor]) -> Value:
        """Return the kept values, each with its examples first, (B, ...).

        Args:
            values: Values of one batch by name.

        Raises:
            NotKept: A kept value is missing.
        """
        if any(name not in values for name in self.kept):
            raise NotKept("a value that must be kept is not computed")
        first, *others = (self.shapes[name].to_rows(values[name]) for name in self.kept)
        return (first, *others) if others else first


Plans = list[tuple[Feature, CutPlan | str]]
"""Features, each with its plan or the reason why it has none, the end of a sentence."""


def plan_each(features: Sequence[Feature], progress: Progress = iter) -> Plans:
    """Plan a cut at each feature of one trace so that each cached row belongs to one example.

    A feature that can only be cut with the code around it in eval mode is returned in
    that form.

    Args:
        features: The features of one trace.
        progress: Function that wraps the features, as `tqdm` does.

    Returns:
        The plans, in the order of the features.
    """
    planned = list(map(_first_plan, progress(features)))
    # Values upstream or downstream of one that mixes examples may not mix them.
    mixed = set[Name]()
    unmixed = set[Name]()
    for _ in range(_TRIES):
        plans = [plan for _, plan in planned if isinstance(plan, CutPlan)]
        names = set[Name]().union(*(plan.kept for plan in plans))
        if names <= unmixed:
            break
        try:
            newly_mixed = _mixed_rows(features[0].trace, names - unmixed)
        except Exception as error:  # the user's code, on batches of other sizes
            failed = f"running it on other batches fails ({described(error)})"
            return [
                (f, plan if isinstance(plan, str) else failed) for f, plan in planned
            ]
        unmixed |= names - newly_mixed
        mixed |= newly_mixed
        for position, (feature, plan) in enumerate(planned):
            if _keeps(plan, mixed):
                planned[position] = feature, _plan(feature, mixed)
    depends = "the values of an example depend on the other examples of its batch"
    return [(f, depends if _keeps(plan, mixed) else plan) for f, plan in planned]


def plan_in_eval(feature: Feature) -> CutPlan | str:
    """Plan how the model runs downstream of a feature in eval mode; or return why it cannot."""
    try:
        return _plan_cut(feature, feature.trace.large, ())
    except Failed as failure:
        return str(failure)


def _first_plan(feature: Feature) -> tuple[Feature, CutPlan | str]:
    """Plan a cut; if that fails, try again with the code around it in eval mode.

    Returns:
        The feature as it is planned, and its plan or the reason why there is none.
    """
    plan = _plan(feature)
    if isinstance(plan, CutPlan):
        return feature, plan
    # The reason for eval mode is kept with the feature.
    in_eval = replace(feature, around=plan)
    retried = _plan(in_eval)
    if isinstance(retried, CutPlan):
        return in_eval, retried
    return feature, plan


def _plan(feature: Feature, barred: Collection[Name] = ()) -> CutPlan | str:
    """Return a plan that keeps no barred value, or the reason why there is none."""
    try:
        return _plan_cut(feature, _training_pass(feature), barred)
    except Failed as failure:
        return str(failure)
    except Exception as error:  # the user's code, in modes that it was not written for
        return f"training downstream of it fails ({described(error)})"


def _keeps(plan: CutPlan | str, names: set[Name]) -> bool:
    """Return whether there is a plan, and it keeps any of the named values."""
    return isinstance(plan, CutPlan) and not names.isdisjoint(plan.kept)


@torch.no_grad()
def _mixed_rows(trace: Trace, names: set[Name]) -> set[Name]:
    """Return the values that depend on the other examples of the batch, or on their number.

    Some examples, their first half and all of them in reverse must give the same rows,
    up to rounding.
    """
    sample = first(trace.sample, _SOME)
    half = first(sample, length(sample) // 2 or 1)
    batches = [collect(trace, names, x) for x in (sample, half, flipped(sample))]
    mixed = set(names)
    for name in names.intersection(*batches):
        to_rows = trace.shapes[name].to_rows
        # A value whose size depends on the data cannot be compared, and counts as mixed.
        with suppress(RuntimeError):
            rows, few, last = (to_rows(batch[name]) for batch in batches)
            if close(rows[: len(few)], few) and close(rows, last.flip(0)):
                mixed.remove(name)
    return mixed


def _training_pass(feature: Feature) -> Pass:
    """Return the pass in the modes in which the feature's tail is trained."""
    trace = feature.trace
    # Downstream of the logits nothing is trained: the modes of training do not matter.
    if not trace.trained(feature.frozen):
        return trace.large
    if combined := _combined_pass(feature):
        return combined
    partly = PartlyEval(copied(trace.model), feature).train()
    sample = first(trace.sample, trace.examples)
    return follow(partly.model, trace.names, trace.state, sample, trace.call)


def _combined_pass(feature: Feature) -> Pass | None:
    """Return the training pass of a feature, combined from a pass in eval mode and one in training.

    Each module's calls come from the pass in its mode. The result is None if the modes
    change more than the modules' own calls: the path through the model, or the values
    that other calls read.
    """
    calls = feature.eval_calls
    large = feature.trace.large
    training = feature.trace.training
    if training is None or not all(map(all, calls.values())):
        return None
    same = [number for number in training.steps if number in large.steps]
    if (
        same != list(large.steps)
        or _visits(training) != _visits(large)
        or training.logits != large.logits
    ):
        return None
    steps: dict[int, Step] = {}
    computed = set[Name]()
    read = set[Name]()
    for number, step in training.steps.items():
        if step.owner in calls:
            if number not in large.steps:
                continue
            step = large.steps[number]
        steps[number] = step
        computed.update(step.names)
        read.update(step.parents)
    if any(name[0] in training.steps for name in read - computed):
        return None
    return Pass(steps, training.visits, training.logits, training.shapes | large.shapes)


def _visits(run: Pass) -> list[tuple[str, Names]]:
    """Return the modules that ran in a pass, in order, each with the values that it returned."""
    return [(visit.module, visit.names) for visit in run.visits]


# Functions that do the same in training as in eval mode, if they are called alike in
# both.
_FIXED = words(
    "relu relu_ tanh sigmoid max_pool1d max_pool2d max_pool3d _max_pool1d _max_pool2d "
    "_max_pool3d boolean_dispatch avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d mean flatten view "
    "reshape permute transpose contiguous cat"
) | {"seen through a view"}
# So do these, between tensors; with a number, it may be one that changes with mode or
# time.
_SUMS = words("add add_ __add__ __iadd__ __radd__")


def _plan_cut(
    feature: Feature, trained_pass: Pass, barred: Collection[Name]
) -> CutPlan:
    """Plan how the model runs downstream of the feature in the modes in which it is trained.

    barred: values that must not be cached. Raises Failed if other values do not
    suffice, or training would change a frozen value.
    """
    trace = feature.trace
    steps = trace.large.steps
    state = trace.state.keys()
    for number in feature.upstream & steps.keys():
        for name in steps[number].names:
            reason = trace.large.shapes[name].unusual
            if reason:
                raise Failed(f"a value on the way to it {reason}")
    if any(name not in trained_pass.shapes for name in feature.visit.names):
        raise Failed("its value is computed in another way in training mode")
    written = set[int]()
    for number in trained_pass.steps.keys() - feature.upstream:
        step = trained_pass.steps[number]
        written.update(step.parents[at][0] for at in step.overwritten)
    if written & feature.upstream & state:
        raise Failed("training downstream of it writes to a buffer that it depends on")
    costs = _costs(trained_pass, trace, barred)
    steady = _steady_calls(trace, trained_pass)
    cut = minimum_cut(trained_pass, feature.upstream, state, costs, steady)
    if cut is None:
        raise Failed("no values with one row per example stand between its two parts")
    steps = {**steps, **trained_pass.steps}
    form = first(trace.sample, 0)
    frozen = {call: trace.state[call] for call in feature.upstream & state}
    writes = not written <= state  # batch norm writes too, but into buffers
    return CutPlan(trace.names, *cut, steps, trace.shapes, frozen, form, writes)


def _costs(
    trained_pass: Pass, trace: Trace, barred: Collection[Name]
) -> dict[Name, int]:
    """Return the cost of each value that may be kept: it has a row per example, and is not barred.

    The cost is twice the bytes of an example, and 1 more for a view. If several cost
    the same, the last is kept, which saves the most work; but a view saves none.
    """
    # A view has no memory of its own: it is stored as the values that it looks at.
    views = set[Name]().union(*(step.views for step in trained_pass.steps.values()))
    barred = {*barred, *trace.names.sized_by_data}
    return {
        name: 2 * (shape.bytes // trace.examples) + (name in views)
        for name, shape in trace.shapes.items()
        if shape.dim is not None and name not in barred
    }


def _steady_calls(trace: Trace, trained_pass: Pass) -> set[int]:
    """Return the calls that do the same in training as in eval mode, now and later.

    They are calls of certain functions that both modes call with the same arguments.
    Sums are among them only without a number, which may change with mode, time or
    chance.
    """
    if trained_pass.drawn:
        return set()  # the code may have branched by the numbers drawn
    # Calls of the same function on the same values are told apart only by their count,
    # which changes if the code leaves out a call.
    settings_of_call: dict[object, set[str]] = {}
    for step in trained_pass.steps.values():
        settings_of_call.setdefault((step.function, step.parents), set()).add(
            step.settings
        )
    steady = set[int]()
    for number, step in trained_pass.steps.items():
        # A call has the same number in both modes, as only its tensors count, but not
        # its settings.
        other = trace.large.steps.get(number)
        settings = settings_of_call[step.function, step.parents]
        same = other is not None and settings == {other.settings}
        no_number = not any(map(str.isdigit, step.settings))
        if same and (step.function in _FIXED or (step.function in _SUMS and no_number)):
            steady.add(number)
    return steady
