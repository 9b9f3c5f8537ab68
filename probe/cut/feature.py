"""A feature: one run of one module, what its value depends on, and what must stay in eval mode."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from torch import nn

from probe.cut.eval_mode import EvalCalls
from probe.cut.names import INPUT
from probe.cut.trace import Trace, Visit
from probe.errors import InputError, unknown
from probe.modules import layer


@dataclass(frozen=True)
class Feature:
    """One visit of one module, and what its value depends on.

    - name: as the user gave it, a module's dotted name; `name#2` is the second time that it runs;
    - trace: of the model;
    - at: the visit's number among all visits, from 0;
    - call: its number among the module's own, from 0;
    - around: whether the code of the modules around it stays in eval mode, too: where that code
      does something else in training mode on the way to the feature.
    """

    name: str
    trace: Trace
    at: int
    call: int
    around: bool = False

    @property
    def visit(self) -> Visit:
        """The visit that gives the feature's value."""
        return self.trace.large.visits[self.at]

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
        return self.trace.depends_on(self.upstream)

    @cached_property
    def eval_calls(self) -> EvalCalls:
        """What stays in eval mode, of the modules that do in any of their calls.

        A module does in the calls that are over once the feature is there and have served nothing
        but the feature. One with state that did any work for the feature does in all of them, so
        that its statistics stay.
        """
        visits, steps = self.trace.large.visits, self.trace.large.steps
        # The modules whose own code, not that of their children, computes for the feature.
        workers = {step.owner for number, step in steps.items() if number in self.upstream}
        calls: dict[str, list[bool]] = {}
        for at, visit in enumerate(visits):
            # A batch norm on both sides of the cut has one set of statistics, which must stay.
            keeps = visit.module in workers and _is_stateful_leaf(self.trace.model, visit.module)
            # What has served nothing but the feature is never run again when the tail is trained.
            early = at <= self.at and self._feeds(visit, any if self.around else all)
            outer = self.around and self._surrounds(visit.module)
            calls.setdefault(visit.module, []).append(keeps or early or outer)
        if not self.around:
            calls.pop("", None)  # the model itself is over only when nothing is left to train
        return {name: off for name, off in calls.items() if any(off)}

    @cached_property
    def eval_buffers(self) -> frozenset[str]:
        """Names of all buffers of the modules that are always in eval mode, also unread ones.

        Batch norm's count of batches is such a buffer: no value depends on it, and yet training
        must not move it.
        """
        return frozenset(
            f"{name}.{buffer}"
            for name, off in self.eval_calls.items()
            for buffer, _ in self.trace.model.get_submodule(name).named_buffers(recurse=False)
            if all(off)
        )

    @property
    def trainable(self) -> bool:
        """Whether the logits depend on any parameter that the feature does not depend on."""
        parameters = dict(self.trace.model.named_parameters(remove_duplicate=False)).keys()
        return bool((self.trace.behind_logits - self.frozen) & parameters)

    @property
    def random(self) -> bool:
        """Whether the value is drawn at random, in eval mode too."""
        steps = self.trace.large.steps
        return any(steps[number].random for number in self.upstream & steps.keys())

    def _surrounds(self, module: str) -> bool:
        return not module or self.module.startswith(f"{module}.")

    def _feeds(self, visit: Visit, enough: Callable[[Iterable[bool]], bool]) -> bool:
        """Whether all, or any, that a visit gives goes into the feature, computed for it."""
        calls = self.upstream | {INPUT[0]}
        return bool(visit.names) and enough(name[0] in calls for name in visit.names)


def find(trace: Trace, name: str) -> Feature:
    """Find a feature in a trace; name: "layer1.0.conv1", or "drop#2" for a module's second call.

    Raises InputError for a name that does not exist, does not run, gives no tensor, or runs more
    than once without the number of the call.
    """
    dotted, _, number = name.partition("#")
    module = layer(trace.model, dotted)
    # A module with two names is visited under its first.
    own = next(known for known, other in trace.model.named_modules() if other is module)
    visits = [at for at, visit in enumerate(trace.large.visits) if visit.module == own]
    if not visits:
        raise InputError(f"feature {name!r} does not run in the model's forward pass")
    if not number and len(visits) > 1:
        raise InputError(
            f"feature {dotted!r} runs {len(visits)} times in one forward pass: name the call, "
            f"{dotted}#1 to {dotted}#{len(visits)}"
        )
    calls = [str(at + 1) for at in range(len(visits))]
    if number and number not in calls:
        raise unknown(f"call of {dotted!r}", number, calls)
    call = int(number or 1) - 1
    feature = Feature(name, trace, visits[call], call)
    if not feature.visit.names:
        raise InputError(f"feature {name!r} gives no tensor")
    return feature


def _is_stateful_leaf(model: nn.Module, name: str) -> bool:
    """Whether a module has no children, and parameters or buffers: a layer, a norm."""
    module = model.get_submodule(name)
    return not list(module.children()) and bool(module.state_dict(keep_vars=True))
