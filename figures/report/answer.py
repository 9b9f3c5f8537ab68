"""The answer of a run in words, and what limits it, by stated rules from the tables.

Of each learner that learns task by task, by one readout: `linear` if statements were made of it,
else the first there is. A layer forgot where its statement `forgets` says yes, and nothing can be
shown where it is open; what a layer lost can be rebuilt from the one before where a readout of that
layer lacks less than half as much.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probe.tables.folder import Tables
from probe.tables.rows import LayerRow, StatementRow
from probe.tables.statement_text import points, sentences

_FIRST = "linear"  # of the readouts
_LITTLE = 0.02  # room between floor and ceiling, below which a layer can show little
_DIFFER = " differ on where "  # of sentences on readouts

_WITHHELD = {
    "not converged": "not judged, as a training has not converged",
    "near chance": "not judged, as the accuracy on the first task is near chance",
    "no ceiling": "not judged, as offline training is less accurate than a learner",
    "few seeds": "not judged, as fewer than three seeds are finished",
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer for one learner: what its layers forgot, all that was stated, what limits it."""

    learner: str
    readout: str
    first: str
    more: Sequence[str]
    caveats: Sequence[str]


def answers(tables: Tables) -> list[Answer]:
    """Return the answer for each learner of the statements, in their order."""
    stated: dict[str, list[StatementRow]] = {}
    for row in tables.get("statements", ()):
        stated.setdefault(row.learner, []).append(row)
    tasks = max((row.place or 1 for row in tables.get("layers", ())), default=1)
    said = sentences(tables.get("statements", ()), tables.get("starts", ()), tasks)
    return [_answer(name, rows, tables, tasks, said) for name, rows in stated.items()]


def _answer(
    learner: str,
    rows: Sequence[StatementRow],
    tables: Tables,
    tasks: int,
    said: dict[tuple[str, str], list[str]],
) -> Answer:
    readouts = list(dict.fromkeys(row.readout for row in rows))
    readout = _FIRST if _FIRST in readouts else readouts[0]
    own = [row for row in rows if row.readout == readout]
    every = [one for each in readouts for one in said.get((learner, each), ())]
    layers = [row for row in tables["layers"] if (row.learner, row.readout) == (learner, readout)]
    return Answer(
        learner=learner,
        readout=readout,
        first="; ".join([*_forgot(own, tasks), *_rebuilt(own, layers)]),
        more=every,
        caveats=[
            *_caveats(learner, own, layers, tables),
            *(one for one in every if _DIFFER in one),
        ],
    )


def _forgot(rows: Sequence[StatementRow], tasks: int) -> list[str]:
    """Return what each layer forgot, those alike together, the output last."""
    of = f"task{'s 1 to' * (tasks > 2)} {tasks - 1}"
    own = sorted((row for row in rows if row.statement == "forgets"), key=lambda row: row.depth)
    parts = [f"{r.feature} forgot {_points(r)} of {of}" for r in own if r.verdict == "yes"]
    least = points(max((row.margin for row in own if row.verdict == "no"), default=0))
    groups = {"no": f"less than {least} points", "open": "nothing that can be shown", **_WITHHELD}
    for verdict, words in groups.items():
        if names := [row.feature for row in own if row.verdict == verdict]:
            parts.append(f"{', '.join(names)}: {words}")
    never = [r for r in rows if (r.statement, r.verdict) == ("acquires_less", "yes")]
    parts += [f"{row.feature} never learned {_points(row)}" for row in never]
    return parts or ["what its layers forgot was not measured"]


def _points(row: StatementRow) -> str:
    return f"{points(row.value)} points [{points(row.low)}, {points(row.high)}]"


def _rebuilt(rows: Sequence[StatementRow], layers: Sequence[LayerRow]) -> list[str]:
    """Return where what the output lacks can be rebuilt from, if it lacks more than the margin.

    With what the same layer of an untrained network gives.
    """
    lacking = sorted((r for r in rows if r.statement == "falls_below"), key=lambda row: row.depth)
    missing = {r.feature: r for r in layers if r.quantity == "missing" and r.place is None}
    if len(lacking) < 2 or lacking[-1].verdict != "yes" or lacking[-1].feature not in missing:
        return []
    output, before = (missing.get(row.feature) for row in (lacking[-1], lacking[-2]))
    if output is None or before is None or not before.high < output.low / 2:
        return []
    rebuilt = points(output.value - before.value)
    ends = {r.quantity: r.value for r in layers if (r.feature, r.place) == (before.feature, None)}
    untrained = ""
    if {"floor", "ceiling"} <= ends.keys():
        floor = points(output.value - (ends["ceiling"] - ends["floor"]))
        untrained = f" (from an untrained one {floor})"
    return [
        f"of the {points(output.value)} points that the output lacks, {rebuilt} can be rebuilt "
        f"from {before.feature}{untrained}"
    ]


def _caveats(
    learner: str, rows: Sequence[StatementRow], layers: Sequence[LayerRow], tables: Tables
) -> Iterable[str]:
    """Yield what limits the answer."""
    ends = {
        (r.feature, r.quantity): r.value
        for r in layers
        if r.place is None and r.quantity in ("floor", "ceiling")
    }
    features = dict.fromkeys(row.feature for row in layers)
    small = [
        f for f in features if ends.get((f, "ceiling"), 1) - ends.get((f, "floor"), 0) < _LITTLE
    ]
    if small:
        yield (
            f"little room at {', '.join(small)}: an untrained network is within 2 points of the "
            f"offline one, and a layer that lacks more is worse than untrained"
        )
    if not {name for _, name in ends} & {"floor"}:
        yield "no floor was measured: what an untrained network would give is not known"
    unsure = {row.feature for row in rows if row.verdict == "not converged"}
    if unsure:
        yield f"trainings downstream of {', '.join(sorted(unsure))} have not converged"
    orders = {row.order for row in tables["rows"] if row.learner == learner}
    if len(orders) == 1:
        yield "one task order: a task and its position cannot be told apart"
    seeds = min((row.seeds for row in rows), default=0)
    if seeds < 3:
        yield f"{seeds} seed{'s' * (seeds != 1)}: intervals over seeds need three"
    notes = [row.note for row in tables.get("notes", ()) if row.learner == learner]
    if one := sum("for every test example" in note for note in notes):
        words = "network predicts" if one == 1 else "networks predict"
        yield f"{one} {words} one class for every example"
