"""`probe list`: everything that a study or a command can name.

The lists are those that the package itself uses, so nothing is missing or out of date; a learner's
line is the first of its class's docstring.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from probe.metrics.scorecard import METRICS
from scenarios.commands.screen.terminal import print_json
from scenarios.data.datasets import BUNDLED, LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.source import check_study, preset_names, read_study
from scenarios.study.spec import Study


def show_known(as_json: bool = False) -> None:
    """Print the presets, data sets, networks with their features, learners and metrics.

    as_json: as one JSON object, of each a list. Every preset is read and checked for it; no data
    are loaded.
    """
    known = _known()
    if as_json:
        print_json(known)
        return
    for key, title in _TITLES.items():
        table = Table(title, "")
        for entry in known[key]:
            name, about, *rest = entry.values()
            table.add_row(name, _told(key, about, *rest))
        Console().print(table)


_TITLES = {
    "presets": "preset",
    "data_sets": "data set",
    "networks": "network",
    "learners": "learner",
    "metrics": "metrics of",
}


def _told(key: str, about: Any, *rest: Any) -> str:
    """Return what a table says of an entry."""
    listed = ", ".join(about) if isinstance(about, list) else str(about)
    if key == "networks":
        return f"features: {listed}"
    return f"{listed} ({rest[0]})" if rest and rest[0] else listed


def _known() -> dict[str, list[dict[str, Any]]]:
    """Return all that can be named, by what it is: what it is called first, then what it is."""
    presets = [
        {"name": name, "about": _contents(check_study(read_study(name), name))}
        for name in preset_names()
    ]
    data = [
        {"name": name, "about": "bundled" if name in BUNDLED else "needs --data"}
        for name in LOADERS
    ]
    # It stands for any name: such files are the user's.
    own = "a feature file: your own data, or made by probe features"
    data.append({"name": "NAME.npz", "about": own})
    papers: list[dict[str, Any]] = [
        {"paper": paper, "metrics": [metric.name for metric in metrics], "needs": ""}
        for paper, metrics in groupby(METRICS, key=lambda metric: metric.paper)
    ]
    # These are not in the scorecard: they need more than an accuracy matrix.
    papers += [
        {"paper": paper, "metrics": names.split(), "needs": needs}
        for paper, names, needs in (
            ("murata", "pra f1 forgetting_strength", "by feature, from a study"),
            ("diaz_rodriguez", "ms sss ce cl_score cl_stability", "from a study"),
        )
    ]
    return {
        "presets": presets,
        "data_sets": data,
        "networks": [{"name": n, "features": list(a.features)} for n, a in ARCHITECTURES.items()],
        "learners": [
            {"name": name, "about": (kind.__doc__ or "").partition("\n")[0]}
            for name, kind in LEARNERS.items()
        ],
        "metrics": papers,
    }


def _contents(study: Study) -> str:
    """Return what a study is about, in a line."""
    learners = ", ".join(study.learners)
    return (
        f"{study.network.name} on {study.scenario.title}: {learners}; seeds 0-{study.each_seed[-1]}"
    )
