"""What the command line shows of a finished study: its results, and the files that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from probe.tables.rows import MetricRow, SummaryRow, TimeRow, read_table
from probe.tables.summary import training_seconds
from scenarios.commands.printable import printable

TABLES = ("rows.csv", "summary.csv", "metrics.csv", "learners.csv", "costs.csv")
"""The tables of a run directory, by file name; the same study gives the same bytes."""

TIMES = "times.csv"
"""A further one: how long each task took, which no two runs have the same."""


def show_outcome(console: Console, root: Path, omegas: bool, files: Iterable[str]) -> None:
    """Print the results that the tables of a run directory hold, and the files by name.

    omegas: whether Kemker's are among them.
    """
    metrics = read_table(root / "metrics.csv", MetricRow)
    show_results(console, read_table(root / "summary.csv", SummaryRow), metrics)
    if omegas:
        show_omegas(console, metrics, read_table(root / "times.csv", TimeRow))
    for name in files:
        console.print(printable(str(root / name)), markup=False, soft_wrap=True)


def show_results(
    console: Console, summary: Sequence[SummaryRow], metrics: Sequence[MetricRow]
) -> None:
    """Print learner by learner, in %: PRA behind each feature, and A and F.

    Learners that share a network share a table. A and F are Chaudhry 2018's after the last task,
    under the main head, the first of the report. Of a study that retrains nothing PRA is left out.
    """
    seeds = max((row.seeds for row in summary), default=0)
    main = next((row.head for row in metrics if row.head), "single")
    networks = _by_features(summary)
    last = f"average accuracy A and forgetting F after the last task ({main}-head)"
    what = f"Partial Retrain Accuracy, {last}" if any(networks) else f"A{last[1:]}"
    over = f"mean±std over {seeds} seeds" if seeds > 1 else "one seed"
    console.print(printable(f"{what}, in %: {over}"), markup=False)
    a, f = (_after_the_last(metrics, m, main) for m in ("average_accuracy[", "forgetting["))
    pra = {(r.learner, r.feature): (r.mean, r.std) for r in summary if r.measure == "pra"}
    for features, learners in networks.items():
        table = _table(features)
        # Many features fit into 80 columns with the deviation below the mean.
        between = "\n±" if len(features) > 4 else "±"
        for learner in learners:
            behind = [pra.get((learner, feature)) for feature in features]
            values = [*behind, a.get(learner), f.get(learner)]
            table.add_row(_plain(learner), *(_cell(value, between) for value in values))
        console.print(table)


def show_omegas(console: Console, metrics: Sequence[MetricRow], times: Sequence[TimeRow]) -> None:
    """Print Kemker 2018's table: the Omegas under the main head, model size and training time.

    Where the Omegas are also there by what was learned first, a table for each.
    """
    main = next((row.head for row in metrics if row.head), "single")
    seconds = training_seconds(times)
    own = {(r.learner, r.metric): (r.mean, r.std) for r in metrics if r.head in ("", main)}
    told = (
        r.metric.removeprefix("omega_new") for r in metrics if r.metric.startswith("omega_new[")
    )
    title = printable(f"Kemker's Omegas ({main}-head), model size, training time of a run")
    console.print(title, markup=False)
    for first in dict.fromkeys(told) or [""]:
        if first:
            console.print(printable(first.strip("[]")), markup=False, highlight=False)
        console.print(_omegas(first, metrics, own, seconds))


def _omegas(
    first: str,
    metrics: Sequence[MetricRow],
    own: Mapping[tuple[str, str], tuple[float, float]],
    seconds: Mapping[str, float],
) -> Table:
    table = Table(box=SIMPLE, padding=(0, 1))
    for column in ("learner", "base", "new", "all", "MB", "seconds"):
        table.add_column(column, justify="left" if column == "learner" else "right", no_wrap=True)
    for learner in dict.fromkeys(r.learner for r in metrics if r.metric == "omega_new"):
        omegas = [own.get((learner, f"omega_{of}{first}")) for of in ("base", "new", "all")]
        size, spent = own.get((learner, "model_size_mb")), seconds.get(learner)
        table.add_row(
            _plain(learner),
            *(_cell(value, "±", scale=1, digits=3) for value in omegas),
            _cell(size and (size[0], math.nan), "", scale=1, digits=2),
            _cell(None if spent is None else (spent, math.nan), "", scale=1, digits=1),
        )
    return table


def _by_features(summary: Sequence[SummaryRow]) -> dict[tuple[str, ...], list[str]]:
    """Return the learners by the features of their network, in order of depth; () = retrains none.

    A learner that retrains none, as Offline, is listed with the first network.
    """
    rows = [row for row in summary if row.measure == "pra"]
    own: dict[str, dict[int, str]] = {row.learner: {} for row in rows}
    for row in rows:
        own[row.learner][row.depth] = row.feature
    features = {
        learner: tuple(named[depth] for depth in sorted(named)) if len(named) > 1 else ()
        for learner, named in own.items()
    }
    first = next(filter(None, features.values()), ())
    networks: dict[tuple[str, ...], list[str]] = {}
    for learner, named in features.items():
        networks.setdefault(named or first, []).append(learner)
    return networks


def _table(features: Sequence[str]) -> Table:
    table = Table(box=SIMPLE, padding=(0, 1))
    for column in ("learner", *features, "A", "F"):
        table.add_column(
            _plain(column), justify="left" if column == "learner" else "right", no_wrap=True
        )
    return table


def _plain(name: str) -> Text:
    """Return a name as a cell that shows it as it is; a plain string is read as markup."""
    return Text(printable(name))


def _after_the_last(
    metrics: Iterable[MetricRow], name: str, head: str
) -> dict[str, tuple[float, float]]:
    # They come in order of k: what stays is the value after the last task.
    own = (row for row in metrics if row.metric.startswith(name) and row.head == head)
    return {row.learner: (row.mean, row.std) for row in own}


def _cell(
    value: tuple[float, float] | None, between: str, scale: int = 100, digits: int = 1
) -> str:
    if value is None:
        return "-"
    mean, std = (f"{scale * number:.{digits}f}" for number in value)
    return mean if math.isnan(value[1]) else f"{mean}{between}{std}"
