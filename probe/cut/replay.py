"""Replays of a model's own forward pass, with its frozen part served from a cache.

Every line of the model's code runs as usual; only its calls of torch functions are
intercepted. A call on frozen values is not run. Its result is either the kept value, or
a placeholder that has the right shape and type but no value. This is safe:

- A call is served only under its number, which identifies the functions, input,
  parameters and buffers that it was computed from (see `names`). All of these are
  frozen, so the value is the one that running the call in eval mode would give; and a
  prefix is always in eval mode.
- A placeholder computes nothing. Any read of its value, inside or outside torch's
  functions, raises an error and never continues with a wrong number.
- A call that depends on anything trained, or unknown to the plan, is run on real
  values. So the model may take another path in every step, as stochastic depth does, as
  long as it needs no frozen value that is not kept.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only, tree_unflatten

from probe.batch import Value, like, tensors
from probe.cut.feature import Feature, PartlyEval, requiring_gradient
from probe.cut.model_call import without_fast_path
from probe.cut.names import (
    INPUT,
    LIVE,
    Name,
    Naming,
    OnValue,
    Tag,
    TorchCall,
    alias,
    eagerly,
    run_watched,
)
from probe.cut.plan import CutPlan
from probe.cut.trace import (
    Leaf,
    PassedInput,
    PlainValue,
    Trace,
    collect,
    state_tags,
)
from probe.errors import NotKept
from probe.modules import forget, named_state, tensors_in

Sizes = Mapping[Name, tuple[tuple[int, ...], tuple[int, ...]]]
"""Shapes and strides of values at one batch size."""


class Prefix(nn.Module):
    """The traced model, run in eval mode as far as the kept values need it."""

    def __init__(self, trace: Trace, plan: CutPlan) -> None:
        super().__init__()
        self.model = trace.model
        self.plan = plan
        self.trace = trace

    def train(self, mode: bool = True) -> Self:
        """Stay in eval mode."""
        return self

    def forward(self, x: Value) -> Value:
        """Return the kept values, each (B, ...), of inputs x (B, ...)."""
        return self.plan.rows(collect(self.trace, self.plan.kept, x))


class Replay(PartlyEval):
    """A tail: the model's own forward on kept values, without the calls that compute them."""

    def __init__(self, model: nn.Module, feature: Feature, plan: CutPlan) -> None:
        super().__init__(model, feature)
        self._plan = plan
        self._tags: dict[int, Tag] = {}
        self._tags_of = 0
        self._tagged: list[Tensor] = []
        self._sizes: dict[int, Sizes] = {}  # of the last batch size only
        self._extends_graph = False

    def forward(self, x: Value) -> Tensor:
        """Return the logits (B, K) from the kept values, each (B, ...), of B examples."""
        plan = self._plan
        rows = tensors(x)
        kept = zip(plan.kept, rows, strict=True)
        values = {name: plan.shapes[name].from_rows(part) for name, part in kept}
        if self._extends_graph:
            values = {name: requiring_gradient(v) for name, v in values.items()}
        if plan.writes:
            values = {name: value.clone() for name, value in values.items()}
        batch = len(rows[0])
        if batch not in self._sizes:
            sizes = {name: shape.at(batch) for name, shape in plan.shapes.items()}
            self._sizes = {batch: sizes}
        # Each forward pass names its values anew: it may take a different path from the
        # last.
        run = Replaying(
            plan, self._state_tags(), values, self._sizes[batch], self._extends_graph
        )
        names = ((INPUT[0], index) for index in range(len(tensors(plan.form))))
        start = like(plan.form, map(run.value_named, names))
        forget(self.model)
        with eagerly(), without_fast_path(), run:
            return self.ask(self.model, start)

    def extend_graph(self) -> None:
        """Let kept values require gradients."""
        self._extends_graph = True

    def _state_tags(self) -> dict[int, Tag]:
        """Return a tag for each parameter and buffer: its name if it is frozen, else LIVE."""
        # A copy of this module has other tensors, which are known by their ids.
        if self._tags_of != id(self.model):
            live = Tag(None, LIVE, [])
            # Kept alive, so that no other tensors get their ids.
            self._tagged = list(named_state(self.model).values())
            tags = dict.fromkeys(map(id, self._tagged), live)
            self._tags = tags | state_tags(self.model, self._plan.frozen)
            self._tags_of = id(self.model)
        return self._tags


class _Placeholder(Tensor):
    """A frozen value that was not computed.

    It has a shape, a type and a device. `served` is the kept value, once it was needed,
    and `served_as` the name under which it was returned.
    """

    served: Tensor | None = None
    served_as: Name = LIVE
    _probe_tag: Tag

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls,
        func: object,
        types: object,
        args: object = (),
        kwargs: object = None,
    ) -> Any:
        # Whatever gets here was not met by `Replaying`: code in C++ that computes with
        # it.
        for placeholder in tensors_in((args, kwargs)):
            if isinstance(placeholder, cls):
                cast(Replaying, placeholder._probe_tag.run).failed = True
        raise NotKept(f"{func} reads a frozen value bypassing torch's functions")


