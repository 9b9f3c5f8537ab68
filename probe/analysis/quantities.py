"""The quantities of a layer: sums of terms, each a share of test examples that are right.

A[t, j] is the accuracy of a readout of a feature on the task at position j after t of T
tasks. The floor b is the same accuracy for the untrained network, the ceiling C for the
offline-trained one. Positions follow the executed order: position j uses the test
examples of each order's j-th task, averaged over the orders within a seed. None stands
for all tasks.

- `accuracy` A[T, j]; `floor` b; `ceiling` C
- `strength` of forgetting: accuracy of the offline-trained network itself, minus
  A[T, j]
- `missing` M = C - A[T, j]; `never_learned` N = C - A[j, j]; `forgotten` F = A[j,
  j] - A[T, j], only for j < T: M = N + F at each position, to the last bit, and M =
  N at the last
- `forgotten_max`, for j < T: the best of each run's A[j, j] to A[T-1, j], minus
  A[T, j]. The maximum of noisy values is biased upward, and the interval does not
  cover this bias
- `own` and `inherited`, whose sum is `forgotten`: with A[u, w] of the network whose
  blocks upstream of the feature's own are of theta_u and whose own block is of
  theta_w, own = ((A[j, j] - A[j, T]) + (A[T, j] - A[T, T])) / 2
- `above_floor` = A[T, j] - b; `offline_adds` = C - b; `acquired` = A[j, j] - b: N
  is what offline training adds minus what was acquired, and may be more than the
  former
- `missing_drift`, `never_learned_drift` and `forgotten_drift`: the value after half
  of the retraining's epochs, with a ceiling of as many, minus the value
- `retained` = (A[T, j] - b) / (C - b); NaN where C - b is not significantly above 0

Over all tasks, every test example has the same weight, but `forgotten`, its parts
and `forgotten_max` are means over the positions j < T, as in the literature. Two
quantities exist for all tasks only: `forgotten_share` = 1 - N / M, NaN where M is
not significantly above 0; and `never_learned_slope`, the least-squares slope of N
over the positions of T >= 3 tasks, above 0 where each task is learned worse than
the one before.

Source: Murata 2020 (`strength`); Chaudhry 2018 (`forgotten_max`; they count rows
before j too, where nothing of the task was learned); `forgotten` is minus GEM's
backward transfer.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from probe.analysis.intervals import (
    Estimate,
    at_least_binomial,
    mean_of,
    mean_over_examples,
    ratio_of,
    ratio_over_examples,
)
from probe.analysis.statements import FEWEST, QUANTITIES
from probe.analysis.task_positions import (
    TaskPosition,
    at_position,
    average_over,
    over_all_tasks,
)
from probe.analysis.variance import Design
from probe.arrays import Bools, Floats, Ints
from probe.immutable import immutable

Right = Bools
"""Whether test examples are classified correctly."""


class Term(StrEnum):
    """A term of quantities at a task position j, as formulas print it."""

    END = "A[T,j]"
    LEARNED = "A[j,j]"
    BEST = "max A[t,j]"
    FLOOR = "b[j]"
    CEILING = "C[j]"
    OFFLINE = "offline[j]"
    UPSTREAM = "upstream[j]"
    BLOCK = "block[j]"
    HALF_END = "half A[T,j]"
    HALF_LEARNED = "half A[j,j]"
    HALF_CEILING = "half C[j]"
    NEVER_SAW = "without[j]"
    PERMUTED = "permuted"


Coefficients = Mapping[Term, float]
"""The coefficient of each term in a sum."""

_HALVES = {
    Term.HALF_END: Term.END,
    Term.HALF_LEARNED: Term.LEARNED,
    Term.HALF_CEILING: Term.CEILING,
}

COEFFICIENTS: Mapping[str, Coefficients] = {
    "accuracy": {Term.END: 1},
    "floor": {Term.FLOOR: 1},
    "ceiling": {Term.CEILING: 1},
    "strength": {
        Term.OFFLINE: 1,
        Term.END: -1,
    },
    "missing": {
        Term.CEILING: 1,
        Term.END: -1,
    },
    "never_learned": {
        Term.CEILING: 1,
        Term.LEARNED: -1,
    },
    "forgotten": {
        Term.LEARNED: 1,
        Term.END: -1,
    },
    "forgotten_max": {
        Term.BEST: 1,
        Term.END: -1,
    },
    "own": {
        Term.LEARNED: 0.5,
        Term.BLOCK: 0.5,
        Term.UPSTREAM: -0.5,
        Term.END: -0.5,
    },
    "inherited": {
        Term.LEARNED: 0.5,
        Term.BLOCK: -0.5,
        Term.UPSTREAM: 0.5,
        Term.END: -0.5,
    },
    "above_floor": {
        Term.END: 1,
        Term.FLOOR: -1,
    },
    "offline_adds": {
        Term.CEILING: 1,
        Term.FLOOR: -1,
    },
    "acquired": {
        Term.LEARNED: 1,
        Term.FLOOR: -1,
    },
    "missing_drift": {
        Term.HALF_CEILING: 1,
        Term.HALF_END: -1,
        Term.CEILING: -1,
        Term.END: 1,
    },
    "never_learned_drift": {
        Term.HALF_CEILING: 1,
        Term.HALF_LEARNED: -1,
        Term.CEILING: -1,
        Term.LEARNED: 1,
    },
    "forgotten_drift": {
        Term.HALF_LEARNED: 1,
        Term.HALF_END: -1,
        Term.LEARNED: -1,
        Term.END: 1,
    },
}
"""The quantities that are sums of terms, each with its coefficient."""

CONTROLS: Mapping[str, Coefficients] = {
    "exclusion_difference": {Term.END: 1, Term.NEVER_SAW: -1},
    "selectivity": {Term.END: 1, Term.PERMUTED: -1},
}
"""The quantities of controls.csv, see `probe.results.controls`."""

RATIOS: Mapping[str, tuple[str, str]] = {"retained": ("above_floor", "offline_adds")}
"""The quantities that are ratios of two others."""

OVER_POSITIONS = ("forgotten", "forgotten_max", "own", "inherited", "forgotten_drift")
"""The quantities of positions j < T alone; over all tasks, their means over these positions.

