"""Features: one run of one module, its dependencies, and the modules that stay in eval mode."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from probe.batch import Value, length, mapped
from probe.cut.model_call import tensors_of, without_fast_path
from probe.cut.names import INPUT, Name, Names
from probe.cut.trace import Pass, Trace, Visit
from probe.errors import InputError, unknown
from probe.modules import forget, layer, tap

_BATCH = 256  # examples whose path is followed at once


@dataclass(frozen=True)
class Feature:
    """One visit of one module, with the dependencies of its value.

    Attributes:
        name: The module's dotted name; `name#2` is the second time that it runs.
        trace: The traced model.
        position: The visit's position among all visits, from 0.
        call: The visit's number among the visits of this module, from 0.
        around: The reason why the code of the modules around it stays in eval mode too,
            empty if it does not.
        feeding: Names of the parameters and buffers that it depends on in further
            batches, see `with_dependencies_on`.
        serving: Names of the modules that run for it in further batches only.
    """

    name: str
    trace: Trace
    position: int
    call: int
    around: str = ""
    feeding: frozenset[str] = frozenset()
    serving: frozenset[str] = frozenset()

    @property
    def visit(self) -> Visit:
        """The visit that gives the feature's value."""
        return self.trace.large.visits[self.position]

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return self.visit.module

    @cached_property
    def upstream(self) -> frozenset[int]:
        """The calls that the value depends on."""
        return self.trace.large.upstream(self.visit.names)

    @cached_property
    def frozen(self) -> frozenset[str]:
        """Names of the parameters and buffers that the value depends on (W_F, Murata 2020)."""
        return self.trace.depends_on(self.upstream) | self.feeding

    @cached_property
    def readable(self) -> Names:
        """The names of the value's tensors of real numbers that have a row for each example.

        Whole numbers, such as positions or ids, are not values that a layer computes. Of
        an LSTM of packed sequences, h and c are readable; its outputs are sorted by
        the batch's lengths.
        """
        trace = self.trace
        visit = self.visit
        readable = []
        for name in visit.names:
            facts = trace.outputs.get(name)
            if facts is None or name in visit.packed or facts.dim is None:
                continue
            entries = facts.shape[facts.dim]
            if facts.dtype.is_floating_point and entries % trace.examples == 0:
                readable.append(name)
        # Without values that nothing reads, as attention's weights or an LSTM's state.
        read = {trace.large.logits}
        for call in (trace.needed & trace.large.steps.keys()) - self.upstream:
            read.update(trace.large.steps[call].parents)
        return tuple(name for name in readable if name in read) or tuple(readable)

    @cached_property
    def eval_calls(self) -> Mapping[str, Sequence[bool]]:
        """Whether each call of a module in a forward pass is in eval mode, by the module's name.

        Calls that end before the feature and are of use only for it are in eval mode.
        If a layer has state and the feature depends on any of its calls, all of its
        calls are in eval mode, so that its statistics stay.
        """
        visits = self.trace.large.visits
        steps = self.trace.large.steps
        serving = self.upstream | {INPUT[0]}
        enough = any if self.around else all
        # Modules whose forward itself calls torch for the feature, not only their children.
        workers = {
            step.owner for number, step in steps.items() if number in self.upstream
        }
        calls: dict[str, list[bool]] = {}
        for position, visit in enumerate(visits):
            module = self.trace.model.get_submodule(visit.module)
            works = visit.module in workers and not list(module.children())
            # A batch norm on both sides of the cut has one set of statistics, which
            # must stay.
            keeps = works and bool(module.state_dict(keep_vars=True))
            # A call that serves only the feature is not run when the tail is trained.
            feeds = bool(visit.names) and enough(
                name[0] in serving for name in visit.names
            )
            early = position <= self.position and feeds
            outer = not visit.module or self.module.startswith(f"{visit.module}.")
            off = keeps or early or (outer and bool(self.around))
            calls.setdefault(visit.module, []).append(off)
        # The model's own call is over only when nothing is left to train.
        if not self.around:
            calls.pop("", None)
        calls |= {name: [True] for name in self.serving}
        return {name: off for name, off in calls.items() if any(off)}

    @cached_property
    def eval_buffers(self) -> frozenset[str]:
        """Names of all buffers of the modules that are always in eval mode, including unread ones.

        Batch norm's count of batches is such an unread buffer: no value depends on it,
        and yet training must not change it.
        """
        return frozenset(
            f"{name}.{buffer}"
            for name, off in self.eval_calls.items()
            for buffer, _ in self.trace.model.get_submodule(name).named_buffers(
                recurse=False
            )
            if all(off)
        )

    def visit_in(self, run: Pass) -> Visit:
        """Return the visit that gives the feature's value in the pass of another batch.

        Raises:
            InputError: The module runs more or less often, or returns other tensors.
        """
        runs = run.runs_of(self.module)
        expected = self.trace.large.runs_of(self.module)
        ranks = [len(facts.shape) for facts in self.visit.shapes]
        if len(runs) == len(expected):
            visit = runs[self.call]
            if ranks == [len(facts.shape) for facts in visit.shapes]:
                return visit
        raise InputError(
            f"{self.name!r} runs {len(runs)} times in some batches and "
            f"{len(expected)} in others, or returns other tensors: choose a layer "
            "around or after it"
        )

    def with_dependencies_on(self, x: Value) -> Self:
        """Return the feature with all that it depends on for any of the inputs x (N, ...)."""
        feeding = set(self.feeding)
        serving = set(self.serving)
        for start in range(0, length(x), _BATCH):
            rows = slice(start, start + _BATCH)
            batch = mapped(x, itemgetter(rows))
            run = self.trace.follow(batch)
            visit = self.visit_in(run)
            upstream = run.upstream(visit.names)
            feeding |= self.trace.depends_on(upstream)
            for earlier in run.visits[: run.visits.index(visit)]:
                calls = [name[0] for name in earlier.names]
                if calls and upstream.issuperset(calls):
                    serving.add(earlier.module)
        serving -= {visit.module for visit in self.trace.large.visits}
        return replace(
            self,
            feeding=frozenset(feeding),
            serving=frozenset(serving),
        )

    @property
    def random(self) -> bool:
        """Whether the value is drawn at random, in eval mode too."""
        steps = self.trace.large.steps
        return any(steps[number].random for number in self.upstream & steps.keys())


