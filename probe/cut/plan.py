"""What a cut freezes, holds in eval mode and keeps, read off what the model computes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from probe.cut.batch_size import Growth
from probe.cut.eval_mode import Hold
from probe.cut.min_cut import frontier
from probe.cut.names import INPUT, Name
from probe.cut.replay import Script
from probe.cut.trace import Pass, Trace, Visit, follow
from probe.errors import Failed, InputError, unknown
from probe.modules import layer


@dataclass(frozen=True)
class Feature:
    """One visit of one module, and what its value depends on.

    name: as the user gave it, a dotted name and, for a module that runs more than once, the number
    of the call, counted from 1, behind a `#`; place: among all visits; call: among the module's
    own, both from 0.
    """

    name: str
    trace: Trace
    place: int
    call: int

    @property
    def visit(self) -> Visit:
        """The visit that gives the feature's value."""
        return self.trace.large.visits[self.place]

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
    def hold(self) -> Hold:
        """What stays in eval mode.

        A module does in the calls that are over once the feature is there and have served nothing
        but the feature. One with state that did any work for the feature does in all of them, so
        that its statistics stay.
        """
        visits, steps = self.trace.large.visits, self.trace.large.steps
        workers = {step.owner for number, step in steps.items() if number in self.upstream}
        calls: dict[str, list[bool]] = {}
        for at, visit in enumerate(visits):
            keeps = visit.module in workers and _is_stateful_leaf(self.trace.model, visit.module)
            early = at <= self.place and self._feeds(visit)
            calls.setdefault(visit.module, []).append(keeps or early)
        calls.pop("", None)  # the model itself is over only when nothing is left to train
        some = {name: off for name, off in calls.items() if any(off) and not all(off)}
        return Hold(
            always=frozenset(name for name, off in calls.items() if all(off)),
            calls={
                name: frozenset(n for n, o in enumerate(off) if o) for name, off in some.items()
            },
        )

    @cached_property
    def held_buffers(self) -> frozenset[str]:
        """Names of all buffers of the held modules, also of those that eval mode does not read."""
        modules = [(name, self.trace.model.get_submodule(name)) for name in self.hold.always]
        return frozenset(
            f"{name}.{buffer}"
            for name, module in modules
            for buffer, _ in module.named_buffers(recurse=False)
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

    def _feeds(self, visit: Visit) -> bool:
        calls = self.upstream | {INPUT[0]}
        return bool(visit.names) and all(name[0] in calls for name in visit.names)


_FIXED = frozenset(
    (
        *("relu", "relu_", "tanh", "sigmoid", "max_pool1d", "max_pool2d", "max_pool3d"),
        *("_max_pool1d", "_max_pool2d", "_max_pool3d", "boolean_dispatch"),
        *("avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d"),
        *("adaptive_avg_pool3d", "mean", "flatten", "view", "reshape", "permute", "transpose"),
        *("contiguous", "cat", "seen through a view"),
    )
)
_SUMS = frozenset(("add", "add_", "__add__", "__iadd__", "__radd__"))
_SIZED_BY_DATA = frozenset(
    ("nonzero", "masked_select", "unique", "unique_consecutive", "repeat_interleave")
)


def find(trace: Trace, name: str) -> Feature:
    """Find a feature in a trace.

    Raises InputError for a name that does not exist, does not run, gives no tensor, or runs more
    than once without the number of the call.
    """
    dotted, _, number = name.partition("#")
    module = layer(trace.model, dotted)
    own = next(known for known, other in trace.model.named_modules() if other is module)
    places = [at for at, visit in enumerate(trace.large.visits) if visit.module == own]
    if not places:
        raise InputError(f"feature {name!r} does not run in the model's forward pass")
    if not number and len(places) > 1:
        raise InputError(
            f"feature {dotted!r} runs {len(places)} times in one forward pass: name the call, "
            f"{dotted}#1 to {dotted}#{len(places)}"
        )
    calls = [str(at + 1) for at in range(len(places))]
    if number and number not in calls:
        raise unknown(f"call of {dotted!r}", number, calls)
    call = int(number or 1) - 1
    feature = Feature(name, trace, places[call], call)
    if not feature.visit.names:
        raise InputError(f"feature {name!r} gives no tensor")
    return feature


def script_of(feature: Feature, model: nn.Module, barred: Collection[Name]) -> Script:
    """Plan how `model`, in the modes in which it is trained, runs behind the feature.

    barred: values that must not be kept. Raises Failed if there are no others that would do.
    """
    trace = feature.trace
    rows, fewer = (trace.sample[:n] for n in trace.sizes)
    # Behind the logits nothing is trained: the modes of training do not matter.
    large = trace.large
    if feature.trainable:
        large = follow(model, trace.names, trace.state, rows, trace.output)
    if any(name not in large.forms for name in feature.visit.names):
        raise Failed("its value is computed in another way in training mode")
    _check_writes(feature, large)
    _check_sizes(feature)
    forms, others = {**trace.large.forms, **large.forms}, trace.small.forms
    if not large.forms.keys() <= others.keys():
        # What is only computed in training mode has not been seen for fewer examples.
        small = follow(model, trace.names, trace.state, fewer, trace.output)
        others = {**others, **small.forms}
    growth = {
        name: Growth.of(form, others[name], trace.sizes)
        for name, form in forms.items()
        if name in others and len(form.shape) == len(others[name].shape)
    }
    views = {name for step in large.steps.values() for name in step.views}
    costs = {
        # Of values of one size, the last; but to look at one in another way is no work to save.
        name: 2 * (grown.form.bytes // trace.sizes[0]) + (name in views)
        for name, grown in growth.items()
        if grown.dim is not None and name not in barred
    }
    found = frontier(large, feature.upstream, trace.state.keys(), costs, _steady(trace, large))
    if found is None:
        raise Failed("no values with one row per example stand between its two parts")
    steps = {**trace.large.steps, **large.steps}
    frozen = {call: trace.state[call] for call in feature.upstream & trace.state.keys()}
    writes = _writes(feature, large)
    return Script(trace.names, found.names, found.fates, steps, growth, frozen, writes)


def _steady(trace: Trace, seen: Pass) -> frozenset[int]:
    """Return the calls that do the same in training as in eval mode, now and later.

    What may hang on a number that changes with mode, time or chance is left out: only functions
    without such a number count, if they are called alike in both modes.
    """
    calls = set()
    for number, step in seen.steps.items():
        other = trace.large.steps.get(number)
        alike = other is not None and other.settings == step.settings
        tensors_alone = not any(sign.isdigit() for sign in step.settings)
        if alike and (step.function in _FIXED or (step.function in _SUMS and tensors_alone)):
            calls.add(number)
    return frozenset(calls)


def _writes(feature: Feature, seen: Pass) -> bool:
    """Whether anything behind the feature writes in place; batch norm does, but into buffers."""
    behind = [step for number, step in seen.steps.items() if number not in feature.upstream]
    written = {step.parents[at][0] for step in behind for at in step.overwritten}
    return not written <= feature.trace.state.keys()


def _check_sizes(feature: Feature) -> None:
    """Raise Failed if the size of a value on the way to the feature depends on the data."""
    steps, forms = feature.trace.large.steps, feature.trace.large.forms
    for step in (steps[number] for number in feature.upstream & steps.keys()):
        masked = step.function == "__getitem__" and any(
            name in forms and forms[name].dtype in (torch.bool, torch.uint8)
            for name in step.parents[1:]
        )
        if (
            masked
            or step.function in _SIZED_BY_DATA
            or (step.function == "where" and len(step.parents) == 1)
        ):
            raise Failed("the size of a value on the way to it depends on the data")


def _check_writes(feature: Feature, seen: Pass) -> None:
    """Raise Failed if training the rest writes to what the feature depends on."""
    for number, step in seen.steps.items():
        written = {step.parents[at][0] for at in step.overwritten} & feature.upstream
        if number not in feature.upstream and written & feature.trace.state.keys():
            raise Failed("training what is behind it writes to a buffer that it depends on")


def _is_stateful_leaf(model: nn.Module, name: str) -> bool:
    module = model.get_submodule(name)
    return not list(module.children()) and bool(module.state_dict(keep_vars=True))
