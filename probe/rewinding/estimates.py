"""Causes with intervals and verdicts, from the quantities of every test example.

An interval of scope `network` is over test examples; as rewinding trains nothing, one
network is enough. One of scope `training` is over seeds and test examples,
from three seeds on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Self

import numpy as np

from probe.analysis.intervals import (
    Estimate,
    at_least_binomial,
    mean_of,
    mean_over_examples,
)
from probe.analysis.statements import FEWEST
from probe.analysis.task_positions import TaskPosition, at_position, average_over
from probe.analysis.variance import Design
from probe.arrays import Floats, Ints
from probe.immutable import immutable
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.schemas import NETWORK, TRAINING, Row

Name = tuple[str, str]
"""A block, empty for the whole network, and a quantity."""

_FEW = 10  # examples unlike the others, from which their number varies as a t interval says
_WIDTH = 1.96  # half the width of an interval over the standard error that drawing orders adds


@immutable(eq=False)
class Quantities:
    """The quantities of the networks after one task, for S seeds, O orders and N test examples.

    Attributes:
        values: The values (S, O, N), by block and quantity.
        errors: The standard error that drawing orders of blocks adds, by block.
        unchanged: The blocks that have not changed in any of the networks.
        withheld: The reason why nothing can be said of blocks, empty if there is none.
    """

    values: Mapping[Name, Floats]
    errors: Mapping[str, float] = field(default_factory=dict)
    unchanged: frozenset[str] = frozenset()
    withheld: str = ""

    @classmethod
    def stacked(cls, runs: Sequence[Self], shape: tuple[int, int]) -> Self:
        """Stack the quantities of single networks, each (N,), that all of them have.

        Args:
            runs: The quantities by network.
            shape: The numbers S and O of seeds and orders, whose product is that of the
                networks.
        """
        values: dict[Name, Floats] = {}
        errors = {}
        for name in _in_all([run.values for run in runs]):
            stack = np.array([run.values[name] for run in runs])
            values[name] = stack.reshape(*shape, -1)
            block, _ = name
            errors[block] = fmean(run.errors.get(block, 0.0) for run in runs)
        reasons = dict.fromkeys(run.withheld for run in runs if run.withheld)
        return cls(
            values=values,
            errors=errors,
            unchanged=frozenset.intersection(*(run.unchanged for run in runs)),
            withheld="; ".join(reasons),
        )

    def by_block(self, examples: Ints) -> Iterator[dict[str, Any]]:
        """Yield what the change of each block did to some examples of a single network, as columns.

        Nothing is yielded where anything is withheld.

        Args:
            examples: Their positions among the N test examples.
        """
        if self.withheld:
            return
        for block, quantity in self.values:
            if quantity != "attributed":
                continue
            lost = self.values["", "lost"][examples]
            columns = {"feature": block, "example": examples, "lost": lost}
            for name in ("attributed", "restored", "broken"):
                columns[name] = self.values[block, name][examples]
            yield columns


@immutable(eq=False)
class Estimation:
    """The test examples and the rules by which causes are estimated.

    Attributes:
        tasks: The task of each test example, (N,), from 0.
        orders: The tasks in executed order, (O, T).
        is_accuracy: Whether the score is 1 or 0, whose intervals are never too narrow.
        margin: The amount that matters, 0 if every amount does.
        trainings: The number of different trainings among the seeds.
    """

    tasks: Ints
    orders: Ints
    is_accuracy: bool
    margin: float
    trainings: int

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that intervals can speak of."""
        return (NETWORK, TRAINING) if self.trainings >= FEWEST else (NETWORK,)

    def rows(self, by_position: Mapping[int, Quantities]) -> Iterator[Row]:
        """Yield the rows of each task position, then of the means over those with nothing withheld.

        Args:
            by_position: The quantities by task position.
        """
        means = {j: self._means(at_j, j) for j, at_j in by_position.items()}
        for j, at_j in by_position.items():
            yield from self._rows(means[j], at_j.unchanged, j)
        # The same positions for all quantities, so that pieces add up; all if none is complete.
        complete = [j for j, at_j in by_position.items() if not at_j.withheld]
        used = complete or list(by_position)
        if not used:
            return
        used_means = [means[j] for j in used]
        over_all = {}
        for name in _in_all(used_means):
            over_all[name] = _over_all([by_name[name] for by_name in used_means])
        unchanged = frozenset.intersection(*(by_position[j].unchanged for j in used))
        yield from self._rows(over_all, unchanged)

    def _means(self, quantities: Quantities, j: int) -> "dict[Name, _Mean]":
        """Return the means over orders of all quantities at a task position."""
        at_j = at_position(self.tasks, self.orders, j)
        means: dict[Name, _Mean] = {}
        for name, values in quantities.values.items():
            if not np.isfinite(values).all():
                continue
            block, quantity = name
            examples = at_j
            if quantity == "net":
                examples = self._equal_tasks()
            error = 0.0
            if quantity == "attributed":
                error = quantities.errors.get(block, 0.0)
            means[name] = _Mean(examples, examples.mean(values), error)
        return means

    def _equal_tasks(self) -> TaskPosition:
        """Return all test examples, weighted so that all tasks weigh the same."""
        sizes = np.bincount(self.tasks)
        weights = 1 / (np.count_nonzero(sizes) * sizes[self.tasks])
        return TaskPosition(None, np.arange(len(self.tasks)), weights)

    def _rows(
        self,
        means: "Mapping[Name, _Mean]",
        unchanged: frozenset[str],
        j: int | None = None,
    ) -> Iterator[Row]:
        """Yield a row for each scope, block and quantity; only shares have a verdict.

        j: the task position of the means, None for all earlier tasks.
        """
        for scope in self.scopes:
            estimates = {
                name: self._estimate(mean, scope, name[0] in unchanged)
                for name, mean in means.items()
            }
            for (block, quantity), estimate in estimates.items():
                error = math.nan
                decision = ""
                if quantity == "attributed":
                    error = means[block, quantity].error
                    decision = self._verdict(estimates, block, unchanged)
                yield {
                    "feature": block,
                    "task_position": j,
                    "quantity": quantity,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "seeds": estimate.seeds,
                    "sampling_error": error,
                    "verdict": decision,
                    "scope": scope,
                }

    def _estimate(self, mean: "_Mean", scope: str, is_unchanged: bool) -> Estimate:
        """Return a mean with its interval, which the error of drawn orders widens."""
        tasks = self.tasks[mean.examples.examples]
        design = Design(mean.examples.weights, tasks)
        if scope == TRAINING:
            estimate = mean_of(design, mean.values)
        else:
            estimate = mean_over_examples(design, mean.values)
        # A t interval trusts examples of a task that happen to agree.
        rare = 0
        for task in np.unique(tasks):
            of_task = mean.values[:, tasks == task].mean(axis=0)
            _, counts = np.unique(of_task, return_counts=True)
            rare += counts.sum() - counts.max()
        if self.is_accuracy and rare < _FEW and not is_unchanged:
            estimate = at_least_binomial(estimate, mean.examples.weights)
        if mean.error:
            lower = math.hypot(estimate.value - estimate.low, _WIDTH * mean.error)
            upper = math.hypot(estimate.high - estimate.value, _WIDTH * mean.error)
            estimate = replace(
                estimate, low=estimate.value - lower, high=estimate.value + upper
            )
        # Nothing beyond can be true of a difference of two accuracies.
        if not self.is_accuracy:
            return estimate
        low = max(estimate.low, -1.0)
        return replace(estimate, low=low, high=min(estimate.high, 1.0))

    def _verdict(
        self, estimates: Mapping[Name, Estimate], block: str, unchanged: frozenset[str]
    ) -> str:
        """Return the verdict on a block, `none` for one that has not changed."""
        if block in unchanged:
            return "none"
        # With all other blocks put back, or none, losses may be infinite: no mean.
        if not all((block, name) in estimates for name in ("broken", "restored")):
            return "open"
        shown = [
            Shown(
                low=estimates[block, name].low,
                high=estimates[block, name].high,
                margin=self.margin,
            )
            for name in ("broken", "restored", "attributed")
        ]
        return verdict(*shown)


def _in_all(by_name: Sequence[Mapping[Name, Any]]) -> list[Name]:
    """Return the names that all of some mappings have, in the order of the first."""
    names = list(by_name[0])
    for mapping in by_name[1:]:
        names = [name for name in names if name in mapping]
    return names


@dataclass(frozen=True, eq=False)
class _Mean:
    """Test examples, the value of each by seed, and the standard error of drawn orders."""

    examples: TaskPosition
    values: Floats
    error: float


def _over_all(means: Sequence[_Mean]) -> _Mean:
    examples, values = average_over(
        [m.examples for m in means], [m.values for m in means]
    )
    # The runs of a seed share the orders of the blocks, whose errors need not average
    # out.
    return _Mean(examples, values, fmean(mean.error for mean in means))
