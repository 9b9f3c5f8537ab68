"""Sampling strategies for exemplars (Chaudhry 2018, section 4.2).

Each gives the numbers of at most `count` of a class's n examples, without repeats, in order of
choice: when the budget shrinks, the first are kept.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.training.penultimate import in_batches, penultimate_of

Strategy = Literal["uniform", "fifo", "plane_distance", "entropy", "mean_of_features"]

_NEAREST = 0.01  # of the mean distance: the least that counts
_LAST = 1e-12  # of the largest weight: what draws an example only after all others


def choose(
    strategy: Strategy, model: nn.Module, pool: Examples, count: int, generator: torch.Generator
) -> Tensor:
    """Return the chosen numbers (m,), int64 on the CPU, m = min(n, count).

    model: after the task; it runs, in eval mode, only for strategies that need its features or
    logits. pool: the n examples of one class, 1 or more. generator: a CPU generator.
    """
    if strategy == "uniform":
        return uniform(len(pool), count, generator)
    if strategy == "fifo":
        # The latest first, as a queue of that length keeps them.
        return torch.arange(len(pool) - 1, -1, -1)[:count]
    if strategy == "mean_of_features":
        return mean_of_features(penultimate_of(model, pool), count)
    logits = in_batches(model, model, pool)
    if strategy == "entropy":
        return entropy(logits, count, generator)
    return plane_distance(logits[:, int(pool.y[0])], count, generator)


def uniform(n: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw at most `count` of n, each with the same probability: (m,) int64."""
    return torch.randperm(n, generator=generator)[:count]


def plane_distance(logits: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw with q ~ 1 / d, so that examples near their class's plane phi . w + b = 0 are likely.

    logits: (n,), the true class's. The paper has d = phi(x) . w and does not say what q is where d
    is not positive. Deviations: d is the absolute logit, bias included, so that both sides of the
    plane count alike; no example counts as nearer than 1 % of the mean distance, so that one on the
    plane is likely, not certain.
    """
    distance = logits.double().abs()
    floor = _NEAREST * float(distance.mean())
    return _draw(1 / distance.clamp(min=floor), count, generator)


def entropy(logits: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw with q ~ the entropy of the softmax over all outputs: the unsure are likely.

    logits: (n, K). Source: Chaudhry 2018, section 4.2.
    """
    return _draw(torch.special.entr(logits.double().softmax(1)).sum(1), count, generator)


def mean_of_features(features: Tensor, count: int) -> Tensor:
    """Take, one by one, the example that brings the mean of those taken closest to that of all.

    features: (n, D), scaled to length 1 first. Source: Rebuffi et al. 2017, algorithm 4 (herding);
    an example is taken once, and the means are not scaled to length 1.
    """
    phi = functional.normalize(features.double(), dim=1)
    mean, squares = phi.mean(0), phi.square().sum(1)
    total = torch.zeros_like(mean)
    chosen: list[Tensor] = []
    for k in range(1, min(count, len(phi)) + 1):
        # |k mean - total - phi|^2 without what is the same for all examples.
        costs = squares - 2 * (phi @ (k * mean - total))
        best = costs.argmin()
        total += phi[best]
        squares[best] = torch.inf
        chosen.append(best)
    return torch.stack(chosen).cpu()


def _draw(weights: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw numbers one after the other, by their weight among the rest.

    weights: (n,), 0 or more; all 0 or infinite, all are equally likely.
    """
    largest = float(weights.max())
    drawable = 0 < largest < torch.inf
    usable = weights.clamp(min=_LAST * largest) if drawable else torch.ones_like(weights)
    return torch.multinomial(usable.cpu(), min(count, len(weights)), generator=generator)
