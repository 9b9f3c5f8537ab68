"""Plans of cuts: the values to freeze and to keep, derived from the computation."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from probe.batch import Value, first
from probe.cut.batch_dimension import BatchedShape
from probe.cut.feature import Feature
from probe.cut.min_cut import Fate, minimum_cut
from probe.cut.names import Name, Names, words
from probe.cut.trace import Pass, StateCalls, Step, Trace
from probe.errors import Failed


@dataclass(frozen=True)
class CutPlan:
    """The plan by which the two parts of a cut run.

    Attributes:
        names: The numbers of the model's calls.
        kept: The values that the prefix returns and the tail takes.
        fates: What the tail does with a call, by its number.
        steps: The calls, by number.
        shapes: The shape of each value, for any batch size.
        frozen: The parameters and buffers that the feature depends on.
        form: The input's tensors, with no examples.
        writes: Whether the tail writes in place, and so perhaps into its input.
    """

    names: Names
    kept: tuple[Name, ...]
    fates: Mapping[int, Fate]
    steps: Mapping[int, Step]
    shapes: Mapping[Name, BatchedShape]
    frozen: StateCalls
    form: Value
    writes: bool


# Functions that do the same in training as in eval mode, if they are called alike in both.
_FIXED = words(
    "relu relu_ tanh sigmoid max_pool1d max_pool2d max_pool3d _max_pool1d _max_pool2d _max_pool3d"
    " boolean_dispatch avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d"
    " adaptive_avg_pool3d mean flatten view reshape permute transpose contiguous cat"
) | {"seen through a view"}
# So do these, between tensors; with a number, it may be one that changes with mode or time.
_SUMS = words("add add_ __add__ __iadd__ __radd__")


def plan_cut(feature: Feature, trained_pass: Pass, barred: Collection[Name]) -> CutPlan:
    """Plan how the model runs downstream of the feature in the modes in which it is trained.

    Args:
        feature: The feature.
        trained_pass: The forward pass in these modes.
        barred: Values that must not be cached.

    Returns:
        The plan.

    Raises:
        Failed: Other values do not suffice, or training would change what is frozen.
    """
    trace = feature.trace
    steps, state = trace.large.steps, trace.state.keys()
    passed = (name for n in feature.upstream & steps.keys() for name in steps[n].names)
    if reason := next((r for name in passed if (r := trace.large.metadata[name].unusual)), ""):
        raise Failed(f"a value on the way to it {reason}")
    if any(name not in trained_pass.metadata for name in feature.visit.names):
        raise Failed("its value is computed in another way in training mode")
    behind = [step for number, step in trained_pass.steps.items() if number not in feature.upstream]
    written = {step.parents[at][0] for step in behind for at in step.overwritten}
    if written & feature.upstream & state:
        raise Failed("training what is downstream of it writes to a buffer that it depends on")
    costs = _costs(trained_pass, trace, barred)
    cut = minimum_cut(trained_pass, feature.upstream, state, costs, _steady(trace, trained_pass))
    if cut is None:
        raise Failed("no values with one row per example stand between its two parts")
    kept, fates = cut
    steps = {**steps, **trained_pass.steps}
    form = first(trace.sample, 0)
    frozen = {call: trace.state[call] for call in feature.upstream & state}
    writes = not written <= state  # batch norm writes too, but into buffers
    return CutPlan(trace.names, kept, fates, steps, trace.shapes, frozen, form, writes)


def _costs(trained_pass: Pass, trace: Trace, barred: Collection[Name]) -> dict[Name, int]:
    """Return the cost of each value that may be kept: those with a row per example.

    Twice the bytes of an example, so that a view may cost a little more than what it looks at: of
    values of one size the last is kept, but to look at one in another way is no work to save.
    """
    # A view has no memory of its own: to keep it is to keep what it looks at.
    views = {name for step in trained_pass.steps.values() for name in step.views}
    return {
        name: 2 * (shape.seen.bytes // trace.sizes[0]) + (name in views)
        for name, shape in trace.shapes.items()
        if shape.dim is not None and name not in barred and name not in trace.names.sized_by_data
    }


def _steady(trace: Trace, trained_pass: Pass) -> frozenset[int]:
    """Return the calls that do the same in training as in eval mode, now and later.

    Only functions without a number, which may change with mode, time or chance, count, if they are
    called alike in both modes.
    """
    calls = set[int]()
    if trained_pass.drawn:
        return frozenset()  # the code may have chosen its way by what it drew
    # Calls of one function on the same values are told apart only by their count, which is another
    # where the code leaves one out.
    ways: dict[object, set[str]] = {}
    for step in trained_pass.steps.values():
        ways.setdefault((step.function, step.parents), set()).add(step.settings)
    for number, step in trained_pass.steps.items():
        # A call has the same number in both modes, as only its tensors count, but not its settings.
        other = trace.large.steps.get(number)
        same_call = other is not None and other.settings == step.settings
        same_call &= len(ways[step.function, step.parents]) == 1
        tensors_alone = not any(sign.isdigit() for sign in step.settings)
        if same_call and (step.function in _FIXED or (step.function in _SUMS and tensors_alone)):
            calls.add(number)
    return frozenset(calls)
