"""The answer of a run in words, and what limits it, by fixed rules from the tables.

There is one answer for each learner that learns task by task, from one readout: `linear` if there
are statements on it, else the first readout. A layer forgot if its statement `forgets` says yes; it
gained if the interval lies below minus the margin. What is forgotten or gained for sure, but not
shown to exceed the margin, is said to be so; of the rest nothing can be told. A layer gives back
what is missing at the output if less than half as much is missing in the layer. The answer speaks
of the way of training where there are enough seeds, else of these networks.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from figures.captions import counted
from figures.maps import FIRST
from figures.report.views import label, short
from probe.analysis.statements import WITHHELD
from probe.notes import note_sentences
from probe.tables.cause_text import WITHHELD_NOTE, cause_sentences
from probe.tables.layer_text import count_tasks, repair_sentences
from probe.tables.schemas import NETWORK, Tables
from probe.tables.statement_text import is_part, margin, named_networks, points, sentences
from probe.tables.table_file import where

_LITTLE_ROOM = 0.02  # between floor and ceiling, below which a layer can show little
_READOUTS_DIFFER = " differ on where "  # in sentences on readouts
_MOST = 4  # layers that are named in a row
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
        networks = {str(learner): named_networks(tables, learner)}
        causes = tables["causes"].replace(short_names)
        text = cause_sentences(causes, tables["notes"], networks).get(learner, [])
        stated = (text for name in readouts for text in sentences_of.get((learner, name), ()))
        more = list(dict.fromkeys(stated))
        caveats = [
            *_caveats(learner, rows, of_learner, tables),
            *(text for text in more if _READOUTS_DIFFER in text),
        ]
        withheld = rows["feature"][rows["verdict"].isin(WITHHELD)]
        worse = _worse_than_untrained(of_learner[~of_learner["feature"].isin(withheld)])
        lines = (
            _forgot(rows, tasks),
            _never_learned(rows, of_learner),
            worse,
            _rebuilt(rows, of_learner),
            repair_sentences(shortened, learner),
        )
        content = ["; ".join(parts) for parts in lines if parts]
        content = content or [_NOTHING if tasks < 2 else "what its layers forgot was not measured"]
        if (rows["scope"] == NETWORK).all():
            content[0] = f"{networks[learner]}: {content[0]}"
        result.append(Answer(learner, readout, _causes(text, rows), content, more, caveats))
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
    is_open, yes = verdicts == "open", forgets[verdicts == "yes"]
    gained = _gained(forgets)
    some = forgets[is_open & (forgets["low"] > 0)]
    no = forgets[verdicts == "no"]
    is_gain = no["high"].between(-no["margin"], 0, inclusive="left")
    improved = no[is_gain & (no["value"] < -no["margin"])]
    unclear = forgets[is_open & (forgets["low"] <= 0)]
    parts = [
        *_verdict("forgot", yes, on),
        *_verdict("gained", gained, on, -1),
        *_limited(some, f"{on}, not shown to exceed"),
        *_limited(improved, f"{on}, not shown to exceed", "gained", -1),
    ]
    names_of: dict[str, list[str]] = {}
    told = pd.concat([yes, gained, some, improved, unclear]).index
    for row in forgets.drop(told).itertuples():
        words = ": not measured"
        if row.verdict in WITHHELD:
            words = f": not judged, as {WITHHELD[row.verdict]}"
        elif row.verdict == "no":
            words = f" forgot less than {margin(row.margin)}"
        names_of.setdefault(words, []).append(row.feature)
    parts += [f"{_some(names)}{words}" for words, names in names_of.items()]
    return parts + [f"cannot tell: {text}" for text in _verdict("", unclear, f"forgotten {on}")]


def _gained(forgets: pd.DataFrame) -> pd.DataFrame:
    """Return the layers that are shown to have gained, of the statements on what was forgotten."""
    judged = forgets[~forgets["verdict"].isin(WITHHELD)]
    return judged[judged["high"] < -judged["margin"]]


def _never_learned(rows: pd.DataFrame, layers: pd.DataFrame) -> list[str]:
    """Return what layers never learned; what came with later tasks was only lacking at first.

    A layer can lack more than all that offline training adds, where it was worse than untrained:
    of such a layer the numbers are told by themselves.
    """
    of = "of what offline training learns"
    over_all = where(layers, task_position=None).pivot_table("value", "feature", "quantity")
    over_all = over_all.reindex(columns=["ceiling", "floor", "acquired", "forgotten"])
    room = over_all["ceiling"] - over_all["floor"]
    learns = where(rows, statement="learns_less")
    shown = where(learns[learns["low"] > 0], verdict=("yes", "open"))
    pairs = zip(shown["value"], shown["feature"].map(room), strict=True)
    beyond = shown["feature"][[not is_part(*pair) for pair in pairs]]
    learns = learns[~learns["feature"].isin(beyond)]
    never, is_open = where(learns, verdict="yes"), where(learns, verdict="open")
    some, unclear = is_open[is_open["low"] > 0], is_open[is_open["low"] <= 0]
    later = never["feature"].isin(_gained(where(rows, statement="forgets"))["feature"])
    return [
        *_verdict("never learned", never[~later], of),
        *_verdict("at first lacked", never[later], of),
        *_limited(some, f"{of}, not shown to exceed", "never learned"),
        *(_three_numbers(name, room[name], over_all.loc[name]) for name in beyond),
        *(f"cannot tell: {text}" for text in _verdict("", unclear, "never learned")),
    ]


def _three_numbers(layer: str, room: float, values: pd.Series) -> str:
    """Return what offline training adds to a layer, what it had added, and what was lost since."""
    acquired, forgotten = (
        "-" if math.isnan(values[name]) else f"{100 * values[name]:+.1f}"
        for name in ("acquired", "forgotten")
    )
    return (
        f"{layer}: offline training adds {100 * room:+.1f} points, it had added {acquired} right "
        f"after each task, and lost {forgotten} since"
    )


def _limited(rows: pd.DataFrame, on: str, verb: str = "forgot", sign: int = 1) -> Iterator[str]:
    """Yield what layers forgot or gained, and the margin that it is compared with."""
    for limit, of_limit in rows.groupby(rows["margin"].map(margin), sort=False):
        yield from _verdict(verb, of_limit, f"{on} {limit}", sign)


def _verdict(verb: str, rows: pd.DataFrame, on: str, sign: int = 1) -> list[str]:
    """Return the layers with their points and intervals, as one part of a sentence or none."""
    cells = list[str]()
    for row in rows.itertuples():
        low, high = sorted((sign * row.low, sign * row.high))
        value = f"{points(sign * row.value)}{'' if cells else ' points'}"
        words = row.feature, verb * (not cells), f"{value} [{points(low)}, {points(high)}]"
        cells.append(" ".join(filter(None, words)))
    return [f"{_some(cells)} {on}"] if cells else []


def _some(names: Sequence[str]) -> str:
    """Return names separated by commas; of many, the first, the number of others, and the last."""
    more = len(names) - _MOST
    return ", ".join([*names[: _MOST - 1], f"{more} more", names[-1]] if more > 1 else names)


def _worse_than_untrained(layers: pd.DataFrame) -> list[str]:
    """Return the layers whose readout is shown to be worse than that of an untrained network."""
    by_key = where(layers, task_position=None).set_index(["feature", "quantity"])["value"]
    above = where(layers, task_position=None, quantity="above_floor")
    cells = []
    for name in above["feature"][above["high"] < 0]:
        accuracy, floor = (f"{100 * by_key[name, key]:.1f}" for key in ("accuracy", "floor"))
        cells.append(f"{name} {accuracy} % (untrained {floor})")
    return [f"worse than untrained: {_some(cells)}"] if cells else []


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
    recovered, untrained = accuracy["value"] - output_accuracy["value"], ""
    if (layer, "floor") in by_key.index:
        gain = by_key.loc[(layer, "floor"), "value"] - output_accuracy["value"]
        untrained = f" (an untrained {layer}: {points(gain) if gain > 0 else 'none'})"
    return [
        f"of the {points(output_missing['value'])} points missing at {output}, a readout of "
        f"{layer} recovers {points(recovered)}{untrained}"
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
                f"of the ceiling, so a high accuracy is no evidence of what was retained"
            )
    if floor is None:
        yield "no floor was measured: how accurate an untrained network would be is not known"
    if ceiling is None:
        yield "no ceiling was measured: what is missing, or was never learned, is not known"
    if unfinished := set(where(rows, verdict="not converged")["feature"]):
        yield f"some trainings downstream of {_some(sorted(unfinished))} have not converged"
    measured = where(tables["measurements"], learner=learner)
    trained = measured.loc[measured["tasks_seen"] > 0, ["order", "seed", "tasks_seen"]]
    networks = len(trained.drop_duplicates())
    if measured["order"].nunique() == 1 < count_tasks(layers):
        yield "one task order: effects of a task and of its position cannot be told apart"
    if (rows["scope"] == NETWORK).all():
        yield "intervals are over test examples: another training may differ"
    notes = where(tables["notes"], learner=learner, feature="")
    yield from _notes(notes[~notes["note"].str.match(WITHHELD_NOTE)], networks)


def _notes(notes: pd.DataFrame, networks: int) -> Iterator[str]:
    """Yield the notes on the learner's own networks: those with a feature are on retrained ones."""
    is_constant = notes["note"].str.contains("for every test example", regex=False)
    if constant := int(is_constant.sum()):
        verb = "predicts" if constant == 1 else "predict"
        yield f"{constant} of {counted(networks, 'network')} {verb} one class for every example"
    notes = notes[~is_constant]
    yield from note_sentences(notes.assign(learner=notes["learner"].map(label)))
