"""Checks of a cut on real examples, before it is used.

The plan of a cut follows from the torch functions that the model calls. These checks
catch effects that the functions do not show: numpy, numbers taken out of tensors, state
outside of modules. Each check rules out one error:

- `plan`: a cached row depends on the other examples of its batch;
- `ReferenceValues.stays`: training changes the feature or a cached value;
- `ReferenceValues.is_same`: prefix and tail compute something else than the model's
  output;
- `ReferenceValues.check_training`: the tail gets other gradients, or cannot be trained;
- `same_gradients`: in training mode, weights get other gradients where the values that
  they are applied to require none, as with reentrant checkpointing;
- `check_stays_fixed`: the feature changes although the whole model is run, with nothing
  cached.

A model that fails `check_stays_fixed` is refused; one that fails another check is run in
full. The features share their forward passes.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction

from probe.batch import Value, close, first, flipped, identical, length, mapped
from probe.cut.feature import Feature, PartlyEval
from probe.cut.model_call import tensors_of
from probe.cut.names import Name
from probe.cut.plan import CutPlan, Plans
from probe.cut.replay import Prefix
from probe.cut.trace import Trace, collect
from probe.errors import Failed, InputError, described
from probe.modules import (
    copied,
    forget,
    innermost,
    kept_buffers,
    mode,
    named_state,
    reals_in,
    tap,
)
from probe.seeding import every_global_stream, global_stream, stream

_SOME = 8  # examples
_FEW = 4  # examples, where the whole model is run
_DRAWS = 2  # of other weights
_PASSES = (
    16  # passes in training mode, in which a feature that is held fixed must not change
)


class ReferenceValues:
    """The values of a traced model, with which the parts of its cuts are compared.

    Each pass is made once. Use it within `comparing`.

    Args:
        trace: The traced model.
        plans: The features of the cuts, each with its plan or the reason why it has
            none.
    """

    def __init__(self, trace: Trace, plans: Plans) -> None:
        self._trace = trace
        self._names = set[Name]()
        for feature, plan in plans:
            self._names.update(feature.visit.names)
            if isinstance(plan, CutPlan):
                self._names.update(plan.kept)
        sample = first(trace.sample, _SOME)
        # Batch norm cannot be trained on one example.
        half = max(2, length(sample) // 2)
        self._rows = sample, first(sample, half)

    @cached_property
    def has_own_backward(self) -> bool:
        """Whether code with its own backward pass runs in training mode, as in checkpointing."""
        model = copied(self._trace.model).train()
        rows = mapped(self._rows[0], torch.clone)
        with torch.enable_grad(), _seeded():
            logits = self._trace.call(model, rows)
        nodes = [logits.grad_fn]
        seen = set[object]()
        while nodes:
            node = nodes.pop()
            if isinstance(node, BackwardCFunction):
                return True
            if node is not None and node not in seen:
                seen.add(node)
                nodes += [parent for parent, _ in node.next_functions]
        return False

    def kept(self, plan: CutPlan) -> Value:
        """Return the kept values of half of the examples, (B, ...)."""
        return plan.rows(self._values[1])

    @cached_property
    @torch.no_grad()  # as in the prefix: torch picks some kernels by whether gradients are needed
    def _logits(self) -> list[Tensor]:
        return [self._trace.logits(rows) for rows in self._rows]

    @cached_property
    def _values(self) -> list[dict[Name, Tensor]]:
        return [collect(self._trace, self._names, rows) for rows in self._rows]

    @cached_property
    def _gradients(self) -> list[Tensor | None]:
        """Each parameter's gradient in the whole model, on half of the examples."""
        model = self._trace.model
        rows = mapped(self._rows[1], torch.clone)
        forget(model)
        # The buffers are given back only after the backward pass, which may need them.
        with kept_buffers(model), _seeded():
            return _gradients(model, lambda: self._trace.call(model, rows))

    @cached_property
    @torch.no_grad()
    def repeats(self) -> bool:
        """Whether the model repeats its logits for the same examples after running others."""
        before, _ = self._logits
        return identical(self._trace.logits(self._rows[0]), before)

    @torch.no_grad()
    def is_same(self, plan: CutPlan, tail: nn.Module) -> bool:
        """Return whether tail(prefix(x)) equals model(x) bit for bit, in eval mode at two sizes.

        Args:
            plan: The plan of one of the cuts.
            tail: The tail of the cut, or a module to use in its place.

        Returns:
            Whether they are equal.
        """
        # Other examples in between, so that the tail cannot read what the last pass left
        # in the model.
        Prefix(self._trace, plan)(flipped(self._rows[1]))
        with mode(tail, training=False):
            for values, expected in zip(self._values, self._logits, strict=True):
                # A copy: the tail may write into it.
                value = mapped(plan.rows(values), torch.clone)
                with _seeded():
                    if not identical(tail(value), expected):
                        return False
        return True

    def check_training(
        self,
        feature: Feature,
        plan: CutPlan,
        tail: PartlyEval,
    ) -> None:
        """Check that the tail can be trained, with the gradients of the whole model.

        Gradients are compared in eval mode, up to rounding; in training mode, a forward
        and a backward pass must succeed.

        Args:
            feature: The feature.
            plan: The plan of its cut.
            tail: The tail.

        Raises:
            Failed: The tail cannot be trained, or its gradients differ.
        """
        if not self._trace.trained(feature.frozen):
            return
        value = self.kept(plan)
        with mode(tail, training=False), _seeded():
            gradients = _gradients(tail.model, lambda: tail(mapped(value, torch.clone)))
        rows = zip(tail.model.parameters(), self._gradients, gradients, strict=True)
        for parameter, expected, gradient in rows:
            if parameter.requires_grad and not _close(expected, gradient):
                raise Failed(
                    "the gradients of its second part differ from those of the whole "
                    "model"
                )
        with kept_buffers(tail), _seeded():
            _gradients(tail.model, lambda: tail(mapped(value, torch.clone)))

    @torch.no_grad()
    def stays(self, feature: Feature, plan: CutPlan) -> bool:
        """Return whether the feature and all cached values stay the same while the rest changes.

        All weights that are not frozen are moved to other values, drawn twice; the
        feature and the cached values of the first half of the sample must stay the
        same bit for bit.

        Args:
            feature: The feature.
            plan: The plan of its cut.

        Returns:
            Whether they stay the same.

        Raises:
            Failed: The model does not accept other weights.
        """
        names = {*plan.kept, *feature.visit.names}
        before = self._values[1]

        def same(trial: nn.Module, far: float) -> bool:
            """Return whether the values stay while a copy's other weights move by `far`."""
            # A value could depend, by way of numpy, on a weight that its name does not
            # hold. All weights require gradients, as in the traced model: torch picks
            # kernels by that.
            trace = replace(self._trace, model=trial)
            for draw in range(_DRAWS):
                _perturb(trial, feature.frozen, draw, far)
                after = collect(trace, names, self._rows[1])
                if not names <= before.keys() & after.keys():
                    return False
                if not all(identical(before[name], after[name]) for name in names):
                    return False
            return True

        return _holds_with_other_weights(self._trace.model, same)


