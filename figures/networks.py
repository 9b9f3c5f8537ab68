"""Which learners of a study share a network, told by the names and depths of their features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from figures import style
from figures.appearance import Look
from probe.tables.rows import SummaryRow


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network: its features' names by depth, in order of depth, and who learns on it."""

    features: dict[int, str]
    learners: list[str]


def networks(summary: Sequence[SummaryRow]) -> list[Network]:
    """Return the networks of the continual learners, both in order of the table.

    A learner of which only some features are measured, as Offline, belongs to the first network
    whose features agree with its own.
    """
    own: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for row in summary:
        own[row.learner][row.depth] = row.feature
    found: list[Network] = []
    for name in sorted(own, key=lambda name: -len(own[name])):
        home = next((each for each in found if _agree(each.features, own[name])), None)
        if home is None:
            home = Network(features={}, learners=[])
            found.append(home)
        home.features.update(own[name])
        home.learners.append(name)
    continual = style.continual(summary)
    ordered = [
        Network(
            features=dict(sorted(each.features.items())),
            learners=[name for name in continual if name in each.learners],
        )
        for each in found
    ]
    shared = [each for each in ordered if each.learners]
    return sorted(shared, key=lambda each: continual.index(each.learners[0]))


def named(look: Mapping[str, Look], learners: Sequence[str], most: int = 3) -> str:
    """Return the learners' names in print, of more than `most` all but two as a number.

    >>> from figures.appearance import of_learners
    >>> learners = ["finetune", "ewc", "si", "gem"]
    >>> named(of_learners(learners), learners), named(of_learners(learners), learners[:2])
    ('Finetune, EWC and 2 more', 'Finetune, EWC')
    """
    labels = [look[name].label for name in learners]
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[:2])} and {len(labels) - 2} more"


def _agree(one: Mapping[int, str], other: Mapping[int, str]) -> bool:
    """Whether every depth has one name in both, and every name one depth."""
    both = set(one.items()) | set(other.items())
    depths, names = ({pair[k] for pair in both} for k in (0, 1))
    return len(depths) == len(both) == len(names)
