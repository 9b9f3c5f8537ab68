"""What is tried out on real examples before a cut is used.

The plan follows from what torch's functions show; what they do not show (numpy, a number taken out
of a tensor, state outside of modules) is looked for here. Each check rules something out:

- `plan_unmixed`: that a cached row depends on the other examples of its batch;
- `unmoved_by_the_rest`: that what is trained moves the feature or a cached value unseen;
- `same_computation`: that the tail computes anything but the model's own output and gradients;
- `stays_fixed`: the same of a model that is run whole, because nothing of it can be cached.

A model that fails the first three is run whole, one that fails the last is refused.
"""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from probe.cut.eval_mode import PartlyEval
from probe.cut.feature import Feature
from probe.cut.names import Name
from probe.cut.outputs import logits_of, tensors_of
from probe.cut.plan import CutPlan, plan_cut
from probe.cut.replay import Prefix, collect
from probe.cut.trace import Trace
from probe.errors import Failed, InputError
from probe.modules import kept_buffers, mode, named_state, tap
from probe.seeding import global_stream, stream

_TRIES = 12  # at finding values that are each example's own
_FEW = 8  # examples, and
_DRAWS = 4  # of other weights
_PASSES = 16  # training-mode passes, in which a feature that is held fixed is seen not to change


def same_computation(feature: Feature, prefix: Prefix, tail: nn.Module, whole: PartlyEval) -> None:
    """Raise Failed unless prefix and tail compute what the model does, forward and backward.

    Logits bit for bit and gradients up to rounding, in eval mode. In training mode, where no value
    is to be compared with, a forward and backward pass must go through.
    """
    if not is_same(prefix, tail):
        raise Failed("its two parts together do not give the model's output")
    sample = feature.trace.sample[:_FEW]
    if not _same_gradients(feature, prefix, tail, whole):
        raise Failed("the gradients of its second part are not those of the whole model")
    if not feature.trainable:
        return
    with kept_buffers(tail), _chance(), torch.enable_grad():
        for rows in (sample, sample[: len(sample) // 2], sample):
            if len(rows) > 1:  # batch norm cannot be trained on one example
                output = tail(prefix(rows))
                if output.requires_grad:
                    output.sum().backward()
                    tail.zero_grad()


@torch.no_grad()
def is_same(prefix: Prefix, tail: nn.Module) -> bool:
    """Whether tail(prefix(x)) is model(x), bit for bit, for batches of two sizes in eval mode."""
    # The traced model: torch picks some kernels by whether the parameters are to be trained.
    sample, model = prefix.trace.sample, prefix.trace.model
    with mode(tail, training=False), _plain_attention(), kept_buffers(model):
        for rows in (sample, sample[: len(sample) // 2 or 1]):
            with _chance():
                expected = logits_of(model(rows.clone()), prefix.trace.output)
            value = prefix(rows)
            # Other examples in between: the tail may not read what is left behind elsewhere.
            prefix(rows.flip(0))
            with _chance():
                if not identical(tail(value), expected):
                    return False
    return True


def plan_unmixed(feature: Feature, model: nn.Module, mixed: set[Name], own: set[Name]) -> CutPlan:
    """Plan a cut such that each kept row belongs to one example; see `plan_cut`.

    mixed, own: the values known to mix examples, and those known not to; what is found out is added
    to them. Raises Failed if no such plan is found.
    """
    for _ in range(_TRIES):
        plan = plan_cut(feature, model, mixed)
        kept = set(plan.kept)
        found = set() if kept <= own else _mixed_rows(feature.trace, plan)
        own |= kept - found
        mixed |= found
        if not found:
            return plan
        # Before what mixes examples, or behind it, there may be values that do not.
    raise Failed("the values of an example depend on the other examples of its batch")


@torch.no_grad()
def _mixed_rows(trace: Trace, plan: CutPlan) -> set[Name]:
    """Return the kept values that depend on the other examples of the batch, or on their number.

    Seen on the whole sample, on its first half and on all of it turned around: the rows of an
    example must be the same, up to rounding.
    """
    kept, sample = set(plan.kept), trace.sample
    half = sample[: len(sample) // 2 or 1]
    values, fewer, turned = (collect(trace, kept, x) for x in (sample, half, sample.flip(0)))
    mixed = kept - (values.keys() & fewer.keys() & turned.keys())
    for name in kept - mixed:
        shape = plan.shapes[name]
        rows, first, last = (shape.to_rows(each[name]) for each in (values, fewer, turned))
        if not (_close(rows[: len(half)], first) and _close(rows, last.flip(0))):
            mixed.add(name)
    return mixed


def unmoved_by_the_rest(feature: Feature, plan: CutPlan) -> None:
    """Raise Failed if what is not frozen moves the feature or a kept value.

    Everything else is moved, several times and far, and the values must stay the same bit for bit.
    """
    # A weight that is read by way of numpy or of a Python number is no part of a value's name.
    trace = replace(feature.trace, model=copy.deepcopy(feature.trace.model))
    names = {*plan.kept, *feature.visit.names}
    few = trace.sample[:_FEW]
    before = collect(trace, names, few)
    for draw in range(_DRAWS):
        _perturb(trace.model, feature.frozen, draw)
        after = collect(trace, names, few)
        met = before.keys() & after.keys()
        if met != names or not all(identical(before[name], after[name]) for name in names):
            raise Failed("its value depends on something that torch's functions do not show")


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
    few = feature.trace.sample[:_FEW]
    first = _value(feature, trial, few, training=False)
    with _chance():
        after = []
        for draw in range(_DRAWS):
            _perturb(trial.model, feature.frozen | feature.eval_buffers, draw)
            after.append(_value(feature, trial, few, training=False))
        modes = (*[True] * _PASSES, False)
        after += [_value(feature, trial, few, training) for training in modes]
    if not all(len(v) == len(first) and all(map(identical, v, first)) for v in after):
        raise InputError(
            f"cannot cut at {feature.name!r}: {slow}; and held in the whole model it does not stay "
            f"fixed while what is behind it is trained (it changes in training mode, or by "
            f"something that torch's functions do not show); make the dropout, batch norm or "
            f"branch that does it a module of its own"
        )


def identical(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of any shape are equal bit for bit, NaN where NaN.

    >>> identical(torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]))
    True
    """
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def _same_gradients(feature: Feature, prefix: Prefix, tail: nn.Module, whole: PartlyEval) -> bool:
    """Whether the tail's parameters get the gradients that they get in the whole model."""
    few = feature.trace.sample[:_FEW]
    found = []
    with mode(whole, training=False), mode(tail, training=False), _plain_attention():
        for part, x in ((whole, few.clone()), (tail, prefix(few))):
            with torch.enable_grad(), _chance():
                output = part(x)
                if output.requires_grad:
                    # Another weight for each logit: a sum of them all may hide a difference.
                    weights = torch.linspace(-1, 1, output.numel()).to(output)
                    (output * weights.view_as(output)).sum().backward()
            # The tail trains the tensors of `whole`, so both passes leave their gradients there.
            found.append([p.grad for p in whole.model.parameters()])
            whole.zero_grad()
    return all(
        (a is None) == (b is None) and (a is None or b is None or _close(a, b))
        for a, b in zip(*found, strict=True)
    )


@torch.no_grad()
def _gives_the_same_twice(feature: Feature, whole: PartlyEval) -> bool:
    """Whether the whole model's output depends on its input alone, with others in between."""
    sample = feature.trace.sample[:_FEW]
    outputs = []
    with mode(whole, training=False):
        for rows in (sample, sample.flip(0), sample):
            with _chance():
                outputs.append(whole(rows.clone()))
    return identical(outputs[0], outputs[2])


@torch.no_grad()
def _perturb(model: nn.Module, kept: frozenset[str], draw: int) -> None:
    """Move everything in a model that is not kept: floats at random, flags to their opposite."""
    own = named_state(model)
    unmoved = {id(own[name]) for name in kept if name in own}
    for name, tensor in own.items():
        if id(tensor) not in unmoved:
            if tensor.is_floating_point():
                noise = torch.randn(tensor.shape, generator=stream(draw, "perturb", name))
                tensor.add_((0.5 + noise).to(tensor))
            elif tensor.dtype == torch.bool:
                tensor.logical_not_()


@torch.no_grad()
def _value(feature: Feature, whole: PartlyEval, sample: Tensor, training: bool) -> list[Tensor]:
    """Return the feature's value in the whole model, in eval or training mode of the tail."""
    visits: list[list[Tensor]] = []
    keep = visits.append
    with tap(whole.model, [feature.module], lambda _, o: keep([t.clone() for t in tensors_of(o)])):
        whole.train(training)(sample.clone())
    return visits[feature.call] if feature.call < len(visits) else []


def _close(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are equal up to the rounding of sums in another order."""
    if a.shape != b.shape or not a.is_floating_point():
        return identical(a, b)
    scale = float(a.abs().nan_to_num().max()) if a.numel() else 0.0
    return torch.allclose(a, b, rtol=1e-3, atol=1e-5 + 1e-4 * scale, equal_nan=True)


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
