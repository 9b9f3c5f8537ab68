"""The answer of a run in words, and what limits it, by fixed rules from the tables.

There is one answer for each learner that learns task by task, from one readout:
`linear` if there are statements on it, else the first readout. A layer forgot if its
statement `forgets` says yes; it gained if the interval lies below minus the margin; of
what is open nothing can be told. The answer speaks of the way of training where there
are enough seeds, else of these networks.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import pandas as pd

from figures.captions import counted
from figures.maps import FIRST
from figures.report.views import label, short
from probe.analysis.statements import WITHHELD
from probe.notes import listed, note_sentences
from probe.tables.cause_text import cause_sentences
from probe.tables.layer_text import count_tasks, repair_sentences
from probe.tables.schemas import NETWORK, Tables
from probe.tables.statement_text import (
    named_networks,
    points,
    sentences,
    three_numbers,
)
from probe.tables.table_file import where

_LITTLE_ROOM = 0.02  # between floor and ceiling, below which a layer can show little
_NOTHING = "it learned one task, and had nothing to forget"


class Answer(NamedTuple):
    """The answer for one learner: causes, content by line, all statements, what limits them."""

    learner: str
    readout: str
    causes: Sequence[str]
    content: Sequence[str]
    more: Sequence[str]
    caveats: Sequence[str]


def answers(tables: Tables) -> list[Answer]:
    """Return the answer for each learner with statements, in their order."""
    layers = tables["layers"]
    result = []
    tasks = count_tasks(layers)
    sentences_of = sentences(tables, tasks)
    for learner, rows in tables["statements"].groupby("learner", sort=False):
        readouts = rows["readout"].unique()
        readout = FIRST if FIRST in readouts else readouts[0]
        rows = where(rows, readout=readout).sort_values("depth", kind="stable")
        names = rows["feature"].unique()
        short_names = {"feature": dict(zip(names, short(names), strict=True))}
        rows = rows.replace(short_names)
        shortened = layers.replace(short_names)
        of_learner = where(
            shortened,
            learner=learner,
            readout=readout,
        )
        causes = {**tables, "causes": tables["causes"].replace(short_names)}
        text = cause_sentences(causes).get(learner, [])
        stated = (sentences_of.get((learner, name), ()) for name in readouts)
        more = list(dict.fromkeys(chain(*stated)))
        caveats = list(_caveats(learner, rows, of_learner, tables))
        lines = (
            _forgot(rows, tasks),
            _never_learned(rows, of_learner),
            repair_sentences(shortened, learner),
        )
        content = ["; ".join(parts) for parts in lines if parts]
        content = content or [
            _NOTHING if tasks < 2 else "what its layers forgot was not measured"
        ]
        if (rows["scope"] == NETWORK).all():
            content[0] = f"{named_networks(tables, learner)}: {content[0]}"
        result.append(
            Answer(learner, readout, _causes(text, rows), content, more, caveats)
        )
    return result


def _causes(text: Sequence[str], rows: pd.DataFrame) -> list[str]:
    """Return the sentences on the causes of one learner, and why they are in doubt."""
    verdicts = where(rows, statement="forgets")["verdict"].tolist()
    in_doubt = text and verdicts and verdicts[-1] in WITHHELD
    return [*text, f"in doubt, as {WITHHELD[verdicts[-1]]}"] if in_doubt else list(text)


def _forgot(rows: pd.DataFrame, tasks: int) -> list[str]:
    """Return what each layer forgot, by depth; layers with the same verdict are grouped."""
    on = f"on task{'s 1 to' * (tasks > 2)} {tasks - 1}"
    forgets = where(rows, statement="forgets")
    verdicts = forgets["verdict"]
    yes = forgets[verdicts == "yes"]
    gained = forgets[(verdicts == "no") & (forgets["high"] < -forgets["margin"])]
    unclear = forgets[(verdicts == "open") & forgets["low"].notna()]
    parts = [*_verdict("forgot", yes, on), *_verdict("gained", gained, on, -1)]
    names_of: dict[str, list[str]] = {}
    for row in forgets.drop(pd.concat([yes, gained, unclear]).index).itertuples():
        words = ": not measured"
        if row.verdict in WITHHELD:
            words = f": not judged, as {WITHHELD[row.verdict]}"
        elif row.verdict == "no":
            words = " forgot less than 1 point"
        names_of.setdefault(words, []).append(row.feature)
    parts += [f"{listed(names)}{words}" for words, names in names_of.items()]
    return parts + [
        f"cannot tell: {text}" for text in _verdict("", unclear, f"forgotten {on}")
    ]


def _never_learned(rows: pd.DataFrame, layers: pd.DataFrame) -> list[str]:
    """Return what layers never learned, right after each task."""
    beyond = three_numbers(layers)
    learns = where(rows, statement="learns_less").dropna(subset="low")
    learns = learns[~learns["feature"].isin(beyond)]
    never = where(learns, verdict="yes")
    unclear = where(learns, verdict="open")
    return [
        *_verdict("never learned", never, "of what offline training learns"),
        *beyond.values(),
        *(f"cannot tell: {text}" for text in _verdict("", unclear, "never learned")),
    ]


def _verdict(verb: str, rows: pd.DataFrame, on: str, sign: int = 1) -> list[str]:
    """Return the layers with their points and intervals, as one part of a sentence or none."""
    cells = list[str]()
    for row in rows.itertuples():
        low, high = sorted((sign * row.low, sign * row.high))
        value = f"{points(sign * row.value)}{'' if cells else ' points'}"
        words = (
            row.feature,
            verb * (not cells),
            f"{value} [{points(low)}, {points(high)}]",
        )
        cells.append(" ".join(filter(None, words)))
    return [f"{listed(cells)} {on}"] if cells else []


def _caveats(
    learner: str, rows: pd.DataFrame, layers: pd.DataFrame, tables: Tables
) -> Iterator[str]:
    """Yield what limits the answer."""
    over_all = where(layers, task_position=None).set_index("feature")
    values_of = dict(list(over_all.groupby("quantity")["value"]))
    floor = values_of.get("floor")
    ceiling = values_of.get("ceiling")
    if floor is not None and ceiling is not None:
        room = (ceiling - floor).reindex(floor.index)
        if small := list(room.index[room < _LITTLE_ROOM]):
            yield (
                f"little room at {listed(small)}: there an untrained network comes "
                "within 2 points of the ceiling, so a high accuracy is no evidence of "
                "what was retained"
            )
    if floor is None:
        yield (
            "no floor was measured: how accurate an untrained network would be is not "
            "known"
        )
    if ceiling is None:
        yield (
            "no ceiling was measured: what is missing, or was never learned, is not "
            "known"
        )
    if unfinished := set(where(rows, verdict="not converged")["feature"]):
        yield (
            f"some trainings downstream of {listed(sorted(unfinished))} have not "
            "converged"
        )
    measured = where(tables["measurements"], learner=learner)
    trained = measured.loc[measured["tasks_seen"] > 0, ["order", "seed", "tasks_seen"]]
    networks = len(trained.drop_duplicates())
    if measured["order"].nunique() == 1 < count_tasks(layers):
        yield (
            "one task order: effects of a task and of its position cannot be told apart"
        )
    if (rows["scope"] == NETWORK).all():
        yield "intervals are over test examples: another training may differ"
    notes = where(
        tables["notes"],
        learner=learner,
        feature="",
    )
    yield from _notes(notes, networks)


def _notes(notes: pd.DataFrame, networks: int) -> Iterator[str]:
    """Yield the notes on the learner's own networks: those with a feature are on retrained ones."""
    is_constant = notes["note"].str.contains("for every test example", regex=False)
    if constant := int(is_constant.sum()):
        verb = "predicts" if constant == 1 else "predict"
        yield (
            f"{constant} of {counted(networks, 'network')} {verb} one class for every "
            "example"
        )
    notes = notes[~is_constant]
    yield from note_sentences(notes.assign(learner=notes["learner"].map(label)))
