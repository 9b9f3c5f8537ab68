"""The recipe: how one training runs, as one frozen object."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Literal

from probe.training.fresh_weights import Rule
from probe.validation import PositiveFloat, PositiveInt, configuration

Optimizer = Literal["adam", "nadam", "sgd"]
"""The optimizers by name, each with torch's own settings but for the learning rate."""

Precision = Literal["fp32", "bf16"]
"""What the loss is computed in; weights, their updates and evaluations are always fp32."""


@configuration
class Recipe:
    """How one training runs; the defaults are Murata 2020's on MNIST (section 3).

    The batch size is not given there; 64 is ours. `init` names the rule for the fresh weights at
    the start (see `fresh_weights`). precision: `bf16` computes the loss under torch's autocast,
    which runs matrix products and convolutions in bfloat16 (also in the frozen part of a model that
    can only be cut the slow way); weights, their updates and every evaluation stay in fp32. In fp32
    a training repeats bit for bit on the same machine. Raises InputError for a value that cannot
    be, such as `epochs=0`.
    """

    epochs: PositiveInt = 5
    batch_size: PositiveInt = 64
    optimizer: Optimizer = "adam"
    learning_rate: PositiveFloat = 1e-3
    init: Rule = "torch"
    precision: Precision = "fp32"


@configuration
class RecipeChanges:
    """What a learner trains by in place of the study's recipe; None = as the study says."""

    epochs: PositiveInt | None = None
    batch_size: PositiveInt | None = None
    optimizer: Optimizer | None = None
    learning_rate: PositiveFloat | None = None

    def instead_of(self, recipe: Recipe) -> Recipe:
        """Return the recipe with these changes.

        >>> RecipeChanges(epochs=2).instead_of(Recipe(batch_size=8))
        Recipe(epochs=2, batch_size=8, optimizer='adam', learning_rate=0.001, init='torch', \
precision='fp32')
        """
        return replace(recipe, **{k: v for k, v in asdict(self).items() if v is not None})
