"""Scores of networks: a number for each test example, higher is better."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from probe.arrays import Floats, Ints
from probe.batch import Value, first, gather, length, mapped, tensors, varied
from probe.cut.model_call import explained, without_fast_path
from probe.errors import InputError
from probe.examples import Labeled
from probe.immutable import immutable
from probe.model import Model
from probe.modules import device_of, kept_state, mode
from probe.reading.item_format import remedy_for
from probe.seeding import every_global_stream, stream
from probe.training.evaluation import (
    ONE_OUTPUT,
    batch_size_for,
    check_finite_logits,
    check_outputs,
    check_repeats,
    predict_each,
)
from probe.training.precision import products

Pair = tuple[Value, Tensor]
"""Inputs, one or more tensors (N, ...), and labels or targets (N, ...)."""

ScoreName = Literal["accuracy", "loss", "squared_error"]

Score = Callable[[nn.Module, Any, Any], Tensor] | ScoreName
"""`score(model, x, y)` returns a number for each of the B examples of a batch, higher is better."""

NAMES: tuple[ScoreName, ...] = ("accuracy", "loss", "squared_error")

IGNORED = -100
"""The label of a position that does not count, as in torch's cross-entropy."""

_FEW = 8  # examples that are scored twice
_MOST = 256  # examples on which the units of two networks are compared


def check_score(score: object) -> None:
    """Check that a score is a function or has a name.

    Args:
        score: The score.

    Raises:
        InputError: It is anything else.
    """
    if not callable(score) and str(score) not in NAMES:
        names = ", ".join(map(repr, NAMES))
        raise InputError(f"score must be {names} or a function, got {score!r:.40}")


def on_device_of(network: nn.Module, value: Value) -> Value:
    """Return a value on the device of a network."""
    device = next((p.device for p in network.parameters()), None)
    return mapped(value, lambda t: t.to(device or t.device))


def on_same_device(network: nn.Module, other: nn.Module) -> nn.Module:
    """Move a network to the device of another, if they begin on different ones; return it."""
    device = device_of(other)
    return network if device_of(network) == device else network.to(device)


def batches(x: Value, size: int | None = None) -> tuple[Tensor, ...]:
    """Return the indices of all examples, on the CPU, in batches.

    Args:
        x: The inputs.
        size: Examples at a time, None = a size that is fast on their device.
    """
    column = tensors(x)[0]
    indices = torch.arange(len(column), device="cpu")
    return torch.split(indices, size or batch_size_for(x, column.device))


def rows_for(network: nn.Module, value: Value, rows: Tensor) -> Value:
    """Return rows of a value, by indices on the CPU, on the device of a network."""
    return on_device_of(network, gather(value, rows))


