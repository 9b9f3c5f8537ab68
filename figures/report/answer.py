"""The answer of a run in words, and what limits it, by fixed rules from the tables.

There is one answer for each learner that learns task by task, from one readout: `linear` if there
are statements on it, else the first readout. A layer forgot if its statement `forgets` says yes; it
gained if the interval lies below minus the margin; if the statement is open, nothing can be shown.
A layer gives back what is missing at the output if less than half as much is missing in the layer.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from figures.captions import counted
from figures.maps import FIRST
from figures.report.views import short
from probe.analysis.statements import WITHHELD
from probe.notes import note_sentences
from probe.tables.cause_text import cause_sentences
from probe.tables.layer_text import count_tasks, repair_sentences
from probe.tables.schemas import Tables
from probe.tables.statement_text import margin, points, sentences
from probe.tables.table_file import where

_LITTLE_ROOM = 0.02  # between floor and ceiling, below which a layer can show little
_READOUTS_DIFFER = " differ on where "  # in sentences on readouts
_MOST = 4  # layers that are named in a row


class Answer(NamedTuple):
    """The answer for one learner: causes, what layers forgot, all statements, what limits them."""

    learner: str
    readout: str
    causes: Sequence[str]
    first: str
    more: Sequence[str]
    caveats: Sequence[str]


def answers(tables: Tables) -> list[Answer]:
    """Return the answer for each learner with statements, in their order."""
    layers, result = tables["layers"], []
    tasks = count_tasks(layers)
    sentences_of = sentences(tables, tasks)
    for learner, rows in tables["statements"].groupby("learner", sort=False):
        readouts = rows["readout"].unique()
        readout = FIRST if FIRST in readouts else readouts[0]
        rows = where(rows, readout=readout).sort_values("depth", kind="stable")
        names = rows["feature"].unique()
        short_names = {"feature": dict(zip(names, short(names), strict=True))}
        rows, shortened = rows.replace(short_names), layers.replace(short_names)
        of_learner = where(shortened, learner=learner, readout=readout)
        causes = where(tables["causes"], learner=learner).replace(short_names)
        causes_text = cause_sentences(causes).get(learner, [])
        more = [text for name in readouts for text in sentences_of.get((learner, name), ())]
        caveats = [
            *_caveats(learner, rows, of_learner, tables),
            *(text for text in more if _READOUTS_DIFFER in text),
        ]
        repair = repair_sentences(shortened, learner)
        first = "; ".join([*_forgot(rows, tasks), *_rebuilt(rows, of_learner), *repair])
        result.append(Answer(learner, readout, causes_text, first, more, caveats))
    return result


def _forgot(rows: pd.DataFrame, tasks: int) -> list[str]:
    """Return what each layer forgot, by depth; layers with the same verdict are grouped."""
    on = f"on task{'s 1 to' * (tasks > 2)} {tasks - 1}"
    forgets = where(rows, statement="forgets")
    verdicts, has_gained = forgets["verdict"], forgets["high"] < -forgets["margin"]
    gained = forgets[has_gained]
    some = forgets[(verdicts == "open") & (forgets["low"] > 0)]
    parts = [
        *_verdict("forgot", forgets[verdicts == "yes"], on),
        *_verdict("gained", gained, on, -1),
    ]
    if len(some):
        least = margin(some["margin"].max())
        parts += _verdict("forgot", some, f"{on}, not shown to exceed {least}")
    names_of: dict[str, list[str]] = {}
    for row in forgets[(verdicts == "no") & ~has_gained].itertuples():
        names_of.setdefault(f" forgot less than {margin(row.margin)}", []).append(row.feature)
    reasons = {verdict: f"not judged, as {why}" for verdict, why in WITHHELD.items()}
    for verdict, words in {"open": "no forgetting shown", **reasons}.items():
        features = forgets["feature"][verdicts == verdict]
        if names := list(features.drop(some.index, errors="ignore")):
            names_of[f": {words}"] = names
    parts += [f"{_some(names)}{words}" for words, names in names_of.items()]
    # What came with later tasks was not there at first, but was learned.
    never = where(rows, statement="learns_less", verdict="yes")
    later, of = never["feature"].isin(gained["feature"]), "of what offline training learns"
    parts += _verdict("never learned", never[~later], of)
    parts += _verdict("at first lacked", never[later], of)
    nothing = "it learned one task, and had nothing to forget"
    return parts or [nothing if tasks < 2 else "what its layers forgot was not measured"]


def _verdict(verb: str, rows: pd.DataFrame, on: str, sign: int = 1) -> list[str]:
    """Return the layers with their points and intervals, as one part of a sentence or none."""
    cells = list[str]()
    for row in rows.itertuples():
        low, high = sorted((sign * row.low, sign * row.high))
        value = f"{points(sign * row.value)}{'' if cells else ' points'}"
        prefix = "" if cells else f"{verb} "
        cells.append(f"{row.feature} {prefix}{value} [{points(low)}, {points(high)}]")
    return [f"{_some(cells)} {on}"] if cells else []


def _some(names: Sequence[str]) -> str:
    """Return names separated by commas; of many, the first, the number of others, and the last."""
    more = len(names) - _MOST
    return ", ".join([*names[: _MOST - 1], f"{more} more", names[-1]] if more > 1 else names)


def _rebuilt(rows: pd.DataFrame, layers: pd.DataFrame) -> list[str]:
    """Return how much of what is missing at the output the layer before it gives back, if any.

    It is compared with the same layer of an untrained network.
    """
    below = where(rows, statement="below_ceiling")
    by_key = where(layers, task_position=None).set_index(["feature", "quantity"])
    if len(below) < 2 or below["verdict"].iloc[-1] != "yes":
        return []
    layer, output = below["feature"].iloc[-2:]
    keys = [(name, q) for q in ("missing", "accuracy") for name in (layer, output)]
    if not set(keys) <= set(by_key.index):
        return []
    missing, output_missing, accuracy, output_accuracy = (by_key.loc[key] for key in keys)
    if not missing["high"] < output_missing["low"] / 2:
        return []
    untrained = ""
    if (layer, "floor") in by_key.index:
        gain = by_key.loc[(layer, "floor"), "value"] - output_accuracy["value"]
        untrained = f" (an untrained {layer}: {points(gain) if gain > 0 else 'none'})"
    return [
        f"of the {points(output_missing['value'])} points missing at {output}, a readout of "
        f"{layer} recovers {points(accuracy['value'] - output_accuracy['value'])}{untrained}"
    ]


def _caveats(
    learner: str, rows: pd.DataFrame, layers: pd.DataFrame, tables: Tables
) -> Iterator[str]:
    """Yield what limits the answer."""
    over_all = where(layers, task_position=None).set_index("feature")
    values_of = dict(list(over_all.groupby("quantity")["value"]))
    floor, ceiling = values_of.get("floor"), values_of.get("ceiling")
    if floor is not None and ceiling is not None:
        room = (ceiling - floor).reindex(floor.index)
        if small := list(room.index[room < _LITTLE_ROOM]):
            yield (
                f"little room at {_some(small)}: there an untrained network comes within 2 points "
                f"of the ceiling, so they may show a loss, but not what they retained"
            )
    if floor is None:
        yield "no floor was measured: how accurate an untrained network would be is not known"
    if ceiling is None:
        yield "no ceiling was measured: what is missing, or was never learned, is not known"
    if unfinished := set(where(rows, verdict="not converged")["feature"]):
        yield f"some trainings downstream of {_some(sorted(unfinished))} have not converged"
    measured = where(tables["measurements"], learner=learner)
    if measured["order"].nunique() == 1 < count_tasks(layers):
        yield "one task order: effects of a task and of its position cannot be told apart"
    seeds = min(rows["seeds"])
    if seeds < 3:
        yield f"{counted(seeds, 'seed')}: statements need at least three"
    yield from _notes(where(tables["notes"], learner=learner, feature=""))


def _notes(notes: pd.DataFrame) -> Iterator[str]:
    """Yield the notes on the learner's own networks: those with a feature are on retrained ones."""
    is_constant = notes["note"].str.contains("for every test example", regex=False)
    if constant := int(is_constant.sum()):
        words = "network predicts" if constant == 1 else "networks predict"
        yield f"{constant} {words} one class for every example"
    yield from note_sentences(notes[~is_constant])
