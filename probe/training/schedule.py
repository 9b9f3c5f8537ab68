"""The learning rate's schedule: a warm-up in a straight line, then constant or along a cosine."""

from __future__ import annotations

import math

from probe.training.recipe import Recipe


def rate_at(recipe: Recipe, step: int, steps: int) -> float:
    """Return the learning rate of a training's step; for a constant one exactly the recipe's.

    step: 0 to steps - 1; steps: of the whole training. With W steps of warm-up, the rate rises from
    1 / (W + 1) of the recipe's in the first step to all of it in the step after the warm-up. Along
    a cosine it falls from there, and would be 0 in the step after the last.

    >>> recipe = Recipe(learning_rate=1.0, schedule="cosine", warmup=0.2)
    >>> [round(rate_at(recipe, step, 5), 3) for step in range(5)]
    [0.5, 1.0, 0.854, 0.5, 0.146]
    """
    warm = round(recipe.warmup * steps)
    if step < warm:
        return recipe.learning_rate * (step + 1) / (warm + 1)
    if recipe.schedule == "constant":
        return recipe.learning_rate
    part = (step - warm) / (steps - warm)
    return recipe.learning_rate * (1 + math.cos(math.pi * part)) / 2
