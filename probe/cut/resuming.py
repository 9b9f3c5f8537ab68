"""Passes of one batch under different weights: each starts where its weights begin to differ.

A value at which a model can be cut is kept. A later pass that has the same weights
upstream of it starts there (see `replay`): all of the model's code runs, but calls
upstream are skipped. A batch whose code asks for a value that was not kept runs from
the input, and so does one whose code takes a number out of a value that depends on
weights: what becomes of numbers, the names of values do not show.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn

from probe.batch import Value, arranged, first, like, mapped, tensors
from probe.cut.checks import ReferenceValues
from probe.cut.interface import Cut
from probe.cut.model_call import comparing
from probe.cut.names import INPUT, LIVE, Name, OnValue, Tag, TorchCall, eagerly
from probe.cut.plan import CutPlan, plan_in_eval
from probe.cut.planned_cut import PlannedCut
from probe.cut.replay import Replaying, Sizes
from probe.cut.trace import Trace, state_tags
from probe.errors import Failed, NotKept
from probe.modules import tensors_in

_BATCH = 128
_WORTH = (
    2e7  # operations of such a batch in a call, below which following calls costs more
)


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
        """Plan to start at features, where no weight downstream changes what is kept there.

        Args:
            cuts: Cuts of one model at the features, by depth.
        """
        features = [cast(PlannedCut, cut).feature for cut in cuts]
        trace = features[0].trace
        inputs = tuple((INPUT[0], k) for k in range(len(tensors(trace.sample))))
        form = first(trace.sample, 0)
        starts = [
            CutPlan(trace.names, inputs, {}, {}, trace.shapes, {}, form, writes=True)
        ]
        plans = [(feature, plan_in_eval(feature)) for feature in features]
        with comparing(trace.sample):
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
        self._starts = starts
        self._model = model
        self._run = run
        self._x = arranged(x, starts.trace.sample)
        rows = tensors(self._x)
        shapes = starts.trace.shapes.items()
        self._sizes = {name: shape.at(len(rows[0])) for name, shape in shapes}
        # By plan; and the weights upstream that were exchanged.
        inputs: Mapping[Name, Tensor] = dict(
            zip(starts.plans[0].kept, rows, strict=True)
        )
        self._values = {0: inputs}
        self._exchanged = {0: frozenset[str]()}

    def logits(self, exchanged: frozenset[str]) -> Tensor:
        """Run the model with the weights that it has now.

        Args:
            exchanged: The names of the parameters and buffers that are not as in the
                first pass.

        Returns:
            The logits, (B, K).
        """
        if self._values:
            with suppress(NotKept):
                return self._resumed(exchanged)
            self._values.clear()
        return self._run(mapped(self._x, torch.clone))

    def _resumed(self, exchanged: frozenset[str]) -> Tensor:
        """Run the model from the deepest values that are as in this pass, and keep others."""
        trace = self._starts.trace
        upstream = [exchanged & weights for weights in self._starts.weights]
        for number, present in self._exchanged.items():
            if present != upstream[number]:
                self._values.pop(number, None)
        deepest = max(self._values)
        plan = self._starts.plans[deepest]
        values = dict(self._values[deepest])
        missing = set[Name]()
        for other in self._starts.plans[deepest + 1 :]:
            missing.update(other.kept)

        def keep(name: Name, tensor: Tensor) -> None:
            if name in missing:
                missing.remove(name)
                # Copied at once: an in-place operation may overwrite it.
                values[name] = tensor.clone()

        # Copies: what is served may be written into.
        served = {name: value.clone() for name, value in values.items()}
        tags = state_tags(self._model, trace.state)
        run = _Resuming(trace, plan, tags, served, self._sizes, keep)
        start = like(plan.form, map(run.value_named, self._starts.plans[0].kept))
        with eagerly(), run:
            logits = self._run(start)
        for number, other in enumerate(self._starts.plans):
            if number not in self._values and values.keys() >= set(other.kept):
                self._values[number] = {name: values[name] for name in other.kept}
                self._exchanged[number] = upstream[number]
        return logits


class _Resuming(Replaying):
    """A pass that starts at kept values, and names the values that it computes."""

    def __init__(
        self,
        trace: Trace,
        plan: CutPlan,
        state: Mapping[int, Tag],
        values: Mapping[Name, Tensor],
        sizes: Sizes,
        met: OnValue,
    ) -> None:
        super().__init__(plan, state, values, sizes, met=met)
        self._traced = trace.large

    def perform(self, call: TorchCall) -> Any:
        """Skip a call upstream of the start, and run any other."""
        if self.plan.again.get(call.number) is False:
            return self.describe(call)
        result = self.compute(call, live=call.number == LIVE[0])
        writes = call.parents != tuple(map(self.name_of, call.inputs))
        if call.inputs and not writes and not tensors_in(result):
            upstream = self._traced.upstream(call.parents)
            if not upstream <= self._traced.steps.keys() | {INPUT[0]}:
                raise NotKept("the code reads a number that depends on weights")
        return result
