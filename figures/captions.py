"""Texts of figures: shortened names, captions, and doubts about trainings."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pandas as pd

from figures.tables import StudyTables
from probe.analysis.statements import STUCK
from probe.tables.note_text import listed
from probe.tables.schemas import CONTROLS, NETWORK

_DOUBTS = {
    "Collapsed": rf"it collapsed|it predicts class .* for every test example|{STUCK}",
    "Near chance": "its accuracy on .* is near chance",
    "Joint below the method": "it is less accurate than",
    "Not converged": "the logistic regression had not converged",
}
"""The kinds of doubt, by the notes that raise them."""

_WIDTHS = (24, 32, 40)  # of names, in characters

_HEADS = {
    "single": "Single head: the classes of all tasks so far compete",
    "multi": "Multi-head: the classes of an example's own task compete",
    "all": "All outputs of the network compete",
}


def shortened(names: Sequence[str]) -> list[str]:
    """Shorten long names by cutting off their first parts or letters, if they stay unique.

    The last parts tell layers apart; the modules around them are mostly the same.

    Args:
        names: The names.

    Returns:
        The names, shortened if they are long.

    >>> shortened(["stem", "backbone.features.denseblock1.denselayer2.conv1", "x" * 50])
    ['stem', '…denselayer2.conv1', '…xxxxxxxxxxxxxxxxxxxxxxx']
    """
    for width in _WIDTHS:
        short = [name if len(name) <= width else _end(name, width) for name in names]
        if len(set(short)) == len(names):
            return short
    return list(names)


def _end(name: str, width: int) -> str:
    """Return the longest end of a dotted name that fits, or else its last letters, after `…`."""
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), "…" + name[1 - width :])


def folded(name: str, width: int = 22) -> str:
    """Break a name after one of `._- ` where a line would be longer than `width` characters.

    >>> folded("features.denseblock3.conv2")
    'features.denseblock3.\\nconv2'
    """
    lines = [""]
    # Pieces of the name, each up to a place where it may be broken.
    for piece in re.findall(r"\n|[^._ \n-]*[._ -]?", name):
        if piece == "\n" or (lines[-1] and len(lines[-1] + piece) > width):
            lines.append("")
        lines[-1] += piece.strip("\n")
    return "\n".join(line.rstrip() for line in lines)


def together(names: Iterable[str]) -> str:
    """Return names as they are listed in a sentence.

    >>> together(["EWC"]), together(["EWC", "SI", "ER"])
    ('EWC', 'EWC, SI and ER')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    Args:
        count: The number.
        thing: The noun in the singular.

    Returns:
        The text.

    >>> counted(1, "seed"), counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def with_head(text: str, rows: pd.DataFrame) -> str:
    """Append the name of the rows' head to a text, unless the head is "single".

    Args:
        text: The text.
        rows: The measurements or metrics that are shown.

    Returns:
        The text.

    >>> with_head("Accuracy (%)", pd.DataFrame({"head": ["", "multi"]}))
    'Accuracy (%), multi-head'
    """
    head = next(filter(None, rows["head"]), "")
    return text + {"multi": ", multi-head", "all": ", over all outputs"}.get(head, "")


def mean_over(rows: pd.DataFrame) -> str:
    """Name the number of seeds that rows are means over; the least and the most if they differ.

    Networks are named where intervals speak of these, and not of a way of training.
    """
    least = min(rows["seeds"])
    most = max(rows["seeds"])
    thing = "network" if _of_networks(rows) else "seed"
    if most == 1:
        return f"One {thing}"
    return f"Mean over {most if least == most else f'{least} to {most}'} {thing}s"


def _of_networks(rows: pd.DataFrame) -> bool:
    """Return whether intervals speak of these networks, and not of a way of training."""
    return NETWORK in set(rows.get("scope", ()))


def over_seeds(rows: pd.DataFrame) -> str:
    """Describe the points of a figure and their bars, if any.

    >>> rows = pd.DataFrame({"mean": [0.9], "std": [0.01], "seeds": [3]})
    >>> over_seeds(rows), mean_over(rows)
    ('Mean and 95 % interval over 3 seeds', 'Mean over 3 seeds')
    >>> over_seeds(pd.DataFrame({"value": [0.9], "low": [0.8], "high": [0.95], "seeds": [3]}))
    'Mean over 3 seeds, 95 % interval (of seeds and test set)'
    """
    text = mean_over(rows)
    if "low" not in rows:
        bars = "Mean and 95 % interval" if rows["std"].notna().any() else "Mean"
        return text.replace("Mean", bars)
    if rows["low"].isna().all():
        return text
    sources = "test examples" if _of_networks(rows) else "seeds and test set"
    return f"{text}, 95 % interval (of {sources})"


