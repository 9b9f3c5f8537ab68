"""An analysis as text: a table for each readout, where forgetting starts, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from probe.by_layer.asked import Step, network_name
from probe.metrics.murata import RETRAIN
from probe.notes import by_feature as lines_by_feature
from probe.tables.layer_text import COLUMNS, by_feature, layer_cells, start_sentence
from probe.tables.rows import LayerRow, StartRow

_ONE_NETWORK = (
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


def shown(layers: Sequence[LayerRow], starts: Sequence[StartRow], notes: Sequence[str]) -> str:
    """Return the rows of all tasks as text, by readout; see `probe.by_layer.result.Analysis`."""
    of_all = [row for row in layers if row.place is None]
    lines: list[str] = []
    for readout in dict.fromkeys(row.readout for row in of_all):
        own = [row for row in of_all if row.readout == readout]
        seeds = own[0].seeds
        # No seed changes what other readouts give.
        mean = f", mean over {seeds} retrainings" if readout == RETRAIN else ""
        over = f"{mean} [95 % interval]" if seeds > 1 else ""
        lines += [f"readout {readout}, in %{over}", *_table(own)]
        lines += [start_sentence(row) for row in starts if row.readout == readout]
        lines.append("")
    if of_all and of_all[0].seeds > 1:
        lines.append(f"note: {_ONE_NETWORK}")
    return "\n".join([*lines, *(f"note: {note}" for note in notes)]).rstrip()


def _table(layers: Sequence[LayerRow]) -> list[str]:
    """Return a line of titles and one for each feature, in columns."""
    each = [(feature, *layer_cells(found)) for feature, found in by_feature(layers).items()]
    table = [("feature", *COLUMNS), *each]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
