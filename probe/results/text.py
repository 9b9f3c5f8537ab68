"""An analysis as text: a table for each readout, where forgetting starts, and notes."""

from collections.abc import Iterable, Iterator

from probe.notes import listed
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import NoteRow

ONE_NETWORK = (
    "the intervals cover retrainings and test examples, not another training of the network"
)


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
