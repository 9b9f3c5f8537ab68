"""Recipes: the configuration of one training, as one frozen object."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import ceil
from typing import Literal

from probe.validation import (
    FromZero,
    PositiveFloat,
    PositiveInt,
    ShareBelowOne,
    configuration,
)

Rule = Literal["torch", "murata"]
"""The rules for fresh weights by name, see `probe.training.fresh_weights.initialize`."""

Optimizer = Literal["adam", "adamw", "nadam", "sgd"]
"""The optimizers by name, each with torch's own defaults for settings that are not in a recipe."""

Schedule = Literal["constant", "cosine"]
"""The course of the learning rate after the warm-up, see `probe.training.optimizers`."""

Precision = Literal["fp32", "tf32", "bf16", "auto"]
"""The precision of the loss; a network's own is kept, and updates are never below fp32."""


LEAST_STEPS = 1000
"""The fewest steps of a retraining whose budget is not chosen: the paper's 5 epochs are 4,690."""


@configuration
class Recipe:
    """The configuration of one training; the defaults are Murata 2020's on MNIST (section 3).

    >>> Recipe(epochs=20, optimizer="sgd", learning_rate=0.1, momentum=0.9).batch_size
    64

    The paper does not give the batch size; 64 is ours. Weights, updates and evaluations
    stay in fp32; a network in half precision runs as it is, but updates add up in fp32
    copies of its weights. On a CPU a training in fp32 repeats bit for bit; on a GPU, kernels
    that add in no fixed order may change the last bits.

    Args:
        epochs: The number of passes over the examples; with `patience`, the largest
            number.
        iterations: The number of steps, which replaces `epochs`; the last pass may be a
            part.
        patience: The number of epochs without a lower loss on held-out examples after
            which the training ends, with the weights of the lowest; None = no early
            stopping.
        validation: The share of the examples that is held out for that, drawn at
            random.
        init: The rule for the fresh weights at the start (see `fresh_weights`).
        precision: The precision of the loss. `bf16` computes it under torch's autocast,
            including the frozen part of a model that is run as a whole; `tf32` lets a
            GPU round the factors of products to 10 bits; `auto`, only in studies and
            `analyze`, means `bf16` where that is faster, else `fp32`.
        weight_decay: The weight decay, 0 or more, as in torch: `adamw` shrinks the
            weights by it, separately from the gradient; the others add it to the
            gradient. The default is 0, also for `adamw`, for which torch's default is
            0.01.
        momentum: The momentum, 0 or more and below 1, only for `sgd`.
        schedule: The course of the learning rate; `cosine` lowers it to 0 along half a
            wave over the whole training.
        warmup: The share of a training's steps, 0 or more and below 1, in which the
            rate first rises linearly. It is a share because one recipe serves trainings
            of many lengths.
        clip_norm: The largest norm of all gradients together, including those of
            penalties, before the optimizer's step; None = no clipping.

    Raises:
        InputError: A value is invalid, such as `epochs=0`, momentum is given without
            `sgd`, or only one of `patience` and `validation` is given.
    """

    epochs: PositiveInt = 5
    iterations: PositiveInt | None = None
    patience: PositiveInt | None = None
    validation: ShareBelowOne = 0.0
    batch_size: PositiveInt = 64
    optimizer: Optimizer = "adam"
    learning_rate: PositiveFloat = 1e-3
    weight_decay: FromZero = 0.0
    momentum: ShareBelowOne = 0.0
    schedule: Schedule = "constant"
    warmup: ShareBelowOne = 0.0
    clip_norm: PositiveFloat | None = None
    init: Rule = "torch"
    precision: Precision = "fp32"

    def __post_init__(self) -> None:
        if self.momentum and self.optimizer != "sgd":
            raise ValueError(
                "only 'sgd' takes momentum, got "
                f"momentum {self.momentum:g} and the optimizer {self.optimizer!r}"
            )
        if bool(self.patience) != bool(self.validation):
            raise ValueError(
                "early stopping takes patience and validation, got "
                f"patience {self.patience} and validation {self.validation:g}"
            )

    def of_epochs(self, epochs: int) -> Recipe:
        """Return the recipe of a training of so many epochs, without early stopping."""
        return replace(
            self, epochs=epochs, iterations=None, patience=None, validation=0.0
        )

    def long_enough(self, examples: int) -> Recipe:
        """Return the recipe with as many epochs as make `LEAST_STEPS` on N examples, or more.

        >>> Recipe().long_enough(1400).epochs, Recipe().long_enough(60_000).epochs
        (46, 5)
        """
        steps = len(batch_ends(examples, self.batch_size))
        return replace(self, epochs=max(self.epochs, ceil(LEAST_STEPS / steps)))

    def times(self, multiple: int) -> Recipe:
        """Return the recipe of a training that is `multiple` times as long."""
        iterations = self.iterations and multiple * self.iterations
        return replace(self, epochs=multiple * self.epochs, iterations=iterations)

    def held_out(self, examples: int) -> int:
        """Return how many of N examples are held out for early stopping: 1 to N - 1, or 0."""
        share = round(self.validation * examples)
        return min(max(1, share), examples - 1) if self.patience else 0

    def steps(self, examples: int) -> int:
        """Return the number of steps of a training on N examples, at most.

        >>> Recipe(epochs=2, batch_size=4).steps(10), Recipe(iterations=7).steps(10)
        (6, 7)
        """
        ends = batch_ends(examples - self.held_out(examples), self.batch_size)
        return self.iterations or self.epochs * len(ends)

    def epochs_on(self, examples: int) -> int:
        """Return the number of epochs of a training on N examples, the last perhaps a part.

        >>> half = Recipe(iterations=4, batch_size=2, patience=1, validation=0.5)
        >>> half.epochs_on(8)
        2
        """
        ends = batch_ends(examples - self.held_out(examples), self.batch_size)
        return ceil(self.steps(examples) / len(ends))


def batch_ends(n: int, size: int) -> list[int]:
    """Return the ends of the batches of an epoch over n examples.

    >>> batch_ends(6, 2), batch_ends(5, 2), batch_ends(1, 2)
    ([2, 4, 6], [2, 5], [1])
    """
    # A last batch of one example would stop batch norm: it joins the batch before it.
    cut = n - 1 if n > size > 1 and n % size == 1 else n
    return [*range(size, cut, size), n]


@configuration
class RecipeChanges:
    """A learner's changes to the study's recipe; None = as in the study.

    A study's clip_norm can be changed but not removed.
    """

    epochs: PositiveInt | None = None
    iterations: PositiveInt | None = None
    patience: PositiveInt | None = None
    validation: ShareBelowOne | None = None
    batch_size: PositiveInt | None = None
    optimizer: Optimizer | None = None
    learning_rate: PositiveFloat | None = None
    weight_decay: FromZero | None = None
    momentum: ShareBelowOne | None = None
    schedule: Schedule | None = None
    warmup: ShareBelowOne | None = None
    clip_norm: PositiveFloat | None = None

    def applied_to(self, recipe: Recipe) -> Recipe:
        """Return the changed recipe, `epochs` in place of iterations; InputError if it is invalid.

        >>> RecipeChanges(epochs=2).applied_to(Recipe(batch_size=8)) == Recipe(
        ...     batch_size=8, epochs=2)
        True
        """
        if self.epochs:
            recipe = replace(recipe, iterations=None)
        return replace(
            recipe, **{k: v for k, v in asdict(self).items() if v is not None}
        )