@immutable(eq=False)
class Tests:
    """The test examples of all tasks, and the score of networks on them.

    Attributes:
        model: The call of the networks.
        score: The score: `accuracy`, the share of right labels; `loss`, minus the
            cross-entropy in nats; `squared_error`, minus its mean over the outputs; or
            a function. The first two are means over the positions of an example where
            labels are (N, L) and logits (N, L, K).
        data: The test examples of each of T tasks.
        batch_size: Examples at a time, None = a size that is fast on the device.
    """

    model: Model
    score: Score
    data: Sequence[Pair]
    batch_size: int | None = None

    @cached_property
    def task_of(self) -> Ints:
        """The task of each of the N examples, from 0, (N,)."""
        sizes = [length(x) for x, _ in self.data]
        return np.repeat(np.arange(len(self.data)), sizes)

    def logits(self, network: nn.Module, position: int, count: int = _MOST) -> Tensor:
        """Return a network's logits on some examples of the task at a position, from 1."""
        x, _ = self.data[position - 1]
        few = on_device_of(network, varied(x, count))
        with torch.no_grad(), repeatable_eval(network):
            return self._outputs(network, few)

    def _outputs(self, network: nn.Module, x: Value) -> Tensor:
        """Return a network's outputs, (B, ..., K), where a single number has a column, too."""
        outputs = self.model.class_call(network, x)
        if self.score not in ("accuracy", "loss") and outputs.ndim == 1:
            return outputs[:, None]
        return outputs

    @property
    def is_accuracy(self) -> bool:
        """Whether the score is an accuracy."""
        return self.score == "accuracy"

    @torch.no_grad()
    def check(self, network: nn.Module, position: int | None = None) -> None:
        """Check that a network can be scored on examples.

        Args:
            network: The network.
            position: The task of the examples, from 1, whose labels the outputs of an
                earlier network need not have; None = all tasks, with their labels.

        Raises:
            InputError: Outputs are not finite, depend on the batch, or differ between
                passes; or labels do not fit them.
        """
        for k, (x, y) in enumerate(self.data, 1):
            if position in (None, k):
                with kept_state(network), repeatable_eval(network), explained(x):
                    self._check(network, x, y, checks_labels=position is None)

    def _check(
        self, network: nn.Module, x: Value, y: Tensor, *, checks_labels: bool
    ) -> None:
        """Check that a user's score repeats; else check the logits and, if asked, the labels."""
        if callable(self.score):
            few, *_ = batches(x, _FEW)
            batch = rows_for(network, x, few), rows_for(network, y, few)
            check_repeats(
                lambda: torch.as_tensor(self.batch_scores(network, *batch)),
                "the score",
                "seed what the score draws, and reset a state in it",
            )
            return
        labels = y.to(tensors(x)[0].device)

        def logits(batch: Value) -> Tensor:
            outputs = self._outputs(network, on_device_of(network, batch))
            return outputs.to(labels.device)

        def means(batch: Value) -> Tensor:
            """Return the means of logits over the positions of each example, (B, K)."""
            outputs = logits(batch)
            check_finite_logits(outputs)
            # A class may be masked at one position, and not at another.
            finite = outputs.nan_to_num(neginf=0.0)
            return finite.unsqueeze(1).flatten(1, -2).mean(1)

        examples = Labeled(x, labels.reshape(len(labels), -1)[:, 0])
        check_outputs(logits, examples)
        outputs = logits(first(x, _FEW))
        K = outputs.shape[-1]
        if checks_labels:
            if K == 1 and self.score != "squared_error":
                raise InputError(ONE_OUTPUT)
            score_of(self.score, outputs, first(labels, _FEW))
            # The accuracy does not look whether there is an output for each label.
            if self.score != "squared_error":
                _check_labels(labels, K)
        # In the layout in which they are scored.
        predict_each(
            means, examples, K, {}, self.batch_size, any_layout=False, check=True
        )

    def scores(self, network: nn.Module, position: int | None = None) -> Floats:
        """Return the score of each example, (N,), 0 for examples that are not tested.

        Args:
            network: The network.
            position: The task whose examples are tested, from 1; None = all tasks.
        """
        values = np.zeros(len(self.task_of))
        for k, (x, y) in enumerate(self.data):
            if position in (None, k + 1):
                values[self.task_of == k] = self._task_scores(network, x, y)
        return values

    @torch.no_grad()
    def _task_scores(self, network: nn.Module, x: Value, y: Value) -> Floats:
        """Return the score of each example of a task, (n,)."""
        parts = []
        with repeatable_eval(network):
            for rows in batches(x, self.batch_size):
                batch = rows_for(network, x, rows)
                labels = rows_for(network, y, rows)
                with explained(batch):
                    parts.append(self.batch_scores(network, batch, labels))
        return np.concatenate(parts)

    def batch_scores(
        self, network: nn.Module, x: Value, y: Value, logits: Tensor | None = None
    ) -> Floats:
        """Return the score of each example of a batch, (B,).

        Args:
            network: The network.
            x: The inputs, (B, ...).
            y: The labels, (B, ...).
            logits: Its logits, for a score that has a name; None = call the network.

        Raises:
            InputError: A score is not a finite number.
        """
        count = length(x)
        if callable(self.score):
            values = self.score(network, x, y)
        else:
            if logits is None:
                logits = self.model.class_call(network, x)
            values = score_of(self.score, logits, cast(Tensor, y))
        fits = isinstance(values, Tensor) and values.shape == (count,)
        if not fits or values.is_complex() or not values.isfinite().all():
            remedy = ""
            if fits and not callable(self.score):
                remedy = (
                    "; a network with blocks put back overflows: choose another score, "
                    "such as 'accuracy'"
                )
            raise InputError(
                f"a score must be a tensor of a finite real number for each of {count} "
                f"examples, got {type(values).__name__} of shape "
                f"{tuple(np.shape(values))}{remedy}"
            )
        return values.double().cpu().numpy()


