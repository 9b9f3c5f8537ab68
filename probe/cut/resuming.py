"""Passes of one batch under different weights: each starts where its weights begin to differ.

A value at which a model can be cut is kept. A later pass that has the same weights
upstream of it starts there (see `replay`): all of the model's code runs, but calls
upstream are skipped. No value is kept once the code leaves the path on which it was
traced, or reads a number from a value that depends on weights: the names of values do
not follow numbers. `NotKept` is raised if passes cannot be shared after all: values
have other shapes, or the code draws at random, writes into weights or buffers, or asks
for what was not kept. Each pass has to be run alone then.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from probe.batch import Value, first, kinds, like, tensors
from probe.cut.checks import ReferenceValues
from probe.cut.feature import Feature
from probe.cut.interface import Cut
from probe.cut.model_call import undisturbed
from probe.cut.names import (
    INPUT,
    LIVE,
    Name,
    Tag,
    TorchCall,
    eagerly,
)
from probe.cut.plan import CutPlan, plan_in_eval
from probe.cut.planned_cut import PlannedCut
from probe.cut.replay import Replaying, Sizes
from probe.cut.trace import Done, Trace, state_tags
from probe.errors import Failed, NotKept
from probe.modules import tensors_in
from probe.seeding import draws

_BATCH = 128
# Operations of such a batch in a call; with fewer, following calls costs more time.
_WORTH = 2e7


@dataclass(frozen=True, eq=False)
class Starts:
    """The values at which passes of a model may start.

    Attributes:
        trace: The traced model.
        plans: The plans of cuts at these values, by depth; the first keeps the input.
    """

    trace: Trace
    plans: Sequence[CutPlan]

    @classmethod
    def worthwhile(cls, cuts: Sequence[Cut]) -> "Starts | None":
        """Return the values at which passes may start, None if that would save no time.

        Args:
            cuts: Cuts of one model at features, by depth.
        """
        if not cuts:
            return None
        trace = cast(PlannedCut, cuts[0]).feature.trace
        steps = trace.large.steps
        work = sum(step.work for step in steps.values()) / trace.examples
        if work * _BATCH <= len(steps) * _WORTH:
            return None
        starts = cls.at(cuts)
        return starts if len(starts.plans) > 1 else None

    @classmethod
    def at(cls, cuts: Sequence[Cut]) -> "Starts":
        """Plan to start at features whose kept values do not change with weights downstream.

        Args:
            cuts: Cuts of one model at the features, by depth.
        """
        features = [cast(PlannedCut, cut).feature for cut in cuts]
        trace = features[0].trace
        inputs = tuple((INPUT[0], k) for k in range(len(tensors(trace.sample))))
        form = first(trace.sample, 0)
        at_input = CutPlan(
            names=trace.names,
            kept=inputs,
            again={},
            steps={},
            shapes=trace.shapes,
            frozen={},
            form=form,
            writes=True,
        )
        starts = [at_input]
        plans = [(feature, plan_in_eval(feature)) for feature in features]
        with undisturbed(trace.sample):
            reference = ReferenceValues(trace, plans)
            is_random = any(step.random for step in trace.large.steps.values())
            if is_random or not reference.repeats:
                return cls(trace, starts)
            for feature, plan in plans:
                with suppress(Failed):
                    if isinstance(plan, CutPlan) and reference.stays(feature, plan):
                        starts.append(plan)
        return cls(trace, starts)

    @cached_property
    def weights(self) -> list[frozenset[str]]:
        """The names of the parameters and buffers that each plan's values depend on."""
        return [frozenset().union(*plan.frozen.values()) for plan in self.plans]


