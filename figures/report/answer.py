"""The answer of a run in words, and what limits it, by stated rules from the tables.

Of each learner that learns task by task, by one readout: `linear` if statements were made of it,
else the first there is. A layer forgot where its statement `forgets` says yes, it gained where the
interval lies below minus the margin, and nothing can be shown where it is open; a layer gives back
what is missing at the output where less than half as much is missing in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from figures.labels import counted
from figures.report.section import FIRST
from figures.report.views import short
from probe.tables.folder import Tables
from probe.tables.rows import LayerRow, StatementRow, grouped
from probe.tables.statement_text import WITHHELD, margin, points, sentences

_LITTLE = 0.02  # room between floor and ceiling, below which a layer can show little
_DIFFER = " differ on where "  # of sentences on readouts
_MOST = 4  # layers that are named in a row


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
    stated = tables.get("statements", ())
    tasks = max((row.task_position or 1 for row in tables.get("layers", ())), default=1)
    said = sentences(tables, tasks)
    each = grouped(stated, "learner").items()
    return [_answer(name, rows, tables, tasks, said) for name, rows in each]


def _answer(
    learner: str,
    rows: Sequence[StatementRow],
    tables: Tables,
    tasks: int,
    said: dict[tuple[str, str], list[str]],
) -> Answer:
    readouts = list(dict.fromkeys(row.readout for row in rows))
    readout = FIRST if FIRST in readouts else readouts[0]
    own = [row for row in rows if row.readout == readout]
    names = list(dict.fromkeys(row.feature for row in sorted(own, key=lambda row: row.depth)))
    named = dict(zip(names, short(names), strict=True))
    own = [replace(row, feature=named[row.feature]) for row in own]
    every = [one for each in readouts for one in said.get((learner, each), ())]
    layers = [
        replace(row, feature=named.get(row.feature, row.feature))
        for row in tables["layers"]
        if (row.learner, row.readout) == (learner, readout)
    ]
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
    """Return what each layer forgot, those alike together, by depth."""
    on = f"on task{'s 1 to' * (tasks > 2)} {tasks - 1}"
    own = sorted((row for row in rows if row.statement == "forgets"), key=lambda row: row.depth)
    gained = [row for row in own if row.high < -row.margin]
    never = [r for r in rows if (r.statement, r.verdict) == ("learns_less", "yes")]
    parts = [
        *_each("forgot", [row for row in own if row.verdict == "yes"], on),
        *_each("gained", gained, on, -1),
    ]
    some = [row for row in own if row.verdict == "open" and row.low > 0]
    parts += _each("forgot", some, f"{on}, not shown to exceed {margin(some)}") if some else []
    groups = {"open": "no forgetting shown"}
    groups |= {verdict: f"not judged, as {why}" for verdict, why in WITHHELD.items()}
    alike: dict[str, list[str]] = {}
    for row in own:
        if row.verdict == "no" and row not in gained:
            alike.setdefault(f" forgot less than {margin([row])}", []).append(row.feature)
    for verdict, words in groups.items():
        if left := [r.feature for r in own if r.verdict == verdict and r not in some]:
            alike[f": {words}"] = left
    parts += [f"{_some(names)}{words}" for words, names in alike.items()]
    # What came with later tasks was not there at first, but was learned.
    later = {row.feature for row in gained}
    for verb, some in (
        ("never learned", [row for row in never if row.feature not in later]),
        ("at first lacked", [row for row in never if row.feature in later]),
    ):
        parts += _each(verb, some, "of what offline training learns")
    nothing = "it learned one task, and had nothing to forget"
    return parts or [nothing if tasks < 2 else "what its layers forgot was not measured"]


def _each(verb: str, rows: Sequence[StatementRow], on: str, sign: int = 1) -> list[str]:
    """Return layers with the points of each, its interval in brackets, as one part or none."""
    cells = list[str]()
    for row in rows:
        low, high = sorted((sign * row.low, sign * row.high))
        unit = "" if cells else " points"
        value = f"{points(sign * row.value)}{unit} [{points(low)}, {points(high)}]"
        cells.append(f"{row.feature} {'' if cells else verb + ' '}{value}")
    return [f"{_some(cells)} {on}"] if cells else []


def _some(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first, their number, and the last."""
    left = len(names) - _MOST
    shown = [*names[: _MOST - 1], f"{left} more", names[-1]] if left > 1 else names
    return ", ".join(shown)


def _rebuilt(rows: Sequence[StatementRow], layers: Sequence[LayerRow]) -> list[str]:
    """Return what the layer before the output gives back of what is missing there, if anything.

    With what the same layer of an untrained network gives.
    """
    lacking = sorted((r for r in rows if r.statement == "below_ceiling"), key=lambda row: row.depth)
    at = {(r.feature, r.quantity): r for r in layers if r.task_position is None}
    if len(lacking) < 2 or lacking[-1].verdict != "yes":
        return []
    before, output = (row.feature for row in lacking[-2:])
    parts = [(f, q) for q in ("missing", "accuracy") for f in (before, output)]
    if not set(parts) <= at.keys():
        return []
    missing, missing_there, accuracy, accuracy_there = map(at.__getitem__, parts)
    if not missing.high < missing_there.low / 2:
        return []
    gained, floor = accuracy.value - accuracy_there.value, at.get((before, "floor"))
    untrained = ""
    if floor:
        without = floor.value - accuracy_there.value
        untrained = f" (an untrained {before}: {points(without) if without > 0 else 'none'})"
    return [
        f"of the {points(missing_there.value)} points missing at {output}, a readout of {before} "
        f"recovers {points(gained)}{untrained}"
    ]


def _caveats(
    learner: str, rows: Sequence[StatementRow], layers: Sequence[LayerRow], tables: Tables
) -> Iterable[str]:
    """Yield what limits the answer."""
    whole = [row for row in layers if row.task_position is None]
    floor, ceiling = (
        {row.feature: row.value for row in whole if row.quantity == name}
        for name in ("floor", "ceiling")
    )
    if small := [f for f in floor if f in ceiling and ceiling[f] - floor[f] < _LITTLE]:
        yield (
            f"little room at {_some(small)}: there an untrained network comes within 2 points of "
            f"the ceiling, and a layer that is further below it is worse than untrained"
        )
    if not floor:
        yield "no floor was measured: how accurate an untrained network would be is not known"
    if not ceiling:
        yield "no ceiling was measured: what is missing, or was never learned, is not known"
    if unsure := {row.feature for row in rows if row.verdict == "not converged"}:
        yield f"some trainings downstream of {_some(sorted(unsure))} have not converged"
    orders = {row.order for row in tables["measurements"] if row.learner == learner}
    if len(orders) == 1 and any((row.task_position or 1) > 1 for row in layers):
        yield "one task order: effects of a task and of its position cannot be told apart"
    seeds = min((row.seeds for row in rows), default=0)
    if seeds < 3:
        yield f"{counted(seeds, 'seed')}: statements need at least three"
    # Of the learner's own networks: those with a feature are on retrained ones.
    notes = [
        row.note for row in tables.get("notes", ()) if row.learner == learner and not row.feature
    ]
    if one := sum("for every test example" in note for note in notes):
        words = "network predicts" if one == 1 else "networks predict"
        yield f"{one} {words} one class for every example"
