"""Texts of figures: names cut to the room there is, and notes on seeds and heads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from probe.metrics.mean_over_seeds import SeedMean
from probe.tables.rows import LayerRow, MetricRow, Row, SummaryRow


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


def with_head(text: str, rows: Iterable[Row | MetricRow]) -> str:
    """Add to a text which outputs compete in these rows, unless it is those of all seen classes.

    rows: of one head; those of an empty head do not count.

    >>> row = MetricRow(learner="er", paper="gem", metric="acc", head="multi", mean=0.9, std=0.01,
    ...                 seeds=3)
    >>> with_head("Accuracy (%)", [row])
    'Accuracy (%), multi-head'
    """
    head = next((row.head for row in rows if row.head), "")
    return text + {"multi": ", multi-head", "all": ", over all outputs"}.get(head, "")


def over_seeds(rows: Iterable[SummaryRow | MetricRow | SeedMean], *, bars: bool = True) -> str:
    """Say what the points of a figure are and, with `bars`, what its error bars are.

    rows: at least one, all that are drawn. Bars are not announced where none has a deviation; where
    rows are of different numbers of seeds the least and the most are told.

    >>> row = SummaryRow(learner="er", feature="conv1", depth=1, measure="pra", place=None,
    ...                  mean=0.9, std=0.01, seeds=3)
    >>> over_seeds([row]), over_seeds([row], bars=False)
    ('Mean ± standard deviation over 3 seeds', 'Mean over 3 seeds')
    """
    table = list(rows)
    spread = bars and not all(math.isnan(row.std) for row in table)
    said = mean_over(table)
    return said.replace("Mean", "Mean ± standard deviation") if spread else said


def with_interval(rows: Iterable[LayerRow]) -> str:
    """Say what the points of a figure are whose bars are the intervals of its rows.

    rows: at least one, all that are drawn. Bars are not announced where none has an interval.

    >>> row = LayerRow(learner="er", readout="retrain", feature="conv1", depth=1, place=None,
    ...                quantity="accuracy", value=0.9, low=0.8, high=0.95, seeds=3)
    >>> with_interval([row])
    'Mean over 3 seeds, 95 % interval (of seeds and test set)'
    """
    table = list(rows)
    known = not all(math.isnan(row.low) for row in table)
    return mean_over(table) + (", 95 % interval (of seeds and test set)" if known else "")


def mean_over(rows: Iterable[SummaryRow | MetricRow | SeedMean | LayerRow]) -> str:
    """Say over how many seeds rows are means, at least one of them."""
    numbers = {row.seeds for row in rows}
    least, most = min(numbers), max(numbers)
    if most == 1:
        return "One seed"
    return f"Mean over {most if least == most else f'{least} to {most}'} seeds"


def _end(name: str, width: int) -> str:
    """Return the longest end of a dotted name that fits, else its last part, after `…`."""
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), (ends or [name])[-1])
