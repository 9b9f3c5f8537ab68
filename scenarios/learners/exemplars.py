"""Exemplars: examples of earlier classes, chosen by a strategy and stored within a budget.

A sampling strategy (Chaudhry 2018, section 4.2) gives the indices of at most `count` of
a class's n examples, without repeats, in order of choice: when the budget shrinks, the
first are kept.
"""

from collections.abc import Sequence
from typing import Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Named
from probe.errors import InputError
from probe.examples import Examples, join
from probe.tasks import Task
from probe.training.evaluation import in_batches, penultimate_of
from probe.validation import PositiveInt, StrictModel

Strategy = Literal["uniform", "fifo", "plane_distance", "entropy", "mean_of_features"]

_NEAREST = 0.01  # of the mean distance from the plane: no example counts as nearer
_LAST = 1e-12  # of the largest weight: with it, an example is drawn after all others


def choose(
    strategy: Strategy,
    model: nn.Module,
    pool: Examples,
    count: int,
    generator: torch.Generator,
) -> Tensor:
    """Return the indices (m,) of the chosen examples, int64 on the CPU, m = min(n, count).

    `entropy` draws with q ~ the entropy of the softmax over all outputs, so that
    uncertain examples are likely. `plane_distance` draws with q ~ 1 / d, so that
    examples near the plane phi . w + b = 0 of their class are likely. The paper has d =
    phi(x) . w and does not say what q is if d is not positive. Deviations: d is the
    absolute logit, bias included, so that both sides of the plane count equally; no
    example counts as nearer than 1 % of the mean distance, so that an example on the
    plane is likely, not certain. If all q are 0 or infinite, all examples are equally
    likely.

    Args:
        strategy: The sampling strategy.
        model: The model after the task; it runs, in eval mode, only for strategies that
            need its features or logits.
        pool: The n examples of one class, 1 or more.
        count: The largest number to choose.
        generator: A CPU generator.

    Returns:
        The indices, in order of choice.
    """
    if strategy == "uniform":
        return torch.randperm(len(pool), generator=generator)[:count]
    if strategy == "fifo":
        # The latest first, as a queue of that length keeps them.
        return torch.arange(len(pool) - 1, -1, -1)[:count]
    if strategy == "mean_of_features":
        return mean_of_features(penultimate_of(model, pool), count)
    logits = in_batches(model, model, pool).double()
    if strategy == "entropy":
        weights = torch.special.entr(logits.softmax(1)).sum(1)
    else:
        distance = logits[:, int(pool.y[0])].abs()
        weights = 1 / distance.clamp(min=_NEAREST * float(distance.mean()))
    # No weight is 0: `multinomial` draws only examples with a weight, perhaps too few.
    largest = float(weights.max())
    if 0 < largest < torch.inf:
        weights = weights.clamp(min=_LAST * largest)
    else:
        weights = torch.ones_like(weights)
    drawn = min(count, len(weights))
    return torch.multinomial(weights.cpu(), drawn, generator=generator)


def mean_of_features(features: Tensor, count: int) -> Tensor:
    """Take examples one by one, each bringing the mean of the chosen closest to the mean of all.

    Source: Rebuffi et al. 2017, algorithm 4 (herding); an example is taken once, and
    the means are not scaled to length 1.

    Args:
        features: The features, (n, D), which are first scaled to length 1.
        count: The largest number to take.

    Returns:
        The indices, in the order taken.
    """
    phi = functional.normalize(features.double(), dim=1)
    mean = phi.mean(0)
    squares = phi.square().sum(1)
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


ReplayMode = Literal["batch", "joined"]


class ExemplarSettings(StrictModel, strict=True):
    """The settings of exemplars: their number, their choice and their replay.

    Give either `per_class` or `total`. A class that recurs counts in each task that has
    it.

    Attributes:
        per_class: The number of exemplars of each class of each task.
        total: The number of exemplars for all classes of the tasks learned, shared
            equally and rounded down, so that earlier classes give some up as new ones
            come.
        sampling: The strategy that chooses them, see `scenarios.learners.exemplars`.
        replay: The mode of replay: `batch` appends as many exemplars as a batch has new
            examples; `joined` adds all exemplars to the task's training data, each
            visited once per epoch (as iCaRL does).
        balanced: Whether every class has the same weight in the cross-entropy of a
            batch with exemplars; otherwise every example has the same weight, and a new
            class outweighs an old one.
    """

    per_class: PositiveInt | None = None
    total: PositiveInt | None = None
    sampling: Strategy = "uniform"
    replay: ReplayMode = "batch"
    balanced: bool = False

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        """Raise ValueError unless exactly one of `per_class` and `total` is given."""
        if (self.per_class is None) == (self.total is None):
            raise ValueError(
                "give either per_class or total, the number of exemplars to store"
            )
        return self

    def quota(self, classes: int) -> int:
        """Return the number of exemplars of each class.

        Args:
            classes: The number of classes.

        Returns:
            The number.

        Raises:
            InputError: The number would be 0.

        >>> ExemplarSettings(total=20).quota(6)
        3
        """
        quota = self.per_class or (self.total or 0) // classes
        if not quota:
            raise InputError(
                f"a total of {self.total} is too low for {classes} classes: raise it"
            )
        return quota


class Exemplars:
    """The exemplars of each class of each task; the first chosen are kept the longest."""

    def __init__(self, settings: ExemplarSettings) -> None:
        self.settings = settings
        self._groups: list[Examples] = []

    @property
    def examples(self) -> Examples | None:
        """All exemplars, task after task and class after class, None if there are none."""
        return join(self._groups) if self._groups else None

    def add(
        self,
        model: nn.Module,
        task: Task,
        generator: torch.Generator,
    ) -> None:
        """Choose exemplars of a task's classes, and shrink those of earlier tasks to their quota.

        Args:
            model: The model after the task.
            task: The task.
            generator: The source of randomness.
        """
        labels = _trained_classes(task)
        quota = self.settings.quota(len(self._groups) + len(labels))
        for label in labels:
            pool = task.train.of_classes([label])
            chosen = choose(self.settings.sampling, model, pool, quota, generator)
            self._groups.append(pool.take(chosen.to(pool.y.device)))
        # Copies: a view would keep the memory of all.
        self._groups = [
            Examples(group.x[:quota].clone(), group.y[:quota].clone())
            for group in self._groups
        ]

    def state(self) -> Named:
        """Return the exemplars, `memory.x` (M, ...) and `memory.y` (M,), for `restore`."""
        stored = self.examples
        if stored is None:
            return {}
        return {"memory.x": stored.x, "memory.y": stored.y}

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        """Restore the state that `state` returned.

        Args:
            state: The tensors by name.
            past: The tasks learned so far.
        """
        self._groups = []
        if "memory.x" in state:
            # As `add` has stored them: each class up to the present quota.
            counts: list[int] = []
            for task in past:
                labels = _trained_classes(task)
                counts += [int((task.train.y == label).sum()) for label in labels]
            quota = self.settings.quota(len(counts))
            sizes = [min(quota, count) for count in counts]
            self._groups = split_memory(state, sizes)


def split_memory(state: Named, sizes: Sequence[int]) -> list[Examples]:
    """Return the examples in a state, `memory.x` and `memory.y`, in groups of these sizes."""
    sizes = list(sizes)
    groups = state["memory.x"].split(sizes), state["memory.y"].split(sizes)
    return list(map(Examples, *groups))


def _trained_classes(task: Task) -> list[int]:
    """Return the classes of a task for which it has training examples."""
    labels = set(task.train.y.tolist())
    return [label for label in task.classes if label in labels]
