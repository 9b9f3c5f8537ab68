"""The training loop that learners, tails and probes share."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Named, Value, gather
from probe.errors import InputError
from probe.examples import Labeled
from probe.modules import detached, mode, named_state, trained_of
from probe.seeding import every_global_stream, no_other_draws, permutation
from probe.training.chain import Chain, chained
from probe.training.costs import OpsMeter
from probe.training.early_stopping import EarlyStopping
from probe.training.history import History
from probe.training.memory_format import faster_layout
from probe.training.optimizers import updates
from probe.training.precision import OVERFLOW, lowered, products
from probe.training.recipe import Recipe, batch_ends


class Objective:
    """The loss of one step, and hooks around it; plain cross-entropy unless overridden.

    For every batch of B examples the first four methods are called once each, in this
    order.

    Attributes:
        losses: Losses of the epochs so far, see `probe.training.history.History`.
        by_scores: Whether a small network may be trained without autograd
            (`probe.training.chain`): the loss needs no gradients except those of its
            scores, scores are neither changed nor kept, and parameters and gradients
            are only changed in place. It is not inherited: a class that overrides
            anything must set it itself.
        sums: The names of attributes that add up over steps. Early stopping discards
            the steps after the best epoch, and these attributes are set to what they
            were then.
    """

    losses: tuple[float, ...] = ()
    sums: ClassVar[Sequence[str]] = ()
    by_scores: ClassVar[bool] = True

    def batch(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the batch to learn from: the new examples, with any replayed ones appended.

        Args:
            x: The new examples, (B, ...).
            y: Labels of the new examples, (B,) int64.

        Returns:
            Inputs and labels of B' >= B examples.
        """
        return x, y

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
    ) -> Tensor:
        """Return the loss of `model` on a batch.

        With `by_scores` the scores may have no graph to the parameters; the gradients
        are then complete in `after_backward`.

        Args:
            model: The model.
            x: The examples, (B, ...).
            y: Labels of the examples, (B,) int64.

        Returns:
            The loss, a scalar.
        """
        scores: Tensor = model(x)
        self.saw(scores.detach(), y)
        return functional.cross_entropy(scores, y)

    def validation_loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
    ) -> Tensor:
        """Return the loss on held-out examples, for early stopping.

        Args:
            model: The model in eval mode.
            x: The examples, (B, ...).
            y: Labels of the examples, (B,) int64.

        Returns:
            The loss, a scalar.
        """
        return functional.cross_entropy(model(x), y)

    def saw(self, scores: Tensor, y: Tensor) -> None:
        """Receive the scores of a batch, before its step.

        Args:
            scores: The scores, (B, K).
            y: The labels, (B,) int64.
        """

    def after_backward(self, model: nn.Module) -> None:
        """Read or change the gradients before the optimizer's step."""

    def after_step(self, model: nn.Module) -> None:
        """Read or change the parameters after the optimizer's step."""

    def after_epoch(self, model: nn.Module, losses: Sequence[float]) -> None:
        """Receive the result of an epoch.

        Args:
            model: The model.
            losses: The loss of the first batch, then the mean of each epoch.
        """
        self.losses = tuple(losses)


class HistoryRecorder(Objective):
    """Plain cross-entropy, with a record of the course of training.

    After each epoch in `epochs`, from 1, the model's parameters and buffers are copied
    into `states`, by epoch and name; `probe.modules.restore` restores them.
    """

    by_scores = True

    def __init__(self, epochs: Collection[int] = ()) -> None:
        self._epochs = epochs
        self._right: list[Tensor] = []
        self._accuracies: list[float] = []
        self.states: dict[int, Named] = {}

    @property
    def history(self) -> History:
        """The history so far, available after the first epoch."""
        return History(losses=self.losses, accuracies=tuple(self._accuracies))

    def saw(self, scores: Tensor, y: Tensor) -> None:
        """Remember which examples were classified correctly."""
        self._right.append(scores.argmax(1) == y)

    def after_epoch(
        self,
        model: nn.Module,
        losses: Sequence[float],
    ) -> None:
        """Add the epoch to the history."""
        super().after_epoch(model, losses)
        self._accuracies.append(float(torch.cat(self._right).double().mean()))
        self._right = []
        if len(self._accuracies) in self._epochs:
            self.states[len(self._accuracies)] = detached(named_state(model))


