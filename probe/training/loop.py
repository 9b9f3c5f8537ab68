"""The training loop that learners, tails and probes share."""

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Value, gather
from probe.errors import InputError
from probe.examples import Labeled
from probe.modules import mode
from probe.seeding import every_global_stream, no_other_draws, permutation
from probe.training.chain import Chain, chained
from probe.training.costs import OpsMeter
from probe.training.early_stopping import EarlyStopping
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
    steps = objective or Objective()
    stopping = EarlyStopping(data, recipe, generator, steps)
    steps_left = recipe.steps(len(data))
    by_scores = vars(type(steps)).get("by_scores", False)
    with (
        torch.enable_grad(),
        torch.autocast(
            data.y.device.type, enabled=False
        ),  # whoever calls may be under it
        products(recipe.precision),
        mode(model, training=True),
        chained(model, recipe.precision) if by_scores else nullcontext() as chain,
        nullcontext() if chain else faster_layout(model, data),
        every_global_stream(generator),
    ):
        # Made where a chain's parameters lie as they will. Adam's moments start at 0
        # with each training: none are carried over from another task.
        trained = [p for p in model.parameters() if p.requires_grad]
        update = no_other_draws()(updates(trained, recipe, steps_left))
        spared = chain.spared if chain else int
        losses: list[float] = []
        while steps_left:
            epoch_losses = []
            for x, y in islice(
                _batches(data, stopping.training, recipe.batch_size, generator),
                steps_left,
            ):
                with meter.step(len(y), spared) if meter else nullcontext():
                    # An objective sees what its data hold; a tuple only where a tail is
                    # trained.
                    batch = steps.batch(cast(Tensor, x), y)
                    epoch_losses.append(_gradients(model, *batch, recipe, steps, chain))
                    steps.after_backward(model)
                    update()
                    steps.after_step(model)
            # One look an epoch: NaN and Inf stay in the mean, and a GPU is not stopped
            # every step.
            numbers = torch.stack(epoch_losses).double().cpu()
            # First the loss of the first step, then the mean of each epoch.
            losses += ([] if losses else [float(numbers[0])]) + [float(numbers.mean())]
            if not math.isfinite(losses[-1]):
                raise _diverged(losses, len(data), recipe, trained[0].dtype)
            steps.after_epoch(model, losses)
            steps_left = 0 if stopping.stops(model) else steps_left - len(epoch_losses)
        stopping.restore_best(model)


def _batches(
    data: Labeled,
    rows: Tensor,
    size: int,
    generator: torch.Generator,
) -> Iterator[tuple[Value, Tensor]]:
    """Yield batches of the examples at `rows` (M,), each once, in random order."""
    # Drawn on the CPU, so that the order is the same on every device.
    order = rows[permutation(len(rows), generator)]
    ends = batch_ends(len(rows), size)[:-1]
    orders = order, order.to(data.y.device, non_blocking=True)
    for on_cpu, indices in zip(*(o.tensor_split(ends) for o in orders), strict=True):
        yield gather(data.x, indices, on_cpu), data.y.index_select(0, indices)


def _diverged(
    losses: list[float],
    n: int,
    recipe: Recipe,
    dtype: torch.dtype,
) -> InputError:
    """Return the error of a training on n examples, with its losses so far."""
    remedy = (
        OVERFLOW
        if dtype == torch.half
        else f"lower learning_rate ({recipe.learning_rate:g})"
    )
    if losses[0] == math.inf and dtype != torch.half:
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
    steps: Objective,
    chain: Chain | None,
) -> Tensor:
    """Set the parameters' gradients on x (B, ...), y (B,), and return the loss, a scalar.

    chain: the model's training passes, None to use autograd.
    """
    for p in model.parameters():
        p.grad = None if p.requires_grad else p.grad
    plain = chain and chain.model is model and type(steps).loss is Objective.loss
    if chain and plain and (done := chain.step(x, y)):
        steps.saw(done[0], y)
        return done[1]
    if chain:
        chain.open()
    with lowered(y.device.type, recipe.precision == "bf16"):
        loss = steps.loss(model, x, y)
    loss.backward()
    if chain:
        chain.backward()
    for p in model.parameters():
        if (
            p.requires_grad and p.grad is not None and p.grad.is_sparse
        ):  # few optimizers take it
            p.grad = p.grad.to_dense()
    return loss.detach()