def find(trace: Trace, name: str) -> Feature:
    """Find a feature in a trace by name: a module, with the number of its call if it has several.

    Args:
        trace: The traced model.
        name: The module, as in "layer1.0.conv1", or "drop#2" for its second call.

    Returns:
        The feature.

    Raises:
        InputError: The module does not exist, does not run, returns no tensor, or runs
            more than once and the name has no number.
    """
    modules = dict(trace.model.named_modules(remove_duplicate=False))
    dotted, _, number = (name, "", "") if name in modules else name.partition("#")
    module = layer(trace.model, dotted)
    # A module with two names is visited under its first.
    first_name = next(
        name for name, other in trace.model.named_modules() if other is module
    )
    positions = [
        i for i, visit in enumerate(trace.large.visits) if visit.module == first_name
    ]
    calls = [str(call + 1) for call in range(len(positions))]
    if not calls:
        raise InputError(
            f"feature {name!r} does not run in the forward pass: choose another one"
        )
    if not number and len(calls) > 1:
        raise InputError(
            f"feature {dotted!r} runs {len(calls)} times: choose one of "
            f"{dotted}#1 to {dotted}#{len(calls)}"
        )
    if (number or "1") not in calls:
        raise unknown("call", number, calls, f"of {dotted!r}")
    call = int(number or 1) - 1
    feature = Feature(name, trace, positions[call], call)
    if not feature.visit.names:
        raise InputError(f"feature {name!r} returns no tensor: choose another module")
    return feature