def fit(
    model: nn.Module,
    data: Labeled,
    recipe: Recipe,
    generator: torch.Generator,
    objective: Objective | None = None,
    meter: OpsMeter | None = None,
) -> None:
    """Train `model` in place on N examples with a new optimizer.

    Every epoch visits each example once, in an order drawn from `generator`; randomness
    inside the model (dropout) follows from it too. With `patience`, examples are held
    out first. Only parameters that require gradients change; modes and global
    generators are restored afterwards.

    Args:
        model: The model.
        data: The examples, x (N, ...) and y (N,) int64, on the model's device.
        recipe: The settings of the training.
        generator: Source of randomness.
        objective: The objective to minimize, cross-entropy by default.
        meter: A meter that counts the operations; it does not change the training.

    Raises:
        InputError: The loss is not finite; the message names the epoch. Or another
            thread draws from torch's global generator.

    >>> from probe.examples import Examples
    >>> model, data = nn.Linear(2, 2), Examples(torch.eye(2), torch.tensor([0, 1]))
    >>> fit(model, data, Recipe(epochs=20, learning_rate=0.1), torch.Generator())
    >>> model(data.x).argmax(1).tolist()
    [0, 1]
    """
    objective = objective or Objective()
    stopping = EarlyStopping(data, recipe, generator, objective)
    steps_left = recipe.steps(len(data))
    by_scores = vars(type(objective)).get("by_scores", False)
    with (
        torch.enable_grad(),
        # The caller may be under autocast.
        torch.autocast(data.y.device.type, enabled=False),
        products(recipe.precision),
        mode(model, training=True),
        every_global_stream(generator),
        chained(model, data, recipe) if by_scores else nullcontext() as chain,
        nullcontext() if chain else faster_layout(model, data),
    ):
        # Made where a chain's parameters lie as they will. Adam's moments start at 0
        # with each training: none are carried over from another task.
        trained = trained_of(model)
        update = no_other_draws()(updates(trained, recipe, steps_left))
        losses: list[float] = []
        while steps_left:
            batches = _batches(data, stopping.training, recipe.batch_size, generator)
            batches = islice(batches, steps_left)
            epoch = _epoch(model, batches, recipe, objective, update, chain, meter)
            if not losses:
                losses.append(float(epoch[0]))
            losses.append(float(epoch.mean()))
            if not math.isfinite(losses[-1]):
                raise _divergence(losses, len(data), recipe, trained[0].dtype)
            objective.after_epoch(model, losses)
            steps_left -= len(epoch)
            if stopping.stops(model):
                break
        stopping.restore_best(model)


def _epoch(
    model: nn.Module,
    batches: Iterator[tuple[Value, Tensor]],
    recipe: Recipe,
    objective: Objective,
    update: Callable[[], None],
    chain: Chain | None,
    meter: OpsMeter | None,
) -> Tensor:
    """Train a model on batches, one step each, and return the losses before the steps, (steps,).

    update: the optimizer's step. chain: the model's training passes, None to use
    autograd.
    """
    losses = []
    for x, y in batches:
        with meter.step(len(y)) if meter else nullcontext():
            # An objective sees what its data hold; a tuple only where a tail is trained.
            batch = objective.batch(cast(Tensor, x), y)
            losses.append(_gradients(model, *batch, recipe, objective, chain))
            objective.after_backward(model)
            update()
            objective.after_step(model)
    # To the host once an epoch, so that a GPU does not wait at every step; NaN and Inf
    # stay in the mean.
    return torch.stack(losses).double().cpu()


def _batches(
    data: Labeled,
    rows: Tensor,
    size: int,
    generator: torch.Generator,
) -> Iterator[tuple[Value, Tensor]]:
    """Yield batches x (B, ...), y (B,) of the examples at `rows` (M,), each once, in random order.

    Indices are kept on the CPU, too: values in a file are gathered by these.
    """
    # Drawn on the CPU, so that the order is the same on every device.
    order = rows[permutation(len(rows), generator)]
    ends = batch_ends(len(rows), size)[:-1]
    parts_on_cpu = order.tensor_split(ends)
    parts = order.to(data.y.device, non_blocking=True).tensor_split(ends)
    for on_cpu, indices in zip(parts_on_cpu, parts, strict=True):
        yield gather(data.x, indices, on_cpu), data.y.index_select(0, indices)


def _divergence(
    losses: list[float], n: int, recipe: Recipe, dtype: torch.dtype
) -> InputError:
    """Return the error of a training on n examples whose loss is NaN or Inf, with a remedy.

    losses: that of the first batch, then the mean of each epoch so far; dtype: the data
        type of the parameters.
    """
    remedy = f"lower learning_rate ({recipe.learning_rate:g})"
    if dtype == torch.half:
        remedy = OVERFLOW
    elif losses[0] == math.inf:
        remedy = (
            "the first batch has classes whose output is -inf: let the model mask "
            "none of them"
        )
    return InputError(
        f"training diverged in epoch {len(losses) - 1} of {recipe.epochs_on(n)}: "
        f"{remedy}"
    )


def _gradients(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    recipe: Recipe,
    objective: Objective,
    chain: Chain | None,
) -> Tensor:
    """Set the parameters' gradients on x (B, ...), y (B,), and return the loss, a scalar.

    chain: the model's training passes, None to use autograd.
    """
    for p in model.parameters():
        p.grad = None if p.requires_grad else p.grad
    is_cross_entropy = type(objective).loss is Objective.loss
    if chain and chain.model is model and is_cross_entropy:
        scores_and_loss = chain.step(x, y)
        if scores_and_loss is not None:
            scores, loss = scores_and_loss
            objective.saw(scores, y)
            return loss
    if chain:
        chain.open()
    with lowered(y.device.type, recipe.precision == "bf16"):
        loss = objective.loss(model, x, y)
    loss.backward()
    if chain:
        chain.backward()
    for p in model.parameters():
        # Few optimizers take a sparse gradient, as of an embedding.
        if p.requires_grad and p.grad is not None and p.grad.is_sparse:
            p.grad = p.grad.to_dense()
    return loss.detach()
