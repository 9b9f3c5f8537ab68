"""Texts of figures: shortened names, and notes on seeds and heads."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from figures.tables import Tables
from probe.analysis.intervals import SeedMean
from probe.analysis.statements import LEAST, SHARE
from probe.tables.rows import LayerRow, MeasurementRow, MetricRow, SummaryRow

MARGIN = f"by over {100 * SHARE:.0f} % of the room from floor to ceiling and {100 * LEAST:g} point"
"""The margin of statements, for captions."""

NOT_JUDGED = "*: not judged, as a training has not converged or a note doubts a network"


def shortened(names: Sequence[str], width: int = 24) -> list[str]:
    """Cut the first parts off dotted names of more than `width` characters, if all stay apart.

    The last parts tell layers from each other; what they lie in is mostly the same.

    >>> shortened(["stem", "backbone.features.denseblock1.denselayer2.conv1"])
    ['stem', '…denselayer2.conv1']
    """
    short = [name if len(name) <= width else _end(name, width) for name in names]
    return short if len(set(short)) == len(names) else list(names)


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
    shown, rest = all_names[:2], len(all_names) - 2
    return ", ".join(all_names) if rest < 2 else f"{', '.join(shown)} and {rest} more"


def with_head(text: str, rows: Iterable[MeasurementRow | MetricRow]) -> str:
    """Append the name of the rows' head to a text, unless the head is "single".

    rows: of one head; rows with an empty head are ignored.

    >>> row = MetricRow(learner="er", paper="gem", metric="acc", head="multi", mean=0.9, std=0.01,
    ...                 seeds=3)
    >>> with_head("Accuracy (%)", [row])
    'Accuracy (%), multi-head'
    """
    head = next((row.head for row in rows if row.head), "")
    return text + {"multi": ", multi-head", "all": ", over all outputs"}.get(head, "")


def over_seeds(rows: Iterable[SummaryRow | MetricRow | SeedMean]) -> str:
    """Describe the points of a figure and its error bars.

    rows: at least one, all that are drawn. Bars are not announced where none has a deviation; where
    the numbers of seeds differ, the smallest and the largest are given.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, metric="pra", task_position=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> over_seeds([row]), mean_over([row])
    ('Mean ± standard deviation over 3 seeds', 'Mean over 3 seeds')
    """
    table = list(rows)
    said = mean_over(table)
    return said if _barless(table) else said.replace("Mean", "Mean ± standard deviation")


def with_interval(rows: Iterable[LayerRow]) -> str:
    """Describe the points of a figure with the intervals of its rows as bars.

    rows: at least one, all that are drawn. Bars are not announced where none has an interval.

    >>> row = LayerRow(learner="er", readout="retrain", feature="conv1", depth=1, task_position=None,
    ...                quantity="accuracy", value=0.9, low=0.8, high=0.95, seeds=3)
    >>> with_interval([row])
    'Mean over 3 seeds, 95 % interval (of seeds and test set)'
    """
    table = list(rows)
    known = not all(math.isnan(row.low) for row in table)
    return mean_over(table) + (", 95 % interval (of seeds and test set)" if known else "")


def mean_over(rows: Iterable[SummaryRow | MetricRow | SeedMean | LayerRow]) -> str:
    """Name the number of seeds over which rows are means, at least one of them."""
    numbers = {row.seeds for row in rows}
    least, most = min(numbers), max(numbers)
    if most == 1:
        return "One seed"
    return f"Mean over {most if least == most else f'{least} to {most}'} seeds"


def caption(*sentences: str) -> str:
    """Return a paragraph of sentences, without those that are empty; names are as they were.

    >>> caption("Accuracy", "", "Learner: my\\\\$er.")
    'Accuracy. Learner: my$er.'
    """
    whole = (each if each.endswith(".") else f"{each}." for each in sentences if each)
    return " ".join(whole).replace(r"\$", "$")


def together(names: Iterable[str]) -> str:
    """Return names as they are listed in a sentence.

    >>> together(["EWC"]), together(["EWC", "SI", "ER"])
    ('EWC', 'EWC, SI and ER')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str) -> str:
    """Return a number of things.

    >>> counted(1, "seed"), counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def learners_named(names: Sequence[str]) -> str:
    """Name the learners that are drawn, by their names in print.

    >>> learners_named(["EWC"])
    'Learner: EWC'
    """
    return f"Learner{'s' * (len(names) > 1)}: {together(names)}" if names else ""


def measured_on(rows: Sequence[MeasurementRow]) -> str:
    """Describe the study in a sentence, see `study`; "" of no rows."""
    if not rows:
        return ""
    one = len({row.order for row in rows} - {""}) < 2
    return f"Data: {study(rows)}; " + (
        "with one order, a task and its position cannot be told apart"
        if one
        else "orders are averaged within a seed first"
    )


def study(rows: Sequence[MeasurementRow]) -> str:
    """Name the study in one short line: data, network, orders and seeds; "" of no rows.

    >>> row = MeasurementRow(scenario="digits", network="cnn3", learner="er", order="0", seed=0,
    ...           tasks_seen=1, task_position=1, metric="accuracy", value=0.9)
    >>> study([row])
    'digits, cnn3, 1 order, 1 seed'
    """
    if not rows:
        return ""
    found = (counted(len({getattr(r, k) for r in rows} - {""}), k) for k in ("order", "seed"))
    return ", ".join((rows[0].scenario, rows[0].network, *found))


def of_accuracies(tables: Tables, what: str) -> Iterator[str]:
    """Yield sentences on accuracies of the output: means, their spread, and the head."""
    rows, spread = tables.measurements, tables.spread
    several = (key for key in ("order", "seed") if len({getattr(r, key) for r in rows} - {""}) > 1)
    if over := [f"{key}s" for key in several]:
        yield f"{what} are means over {together(over)}"
    if spread:
        yield (
            f"Their standard deviation over seeds is {100 * spread[len(spread) // 2]:.1f} points "
            f"in the median, and {100 * spread[-1]:.1f} at most"
        )
    yield next((_HEADS[row.head] for row in rows if row.head in _HEADS), "")


_HEADS = {
    "single": "Single head: the classes of all tasks so far compete",
    "multi": "Multi-head: the classes of an example's own task compete",
    "all": "All outputs of the network compete",
}


def points_are(rows: Iterable[SummaryRow | MetricRow | SeedMean], what: str = "Points") -> str:
    """Describe in a sentence the points (or `what`) and bars, see `over_seeds`.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, metric="pra", task_position=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> points_are([row])
    'Points are means over 3 seeds; bars are one standard deviation over seeds either way'
    """
    table = list(rows)
    said = means_are(table, what)
    bars = "; bars are one standard deviation over seeds either way"
    return said if _barless(table) else said + bars


def _barless(rows: Sequence[SummaryRow | MetricRow | SeedMean]) -> bool:
    return all(math.isnan(row.std) for row in rows)


def means_are(
    rows: Iterable[SummaryRow | MetricRow | SeedMean | LayerRow], what: str = "Points"
) -> str:
    """State in a sentence over how many seeds points are means."""
    told = mean_over(rows)
    said = "those of one seed" if told == "One seed" else told.replace("Mean", "means")
    return f"{what} are {said}"


def _end(name: str, width: int) -> str:
    """Return the longest end of a dotted name that fits, else its last part, after `…`."""
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), (ends or [name])[-1])
