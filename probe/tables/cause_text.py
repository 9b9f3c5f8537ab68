"""Sentences on what the change of each layer did, see `probe.rewinding.verdicts`.

"Cost" is said only of the verdict `costs`, and "gave back" only of `helps`. The share
of any other layer accounts for points: its two ends do not agree on what its change
did.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from probe.tables.schemas import CAUSE_VERDICTS, TRAINING, Tables
from probe.tables.statement_text import earlier_tasks, named_networks, points
from probe.tables.table_file import records, where

_LITTLE = 0.01
_MOST = 4  # layers that are named in a row
_VERBS = {
    "costs": "cost",
    "helps": "gave back",
    "depends": "depends on other layers, accounting for",
}
_WITH_ENDS = ("costs", "depends")  # verdicts that are told by numbers
_NOTHING = ("none", "open")  # verdicts that give a layer no sentence

_Rows = Mapping[tuple[str, str], Any]  # by quantity and feature


def cause_sentences(tables: Tables) -> dict[str, list[str]]:
    """Return the sentences on the causes of each learner's forgetting.

    They speak of the way of training where there are enough seeds, else of these
    networks. A layer has a sentence by its verdict. There is none on a learner that
    forgot less than 1 point, or is not shown to have forgotten any. Which causes are
    withheld stands in the notes.

    Args:
        tables: The tables.

    Returns:
        The sentences by learner.
    """
    rows = where(widest_scope(tables["causes"]), score="accuracy").dropna(
        subset="value"
    )
    return {
        learner: list(_sentences(of_learner, named_networks(tables, learner)))
        for learner, of_learner in rows.groupby("learner", sort=False)
    }


def widest_scope(causes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows on the way of training, and those on networks of learners without any."""
    is_training = causes["scope"] == TRAINING
    trained = causes["learner"][is_training].unique()
    return causes[is_training | ~causes["learner"].isin(trained)]


def _sentences(rows: pd.DataFrame, networks: str) -> Iterator[str]:
    over_all = {
        (r.quantity, r.feature): r for r in records(where(rows, task_position=None))
    }
    total = over_all.get(("forgotten", "")) or over_all.get(("lost", ""))
    if total is None or total.value < _LITTLE or not total.low > 0:
        return
    verb = "forgot" if total.quantity == "forgotten" else "lost"
    # What was lost is known also of tasks whose causes are withheld.
    judged = where(rows, quantity="attributed")
    positions = (judged if len(judged) else rows)["task_position"].dropna()
    tasks = earlier_tasks(positions, int(max(positions)))
    prefix = "" if total.scope == TRAINING else f"{networks}: "
    yield f"{prefix}{verb} {points(total.value)} points of {tasks} {_ends(total)}"
    yield from _of_layers(over_all)
    competition = over_all.get(("competition", ""))
    if competition and _is_beyond_0(competition):
        yield f"more classes compete: {_with_ends(competition)} points"


def _of_layers(over_all: _Rows) -> Iterator[str]:
    """Yield a sentence for each layer, the largest shares first, then those that did nothing."""
    shares = [
        row for (quantity, _), row in over_all.items() if quantity == "attributed"
    ]
    decided = [row for row in shares if row.verdict not in _NOTHING]
    decided.sort(key=lambda row: -abs(row.value))
    for row in decided[:_MOST]:
        yield _of_layer(row, over_all)
    if len(decided) > _MOST:
        yield f"{len(decided) - _MOST} more layers: see the table causes"
    if unchanged := [row.feature for row in shares if row.verdict == "none"]:
        yield f"{_listed(unchanged)}: none"
    if unclear := [
        f"{row.feature} {_with_ends(row)}" for row in shares if row.verdict == "open"
    ]:
        yield f"{CAUSE_VERDICTS['open']}: {_listed(unclear)}"


def _of_layer(row: Any, over_all: _Rows) -> str:
    share = _with_ends(row)
    if row.verdict == "helps":
        share = _with_ends(row._replace(value=-row.value, low=-row.high, high=-row.low))
    reason = CAUSE_VERDICTS[row.verdict]
    if row.verdict in _WITH_ENDS:
        broken, restored = (
            over_all[end, row.feature] for end in ("broken", "restored")
        )
        reason = (
            f"by itself its change breaks {points(broken.value)}, "
            f"putting it back returns {points(restored.value)}"
        )
    return f"{row.feature} {_VERBS.get(row.verdict, 'accounts for')} {share}: {reason}"


def _is_beyond_0(row: Any) -> bool:
    """Return whether a quantity is shown not to be 0, and may be a point."""
    return (
        bool(row.low > 0 or row.high < 0)
        and max(abs(row.low), abs(row.high)) >= _LITTLE
    )


def _with_ends(row: Any) -> str:
    return f"{points(row.value)} {_ends(row)}"


def _ends(row: Any) -> str:
    return f"[{_end(row.low)}, {_end(row.high)}]"


def _end(end: float) -> str:
    """Return the end of an interval in points, with more digits if it would be printed as 0.0."""
    return points(end) if abs(end) >= 0.0005 or not end else f"{100 * end:.1g}"


def _listed(cells: Sequence[str]) -> str:
    more = len(cells) - _MOST
    return ", ".join([*cells[:_MOST], f"{more} more"] if more > 1 else cells)