Nothing of the last task can have been forgotten.
"""

_Values = dict[str, Floats]  # values (S, m) whose means are quantities, by name


@immutable(eq=False)
class Terms:
    """Whether each test example is right downstream of one feature, for a learner and readout.

    The n test examples are in an order that all share. A task has a fixed number of
    examples; within it they are a random sample.

    Attributes:
        tasks: The task of each example, (n,), 0 to T-1 as the scenario numbers them.
        orders: The task at each position of each order, (O, T).
        after: Correctness (S, O, n) for S seeds and O orders, by tasks learned t, 0 to
            T; T is required.
        floor: Correctness (S, n) at the floor for the same seeds, None if not measured.
        ceiling: Correctness (S, n) at the ceiling for the same seeds, None if not
            measured.
        offline: Correctness (S, n) of the offline-trained network itself, None if there
            is none.
        upstream: Correctness (S, O, n) in the last network with all blocks upstream of
            the feature's own put back to theta_j, by j.
        block: Correctness (S, O, n) in the last network with only the feature's own
            block put back to theta_j, by j.
        half: The terms after half of the retraining's epochs, None for other readouts.
        trainings: The number of different trainings among the seeds, None if all
            differ: seeds may only retrain downstream of the same networks.
    """

    tasks: Ints
    orders: Ints
    after: Mapping[int, Right]
    floor: Right | None = None
    ceiling: Right | None = None
    offline: Right | None = None
    upstream: Mapping[int, Right] = field(default_factory=dict)
    block: Mapping[int, Right] = field(default_factory=dict)
    half: "Terms | None" = None
    trainings: int | None = None

    @property
    def T(self) -> int:  # noqa: N802, as the literature has it
        """The number of tasks."""
        return int(self.orders.shape[1])

    @property
    def of_training(self) -> bool:
        """Whether intervals speak of the way of training, rather than of these networks."""
        return self._different >= FEWEST

    @property
    def over_seeds(self) -> bool:
        """Whether intervals are over seeds too: over trainings, or retrainings of one network."""
        return self.of_training or self._different == 1

    @property
    def _different(self) -> int:
        seeds = len(self.after[self.T])
        return seeds if self.trainings is None else self.trainings

    def at(self, position: TaskPosition) -> dict[Term, Floats]:
        """Return the terms that were measured at a task position, as values (S, m)."""
        right = {
            Term.END: self.after[self.T],
            Term.BEST: self._best(position),
            Term.FLOOR: self.floor,
            Term.CEILING: self.ceiling,
            Term.OFFLINE: self.offline,
        }
        j = position.number
        if j is None:
            right[Term.LEARNED] = self._just_learned()
        else:
            right[Term.LEARNED] = self.after.get(j)
            right[Term.UPSTREAM] = self.upstream.get(j)
            right[Term.BLOCK] = self.block.get(j)
        terms = {
            term: position.mean(values)
            for term, values in right.items()
            if values is not None
        }
        half = self.half.at(position) if self.half else {}
        for at_half, term in _HALVES.items():
            if term in half:
                terms[at_half] = half[term]
        return terms

    def _just_learned(self) -> Right | None:
        """Return whether the network that has just learned an example's task is right."""
        if not set(range(1, self.T + 1)) <= set(self.after):
            return None
        # The position of each example's task, from 0, (1, 1, O, N).
        position_of_task = np.argsort(self.orders)[None, None, :, self.tasks]
        learned = np.stack([self.after[t] for t in range(1, self.T + 1)])
        return np.asarray(np.take_along_axis(learned, position_of_task, axis=0)[0])

    def _best(self, position: TaskPosition) -> Right | None:
        """Return whether the best network on the task, of those after j to T-1 tasks, is right."""
        j = position.number
        if j is None or j == self.T or not set(range(j, self.T)) <= set(self.after):
            return None
        examples = position.examples
        # (T - j, S, O, m)
        later = np.stack([self.after[t][..., examples] for t in range(j, self.T)])
        of_task = self.tasks[examples] == self.orders[:, j - 1, None]  # (O, m)
        # Its index by run, (1, S, O, 1).
        index_of_best = (later & of_task).sum(axis=-1).argmax(axis=0)[None, ..., None]
        right = np.zeros_like(self.after[self.T])
        right[..., examples] = np.take_along_axis(later, index_of_best, axis=0)[0]
        return right


