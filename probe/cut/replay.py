"""Run a model's own forward pass with its frozen part served from a cache, not computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only, tree_unflatten

from probe.cut.batch_size import Growth
from probe.cut.eval_mode import Held, Hold
from probe.cut.min_cut import Fate
from probe.cut.names import INPUT, LIVE, Call, Name, Names, Naming, Tag, alias, attach, watched
from probe.cut.outputs import Output, logits_of
from probe.cut.trace import State, Step, Trace, state_tags
from probe.errors import InputError
from probe.examples import Value
from probe.modules import kept_buffers, named_state, tensors_in
from probe.seeding import global_stream, stream

_Forms = Mapping[Name, tuple[tuple[int, ...], tuple[int, ...]]]


class NotKept(InputError):
    """The tail needs a frozen value that is not in the cache."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: the model takes another path than when it was cut")


@dataclass(frozen=True)
class Script:
    """What a replay goes by.

    kept: the values that are handed out; fates, steps: what becomes of a call, and its description,
    by its number; growth: the form of each value; frozen: the parameters and buffers that are;
    writes: whether the tail writes in place, and so perhaps into what it is given.
    """

    names: Names
    kept: tuple[Name, ...]
    fates: Mapping[int, Fate]
    steps: Mapping[int, Step]
    growth: Mapping[Name, Growth]
    frozen: State
    writes: bool


@torch.no_grad()
def collect(trace: Trace, names: Collection[Name], x: Tensor) -> dict[Name, Tensor]:
    """Run the traced model on `x` (B, ...) as far as needed and return copies of named values.

    The input, if it is among them, is handed out as it is; what is not computed is left out.
    """
    given = {name: x.detach() for name in names if name == INPUT}
    wanted = set(names) - {INPUT}
    if not wanted:
        return given
    run = _Collecting(trace.names, state_tags(trace.model, trace.state), wanted)
    x = x.clone()  # a model may write into its input
    run.tag(x, INPUT)
    plain = torch.autocast(x.device.type, enabled=False)  # whatever the caller is under
    try:
        with plain, kept_buffers(trace.model), run, global_stream(stream(0, "collect")):
            trace.model(x)
    except _Done:
        pass
    return {**given, **run.found}


class Replay(Held):
    """The model's own forward, run on kept values without what computes them."""

    def __init__(self, model: nn.Module, hold: Hold, output: Output, script: Script) -> None:
        super().__init__(model, hold, output)
        self._script = script
        self._tags: dict[int, Tag] = {}
        self._tags_of = 0
        self._tagged: list[Tensor] = []
        self._forms: _Forms = {}
        self._batch = 0

    def forward(self, x: Value) -> Tensor:
        """Return the logits (B, K) from the kept values of B examples."""
        rows = (x,) if isinstance(x, Tensor) else x
        growth = self._script.growth
        kept = zip(self._script.kept, rows, strict=True)
        values = {name: growth[name].from_rows(part) for name, part in kept}
        if self._script.writes:
            values = {name: value.clone() for name, value in values.items()}
        run = _Replaying(self._script, self._state_tags(), values, self._forms_for(len(rows[0])))
        start = run.value_named(INPUT)
        with run:
            return logits_of(self.model(start), self.output)

    def _forms_for(self, batch: int) -> _Forms:
        if batch != self._batch:
            growth = self._script.growth
            self._forms = {name: value.at(batch) for name, value in growth.items()}
            self._batch = batch
        return self._forms

    def _state_tags(self) -> dict[int, Tag]:
        # A copy of this module has other tensors, which are known by their ids.
        if self._tags_of != id(self.model):
            live = Tag(None, LIVE, [])
            self._tagged = list(named_state(self.model).values())  # alive: their ids are theirs
            own = {id(tensor): live for tensor in self._tagged}
            self._tags = {**own, **state_tags(self.model, self._script.frozen)}
            self._tags_of = id(self.model)
        return self._tags


class Prefix(nn.Module):
    """What computes the kept values: the traced model, run as far as needed, in eval mode."""

    def __init__(self, trace: Trace, script: Script) -> None:
        super().__init__()
        self.model = trace.model
        self.script = script
        self.trace = trace

    def train(self, mode: bool = True) -> Self:
        """Stay in eval mode."""
        return self

    def forward(self, x: Tensor) -> Value:
        """Return the kept values of inputs x (B, ...)."""
        return self.rows(collect(self.trace, self.script.kept, x))

    def rows(self, found: Mapping[Name, Tensor]) -> Value:
        """Return the kept values among those found, examples first."""
        growth = self.script.growth
        if any(name not in found for name in self.script.kept):
            raise NotKept("a value that is to be kept is not computed")
        first, *others = (growth[name].to_rows(found[name]) for name in self.script.kept)
        return (first, *others) if others else first


