"""An analysis as text: a table for each readout, where forgetting starts, and notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from probe.metrics.murata import RETRAIN
from probe.notes import listed
from probe.tables.layer_text import COLUMNS, by_feature, layer_cells, start_sentence
from probe.tables.matrices import OFFLINE, UNTRAINED
from probe.tables.rows import LayerRow, NoteRow, StartRow, SummaryRow
from probe.tables.sheets import Sheet

ONE_NETWORK = (
    "the intervals tell of retrainings and test examples, not of what another training of the "
    "network would give"
)


def layer_sheets(
    layers: Sequence[LayerRow], starts: Sequence[StartRow], *, given: bool
) -> list[Sheet]:
    """Return the rows of all tasks as tables, one for each learner and readout.

    given: whether the networks were, and seeds are those of their retrainings.
    """
    groups: dict[tuple[str, str], list[LayerRow]] = {}
    for row in layers:
        if row.place is None:
            groups.setdefault((row.learner, row.readout), []).append(row)
    return [
        Sheet(
            of="" if given else learner,
            title=_title(readout, own[0].seeds, given),
            columns=("feature", *COLUMNS),
            lines=[(name, *layer_cells(found)) for name, found in by_feature(own).items()],
            after=[
                start_sentence(row)
                for row in starts
                if (row.learner, row.readout) == (learner, readout)
            ],
        )
        for (learner, readout), own in groups.items()
    ]


def pra_sheet(summary: Sequence[SummaryRow]) -> Sheet:
    """Return the PRA of each learner's features as one table."""
    rows = [row for row in summary if row.measure == "pra"]
    seeds = max((row.seeds for row in rows), default=0)
    over = f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    return Sheet(
        title=f"Partial Retrain Accuracy, in %{over}",
        columns=("learner", "feature", "PRA"),
        lines=[(row.learner, row.feature, _with_std(row.mean, row.std)) for row in rows],
    )


def together(sheets: Sequence[Sheet]) -> Sheet:
    """Return tables of one kind as one, with a first column that says whose each line is."""
    first = sheets[0]
    if len(sheets) == 1:
        return first
    return Sheet(
        title=first.title,
        columns=("learner", *first.columns),
        lines=[(sheet.of, *line) for sheet in sheets for line in sheet.lines],
        after=[sentence for sheet in sheets for sentence in sheet.after],
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


def _title(readout: str, seeds: int, given: bool) -> str:
    """Return what stands above a table."""
    interval = " [95 % interval]" if seeds > 1 else ""
    if not given:
        mean = f", mean over {seeds} seeds" if seeds > 1 else ""
    else:
        # No seed changes what other readouts give.
        mean = f", mean over {seeds} retrainings" if seeds > 1 and readout == RETRAIN else ""
    return f"readout {readout}, in %{mean}{interval}"


def _with_std(mean: float, std: float) -> str:
    return f"{100 * mean:.1f}" + ("" if math.isnan(std) else f" ± {100 * std:.1f}")
