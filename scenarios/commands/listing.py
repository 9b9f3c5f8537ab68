"""`probe list`: everything that a study or a command can name.

The lists are the ones that the package itself uses; a learner or readout is described
by the first line of its class's docstring.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Console
from rich.table import Table

from probe.by_layer.fingerprint import Record
from probe.by_layer.sources import SOURCES
from probe.metrics.murata import RETRAIN
from probe.metrics.scorecard import METRICS
from scenarios.commands.screen.terminal import print_json
from scenarios.data.names import BUNDLED, DATA_SETS
from scenarios.learners.modules import MODULES
from scenarios.stages import STAGES
from scenarios.study.scenario_spec import ScenarioSpec
from scenarios.study.study_toml import preset_names, read_study, variant_names

# Presets without a run in docs/found that has all of their present settings.
_NEVER_IN_FULL = {
    "chaudhry-cifar100-multi",
    "chaudhry-cifar100-single",
    "diaz-cifar100",
    "kemker-cub-incremental",
    "kemker-cub-permutation",
    "kemker-digits",
    "kemker-features",
    "kemker-mnist-permutation",
    "murata-cifar10",
    "murata-mnist",
    "murata-svhn",
    "permuted-digits",
    "rotated-mnist",
    "vandeven-cifar100-class",
    "vandeven-cifar100-domain",
    "vandeven-cifar100-task",
}


_TITLES = {"learners": "method", "metrics": "metrics of"}


def show_names(as_json: bool = False) -> None:
    """Print the presets, data sets, networks with their features, learners, readouts and metrics.

    Neither data nor torch are loaded.

    Args:
        as_json: Whether to print one JSON object with a list of each.
    """
    known = names()
    if as_json:
        print_json(known)
        return
    for key, entries in known.items():
        title = _TITLES.get(key, key.removesuffix("s").replace("_", " "))
        table = Table(title, "")
        for entry in entries:
            name, about, *needs = entry.values()
            text = ", ".join(about) if isinstance(about, list) else str(about)
            if key == "networks":
                text = f"layers: {text}"
            if any(needs):
                text += f" ({needs[0]})"
            table.add_row(name, text)
        Console().print(table)


def names() -> dict[str, list[Record]]:
    """Return the entries of each list: the name first, then the description."""
    presets: dict[str, str] = {}
    for name in preset_names():
        study = read_study(name)
        seeds = study["seeds"]
        if isinstance(seeds, int):
            seeds = range(seeds)
        title = ScenarioSpec.model_validate(study["scenario"]).title
        about = f"{study['network']['name']} on {title}"
        presets[name] = (
            f"{about}: {', '.join(study['learners'])}; seeds {', '.join(map(str, seeds))}"
        )
        if variants := variant_names(name):
            presets[name] += f"; --variant {', '.join(variants)}"
        if name in _NEVER_IN_FULL:
            presets[name] += "; we have not run it in full"
    data = {
        name: "bundled" if name in BUNDLED else "needs --data" for name in DATA_SETS
    }
    # A placeholder: such files are the user's.
    data["NAME.npz"] = "a feature file: your own data, or made by probe features"
    readouts = {
        RETRAIN: "Partial retraining: everything downstream of the feature is trained anew."
    }
    return {
        "presets": _entries(presets),
        "data_sets": _entries(data),
        "networks": [
            {"name": name, "features": stages.split()}
            for name, stages in STAGES.items()
        ],
        "learners": _entries(
            _marked_classes("learner", dict.fromkeys(MODULES.values()))
        ),
        "readouts": _entries(
            readouts | _marked_classes("readout", ["probe.readouts.readout"])
        ),
        "metrics": _metrics(),
    }


def _metrics() -> list[Record]:
    """Return the metrics of each paper, and what they need besides an accuracy matrix."""
    papers: list[Record] = []
    for paper, metrics in groupby(METRICS, key=lambda metric: metric.paper):
        names = [metric.name for metric in metrics]
        papers.append({"paper": paper, "metrics": names, "needs": ""})
    # Not in the scorecard, as an accuracy matrix does not suffice.
    of_features = ["pra", "f1", "forgetting_strength"]
    needs = "by feature, from a study"
    papers.append({"paper": "murata", "metrics": of_features, "needs": needs})
    of_costs = ["ms", "sss", "ce", "cl_score", "cl_stability"]
    needs = "from a study"
    papers.append({"paper": "diaz_rodriguez", "metrics": of_costs, "needs": needs})
    return papers


def _marked_classes(decorator: str, modules: Iterable[str]) -> dict[str, str]:
    """Return the marked classes by name, each with the first line of its docstring.

    They are found in the text of modules, as most of these load torch.
    """
    marked = re.compile(
        rf'^@{decorator}\("([^"]+)".*\nclass .*\n    """(.+?)"*$', re.MULTILINE
    )
    text = "".join(SOURCES[module].decode() for module in modules)
    return dict(marked.findall(text))


def _entries(about_by_name: Mapping[str, str]) -> list[Record]:
    """Return names with their descriptions."""
    return [{"name": name, "about": about} for name, about in about_by_name.items()]
