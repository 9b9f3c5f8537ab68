"""`probe list`: everything that a study or a command can name.

The lists are those that the package itself uses, so nothing is missing or out of date; a learner's
line is the first of its class's docstring.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.table import Table

from probe.metrics.scorecard import METRICS
from scenarios.data.datasets import BUNDLED, LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.source import check_study, preset_names, read_study
from scenarios.study.spec import Study


def show_known() -> None:
    """Print the presets, data sets, networks with their features, learners and metrics.

    Every preset is read and checked for it; no data are loaded.
    """
    presets = [(name, _contents(check_study(read_study(name), name))) for name in preset_names()]
    data = [(name, "bundled" if name in BUNDLED else "needs --data") for name in LOADERS]
    # It stands for any name: such files are the user's.
    data.append(("NAME.npz", "a feature file: your own data, or made by probe features"))
    networks = [(name, "features: " + ", ".join(a.features)) for name, a in ARCHITECTURES.items()]
    learners = [(name, (kind.__doc__ or "").partition("\n")[0]) for name, kind in LEARNERS.items()]
    papers = [
        (paper, ", ".join(metric.name for metric in metrics))
        for paper, metrics in groupby(METRICS, key=lambda metric: metric.paper)
    ]
    # These are not in the scorecard: they need more than an accuracy matrix.
    papers.append(("murata", "pra, f1, forgetting_strength (by feature, from a study)"))
    papers.append(("diaz_rodriguez", "ms, sss, ce, cl_score, cl_stability (from a study)"))
    for title, entries in (
        ("preset", presets),
        ("data set", data),
        ("network", networks),
        ("learner", learners),
        ("metrics of", papers),
    ):
        Console().print(_listed(title, entries))


def _contents(study: Study) -> str:
    """Return what a study is about, in a line."""
    learners = ", ".join(study.learners)
    return (
        f"{study.network.name} on {study.scenario.title}: {learners}; seeds 0-{study.each_seed[-1]}"
    )


def _listed(title: str, entries: Iterable[tuple[str, str]]) -> Table:
    """Return a table of two columns, names and what they are."""
    table = Table(title, "")
    for name, text in entries:
        table.add_row(name, text)
    return table