class _Done(Exception):
    """All that is wanted has been found."""


class _Collecting(Naming):
    """Runs everything and keeps copies of some values, then stops."""

    def __init__(self, names: Names, state: Mapping[int, Tag], wanted: Collection[Name]) -> None:
        super().__init__(names, state)
        self._wanted = set(wanted)
        self.found: dict[Name, Tensor] = {}

    def met(self, name: Name, tensor: Tensor) -> None:
        if name in self._wanted:
            self._wanted.remove(name)
            # Copied at once: an in-place operation may overwrite it.
            self.found[name] = tensor.clone()
            if not self._wanted:
                raise _Done


class _Placeholder(Tensor):
    """A frozen value that was not computed; `served`: the kept value, once it was needed."""

    served: Tensor | None
    served_as: Name
    _probe_tag: Tag

    @staticmethod
    def __new__(
        cls,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: torch.dtype,
        device: torch.device,
    ) -> _Placeholder:
        made = Tensor._make_wrapper_subclass(
            cls, shape, strides=strides, dtype=dtype, device=device
        )
        made.served, made.served_as = None, LIVE
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: object, types: object, args: object = (), kwargs: object = None
    ) -> Any:
        raise NotKept(f"{func} reads a frozen value behind torch's functions")


class _Replaying(Naming):
    """Skips the calls on frozen values, hands out what is kept, runs the rest."""

    def __init__(
        self,
        script: Script,
        state: Mapping[int, Tag],
        values: Mapping[Name, Tensor],
        forms: _Forms,
    ) -> None:
        super().__init__(script.names, state)
        self._script = script
        self._values = values
        self._forms = forms
        self._device = next(iter(values.values())).device
        self._live = Tag(self, LIVE, [])
        self._outdated: list[Tensor] = []  # what skipped calls would have written into

    def perform(self, call: Call) -> Any:
        fate = None if call.number == LIVE[0] else self._script.fates.get(call.number)
        if fate is Fate.SKIP or fate is Fate.SERVE:
            return self._describe(call)
        return self._compute(call, live=fate is None)

    def value_named(self, name: Name, base: Tensor | None = None) -> Tensor:
        """Return a kept value, or a placeholder for one that is not."""
        tensor = self._values.get(name)
        if tensor is None:
            shape, strides = self._forms[name]
            dtype = self._script.growth[name].form.dtype
            tensor = _Placeholder(shape, strides, dtype, self._device)
        self.tag(tensor, name, base)
        return tensor

    def _describe(self, call: Call) -> Any:
        """Return what a call would return, without running it."""
        step = self._script.steps[call.number]
        self.overwrite(call, step.overwritten)
        for at in step.overwritten:
            self._pretend_to_write(call.inputs[at], (call.number, -1 - at))
        leaves = []
        for kind, what, *shares in step.leaves:
            if kind == "new":
                base = None if shares[0] is None else call.inputs[shares[0]]
                leaves.append(self.value_named((call.number, what), base))
            else:
                leaves.append(call.inputs[what] if kind == "given" else what)
        return tree_unflatten(leaves, step.tree)

    def _pretend_to_write(self, tensor: Tensor, name: Name) -> None:
        if not isinstance(tensor, _Placeholder):
            self._outdated = [other for other in self._outdated if other is not tensor]
            if name in self._values:
                tensor.copy_(self._values[name])
            else:
                self._outdated.append(tensor)

    def _compute(self, call: Call, live: bool) -> Any:
        """Run a call on the values themselves; `live`: it is, or depends on, what is trained."""
        args, kwargs, inputs = call.args, call.kwargs, call.inputs
        if any(isinstance(tensor, _Placeholder) for tensor in inputs):
            args, kwargs = tree_map_only(_Placeholder, self._real, (args, kwargs))
            inputs = tensors_in((args, kwargs))
        if self._outdated and any(alias(t, self._outdated) is not None for t in inputs):
            raise NotKept("a value is read that was to be overwritten by one that is not kept")
        result, written = watched(call.function, args, kwargs, inputs)
        self.overwrite(replace(call, number=LIVE[0]) if live else call, written)
        if not live:
            return self.name_result(call.number, inputs, result)
        for tensor in tensors_in(result):
            if not any(tensor is given for given in inputs):
                attach(tensor, self._live)
        return result

    def _real(self, holder: _Placeholder) -> Tensor:
        """Return what a placeholder stands for."""
        name = self.name_of(holder)
        tag = holder._probe_tag
        if holder.served is not None and (holder.served_as == name or tag.name == LIVE):
            return holder.served
        if name not in self._values:
            raise NotKept("a frozen value that is not kept is read by what is trained")
        tag.name, tag.seen = name, len(tag.written)
        holder.served, holder.served_as = self._values[name], name
        attach(holder.served, tag)
        return holder.served