def score_of(name: ScoreName, logits: Tensor, y: Tensor) -> Tensor:
    """Return the score of each of B examples, (B,), by its name.

    Args:
        name: The score.
        logits: Outputs (B, K), or (B, L, K) for labels (B, L).
        y: Labels (B,) or (B, L), where -100 does not count; of `squared_error` targets
            with as many numbers as outputs.

    Raises:
        InputError: Outputs and labels do not fit each other.

    >>> logits = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> score_of("accuracy", logits, torch.tensor([[1, 1]])).item()
    0.5
    """
    if name == "squared_error":
        if logits.numel() != y.numel():
            raise _unfit(logits, y, "as many targets as outputs: ")
        errors = logits.reshape(len(y), -1) - y.reshape(len(y), -1)
        return -errors.square().mean(1)
    if logits.shape[:-1] != y.shape or y.is_floating_point():
        remedy = f"{remedy_for(y)}; or " if logits.ndim == 2 else ""
        expected = "whole numbers (B,) for logits (B, K), or (B, L) for (B, L, K)"
        raise _unfit(logits, y, f"{expected}: {remedy}")
    if name == "loss":
        _check_labels(y, logits.shape[-1])
        # Half precision would round each loss.
        logits = logits.to(torch.promote_types(logits.dtype, torch.float))
        losses = cross_entropy(
            logits.flatten(0, -2), y.flatten(), reduction="none", ignore_index=IGNORED
        )
        values = -losses.view_as(y)
    else:
        # NaN would count as the class at its position.
        is_finite = logits.amax(-1).isfinite()
        values = (logits.argmax(-1).eq(y) & is_finite).double()
    if y.ndim == 1:
        return values
    counts = y.ne(IGNORED)
    return (values * counts).sum(1) / counts.sum(1).clamp(min=1)


def _check_labels(y: Tensor, outputs: int) -> None:
    """Raise InputError for labels (B,) or (B, L) of no output, or a row in which none counts."""
    ignored = y == IGNORED
    if y.ndim > 1 and ignored.all(1).any():
        raise InputError(
            f"all labels of an example are {IGNORED}: leave the example out"
        )
    strange = y[((y < 0) | (y >= outputs)) & ~(ignored & (y.ndim > 1))]
    if len(strange):
        remedy = "leave such examples out"
        if y.ndim != 1:
            remedy = f"label such positions {IGNORED}"
        raise InputError(
            f"got the label {int(strange[0])}, but the network has {outputs} outputs: "
            f"{remedy}"
        )


def _unfit(logits: Tensor, y: Tensor, expected: str) -> InputError:
    shapes = f"outputs {tuple(logits.shape)} and labels {tuple(y.shape)} of {y.dtype}"
    return InputError(
        f"got {shapes}, expected {expected}choose another score, or give call="
    )


@contextmanager
def repeatable_eval(network: nn.Module) -> Iterator[None]:
    """Put a network into eval mode within the block, with the same random numbers each time."""
    with (
        mode(network, training=False),
        every_global_stream(stream(0, "rewind")),
        products("fp32"),
        without_fast_path(),
    ):
        yield
