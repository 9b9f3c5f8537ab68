"""The answer of a run in words, and what limits it, by stated rules from the tables.

There is one answer for each learner that learns task by task, by one readout: `linear` if there are
statements on it, else the first readout. A layer forgot if its statement `forgets` says yes; it
gained if the interval is below minus the margin; if the statement is open, nothing can be shown. A
layer gives back what is missing at the output if less than half as much is missing in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from figures.captions import counted
from figures.report.views import FIRST, short
from probe.tables.folder import Tables
from probe.tables.rows import LayerRow, StatementRow, grouped
from probe.tables.statement_text import WITHHELD, margin, points, sentences

_LITTLE_ROOM = 0.02  # between floor and ceiling, below which a layer can show little
_READOUTS_DIFFER = " differ on where "  # in sentences on readouts
_MOST = 4  # layers that are named in a row


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer for one learner: what its layers forgot, all statements, what limits it."""

    learner: str
    readout: str
    first: str
    more: Sequence[str]
    caveats: Sequence[str]


def answers(tables: Tables) -> list[Answer]:
    """Return the answer for each learner of the statements, in their order."""
    statements = tables.get("statements", ())
    tasks = max((row.task_position or 1 for row in tables.get("layers", ())), default=1)
    sentences_of = sentences(tables, tasks)
    result = []
    for learner, rows in grouped(statements, "learner").items():
        by_readout = grouped(rows, "readout")
        readout = FIRST if FIRST in by_readout else next(iter(by_readout))
        rows = sorted(by_readout[readout], key=lambda row: row.depth)
        names = list(dict.fromkeys(row.feature for row in rows))
        short_name = dict(zip(names, short(names), strict=True))
        rows = [replace(row, feature=short_name[row.feature]) for row in rows]
        layers = [
            replace(row, feature=short_name.get(row.feature, row.feature))
            for row in tables["layers"]
            if (row.learner, row.readout) == (learner, readout)
        ]
        more = [text for name in by_readout for text in sentences_of.get((learner, name), ())]
        caveats = [
            *_caveats(learner, rows, layers, tables),
            *(text for text in more if _READOUTS_DIFFER in text),
        ]
        first = "; ".join([*_forgot(rows, tasks), *_rebuilt(rows, layers)])
        result.append(
            Answer(learner=learner, readout=readout, first=first, more=more, caveats=caveats)
        )
    return result


def _forgot(rows: Sequence[StatementRow], tasks: int) -> list[str]:
    """Return what each layer forgot, those of one verdict together, by depth."""
    on = f"on task{'s 1 to' * (tasks > 2)} {tasks - 1}"
    forgets = [row for row in rows if row.statement == "forgets"]
    gained = [row for row in forgets if row.high < -row.margin]
    some = [row for row in forgets if row.verdict == "open" and row.low > 0]
    parts = [
        *_verdict("forgot", [row for row in forgets if row.verdict == "yes"], on),
        *_verdict("gained", gained, on, -1),
    ]
    if some:
        parts += _verdict("forgot", some, f"{on}, not shown to exceed {margin(some)}")
    names_of: dict[str, list[str]] = {}
    for row in forgets:
        if row.verdict == "no" and row not in gained:
            names_of.setdefault(f" forgot less than {margin([row])}", []).append(row.feature)
    reasons = {verdict: f"not judged, as {why}" for verdict, why in WITHHELD.items()}
    for verdict, words in {"open": "no forgetting shown", **reasons}.items():
        if names := [r.feature for r in forgets if r.verdict == verdict and r not in some]:
            names_of[f": {words}"] = names
    parts += [f"{_some(names)}{words}" for words, names in names_of.items()]
    # What came with later tasks was not there at first, but was learned.
    later = {row.feature for row in gained}
    never = [row for row in rows if (row.statement, row.verdict) == ("learns_less", "yes")]
    of = "of what offline training learns"
    parts += _verdict("never learned", [row for row in never if row.feature not in later], of)
    parts += _verdict("at first lacked", [row for row in never if row.feature in later], of)
    nothing = "it learned one task, and had nothing to forget"
    return parts or [nothing if tasks < 2 else "what its layers forgot was not measured"]


