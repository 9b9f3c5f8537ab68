"""Doubts about the trainings of a study: what its notes say of the networks that are drawn."""

import re
from collections.abc import Collection, Iterable, Mapping

from figures import labels
from probe.analysis.statements import STUCK, UNFINISHED
from probe.tables.rows import CONTROLS, NoteRow

Names = Collection[str]

_KINDS = {
    "Collapsed": rf"it collapsed|it predicts class .* for every test example|{STUCK}",
    "Near chance": "its accuracy on .* is near chance",
    "No ceiling": "it is less accurate than .* no ceiling",
    "Not converged": rf"{UNFINISHED}|the logistic regression had not converged",
}
"""The kinds of doubt, by the notes that raise them."""


def doubts(notes: Iterable[NoteRow], learners: dict[str, str], readouts: Names = ()) -> list[str]:
    """Return a sentence for each kind of doubt about networks of these learners or the controls.

    learners: names in print; readouts: trained downstream of their layers, and drawn.
    """
    names = learners | {name: name.capitalize() for name in CONTROLS}
    found: dict[tuple[str, bool], list[NoteRow]] = {}
    for row in notes:
        if row.learner in names and (not row.feature or row.readout in readouts):
            for kind in (k for k, said in _KINDS.items() if re.match(said, row.note)):
                found.setdefault((kind, bool(row.feature)), []).append(row)
    return [_sentence(kind, rows, names) for (kind, _), rows in sorted(found.items())]


def _sentence(kind: str, rows: Iterable[NoteRow], names: Mapping[str, str]) -> str:
    runs = {(row.learner, row.order, row.seed) for row in rows}
    layers = labels.listed(dict.fromkeys(row.feature for row in rows if row.feature))
    doubted = {learner for learner, _, _ in runs}
    who = labels.together(dict.fromkeys(names[name] for name in names if name in doubted))
    after = f" downstream of {layers}" if layers else ""
    return f"{kind}{after}: {who} ({labels.counted(len(runs), 'run')})"