def combined(terms: Mapping[Term, Floats], coefficients: Coefficients) -> Floats | None:
    """Return the sum of terms with their coefficients, None if one was not measured."""
    if not coefficients.keys() <= terms.keys():
        return None
    return np.asarray(sum(c * terms[term] for term, c in coefficients.items()))


def quantities(terms: Terms) -> dict[tuple[str, int | None], Estimate]:
    """Return all quantities that the terms allow, for all tasks and each task position, 1..T.

    Args:
        terms: The correctness of the test examples at one layer.

    Returns:
        The quantities by name and task position, in display order. From three trainings
        on their intervals are over seeds and test examples; those of one or two are
        over test examples only. The interval of a share of examples is at least as wide
        as the binomial one.

    Raises:
        InputError: There are fewer than 2 examples.
    """
    T = terms.T
    numbers = range(1, T + 1)
    positions = [at_position(terms.tasks, terms.orders, j) for j in numbers]
    by_position = [_values(terms, position) for position in positions]
    all_tasks = over_all_tasks(len(terms.tasks))
    results = _estimates(all_tasks, _values(terms, all_tasks), terms)
    for position, values in zip(positions, by_position, strict=True):
        results |= _estimates(position, values, terms)
    averaged = {
        name: [values[name] for values in by_position[:-1] if name in values]
        for name in OVER_POSITIONS
    }
    learned = [v["never_learned"] for v in by_position if "never_learned" in v]
    if T > 2 and len(learned) == T:
        j = np.arange(T) - (T - 1) / 2
        weights = T * j / (j @ j)
        slope = [w * values for w, values in zip(weights, learned, strict=True)]
        averaged["never_learned_slope"] = slope
    for name, parts in averaged.items():
        if len(parts) >= max(T - 1, 1):
            mean, x = average_over(positions[: len(parts)], parts)
            results |= _estimates(mean, {name: x}, terms)
    in_order = sorted(results, key=lambda key: (QUANTITIES.index(key[0]), key[1] or 0))
    return {key: results[key] for key in in_order}