class Replaying(Naming):
    """A pass that skips calls on frozen values, hands out kept ones and runs the rest."""

    def __init__(
        self,
        plan: CutPlan,
        state: Mapping[int, Tag],
        values: Mapping[Name, Tensor],
        sizes: Sizes,
        extends_graph: bool = False,
        on_value: OnValue = lambda name, tensor: None,
    ) -> None:
        super().__init__(plan.names, state, on_value)
        self.plan = plan
        self._values = values
        self._sizes = sizes
        self._extends_graph = extends_graph
        self._device = next(iter(values.values())).device
        self._live = Tag(self, LIVE, [])
        # Whether a value was missing, also where the model's code caught the error.
        self.failed = False
        self._outdated: list[Tensor] = []  # what skipped calls would have written into

    def perform(self, call: TorchCall) -> Any:
        """Serve, skip or run a call, as the plan says."""
        # A call that reads anything live has no number of its own, so it is not in the
        # plan.
        again = None
        if call.number != LIVE[0]:
            again = self.plan.again.get(call.number)
        if again is False:
            return self.describe(call)
        return self.compute(call, live=again is None)

    def value_named(self, name: Name, base: Tensor | None = None) -> Tensor:
        """Return a kept value, of any shape, or a placeholder for one that is not kept."""
        tensor = self._values.get(name)
        if tensor is None:
            shape, strides = self._sizes[name]
            dtype = self.plan.shapes[name].dtype
            tensor = Tensor._make_wrapper_subclass(
                _Placeholder,
                shape,
                strides=strides,
                dtype=dtype,
                device=self._device,
                # So that what reads it bypassing torch's functions raises.
                requires_grad=self._extends_graph and dtype.is_floating_point,
            )
        self.tag(tensor, name, base)
        return tensor

    def describe(self, call: TorchCall) -> Any:
        """Return the result of a call without running it."""
        step = self.plan.steps[call.number]
        # The inputs that it would have written into get their new names, by which later
        # calls read them.
        self.overwrite(call, step.overwritten)
        for index in step.overwritten:
            tensor = call.inputs[index]
            value = self._values.get((call.number, -1 - index))
            if isinstance(tensor, _Placeholder):
                continue  # it has no memory to write to
            self._outdated = [other for other in self._outdated if other is not tensor]
            # Where the written value is not kept, nothing may read the tensor until the
            # next write.
            if value is None:
                self._outdated.append(tensor)
            else:
                tensor.copy_(value)
        leaves = [self._leaf_value(call, leaf) for leaf in step.leaves]
        return tree_unflatten(leaves, step.tree)

    def _leaf_value(self, call: TorchCall, leaf: Leaf) -> object:
        """Return a part of the value that a call would return."""
        if isinstance(leaf, PlainValue):
            return leaf.value
        if isinstance(leaf, PassedInput):
            return call.inputs[leaf.number]
        base = None if leaf.base is None else call.inputs[leaf.base]
        return self.value_named((call.number, leaf.index), base)

    def compute(self, call: TorchCall, live: bool) -> Any:
        """Run a call on real values; `live` means that it depends on trained parameters."""
        real = call
        if any(isinstance(tensor, _Placeholder) for tensor in call.inputs):
            args, kwargs = tree_map_only(
                _Placeholder, self._real, (call.args, call.kwargs)
            )
            inputs = tensors_in((args, kwargs))
            real = replace(call, args=args, kwargs=kwargs, inputs=inputs)
        bases = (alias(tensor, self._outdated) for tensor in real.inputs)
        if self._outdated and any(base is not None for base in bases):
            self.failed = True
            raise NotKept("the model reads a value that a missing one would overwrite")
        result, written = run_watched(real)
        # A placeholder and the value in its place share a tag, so that a write renames
        # both.
        call.number = LIVE[0] if live else call.number
        self.overwrite(call, written)
        for at in written:
            self.on_value((call.number, -1 - at), real.inputs[at])
        if not live:
            return self.name_result(call.number, real.inputs, result)
        for tensor in tensors_in(result):
            if not any(tensor is argument for argument in real.inputs):
                self.attach(tensor, self._live)
        return result

    def _real(self, holder: _Placeholder) -> Tensor:
        """Return the kept value that a placeholder stands for; raises NotKept if there is none."""
        name = self.name_of(holder)
        tag = holder._probe_tag
        # One object for all readers, as trained code may write into it, which the others
        # must see.
        if holder.served is not None and (holder.served_as == name or tag.name == LIVE):
            return holder.served
        if name not in self._values:
            self.failed = True
            raise NotKept("the trained part reads a frozen value that is not kept")
        tag.name = name
        tag.seen = len(tag.written)
        holder.served = self._values[name]
        holder.served_as = name
        self.attach(holder.served, tag)
        return holder.served