def _verdict(verb: str, rows: Sequence[StatementRow], on: str, sign: int = 1) -> list[str]:
    """Return layers with the points of each, its interval in brackets, as one part or none."""
    cells = list[str]()
    for row in rows:
        low, high = sorted((sign * row.low, sign * row.high))
        value = f"{points(sign * row.value)}{'' if cells else ' points'}"
        prefix = "" if cells else f"{verb} "
        cells.append(f"{row.feature} {prefix}{value} [{points(low)}, {points(high)}]")
    return [f"{_some(cells)} {on}"] if cells else []


def _some(names: Sequence[str]) -> str:
    """Return names with commas between; of many the first, their number, and the last."""
    more = len(names) - _MOST
    return ", ".join([*names[: _MOST - 1], f"{more} more", names[-1]] if more > 1 else names)


def _rebuilt(rows: Sequence[StatementRow], layers: Sequence[LayerRow]) -> list[str]:
    """Return what the layer before the output gives back of what is missing there, if anything.

    With what the same layer of an untrained network gives.
    """
    below = [row for row in rows if row.statement == "below_ceiling"]
    by_key = {(r.feature, r.quantity): r for r in layers if r.task_position is None}
    if len(below) < 2 or below[-1].verdict != "yes":
        return []
    layer, output = (row.feature for row in below[-2:])
    keys = [(name, q) for q in ("missing", "accuracy") for name in (layer, output)]
    if not by_key.keys() >= set(keys):
        return []
    missing, output_missing, accuracy, output_accuracy = (by_key[key] for key in keys)
    if not missing.high < output_missing.low / 2:
        return []
    untrained = ""
    if floor := by_key.get((layer, "floor")):
        gain = floor.value - output_accuracy.value
        untrained = f" (an untrained {layer}: {points(gain) if gain > 0 else 'none'})"
    return [
        f"of the {points(output_missing.value)} points missing at {output}, a readout of {layer} "
        f"recovers {points(accuracy.value - output_accuracy.value)}{untrained}"
    ]


def _caveats(
    learner: str, rows: Sequence[StatementRow], layers: Iterable[LayerRow], tables: Tables
) -> Iterator[str]:
    """Yield what limits the answer."""
    floor, ceiling = (
        {r.feature: r.value for r in layers if r.task_position is None and r.quantity == control}
        for control in ("floor", "ceiling")
    )
    if small := [f for f in floor if f in ceiling and ceiling[f] - floor[f] < _LITTLE_ROOM]:
        yield (
            f"little room at {_some(small)}: there an untrained network comes within 2 points of "
            f"the ceiling, and a layer that is further below it is worse than untrained"
        )
    if not floor:
        yield "no floor was measured: how accurate an untrained network would be is not known"
    if not ceiling:
        yield "no ceiling was measured: what is missing, or was never learned, is not known"
    if unfinished := {row.feature for row in rows if row.verdict == "not converged"}:
        yield f"some trainings downstream of {_some(sorted(unfinished))} have not converged"
    orders = {row.order for row in tables["measurements"] if row.learner == learner}
    if len(orders) == 1 and any((row.task_position or 1) > 1 for row in layers):
        yield "one task order: effects of a task and of its position cannot be told apart"
    seeds = min((row.seeds for row in rows), default=0)
    if seeds < 3:
        yield f"{counted(seeds, 'seed')}: statements need at least three"
    # Of the learner's own networks: those with a feature are on retrained ones.
    notes = (r.note for r in tables.get("notes", ()) if r.learner == learner and not r.feature)
    if constant := sum("for every test example" in note for note in notes):
        words = "network predicts" if constant == 1 else "networks predict"
        yield f"{constant} {words} one class for every example"