def columns_of(name: str, position: int | None, estimate: Estimate) -> dict[str, Any]:
    """Return the columns of tables that hold a quantity."""
    return {
        "quantity": name,
        "task_position": position,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "seeds": estimate.seeds,
    }


def _values(terms: Terms, position: TaskPosition) -> _Values:
    """Return the values (S, m) whose means are quantities, at the test examples of a position."""
    measured = terms.at(position)
    is_forgettable = position.number not in (None, terms.T)
    values = {
        name: combined(measured, coefficients)
        for name, coefficients in COEFFICIENTS.items()
        if is_forgettable or name not in OVER_POSITIONS
    }
    return {name: x for name, x in values.items() if x is not None}


def _estimates(
    position: TaskPosition, values: _Values, terms: Terms
) -> dict[tuple[str, int | None], Estimate]:
    """Return quantities with their intervals; values: (S, m), by name."""
    design = Design(position.weights, terms.tasks[position.examples])
    mean = mean_of if terms.over_seeds else mean_over_examples
    ratio = ratio_of if terms.over_seeds else ratio_over_examples
    estimates = {name: mean(design, x) for name, x in values.items()}
    for name, estimate in estimates.items():
        # At the first layer nothing is inherited, whatever the examples.
        if _is_count(values[name]) and (name != "inherited" or values[name].any()):
            estimates[name] = at_least_binomial(estimate, position.weights)
    if {"missing", "forgotten"} <= values.keys():
        total = estimates["never_learned"].value + estimates["forgotten"].value
        estimates["missing"] = replace(estimates["missing"], value=total)
    clipped = {name: within_range(name, x) for name, x in estimates.items()}
    for name, (above, below) in RATIOS.items():
        if {above, below} <= values.keys():
            clipped[name] = ratio(design, values[above], values[below])
    if position.number is None and "never_learned" in values:
        lost = values["missing"] - values["never_learned"]
        clipped["forgotten_share"] = ratio(design, lost, values["missing"])
    return {(name, position.number): x for name, x in clipped.items()}


def _is_count(values: Floats) -> bool:
    """Return whether the mean of values (S, m) is a share of examples.

    It is for one network. A mean over several varies less, unless no value differs at
    all.
    """
    is_whole = len(values) == 1 and np.array_equal(values, np.rint(values))
    is_constant = bool((values == values.flat[0]).all())
    return is_whole or is_constant


def within_range(name: str, estimate: Estimate) -> Estimate:
    """Clip the interval of a quantity to the values that the sum of its terms can have.

    A slope, which is no such sum, is a difference of two accuracies.
    """
    difference = COEFFICIENTS["forgotten"]
    coefficients = {**COEFFICIENTS, **CONTROLS}.get(name, difference)
    least = sum(c for c in coefficients.values() if c < 0)
    most = sum(c for c in coefficients.values() if c > 0)
    return replace(
        estimate,
        low=float(np.clip(estimate.low, least, most)),
        high=float(np.clip(estimate.high, least, most)),
    )
