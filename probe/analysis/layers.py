"""The quantities of a layer: missing, never learned, forgotten, retained, each with its interval.

A[t, j] is the accuracy of a readout of a feature on the task at position j after t of T
tasks. The floor b is the same accuracy for the untrained network, the ceiling C for the
offline-trained one. Positions follow the executed order: position j uses the test
examples of each order's j-th task, averaged over the orders within a seed. None stands
for all tasks.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from probe.analysis.variance import Design, Floats
from probe.immutable import immutable

Right = NDArray[np.bool_]

_Means = dict[str, Floats]  # values (S, m) whose means are quantities, by name

_FORGOTTEN = (
    "forgotten",
    "forgotten_max",
    "own",
    "inherited",
    "forgotten_drift",
)  # over all tasks these are means over positions

_DIFFERENCES = {
    "strength": ("offline", "accuracy"),
    "missing": ("ceiling", "accuracy"),
    "never_learned": ("ceiling", "learned"),
    "forgotten": ("learned", "accuracy"),
    "forgotten_max": ("best", "accuracy"),
    "above_floor": ("accuracy", "floor"),
    "offline_adds": ("ceiling", "floor"),
    "acquired": ("learned", "floor"),
}
"""The names of the quantities that are differences of two accuracies."""


@immutable(eq=False)
class TestLayout:
    """The n test examples, in the order that all evaluations share.

    Attributes:
        tasks: The task of each example, (n,), 0 to T-1 as the scenario numbers them. A
            task has a fixed number of examples; within it they are a random sample.
        orders: The task at each position of each order, (O, T).
    """

    # The name is no test's.
    __test__: ClassVar[bool] = False

    tasks: NDArray[np.integer]
    orders: NDArray[np.integer]


@immutable(eq=False)
class LayerOutcomes:
    """The correctness of every test example downstream of one feature, for one learner and readout.

    Attributes:
        rows: Correctness (S, O, n) for S seeds and O orders, by tasks learned t, 0 to
            T; row T is required.
        floor: Correctness (S, n) at the floor for the same seeds, None if not measured.
        ceiling: Correctness (S, n) at the ceiling for the same seeds, None if not
            measured.
        offline: Correctness (S, n) of the offline-trained network itself, None if there
            is none.
        upstream: Correctness (S, O, n) in the last network with all blocks upstream of
            the feature's own put back to theta_j, by j.
        block: Correctness (S, O, n) in the last network with only the feature's own
            block put back to theta_j, by j.
        half: The outcomes after half of the retraining's epochs, None for other
            readouts.
        trainings: The number of different trainings among the seeds, None if all
            differ: seeds may only retrain downstream of the same networks.
    """

    rows: Mapping[int, Right]
    floor: Right | None = None
    ceiling: Right | None = None
    offline: Right | None = None
    upstream: Mapping[int, Right] = field(default_factory=dict)
    block: Mapping[int, Right] = field(default_factory=dict)
    half: "LayerOutcomes | None" = None
    trainings: int | None = None

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
        seeds = len(next(iter(self.rows.values())))
        return seeds if self.trainings is None else self.trainings


@immutable
class Quantity(Estimate):
    """One quantity of a layer, as a fraction, with its interval.

    The task position is 1 to T, or None for all tasks.
    """

    quantity: str
    task_position: int | None

    @property
    def columns(self) -> dict[str, Any]:
        """The table columns that identify the quantity."""
        return {
            name: value for name, value in vars(self).items() if name != "seed_values"
        }


def quantities(outcomes: LayerOutcomes, layout: TestLayout) -> list[Quantity]:
    """Return all quantities that the outcomes allow, for all tasks and each task position, 1..T.

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

    Args:
        outcomes: The correctness of the test examples at one layer.
        layout: The tasks and orders of the test examples.

    Returns:
        The quantities whose rows were measured. From three trainings on their intervals
        are over seeds and test examples; those of one or two are over test examples
        only. The interval of a share of examples is at least as wide as the binomial
        one.

    Raises:
        InputError: There are fewer than 2 examples.

    Source: Murata 2020 (`strength`); Chaudhry 2018 (`forgotten_max`; they count rows
    before j too, where nothing of the task was learned); `forgotten` is minus GEM's
    backward transfer.
    """
    T = layout.orders.shape[1]
    results = list[Quantity]()
    positions = [at_position(layout.tasks, layout.orders, p) for p in range(1, T + 1)]
    positions = [over_all_tasks(len(layout.tasks)), *positions]
    e = [_means(outcomes, layout, position) for position in positions]
    for position, e_j in zip(positions, e, strict=True):
        results += _estimated(position, e_j, layout, outcomes.over_seeds)
    combined = {
        name: [e_j[name] for e_j in e[1:-1] if name in e_j] for name in _FORGOTTEN
    }
    if T > 2 and all("never_learned" in e_j for e_j in e[1:]):
        j = np.arange(T) - (T - 1) / 2
        slopes = zip(T * j / (j @ j), e[1:], strict=True)
        combined["never_learned_slope"] = [
            w * e_j["never_learned"] for w, e_j in slopes
        ]
    for name, values in combined.items():
        if len(values) >= max(T - 1, 1):
            mean, x = average_over(positions[1 : 1 + len(values)], values)
            results += _estimated(mean, {name: x}, layout, outcomes.over_seeds)
    return sorted(
        results, key=lambda q: (QUANTITIES.index(q.quantity), q.task_position or 0)
    )


def _means(
    outcomes: LayerOutcomes, layout: TestLayout, position: TaskPosition
) -> _Means:
    """Return the values (S, m) whose means are quantities, at the test examples of a position."""
    rows, p = outcomes.rows, position.position
    T = layout.orders.shape[1]
    right = {
        "accuracy": rows[T],
        "floor": outcomes.floor,
        "ceiling": outcomes.ceiling,
        "offline": outcomes.offline,
    }
    if p and p in rows:
        right["learned"] = rows[p]
    elif p is None and set(range(1, T + 1)) <= set(rows):
        # Each example by the network that has just learned its task.
        last_task = np.argsort(layout.orders)[None, None, :, layout.tasks]
        learned = np.stack([rows[t] for t in range(1, T + 1)])
        right["learned"] = np.take_along_axis(learned, last_task, axis=0)[0]
    if p and p < T and set(range(p, T)) <= set(rows):
        later = np.stack([rows[t][..., position.examples] for t in range(p, T)])
        of_task = layout.tasks[position.examples] == layout.orders[:, p - 1, None]
        highest = (later & of_task).sum(axis=-1).argmax(axis=0)[None, ..., None]
        right["best"] = best = np.zeros_like(rows[T])
        best[..., position.examples] = np.take_along_axis(later, highest, axis=0)[0]
    e = {name: position.mean(x) for name, x in right.items() if x is not None}
    e |= {n: e[a] - e[b] for n, (a, b) in _DIFFERENCES.items() if {a, b} <= e.keys()}
    if p and p in outcomes.upstream and p in outcomes.block and "forgotten" in e:
        upstream, block = (
            position.mean(outcomes.upstream[p]),
            position.mean(outcomes.block[p]),
        )
        e["own"] = (e["learned"] - upstream + block - e["accuracy"]) / 2
        e["inherited"] = e["forgotten"] - e["own"]
    before = _means(outcomes.half, layout, position) if outcomes.half else {}
    e |= {
        f"{name}_drift": before[name] - e[name]
        for name in ("missing", "never_learned", "forgotten")
        if name in e and name in before
    }
    # Of the last task nothing can have been forgotten, and over all it is a mean over
    # positions.
    absent = {"learned", "best", "offline"} | (
        {"forgotten"} if p in (None, T) else set()
    )
    return {name: values for name, values in e.items() if name not in absent}


def _estimated(
    position: TaskPosition, e: _Means, layout: TestLayout, over_seeds: bool
) -> list[Quantity]:
    """Return quantities with their intervals; e: the values of each mean, (S, m), by name."""
    design = Design(position.weights, layout.tasks[position.examples])
    mean = mean_of if over_seeds else mean_over_examples
    ratio = ratio_of if over_seeds else ratio_over_examples
    estimates = {name: mean(design, values) for name, values in e.items()}
    for name, estimate in estimates.items():
        # At the first layer nothing is inherited, whatever the examples.
        if _is_count(e[name]) and (name != "inherited" or e[name].any()):
            estimates[name] = at_least_binomial(estimate, position.weights)
    if {"missing", "forgotten"} <= e.keys():
        total = estimates["never_learned"].value + estimates["forgotten"].value
        estimates["missing"] = replace(estimates["missing"], value=total)
    if "offline_adds" in e:
        estimates["retained"] = ratio(design, e["above_floor"], e["offline_adds"])
    if position.position is None and "never_learned" in e:
        lost = e["missing"] - e["never_learned"]
        estimates["forgotten_share"] = ratio(design, lost, e["missing"])
    return [quantity(name, position, estimate) for name, estimate in estimates.items()]


def _is_count(values: Floats) -> bool:
    """Return whether the mean of values (S, m) is a share of examples.

    It is for one network. A mean over several varies less, unless no value differs at
    all.
    """
    is_whole = len(values) == 1 and np.array_equal(values, np.rint(values))
    return is_whole or bool((values == values.flat[0]).all())


def quantity(name: str, position: TaskPosition, estimate: Estimate) -> Quantity:
    """Return an estimate as a quantity of a task position, its interval clipped to possible values.

    Args:
        name: Name of the quantity.
        position: The task position.
        estimate: The estimate.

    Returns:
        The quantity.
    """
    if name not in ("retained", "forgotten_share"):
        # Nothing beyond can be true of an accuracy, or of a difference of two; NaN
        # stays.
        least = 0 if name in ("accuracy", "floor", "ceiling") else -1
        low, high = (
            float(np.clip(end, least, 1)) for end in (estimate.low, estimate.high)
        )
        estimate = replace(estimate, low=low, high=high)
    return Quantity(quantity=name, task_position=position.position, **vars(estimate))