class Passes:
    """The passes of one batch.

    Args:
        starts: The values at which they may start.
        model: The model, in eval mode, of the architecture that was traced.
        run: Function that runs it on a batch.
        x: The batch, (B, ...).
    """

    def __init__(
        self,
        starts: Starts,
        model: nn.Module,
        run: Callable[[Value], Tensor],
        x: Value,
    ) -> None:
        at_input = starts.plans[0]
        if kinds(first(x, 0)) != kinds(at_input.form):
            raise NotKept("an input has another form")
        self._starts = starts
        self._model = model
        self._run = run
        rows = tensors(x)
        shapes = starts.trace.shapes.items()
        self._sizes = {name: shape.at(len(rows[0])) for name, shape in shapes}
        # By the number of the plan: the values kept, and the weights exchanged upstream.
        inputs: Mapping[Name, Tensor] = dict(zip(at_input.kept, rows, strict=True))
        self._values = {0: inputs}
        self._exchanged = {0: frozenset[str]()}

    @property
    def saves_work(self) -> bool:
        """Whether any value was kept."""
        return len(self._values) > 1

    def logits(self, exchanged: frozenset[str]) -> Tensor:
        """Run the model with the weights that it has now.

        Args:
            exchanged: The names of the parameters and buffers that are not as in the
                first pass.

        Returns:
            The logits, (B, K).

        Raises:
            NotKept: Passes of this batch cannot be shared.
        """
        logits, _ = self._run_once(exchanged)
        return cast(Tensor, logits)

    def feature_value(self, exchanged: frozenset[str], cut: Cut) -> tuple[Tensor, ...]:
        """Run the model, with the weights that it has now, until a feature has been computed.

        Args:
            exchanged: See `logits`.
            cut: A cut of the traced model at the feature, which is downstream of all
                that were computed before.

        Returns:
            Its tensors with a row for each example, (B, ...).

        Raises:
            NotKept: See `logits`; or the feature was not computed.
        """
        feature = cast(PlannedCut, cut).feature
        _, computed = self._run_once(exchanged, feature)
        if not computed.keys() >= set(feature.readable):
            raise NotKept("the code does not compute the feature")
        shapes = feature.trace.outputs
        return tuple(shapes[n].to_rows(computed[n]) for n in feature.readable)

    def _run_once(
        self, exchanged: frozenset[str], until: Feature | None = None
    ) -> tuple[Tensor | None, Mapping[Name, Tensor]]:
        """Run the model as far as a feature, None = to the end.

        Returns:
            The logits, None before the end, and copies of the values that were kept.
        """
        upstream = [exchanged & weights for weights in self._starts.weights]
        for number, present in self._exchanged.items():
            if present != upstream[number]:
                self._values.pop(number, None)
        deepest = max(self._values)
        run = self._starting_at(deepest, until)
        start = like(run.plan.form, map(run.value_named, self._starts.plans[0].kept))
        drawn = draws()
        logits = None
        with suppress(Done), eagerly(), run:
            logits = self._run(start)
        if drawn() or run.failed:
            raise NotKept("a pass draws, or reads what it cannot")
        if any(tag.written for tag in run.state.values()):
            raise NotKept("a pass writes into parameters or buffers")
        run.computed.update(self._values[deepest])
        for number, plan in enumerate(self._starts.plans):
            is_known = run.computed.keys() >= set(plan.kept)
            if number not in self._values and is_known:
                self._values[number] = {name: run.computed[name] for name in plan.kept}
                self._exchanged[number] = upstream[number]
        return logits, run.computed

    def _starting_at(self, number: int, until: Feature | None) -> "_Resuming":
        """Return a pass that starts at the values of a plan, and keeps those of deeper plans."""
        # Copies, as the pass may write into them.
        values = {name: value.clone() for name, value in self._values[number].items()}
        run = _Resuming(
            self._starts.trace,
            self._starts.plans[number],
            state_tags(self._model, self._starts.trace.state),
            values,
            self._sizes,
        )
        for deeper in self._starts.plans[number + 1 :]:
            run.wanted.update(deeper.kept)
        if until:
            run.until = frozenset(until.readable)
            run.wanted |= run.until
        return run


class _Resuming(Replaying):
    """A pass that starts at kept values, and keeps others on the way.

    Attributes:
        wanted: The names of values to keep.
        until: The names of the values with which it ends, none = the logits.
        computed: Copies of these values.
        state: The tags of parameters and buffers.
    """

    def __init__(
        self,
        trace: Trace,
        plan: CutPlan,
        state: Mapping[int, Tag],
        values: Mapping[Name, Tensor],
        sizes: Sizes,
    ) -> None:
        super().__init__(plan, state, values, sizes, on_value=self._keep)
        self.state = state
        self.wanted = set[Name]()
        self.until = frozenset[Name]()
        self.computed: dict[Name, Tensor] = {}
        self._traced = trace.large
        # Until a call leaves the traced path, or reads a number that depends on weights.
        self._on_path = True

    def perform(self, call: TorchCall) -> Any:
        """Skip a call upstream of the start, and run any other."""
        if call.function.__name__ == "__set__":
            raise NotKept("the code replaces the content of a tensor")
        if self.plan.again.get(call.number) is False:
            return self.describe(call)
        self._on_path &= call.number in self._traced.steps
        self._on_path &= not any(map(_has_tensor_ends, tree_leaves(call.args)))
        result = self.compute(call, live=call.number == LIVE[0])
        writes = call.parents != tuple(map(self.name_of, call.inputs))
        if call.inputs and not writes and not tensors_in(result):
            upstream = self._traced.upstream(call.parents)
            self._on_path &= upstream <= self._traced.steps.keys() | {INPUT[0]}
        return result

    def _keep(self, name: Name, tensor: Tensor) -> None:
        """Keep a value that is wanted; raise NotKept if its shape is not the expected one."""
        if not self._on_path or name not in self._sizes:
            return
        expected = self._sizes[name][0], self.plan.shapes[name].dtype
        if (tuple(tensor.shape), tensor.dtype) != expected:
            self.failed = True
        if name in self.wanted and name not in self.computed:
            # Copied at once: an in-place operation may overwrite it.
            self.computed[name] = tensor.clone()
            if self.until and self.until <= self.computed.keys():
                raise Done


def _has_tensor_ends(argument: object) -> bool:
    """Return whether an argument is a slice whose ends are tensors, which have no names."""
    if not isinstance(argument, slice):
        return False
    return any(map(torch.is_tensor, (argument.start, argument.stop, argument.step)))
