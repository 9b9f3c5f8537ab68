"""Texts of figures: shortened names, captions, and doubts about trainings."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from figures.tables import StudyTables
from probe.analysis.intervals import SeedMean
from probe.analysis.statements import LEAST, SHARE, STUCK, UNFINISHED
from probe.tables.rows import (
    CONTROLS,
    LayerRow,
    MeasurementRow,
    MetricRow,
    NoteRow,
    SummaryRow,
    grouped,
)

Mean = SummaryRow | MetricRow | SeedMean
"""A mean over seeds with its standard deviation."""

MARGIN = f"by over {100 * SHARE:.0f} % of the room from floor to ceiling and {100 * LEAST:g} point"
"""The margin of statements, for captions."""

NOT_JUDGED = "*: not judged, as a training has not converged or a note doubts a network"

_DOUBTS = {
    "Collapsed": rf"it collapsed|it predicts class .* for every test example|{STUCK}",
    "Near chance": "its accuracy on .* is near chance",
    "No ceiling": "it is less accurate than .* no ceiling",
    "Not converged": rf"{UNFINISHED}|the logistic regression had not converged",
}
"""The kinds of doubt, by the notes that raise them."""

_HEADS = {
    "single": "Single head: the classes of all tasks so far compete",
    "multi": "Multi-head: the classes of an example's own task compete",
    "all": "All outputs of the network compete",
}


def shortened(names: Sequence[str], width: int = 24) -> list[str]:
    """Shorten long dotted names by their first parts, if they stay unique.

    The last parts tell layers apart; the modules around them are mostly the same.

    Args:
        names: The names.
        width: Names with more characters are shortened.

    Returns:
        The names, shortened or not.

    >>> shortened(["stem", "backbone.features.denseblock1.denselayer2.conv1"])
    ['stem', '…denselayer2.conv1']
    """
    short = [name if len(name) <= width else _end(name, width) for name in names]
    return short if len(set(short)) == len(names) else list(names)


def _end(name: str, width: int) -> str:
    """Return the longest end of a dotted name that fits, else its last part, after `…`."""
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), (ends or [name])[-1])


def folded(name: str, width: int = 22) -> str:
    """Break a name after one of `._- ` where a line would grow longer than `width` characters.

    >>> folded("features.denseblock3.conv2")
    'features.denseblock3.\\nconv2'
    """
    lines = [""]
    for part in re.findall(r"[^._ -]*[._ -]?", name):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def listed(names: Iterable[str]) -> str:
    """Return names in one line; of more than three the first two, and the number of the others.

    >>> listed(["Finetune", "EWC"]), listed(["Finetune", "EWC", "SI", "GEM"])
    ('Finetune, EWC', 'Finetune, EWC and 2 more')
    """
    all_names = list(names)
    more = len(all_names) - 2
    return ", ".join(all_names[:2]) + f" and {more} more" if more > 1 else ", ".join(all_names)


def together(names: Iterable[str]) -> str:
    """Return names as they are listed in a sentence.

    >>> together(["EWC"]), together(["EWC", "SI", "ER"])
    ('EWC', 'EWC, SI and ER')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str) -> str:
    """Return a number and a noun, in the plural unless it is one.

    Args:
        count: The number.
        thing: The noun in the singular.

    Returns:
        The text.

    >>> counted(1, "seed"), counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def with_head(text: str, rows: Iterable[MeasurementRow | MetricRow]) -> str:
    """Append the name of the rows' head to a text, unless the head is "single".

    Args:
        text: The text.
        rows: The rows that are shown.

    Returns:
        The text.

    >>> row = MetricRow(learner="er", paper="gem", metric="acc", head="multi", mean=0.9, std=0.01,
    ...                 seeds=3)
    >>> with_head("Accuracy (%)", [row])
    'Accuracy (%), multi-head'
    """
    head = next((row.head for row in rows if row.head), "")
    return text + {"multi": ", multi-head", "all": ", over all outputs"}.get(head, "")


def mean_over(rows: Iterable[Mean | LayerRow]) -> str:
    """Name the number of seeds over which rows are means; the least and the most if they differ."""
    seeds = {row.seeds for row in rows}
    least, most = min(seeds), max(seeds)
    if most == 1:
        return "One seed"
    return f"Mean over {most if least == most else f'{least} to {most}'} seeds"


def over_seeds(rows: Iterable[Mean]) -> str:
    """Describe the points of a figure and its error bars, if any row has a deviation.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, metric="pra", task_position=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> over_seeds([row]), mean_over([row])
    ('Mean ± standard deviation over 3 seeds', 'Mean over 3 seeds')
    """
    table = list(rows)
    text = mean_over(table)
    return text.replace("Mean", "Mean ± standard deviation") if _have_bars(table) else text


def with_interval(rows: Iterable[LayerRow]) -> str:
    """Describe the points of a figure with the intervals of its rows as bars, if any row has one.

    >>> row = LayerRow(learner="er", readout="retrain", feature="conv1", depth=1, seeds=3,
    ...                task_position=None, quantity="accuracy", value=0.9, low=0.8, high=0.95)
    >>> with_interval([row])
    'Mean over 3 seeds, 95 % interval (of seeds and test set)'
    """
    table = list(rows)
    has_intervals = not all(math.isnan(row.low) for row in table)
    return mean_over(table) + ", 95 % interval (of seeds and test set)" * has_intervals


def means_are(rows: Iterable[Mean | LayerRow], what: str = "Points") -> str:
    """Say in a sentence over how many seeds points are means.

    Args:
        rows: The means that are shown.
        what: What the points are called.

    Returns:
        The sentence.
    """
    seeds = mean_over(rows)
    return f"{what} are " + (
        "those of one seed" if seeds == "One seed" else seeds.replace("Mean", "means")
    )


def points_are(rows: Iterable[Mean], what: str = "Points") -> str:
    """Describe points and bars in a sentence, see `over_seeds`.

    Args:
        rows: The means that are shown.
        what: What the points are called.

    Returns:
        The sentence.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, metric="pra", task_position=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> points_are([row])
    'Points are means over 3 seeds; bars are one standard deviation over seeds either way'
    """
    table = list(rows)
    bars = "; bars are one standard deviation over seeds either way"
    return means_are(table, what) + bars * _have_bars(table)


def _have_bars(rows: Sequence[Mean]) -> bool:
    return not all(math.isnan(row.std) for row in rows)


def caption(*sentences: str) -> str:
    """Return a paragraph of sentences, without those that are empty; names are as they were.

    >>> caption("Accuracy", "", "Learner: my\\\\$er.")
    'Accuracy. Learner: my$er.'
    """
    closed = (text if text.endswith(".") else f"{text}." for text in sentences if text)
    return " ".join(closed).replace(r"\$", "$")


def learners_named(names: Sequence[str]) -> str:
    """Name the learners that are drawn, by their names in print.

    >>> learners_named(["EWC"])
    'Learner: EWC'
    """
    return f"Learner{'s' * (len(names) > 1)}: {together(names)}" if names else ""


def study(rows: Sequence[MeasurementRow]) -> str:
    """Name the study in one short line: data, network, orders and seeds; "" of no rows.

    >>> row = MeasurementRow(scenario="digits", network="cnn3", learner="er", order="0", seed=0,
    ...           tasks_seen=1, task_position=1, metric="accuracy", value=0.9)
    >>> study([row])
    'digits, cnn3, 1 order, 1 seed'
    """
    if not rows:
        return ""
    counts = (counted(len(_values(rows, name)), name) for name in ("order", "seed"))
    return ", ".join((rows[0].scenario, rows[0].network, *counts))


def measured_on(rows: Sequence[MeasurementRow]) -> str:
    """Describe the study in a sentence, see `study`; "" of no rows."""
    if not rows:
        return ""
    return f"Data: {study(rows)}; " + (
        "with one order, a task and its position cannot be told apart"
        if len(_values(rows, "order")) < 2
        else "orders are averaged within a seed first"
    )


def of_accuracies(tables: StudyTables, what: str) -> Iterator[str]:
    """Yield sentences on accuracies of the output: means, their spread, and the head.

    Args:
        tables: The tables of the study.
        what: What the points are called.

    Yields:
        The sentences.
    """
    rows, deviations = tables.measurements, tables.seed_deviations
    if several := [f"{name}s" for name in ("order", "seed") if len(_values(rows, name)) > 1]:
        yield f"{what} are means over {together(several)}"
    if deviations:
        yield (
            f"Their standard deviation over seeds is {100 * deviations[len(deviations) // 2]:.1f} "
            f"points in the median, and {100 * deviations[-1]:.1f} at most"
        )
    yield next((_HEADS[row.head] for row in rows if row.head in _HEADS), "")


def _values(rows: Iterable[MeasurementRow], column: str) -> set[object]:
    """Return the values of a column, without the empty one."""
    return {getattr(row, column) for row in rows} - {""}


def doubts(
    notes: Iterable[NoteRow], learners: Mapping[str, str], readouts: Collection[str] = ()
) -> list[str]:
    """Return a sentence for each kind of doubt about networks of these learners or the controls.

    Args:
        notes: The notes of a study.
        learners: The learners that are drawn: names in print, by name.
        readouts: The readouts downstream of their layers that are drawn.
    """
    names = {**learners, **{name: name.capitalize() for name in CONTROLS}}
    rows_of: dict[tuple[str, bool], list[NoteRow]] = {}
    for row in notes:
        if row.learner in names and (not row.feature or row.readout in readouts):
            for kind in (kind for kind, text in _DOUBTS.items() if re.match(text, row.note)):
                rows_of.setdefault((kind, bool(row.feature)), []).append(row)
    return [_doubt(kind, rows, names) for (kind, _), rows in sorted(rows_of.items())]


def _doubt(kind: str, rows: Sequence[NoteRow], names: Mapping[str, str]) -> str:
    runs = grouped(rows, "learner", "order", "seed")
    layers = listed(dict.fromkeys(row.feature for row in rows if row.feature))
    doubted = {learner for learner, _, _ in runs}
    who = together(dict.fromkeys(names[name] for name in names if name in doubted))
    downstream = f" downstream of {layers}" if layers else ""
    return f"{kind}{downstream}: {who} ({counted(len(runs), 'run')})"
