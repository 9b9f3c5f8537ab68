"""What is tried out on real examples before a cut is used.

The plan follows from what torch's functions show; what they do not show (numpy, a number taken out
of a tensor, state outside of modules) is looked for here. Each check rules something out:

- `planning`: that a cached row depends on the other examples of its batch;
- `Reference.stays`: that what is trained moves the feature or a cached value unseen;
- `Reference.is_same`: that prefix and tail compute anything but the model's own output;
- `Reference.same_training`: that the tail is trained by other gradients, or cannot be trained;
- `stays_fixed`: the same of a model that is run whole, because nothing of it can be cached.

A model that fails the others is run whole, one that fails the last is refused. Where features share
a pass through the model, it is made once for all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor, nn

from probe.batch import Value, close, first, flipped, identical, mapped, tensors
from probe.cut.eval_mode import PartlyEval
from probe.cut.feature import Feature
from probe.cut.model_call import tensors_of
from probe.cut.names import Name
from probe.cut.plan import CutPlan
from probe.cut.replay import Prefix, collect
from probe.cut.trace import Trace
from probe.errors import Failed, InputError
from probe.modules import forget, kept_buffers, mode, named_state, tap
from probe.seeding import global_stream, stream

_SOME, _FEW = 8, 4  # examples, and
_DRAWS = 2  # of other weights
_PASSES = 16  # training-mode passes, in which a feature that is held fixed is seen not to change


class Reference:
    """What a traced model computes as it is, to which the parts of its cuts are compared.

    features, plans: of the cuts that are compared, reasons in place of plans that there are not.
    Each pass is made once, however many the cuts are.
    """

    def __init__(
        self, trace: Trace, features: Sequence[Feature], plans: Sequence[CutPlan | str | None]
    ) -> None:
        self._trace = trace
        kept = {name for plan in plans if isinstance(plan, CutPlan) for name in plan.kept}
        self._names = kept.union(*(feature.visit.names for feature in features))
        sample = first(trace.sample, _SOME)
        self._rows = sample, first(sample, len(tensors(sample)[0]) // 2)

    @cached_property
    def _logits(self) -> list[Tensor]:
        # torch picks some kernels by whether the parameters are to be trained: as in the prefix.
        with torch.no_grad(), _plain_attention():
            return [self._trace.logits(rows) for rows in self._rows]

    @cached_property
    def _found(self) -> list[dict[Name, Tensor]]:
        with _plain_attention():
            return [collect(self._trace, self._names, rows) for rows in self._rows]

    @cached_property
    def _gradients(self) -> list[Tensor | None]:
        trace = self._trace
        forget(trace.model)
        # The buffers are given back only after the backward pass, which may need them.
        with _plain_attention(), kept_buffers(trace.model), _chance():
            rows = mapped(self._rows[1], torch.clone)
            return _gradients(trace.model, lambda: trace.call(trace.model, rows))

    @torch.no_grad()
    def is_same(self, plan: CutPlan, tail: nn.Module) -> bool:
        """Whether tail(prefix(x)) is model(x), bit for bit, for batches of two sizes, in eval mode.

        plan: of one of the cuts; tail: its tail, or what may serve in its place.
        """
        prefix = Prefix(self._trace, plan)
        with mode(tail, training=False), _plain_attention():
            # Other examples in between: the tail may not read what is left behind elsewhere.
            prefix(flipped(self._rows[1]))
            for found, expected in zip(self._found, self._logits, strict=True):
                value = mapped(prefix.rows(found), torch.clone)  # the tail may write into it
                with _chance():
                    if not identical(tail(value), expected):
                        return False
        return True

    def same_training(self, feature: Feature, plan: CutPlan, tail: PartlyEval) -> None:
        """Raise Failed unless the tail can be trained, by the gradients of the whole model.

        These are compared in eval mode, up to rounding. In training mode, where no value is to be
        compared with, a forward and backward pass must go through.
        """
        if not feature.trainable:
            return
        value = Prefix(self._trace, plan).rows(self._found[1])
        if not self._same_gradients(value, tail):
            raise Failed("the gradients of its second part are not those of the whole model")
        if len(tensors(value)[0]) > 1:  # batch norm cannot be trained on one example
            with kept_buffers(tail), _chance():
                _gradients(tail.model, lambda: tail(mapped(value, torch.clone)))

    @torch.no_grad()
    def stays(self, feature: Feature, plan: CutPlan, model: nn.Module) -> bool:
        """Whether neither the feature nor a kept value moves with what is not frozen.

        Everything else is moved, twice and far, and the values must stay the same bit for bit.
        model: a copy of the traced model, which is not what it was afterwards.
        """
        # A weight that is read by way of numpy or of a Python number is no part of a value's name.
        # All of it asks for gradients, as the traced model does: torch picks kernels by that.
        trace = replace(self._trace, model=model.eval().requires_grad_(True))
        names, before = {*plan.kept, *feature.visit.names}, self._found[1]
        for draw in range(_DRAWS):
            _perturb(model, feature.frozen, draw)
            with _plain_attention():
                after = collect(trace, names, self._rows[1])
            met = before.keys() & after.keys()
            if not names <= met or not all(identical(before[n], after[n]) for n in names):
                return False
        return True

    def _same_gradients(self, value: Value, tail: PartlyEval) -> bool:
        """Whether the tail's parameters get the gradients that they get in the whole model.

        value: what the prefix gives for the fewer examples, each tensor (B, ...).
        """
        with mode(tail, training=False), _plain_attention(), _chance():
            found = _gradients(tail.model, lambda: tail(mapped(value, torch.clone)))
        trained = [parameter.requires_grad for parameter in tail.model.parameters()]
        return all(
            (a is None) == (b is None) and (a is None or b is None or close(a, b))
            for a, b, ours in zip(self._gradients, found, trained, strict=True)
            if ours
        )


def _gradients(model: nn.Module, logits: Callable[[], Tensor]) -> list[Tensor | None]:
    """Return the gradient of each parameter, of a sum of logits (B, K) each weighted otherwise."""
    with torch.enable_grad():
        output = logits()
        if output.requires_grad:
            # A plain sum may hide a difference.
            weights = torch.linspace(-1, 1, output.numel()).to(output)
            (output * weights.view_as(output)).sum().backward()
    found = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    return found


def stays_fixed(feature: Feature, whole: PartlyEval, slow: str) -> None:
    """Raise InputError unless the whole model is the model, and its feature stays what it is.

    slow: why no values of it can be kept. The feature may change neither with what is not frozen,
    nor in training mode, nor by what training-mode passes do to buffers; seen on a copy, over a
    number of passes.
    """
    if not _gives_the_same_twice(feature, whole):
        raise InputError(
            f"cannot cut at {feature.name!r}: {slow}; and the model gives different outputs for "
            f"the same input in eval mode, so that no part of it can be held fixed"
        )
    # What the first passes do to the copy may show in the next: so one copy for all of them.
    trial = copy.deepcopy(whole)
    few = first(feature.trace.sample, _FEW)
    before = _value(feature, trial, few, training=False)
    with _chance():
        after = []
        for draw in range(_DRAWS):
            _perturb(trial.model, feature.frozen | feature.eval_buffers, draw)
            after.append(_value(feature, trial, few, training=False))
        modes = (*[True] * _PASSES, False)
        after += [_value(feature, trial, few, training) for training in modes]
    if not all(len(v) == len(before) and all(map(identical, v, before)) for v in after):
        raise InputError(
            f"cannot cut at {feature.name!r}: {slow}; and held in the whole model it does not stay "
            f"fixed while what is behind it is trained (it changes in training mode, or by "
            f"something that torch's functions do not show); make the dropout, batch norm or "
            f"branch that does it a module of its own"
        )


@torch.no_grad()
def _gives_the_same_twice(feature: Feature, whole: PartlyEval) -> bool:
    """Whether the whole model's output depends on its input alone, with others in between."""
    sample = first(feature.trace.sample, _FEW)
    outputs = []
    with mode(whole, training=False):
        for rows in (sample, flipped(sample), sample):
            with _chance():
                outputs.append(whole(mapped(rows, torch.clone)))
    return identical(outputs[0], outputs[2])


