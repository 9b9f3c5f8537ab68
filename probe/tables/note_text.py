"""Notes as text: each once, with the layers, steps and runs that it holds for."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from probe.tables.schemas import CONTROLS

if TYPE_CHECKING:
    import pandas as pd

_FEW = 4  # names that a text lists
# No part of a name, as of a module in a list.
_LAYOUT = re.compile(r"\S+ reads ")  # of a readout
_DECIMAL = re.compile(r"(?<![\w.'])[+-]?\d+\.\d+(?:e-?\d+)?(?![\w.'])")


def by_feature(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the notes of features as lines, each note once with all features that it holds for.

    >>> by_feature({"conv1": ["loss 0.3"], "conv2": ["loss 0.2", "b"]})
    ['conv1, conv2: loss 0.2 to 0.3', 'conv2: b']
    """
    notes_of_text: dict[str, list[tuple[str, str]]] = {}
    for feature, pairs in notes.items():
        for note in pairs:
            notes_of_text.setdefault(without_decimals(note), []).append((feature, note))
    columns = (zip(*pairs, strict=True) for pairs in notes_of_text.values())
    return [f"{', '.join(features)}: {ranged(texts)}" for features, texts in columns]


def note_sentences(notes: "pd.DataFrame") -> Iterator[str]:
    """Yield each note once for each learner, with the features, steps and runs it holds for.

    The note on how a readout reads wide features is one sentence for all learners.
    """
    layouts = notes["note"].map(lambda note: bool(_LAYOUT.match(note))).astype(bool)
    for readout, rows in notes[layouts].groupby("readout", sort=False):
        by_layout = rows.groupby("note", sort=False)["feature"].unique().items()
        parts = (
            f"{', '.join(at)} as {note.partition(' reads ')[2]}"
            for note, at in by_layout
        )
        yield f"{readout} reads {'; '.join(parts)}"
    notes = notes[~layouts]
    texts = notes["note"].map(without_decimals)
    for (learner, readout, _), rows in notes.groupby(
        ["learner", "readout", texts], sort=False
    ):
        features = listed(dict.fromkeys(filter(None, rows["feature"])))
        steps = sorted(set(rows["tasks_seen"]))
        runs = len(rows[["order", "seed"]].drop_duplicates())
        where = [learner, features, f"by {readout}" if readout else ""]
        if steps and learner not in CONTROLS:
            where.append(f"after {listed(steps)} task{'' if steps == [1] else 's'}")
        where.append(f"in {runs} run{'' if runs == 1 else 's'}")
        yield f"{', '.join(filter(None, where))}: {ranged(rows['note'])}"


def listed(names: Iterable[object]) -> str:
    """Join names with commas; names after the first few are only counted.

    >>> listed("abcdef")
    'a, b, c, d and 2 more'
    """
    texts = [str(name) for name in names]
    more = f" and {len(texts) - _FEW} more" if len(texts) > _FEW else ""
    return ", ".join(texts[:_FEW]) + more


def without_decimals(note: str) -> str:
    """Return a note with # for each decimal fraction, to find notes that differ only in them.

    >>> without_decimals("loss 1.60 (-0.050 nats), downstream of 'block.1.2'")
    "loss # (# nats), downstream of 'block.1.2'"
    """
    return _DECIMAL.sub("#", note)


def ranged(notes: Iterable[str]) -> str:
    """Merge notes that differ only in decimal fractions into one, with the range of each fraction.

    >>> ranged(["loss 12.60, 60 classes", "loss 9.30, 60 classes"])
    'loss 9.30 to 12.60, 60 classes'
    """
    first, *others = dict.fromkeys(notes)
    columns = zip(*map(_DECIMAL.findall, (first, *others)), strict=True)
    ends = ((min(numbers, key=float), max(numbers, key=float)) for numbers in columns)
    shown = iter(low if low == high else f"{low} to {high}" for low, high in ends)
    return _DECIMAL.sub(lambda _: next(shown), first)
