"""Which learners of a study share a network: those whose features agree in names and depths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from figures.tables import continual
from probe.tables.rows import SummaryRow


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network of a study.

    features: their names by depth, in order of depth; learners: those that train it, in the order
    of the table.
    """

    features: dict[int, str]
    learners: list[str]


def networks(summary: Sequence[SummaryRow]) -> list[Network]:
    """Return the networks of the continual learners, in the order of the table.

    summary: the rows of one measure, PRA for example. A learner of which only some features are
    measured, as Offline, belongs to the first network with which its own agree; so it is looked for
    among the networks of those who have more.
    """
    own: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for row in summary:
        own[row.learner][row.depth] = row.feature
    found: list[tuple[dict[int, str], list[str]]] = []
    for name in sorted(own, key=lambda name: -len(own[name])):
        agreeing = (each for each in found if _agree(each[0], own[name]))
        features, learners = next(agreeing, ({}, []))
        if not learners:
            found.append((features, learners))
        features.update(own[name])
        learners.append(name)
    # Each network has by now all features that any of its learners has.
    order = continual(summary)
    ordered = [
        Network(features=dict(sorted(features.items())), learners=sorted(known, key=order.index))
        for features, learners in found
        # What Offline alone has is no network of a continual learner.
        if (known := [name for name in learners if name in order])
    ]
    return sorted(ordered, key=lambda network: order.index(network.learners[0]))


def _agree(one: Mapping[int, str], other: Mapping[int, str]) -> bool:
    """Whether every depth has one name in both, and every name one depth."""
    both = set(one.items()) | set(other.items())
    depths, names = ({pair[k] for pair in both} for k in (0, 1))
    return len(depths) == len(both) == len(names)