@torch.no_grad()
def _perturb(model: nn.Module, kept: frozenset[str], draw: int) -> None:
    """Move everything in a model that is not kept: floats at random, flags to their opposite."""
    own = named_state(model)
    unmoved = {id(own[name]) for name in kept if name in own}
    for name, tensor in own.items():
        if id(tensor) not in unmoved:
            if tensor.is_floating_point():
                # By columns: other numbers for each element would take most of the time.
                noise = torch.randn(2, *tensor.shape[-1:], generator=stream(draw, "perturb", name))
                factor, shift = (1.5 + noise[0]).to(tensor), (0.5 + noise[1]).to(tensor)
                torch.addcmul(shift, tensor, factor, out=tensor)
            elif tensor.dtype == torch.bool:
                tensor.logical_not_()


@torch.no_grad()
def _value(feature: Feature, whole: PartlyEval, sample: Value, training: bool) -> list[Tensor]:
    """Return the feature's value in the whole model, in eval or training mode of the tail."""
    visits: list[list[Tensor]] = []
    keep = visits.append
    with tap(whole.model, [feature.module], lambda _, o: keep([t.clone() for t in tensors_of(o)])):
        whole.train(training)(mapped(sample, torch.clone))
    return visits[feature.call] if feature.call < len(visits) else []


def _chance() -> AbstractContextManager[None]:
    """Start torch's generators from the same seed in every pass that is to be compared."""
    return global_stream(stream(0, "check"))


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Switch off the fast path of attention in eval mode, which rounds differently."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
