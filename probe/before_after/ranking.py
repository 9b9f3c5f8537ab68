"""The ranking of remedies of what a network has lost on old examples.

A remedy is chosen on one half of the examples, and reported on the other.

The best of many is too good on the examples that it was chosen on, also where all are
equal.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from probe.analysis.intervals import (
    LEVEL,
    Estimate,
    at_least_binomial,
    mean_over_examples,
)
from probe.analysis.variance import Design
from probe.arrays import Bools, Floats
from probe.immutable import immutable

AS_IT_IS = "as it is"
"""The kind of the remedy that changes nothing."""

_FEW = 10  # examples whose change differs from the others', below which t is too narrow
NOTHING = Estimate(value=math.nan, low=math.nan, high=math.nan, seeds=0)
"""The estimate of what was not measured."""


@immutable(eq=False)
class Remedy:
    """A remedy that was carried out.

    Attributes:
        name: The remedy in words.
        kind: Its kind.
        size: The blocks that are put back, or stored examples of each class: fewer are
            simpler.
        scores: The score of each test example, old ones first, (N,).
    """

    name: str
    kind: str
    scores: Floats
    size: int = 1


@immutable
class Measured:
    """A remedy, measured on the half of the examples that did not rank the remedies.

    Attributes:
        name: The remedy in words.
        kind: Its kind.
        old: The score on old examples.
        old_change: That score minus the score of the network as it is, by example.
        new: The score on new examples, NaN without any.
        new_change: The same difference on new examples.
        rank: The rank on the other half, from 1; None without new examples.
        is_recommended: Whether it is shown there to be better on old and new together
            than the network as it is, and is the best of its kind, or the simplest that
            is as good.
        front: Whether no other remedy is better on old or on new examples and as good
            on the other.
    """

    name: str
    kind: str
    old: Estimate
    old_change: Estimate
    new: Estimate = NOTHING
    new_change: Estimate = NOTHING
    rank: int | None = None
    is_recommended: bool = False
    front: bool = False


def interval(
    values: Floats, is_accuracy: bool, least: float = -1.0, level: float = LEVEL
) -> Estimate:
    """Return the mean over examples with its interval.

    Args:
        values: The value of each example, (n,).
        least: The least value of an accuracy, or of a difference of two.
        is_accuracy: Whether values are right or wrong, or a difference of these: bounds
            are at least as wide as those of a share.
        level: The level of the interval.
    """
    n = len(values)
    weights = np.full(n, 1 / n)
    estimate = mean_over_examples(
        Design(weights, np.zeros(n, int)), values[None], level
    )
    # Exactly the share of right answers.
    estimate = replace(estimate, value=float(values.mean()))
    if not is_accuracy:
        return estimate
    _, counts = np.unique(values, return_counts=True)
    if n - counts.max() < _FEW:
        estimate = at_least_binomial(estimate, weights, level)
    return replace(estimate, low=max(estimate.low, least), high=min(estimate.high, 1.0))


def ranks(old: Floats, new: Floats) -> list[int]:
    """Rank remedies by the mean of their scores on old and new examples, from 1.

    Args:
        old: The scores (R, n) of R remedies on the old examples that choose.
        new: Their scores (R, m) on the new ones.

    Returns:
        The ranks; of equal remedies the first has the best.

    >>> ranks(np.array([[0.0, 1], [1, 1]]), np.array([[1.0], [1.0]]))
    [2, 1]
    """
    values = (old.mean(axis=1) + new.mean(axis=1)) / 2
    order = np.argsort(-values, kind="stable")
    return [int(rank) + 1 for rank in np.argsort(order)]


def measure(
    remedies: Sequence[Remedy],
    is_old: Bools,
    is_chosen_on: Bools,
    is_accuracy: bool,
) -> list[Measured]:
    """Rank remedies on one half of the examples, and measure them on the other.

    Args:
        remedies: The remedies, with the network as it is among them.
        is_old: Whether an example is old, (N,).
        is_chosen_on: Whether it belongs to the half that ranks them, (N,).
        is_accuracy: Whether the score is an accuracy.

    Returns:
        A record of each remedy, in the same order; ranks need new examples.
    """
    scores = np.array([remedy.scores for remedy in remedies])
    gains = scores - scores[_as_it_is(remedies)]
    old_rows = is_old & ~is_chosen_on
    measured = [
        Measured(
            name=remedy.name,
            kind=remedy.kind,
            old=interval(scores[index, old_rows], is_accuracy, least=0.0),
            old_change=interval(gains[index, old_rows], is_accuracy),
        )
        for index, remedy in enumerate(remedies)
    ]
    if is_old.all():
        return measured
    new_rows = ~is_old & ~is_chosen_on
    order = ranks(scores[:, is_old & is_chosen_on], scores[:, ~is_old & is_chosen_on])
    recommended = _recommended(
        remedies, scores[:, is_chosen_on], is_old[is_chosen_on], is_accuracy
    )
    on_front = front(scores[:, old_rows].mean(axis=1), scores[:, new_rows].mean(axis=1))
    for index, result in enumerate(measured):
        measured[index] = replace(
            result,
            new=interval(scores[index, new_rows], is_accuracy, least=0.0),
            new_change=interval(gains[index, new_rows], is_accuracy),
            rank=order[index],
            is_recommended=index in recommended,
            front=bool(on_front[index]),
        )
    return measured


def _as_it_is(remedies: Sequence[Remedy]) -> int:
    """Return the position of the network as it is."""
    return [remedy.kind for remedy in remedies].index(AS_IT_IS)


def _recommended(
    remedies: Sequence[Remedy],
    scores: Floats,
    is_old: Bools,
    is_accuracy: bool,
) -> set[int]:
    """Return the position of one remedy of each kind whose best one is shown to help.

    It is the simplest of those that are as good as the best one.

    Args:
        remedies: The remedies.
        scores: Their scores (R, n) on the examples that choose.
        is_old: Whether an example is old, (n,).
        is_accuracy: Whether the score is an accuracy.
    """
    # Old and new examples weigh the same together.
    weights = np.where(is_old, 1 / is_old.sum(), 1 / (~is_old).sum()) * len(is_old) / 2
    gains = weights * (scores - scores[_as_it_is(remedies)])
    # The best of many is shown to be better only if it would be among so many.
    level = 1 - (1 - LEVEL) / len(remedies)
    recommended = set()
    for kind in dict.fromkeys(remedy.kind for remedy in remedies):
        of_kind = [k for k, remedy in enumerate(remedies) if remedy.kind == kind]
        best = max(of_kind, key=lambda k: float((weights * scores[k]).mean()))
        if not interval(gains[best], is_accuracy, level=level).low > 0:
            continue
        as_good = []
        for index in of_kind:
            # Not significantly worse than the best.
            lead = interval(weights * (scores[best] - scores[index]), is_accuracy)
            if lead.low <= 0:
                as_good.append(index)
        recommended.add(min(as_good, key=lambda k: remedies[k].size))
    return recommended


def front(old: Floats, new: Floats) -> Bools:
    """Return whether no other remedy is better on one and as good on the other, (R,).

    Args:
        old: The scores on old examples, (R,).
        new: The scores on new examples, (R,).

    >>> front(np.array([0.9, 0.5, 0.4]), np.array([0.2, 0.8, 0.7])).tolist()
    [True, True, False]
    """
    as_good = (old[:, None] >= old) & (new[:, None] >= new)
    better = (old[:, None] > old) | (new[:, None] > new)
    return np.asarray(~(as_good & better).any(axis=0))
