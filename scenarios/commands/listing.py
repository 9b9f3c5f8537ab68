"""`probe list`: everything that a study or a command can name.

The lists are those that the package itself uses; a learner or readout is described by the first
line of its class's docstring.
"""

from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from probe.metrics.scorecard import METRICS
from probe.readouts.readout import READOUTS
from scenarios.commands.screen.terminal import print_json
from scenarios.data.datasets import BUNDLED, LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.spec import Study
from scenarios.study.study_file import check_study, preset_names, read_study


def show_names(as_json: bool = False) -> None:
    """Print the presets, data sets, networks with their features, learners, readouts and metrics.

    Every preset is read and checked; no data are loaded.

    Args:
        as_json: Whether to print one JSON object with a list of each.
    """
    names = _names()
    if as_json:
        print_json(names)
        return
    for key, entries in names.items():
        title = "metrics of" if key == "metrics" else key.removesuffix("s").replace("_", " ")
        table = Table(title, "")
        for entry in entries:
            name, about, *rest = entry.values()
            table.add_row(name, _cell(key, about, *rest))
        Console().print(table)


def _cell(key: str, about: Any, *rest: Any) -> str:
    """Return the second cell of an entry of a table."""
    listed = ", ".join(about) if isinstance(about, list) else str(about)
    if key == "networks":
        return f"features: {listed}"
    return f"{listed} ({rest[0]})" if rest and rest[0] else listed


def _names() -> dict[str, list[dict[str, Any]]]:
    """Return the entries of each list: the name first, then the description."""
    presets = [
        {"name": name, "about": _contents(check_study(read_study(name), name))}
        for name in preset_names()
    ]
    data = [
        {"name": name, "about": "bundled" if name in BUNDLED else "needs --data"}
        for name in LOADERS
    ]
    # A placeholder: such files are the user's.
    about = "a feature file: your own data, or made by probe features"
    data.append({"name": "NAME.npz", "about": about})
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
        "learners": [_described(name, kind) for name, kind in LEARNERS.items()],
        "readouts": [_described(name, entry.readout) for name, entry in READOUTS.items()],
        "metrics": papers,
    }


def _described(name: str, kind: type) -> dict[str, str]:
    return {"name": name, "about": (kind.__doc__ or "").partition("\n")[0]}


def _contents(study: Study) -> str:
    """Return a description of a study in a line."""
    learners = ", ".join(study.learners)
    seeds = f"seeds 0-{study.seed_numbers[-1]}"
    return f"{study.network.name} on {study.scenario.title}: {learners}; {seeds}"