def same_gradients(module: PartlyEval, other: PartlyEval, value: Value) -> bool:
    """Return whether two copies of a tail, or of the whole model, get the same gradients.

    Forward and backward passes must succeed in training mode.

    Args:
        module: A copy in training mode that no pass has changed yet.
        other: Another such copy.
        value: The value that they take, (B, ...).
    """

    def gradients(copy: PartlyEval) -> list[Tensor | None]:
        with every_global_stream(stream(0, "check")):
            every = _gradients(copy.model, lambda: copy(mapped(value, torch.clone)))
        parameters = zip(copy.model.parameters(), every, strict=True)
        return [gradient for p, gradient in parameters if p.requires_grad]

    return all(map(_close, gradients(module), gradients(other)))


def _close(expected: Tensor | None, gradient: Tensor | None) -> bool:
    """Return whether two gradients are equal up to rounding, or both missing."""
    if expected is None or gradient is None:
        return expected is gradient
    return close(expected, gradient)


def _gradients(model: nn.Module, logits: Callable[[], Tensor]) -> list[Tensor | None]:
    """Return each parameter's gradient of a weighted sum of the logits (B, K)."""
    with torch.enable_grad():
        output = logits()
        if output.requires_grad:
            # A plain sum may hide a difference.
            weights = torch.linspace(-1, 1, output.numel(), device="cpu").to(output)
            (output * weights.view_as(output)).sum().backward()
    gradients = [
        None if p.grad is None else p.grad.to_dense() for p in model.parameters()
    ]
    model.zero_grad()
    return gradients


