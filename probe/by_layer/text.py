"""An analysis as text: a table for each readout, where forgetting starts, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from probe.by_layer.asked import Step, network_name
from probe.notes import by_feature as lines_by_feature
from probe.notes import listed
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import NoteRow

ONE_NETWORK = (
    "the intervals tell of retrainings and test examples, not of what another training of the "
    "network would give"
)


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A note on a feature of the network of a step; readout: empty if on the feature itself."""

    step: Step
    readout: str
    feature: str
    note: str


def sentences(noted: Iterable[Noted], steps: Sequence[Step]) -> Iterator[str]:
    """Yield each note once, with the readout, the networks and the features that it holds for.

    steps: all there are; a note that holds for all of them names none.
    """
    where: dict[tuple[str, str, str], dict[Step, None]] = {}
    for each in noted:
        where.setdefault((each.readout, each.note, each.feature), {})[each.step] = None
    groups: dict[tuple[str, tuple[Step, ...]], dict[str, list[str]]] = {}
    for (readout, note, feature), own in where.items():
        at = tuple(step for step in steps if step in own)
        groups.setdefault((readout, at), {}).setdefault(feature, []).append(note)
    for (readout, at), notes in groups.items():
        named = "" if len(at) == len(steps) else ", ".join(map(network_name, at))
        before = ": ".join(filter(None, (readout, named)))
        for line in lines_by_feature(notes):
            yield f"{before}: {line}" if before else line


def note_sentences(notes: Iterable[NoteRow]) -> Iterator[str]:
    """Yield each note of runs once for each learner, with the features and steps it holds for."""
    groups: dict[tuple[str, str, str], list[NoteRow]] = {}
    for row in notes:
        groups.setdefault((row.learner, row.readout, row.note), []).append(row)
    for (learner, readout, note), rows in groups.items():
        features = listed(dict.fromkeys(row.feature for row in rows if row.feature))
        steps = sorted({row.step for row in rows if row.step is not None})
        runs = len({(row.order, row.seed) for row in rows})
        where = [learner, features, f"by {readout}" if readout else ""]
        if steps and learner not in (OFFLINE, UNTRAINED):
            where.append(f"after {listed(steps)} task{'' if steps == [1] else 's'}")
        where.append(f"in {runs} run{'' if runs == 1 else 's'}")
        yield f"{', '.join(filter(None, where))}: {note}"