def study(measurements: pd.DataFrame) -> str:
    """Name the study in one short line: data, network, orders and seeds; "" if there are no rows.

    >>> columns = ["scenario", "network", "order", "seed"]
    >>> study(pd.DataFrame([("digits", "cnn3", "0", 0)], columns=columns))
    'digits, cnn3, 1 order, 1 seed'
    """
    if measurements.empty:
        return ""
    row = measurements.iloc[0]
    counts = (counted(count, name) for name, count in _counts(measurements).items())
    return ", ".join((row["scenario"], row["network"], *counts))


def caption(
    sentences: Iterable[str],
    learners: Sequence[str],
    measurements: pd.DataFrame,
    doubts: Sequence[str] = (),
) -> str:
    """Return a paragraph: sentences, learners, data and doubts, with names unescaped.

    Args:
        sentences: The sentences on what is drawn; empty ones are left out.
        learners: The printed names of the learners that are drawn.
        measurements: The measurements of the study.
        doubts: The sentences on doubts about trainings.

    >>> caption(["Accuracy", ""], [r"my\\$er"], pd.DataFrame())
    'Accuracy. Method: my$er.'
    """
    texts = list(sentences)
    if learners:
        texts.append(f"Method{'s' * (len(learners) > 1)}: {together(learners)}")
    if len(measurements):
        one_order = "with one order, a task and its position cannot be told apart"
        several_orders = "orders are averaged within a seed first"
        orders = one_order if _counts(measurements)["order"] < 2 else several_orders
        texts.append(f"Data: {study(measurements)}; {orders}")
    closed = (f"{text.removesuffix('.')}." for text in (*texts, *doubts) if text)
    return " ".join(closed).replace(r"\$", "$")


def of_accuracies(tables: StudyTables, what: str) -> Iterator[str]:
    """Yield sentences on accuracies of the output: means, their spread, and the head.

    Args:
        tables: The tables of the study.
        what: The word for the points.

    Yields:
        The sentences.
    """
    rows = tables.measurements
    errors = tables.seed_errors
    if several := [f"{name}s" for name, count in _counts(rows).items() if count > 1]:
        yield f"{what} are means over {together(several)}"
    if errors:
        # They are ascending: the middle one is the median, the last one the largest.
        yield (
            "Their 95 % intervals of the seeds reach "
            f"{100 * errors[len(errors) // 2]:.1f} points either way in the median, "
            f"and {100 * errors[-1]:.1f} at most"
        )
    yield next((_HEADS[head] for head in rows["head"].unique() if head in _HEADS), "")


def _counts(measurements: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of orders and of seeds; the controls have no order."""
    return {name: len({*measurements[name]} - {""}) for name in ("order", "seed")}


def doubts(
    notes: pd.DataFrame, learners: Mapping[str, str], readouts: Collection[str] = ()
) -> list[str]:
    """Return sentences on doubts about learners and controls, by kind: on networks, then on layers.

    Args:
        notes: The notes of a study.
        learners: The printed name of each learner that is drawn, by its name.
        readouts: The readouts whose layers are drawn.
    """
    names = {**learners, **{name: name.capitalize() for name in CONTROLS}}
    # Notes on networks have no feature. Of those on layers, only the drawn readouts' count.
    is_drawn = (notes["feature"] == "") | notes["readout"].isin(readouts)
    notes = notes[is_drawn & notes["learner"].isin(names)]
    sentences = []
    for kind, pattern in sorted(_DOUBTS.items()):
        of_kind = notes[notes["note"].str.match(pattern)]
        # A sentence on networks, and one on layers.
        for _, rows in of_kind.groupby(of_kind["feature"] != ""):
            runs = rows[["learner", "order", "seed"]].drop_duplicates()
            in_doubt = set(runs["learner"])
            shown = dict.fromkeys(names[name] for name in names if name in in_doubt)
            text = kind
            if layers := listed(filter(None, rows["feature"].unique())):
                text += f" downstream of {layers}"
            text += f": {together(shown)} ({counted(len(runs), 'run')})"
            sentences.append(text)
    return sentences