def read_at_modules(
    features: Sequence[Feature],
    x: Value,
) -> dict[Name, Tensor]:
    """Compute features as the outputs of their modules, whatever the path to them.

    Args:
        features: Features of one trace.
        x: The inputs, (B, ...).

    Returns:
        Copies of the values, by their names in the trace.

    Raises:
        InputError: A feature is not the same output for this batch.
    """
    trace = features[0].trace
    outputs: dict[str, list[list[Tensor]]] = {}

    def keep(name: str, output: object) -> None:
        with torch._C.DisableTorchFunction():  # the copies are no step of the model
            values = [tensor.clone() for tensor in tensors_of(output)]
        outputs.setdefault(name, []).append(values)

    with tap(trace.model, {feature.module for feature in features}, keep):
        run = trace.follow(x)
    value_of_name: dict[Name, Tensor] = {}
    for feature in features:
        visit = feature.visit_in(run)
        feeding = trace.depends_on(run.upstream(visit.names))
        if both := feeding & trace.trained(feature.frozen):
            raise InputError(
                f"{feature.name!r} is computed with {min(both)!r} in some batches, "
                "which is downstream of it in others: choose a layer before or after "
                "both"
            )
        values = outputs[feature.module][feature.call]
        value_of_name.update(zip(feature.visit.names, values, strict=True))
    return value_of_name


class PartlyEval(nn.Module):
    """The whole model, with a part of it in eval mode at all times.

    `requires_grad_(False)` keeps parameters from being trained, but it neither stops a
    batch norm's statistics from moving nor turns off dropout: only eval mode does.

    >>> import torch
    >>> from probe.cut.model_call import ModelCall
    >>> from probe.cut.trace import trace
    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout())
    >>> feature = find(trace(model, torch.ones(3, 2), ModelCall()), "0")
    >>> partly = PartlyEval(model, feature).train()
    >>> [module.training for module in model]
    [False, True]
    """

    def __init__(self, model: nn.Module, feature: Feature) -> None:
        super().__init__()
        self.model = model
        self.ask = feature.trace.call
        calls = feature.eval_calls
        self._off = [
            model.get_submodule(name) for name, off in calls.items() if all(off)
        ]
        self._calls = Counter[str]()  # of each module in this forward pass
        for name, off in calls.items():
            if not all(off):
                switch = partial(self._switch, name, off)
                model.get_submodule(name).register_forward_pre_hook(
                    switch, prepend=True
                )
                model.register_forward_pre_hook(self._restart, prepend=True)

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all modules except those that stay in eval mode."""
        super().train(mode)
        for module in self._off:
            module.training = False
        return self

    def forward(self, x: Value) -> Tensor:
        """Return the logits (B, K) of inputs x (B, ...)."""
        forget(self.model)
        with without_fast_path():
            return self.ask(self.model, x)

    def extend_graph(self) -> None:
        """Let frozen values require gradients.

        Reentrant checkpointing gives no gradients to weights whose input requires none.
        """
        for module in self.model.modules():
            module.register_forward_hook(_require_gradients)

    def _restart(self, model: nn.Module, inputs: object) -> None:
        """Count the calls of each module from 0 in a new forward pass."""
        self._calls.clear()

    def _switch(
        self, name: str, off: Sequence[bool], module: nn.Module, inputs: object
    ) -> None:
        """Set a module's mode before each of its calls.

        Calls beyond those seen when the model was traced use the model's mode.
        """
        module.training = self.training and not any(off[self._calls[name] :][:1])
        self._calls[name] += 1


def _require_gradients(module: nn.Module, inputs: object, output: Any) -> Any:
    return tree_map_only(Tensor, requiring_gradient, output)


def requiring_gradient(tensor: Tensor) -> Tensor:
    """Return a tensor that requires a gradient: itself or a copy; integers as they are."""
    differentiable = tensor.is_floating_point() or tensor.is_complex()
    if tensor.requires_grad or not differentiable:
        return tensor
    # A copy, as later calls may write into it.
    return tensor.detach().requires_grad_().clone()
