"""Sheets of layers: a line for each layer; `statement_text` has the sentences below them."""

import math
from collections.abc import Iterable, Mapping, Sequence

from probe.metrics.murata import RETRAIN
from probe.tables.rows import ControlRow, FirstLayerRow, LayerRow, StatementRow, SummaryRow, grouped
from probe.tables.sheets import Sheet
from probe.tables.statement_text import points, sentences

_TOLD = {
    "exclusion_difference": "accuracy gained over a network that never saw the task, in points",
    "selectivity": "points more on test data than on permuted training labels, fitted to these",
}
_BESIDE = ("learner", "readout", "feature", "accuracy", "control", "difference")
_COLUMNS = ("accuracy", "floor", "ceiling", "missing", "never_learned", "forgotten")


def layer_sheets(
    layers: Iterable[LayerRow],
    statements: Iterable[StatementRow],
    first_layer: Iterable[FirstLayerRow],
    *,
    given: bool = False,
) -> list[Sheet]:
    """Return the rows over all tasks as sheets, one for each learner and readout.

    Numbers are in %, differences in points of accuracy, over all tasks; forgotten is the mean over
    the tasks before the last. A dash was not measured. given: whether the networks were, so that
    there is one learner, and seeds are those of retrainings.
    """
    rows = list(layers)
    tasks = max((row.task_position or 1 for row in rows), default=1)
    groups = grouped((row for row in rows if row.task_position is None), "learner", "readout")
    said = sentences(statements, first_layer, tasks)
    return [
        Sheet(
            of="" if given else learner,
            title=_title(readout, own[0].seeds, given, tasks),
            columns=("feature", *(name.replace("_", " ") for name in _COLUMNS), "retained"),
            lines=_lines(own),
            after=said.get((learner, readout), []),
        )
        for (learner, readout), own in groups.items()
    ]


def control_sheets(controls: Sequence[ControlRow]) -> list[Sheet]:
    """Return a sheet for each control, with a line for each layer over all tasks, in %."""
    sheets = []
    for name, told in _TOLD.items():
        own = [row for row in controls if row.quantity == name and row.task_position is None]
        lines = [(row.learner, row.readout, row.feature, *_beside(row)) for row in own]
        title = f"{name.replace('_', ' ')}, in %: {told}"
        sheets += [Sheet(title=title, columns=_BESIDE, lines=lines)] if own else []
    return sheets


def pra_sheet(summary: Iterable[SummaryRow]) -> Sheet:
    """Return the PRA of each learner's features as one sheet."""
    rows = [row for row in summary if row.metric == "pra"]
    seeds = max((row.seeds for row in rows), default=0)
    over = f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    return Sheet(
        title=f"Partial Retrain Accuracy, in %{over}",
        columns=("learner", "feature", "PRA"),
        lines=[(r.learner, r.feature, mean_cell((r.mean, r.std), " ± ")) for r in rows],
    )


def together(sheets: Sequence[Sheet]) -> Sheet:
    """Return sheets of the same columns as one, with the learner as a first column."""
    first = sheets[0]
    if len(sheets) == 1:
        return first
    return Sheet(
        title=first.title,
        columns=("learner", *first.columns),
        lines=[(sheet.of, *line) for sheet in sheets for line in sheet.lines],
        after=[sentence for sheet in sheets for sentence in sheet.after],
    )


def mean_cell(
    value: tuple[float, float] | None, between: str = "±", scale: int = 100, digits: int = 1
) -> str:
    """Return a mean with its deviation, if there is one, or a dash for what was not measured.

    between: what separates the two; scale: multiplies both; digits: after the decimal point.

    >>> mean_cell((0.5, 0.25)), mean_cell((0.5, math.nan)), mean_cell(None)
    ('50.0±25.0', '50.0', '-')
    """
    if value is None:
        return "-"
    mean, std = (f"{scale * number:.{digits}f}" for number in value)
    return mean if math.isnan(value[1]) else f"{mean}{between}{std}"


def _beside(row: ControlRow) -> tuple[str, str, str]:
    ends = "" if math.isnan(row.low) else f" [{points(row.low)}, {points(row.high)}]"
    return points(row.accuracy), points(row.control), f"{points(row.value)}{ends}"


def _title(readout: str, seeds: int, given: bool, tasks: int) -> str:
    # With given networks only retraining depends on the seed.
    mean = seeds > 1 and (not given or readout == RETRAIN)
    over = f", mean over {seeds} {'retrainings' if given else 'seeds'}" if mean else ""
    last = f"{'s 1 to' * (tasks > 2)} {tasks - 1} (others on all {tasks}: columns need not add up)"
    of = f", forgotten on task{last}" if tasks > 1 else ""
    return f"readout {readout}, in %{over}{of}{', retained [95 % interval]' if seeds > 1 else ''}"


def _lines(layers: Iterable[LayerRow]) -> list[tuple[str, ...]]:
    """Return a line for each feature of one learner and readout, by depth."""
    by_feature: dict[str, dict[str, LayerRow]] = {}
    for row in sorted(layers, key=lambda row: row.depth):
        by_feature.setdefault(row.feature, {})[row.quantity] = row
    return [
        (feature, *(_cell(own.get(name)) for name in _COLUMNS), _retained(own))
        for feature, own in by_feature.items()
    ]


def _cell(row: LayerRow | None) -> str:
    return "-" if row is None or math.isnan(row.value) else points(row.value)


_WIDEST = 10  # shares: an interval of a thousand percent says nothing


def _retained(own: Mapping[str, LayerRow]) -> str:
    """Return the share retained in percent with its interval, or why there is none."""
    row, above = own.get("retained"), own.get("above_floor")
    if above and above.high < 0:
        # Also where there is too little room for a share.
        return "below untrained"
    if row is None or math.isnan(row.value) or row.high - row.low > _WIDEST:
        return "too little room" if row else "-"
    value, low, high = (f"{100 * x:.0f}" for x in (row.value, row.low, row.high))
    return value if math.isnan(row.low) else f"{value} [{low}, {high}]"
