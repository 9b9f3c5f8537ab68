"""Architectures of a study: learners share one if their features agree in names and depths."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from figures.tables import continual
from probe.tables.rows import SummaryRow


class Architecture(NamedTuple):
    """An architecture, and the learners that train networks of it.

    features: names by depth, in order of depth; learners: in the order of the table.
    """

    features: dict[int, str]
    learners: list[str]


def architectures(summary: Sequence[SummaryRow]) -> list[Architecture]:
    """Return the architectures of the continual learners, in the order of the table.

    summary: the rows of one measure, PRA for example. A learner with only some features measured,
    as Offline, belongs to the first architecture with which these agree; so those with more
    features come first.
    """
    own: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for row in summary:
        own[row.learner][row.depth] = row.feature
    found: list[Architecture] = []
    for name in sorted(own, key=lambda name: -len(own[name])):
        agreeing = (each for each in found if _agree(each.features, own[name]))
        one = next(agreeing, None)
        if one is None:
            one = Architecture({}, [])
            found.append(one)
        one.features.update(own[name])
        one.learners.append(name)
    order = continual(summary)
    ordered = [
        Architecture(dict(sorted(features.items())), [name for name in order if name in learners])
        for features, learners in found
    ]
    # Features of Offline alone are of no continual learner.
    trained = [one for one in ordered if one.learners]
    return sorted(trained, key=lambda one: order.index(one.learners[0]))


def _agree(one: Mapping[int, str], other: Mapping[int, str]) -> bool:
    """Tell whether every depth has one name in both, and every name one depth."""
    both = set(one.items()) | set(other.items())
    depths, names = ({pair[k] for pair in both} for k in (0, 1))
    return len(depths) == len(both) == len(names)