def check_stays_fixed(
    feature: Feature,
    model: PartlyEval,
    slow: str,
) -> None:
    """Check that the feature has the same value every time, whatever is trained.

    It must not change with parameters that are not frozen, in training mode, or with
    buffers that forward passes in training mode update. A copy of the model is used.

    Args:
        feature: The feature.
        model: The model.
        slow: The reason why none of the values can be cached, for the message.

    Raises:
        InputError: The feature changes.
    """
    sample = first(feature.trace.sample, _FEW)
    refusal = f"cannot cut at {feature.name!r}: {slow}"
    values = []
    for rows in (sample, flipped(sample), sample):
        with _seeded():
            values.append(_value(feature, model, rows, training=False))
    before = values[2]
    model.train()
    if not _same(values[0], before):
        raise InputError(
            f"{refusal}; and its value differs for the same input: choose another"
        )

    def stays(trial: PartlyEval, far: float) -> bool:
        """Return whether the value stays while a copy's other weights move, and while it trains."""
        # One copy for all passes: what one does to it may show in the next.
        with _seeded():
            after = []
            for draw in range(_DRAWS):
                _perturb(trial.model, feature.frozen | feature.eval_buffers, draw, far)
                after.append(_value(feature, trial, sample, training=False))
            modes = (*[True] * _PASSES, False)
            after += [_value(feature, trial, sample, training) for training in modes]
        return all(_same(value, before) for value in after)

    try:
        fixed = _holds_with_other_weights(model, stays)
    except Failed as failure:
        raise InputError(
            f"{refusal}; and {failure}: only read it out (readouts=['linear'])"
        ) from failure
    if not fixed:
        raise InputError(
            f"{refusal}; and in the whole model its value does not stay fixed (it "
            "changes in training mode, or through code outside torch's functions): "
            "move the dropout, batch norm or branch that changes it into a module of "
            "its own"
        )


def _same(values: list[Tensor], others: list[Tensor]) -> bool:
    """Return whether two lists of tensors are equal bit for bit."""
    return len(values) == len(others) and all(map(identical, values, others))


def _holds_with_other_weights(
    model: nn.Module, holds: Callable[[Any, float], bool]
) -> bool:
    """Return whether a property holds for a copy of the model with other weights.

    `holds` moves the copy's weights by the distance that it is called with. If the model
    does not run with weights moved far, they are hardly moved; raises Failed if it does
    not run then either.
    """
    raised = ""
    for far in (1.0, 0.01):
        try:
            return holds(copied(model), far)
        except Exception as error:  # the user's code, which need not take any weights
            raised = described(error)
    raise Failed(f"with other weights downstream of it the model raises {raised}")


@torch.no_grad()
def _perturb(
    model: nn.Module,
    held: frozenset[str],
    draw: int,
    far: float,
) -> None:
    """Move everything in a model that is not held: floats at random, flags to their opposite."""
    state = named_state(model)
    unmoved = {id(state[name]) for name in held & state.keys()}
    for name, tensor in state.items():
        if id(tensor) in unmoved:
            continue
        if (moved := reals_in(tensor)).is_floating_point():
            # By columns: other numbers for each element would take most of the time.
            noise = torch.randn(
                2,
                *moved.shape[-1:],
                generator=stream(draw, "perturb", name),
                device="cpu",
            )
            factor = 1 + far * (0.5 + noise[0])
            shift = far * (0.5 + noise[1]).abs()
            torch.addcmul(shift.to(moved), moved, factor.to(moved), out=moved)
        elif tensor.dtype == torch.bool:
            tensor.logical_not_()


@torch.no_grad()
def _value(
    feature: Feature,
    model: PartlyEval,
    sample: Value,
    training: bool,
) -> list[Tensor]:
    """Return the feature's value in the whole model, in eval or training mode of the tail."""
    visits: list[list[Tensor]] = []

    def keep(name: str, output: object) -> None:
        visits.append([innermost(tensor).clone() for tensor in tensors_of(output)])

    with tap(model.model, [feature.module], keep):
        model.train(training)(mapped(sample, torch.clone))
    return visits[feature.call] if feature.call < len(visits) else []


def _seeded() -> AbstractContextManager[None]:
    """Seed torch's generators within the block, the same for all passes that are compared."""
    return global_stream(stream(0, "check"))
