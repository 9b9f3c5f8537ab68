"""forgetting-probe: measure which layers of a network forget, and which tasks.

>>> import probe, torch
>>> from torch import nn
>>> net = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
>>> x, y = torch.randn(20, 4), torch.arange(20) % 2  # tensors, arrays, a Dataset, a DataLoader ...
>>> after_task_1, after_task_2 = net(), net()  # as you have trained them
>>> nets = {1: after_task_1, 2: after_task_2}
>>> result = probe.analyze(nets, (x, y), (x, y), tasks=[[0], [1]], untrained=net())
>>> result.report("report.html")  # doctest: +SKIP

`analyze` measures networks, `Recorder` saves the networks of your training loop,
`partial_retrain` runs the protocol on one network, and `metrics` has the metrics of
accuracy matrices. `dir(probe)` lists all names. The names below are imported when they
are first used, so that `import probe` (and the command line's `--help`) does not load
torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probe import metrics as metrics
    from probe.before_after.comparison import diff as diff
    from probe.before_after.result import Diff as Diff
    from probe.before_after.watching import TooMuchLost as TooMuchLost, Watch as Watch
    from probe.by_layer.probing import Measure as Measure
    from probe.cut.candidates import candidates as candidates
    from probe.cut.cuts import cut_each as cut_each, split as split
    from probe.examples import Examples as Examples
    from probe.extensions import (
        data as data,
        learner as learner,
        metric as metric,
        network as network,
        readout as readout,
    )
    from probe.metrics.counts import Counts as Counts
    from probe.metrics.matrix import AccuracyMatrix as AccuracyMatrix
    from probe.model import Model as Model
    from probe.record.recorder import Recorder as Recorder
    from probe.results.analysis import Analysis as Analysis
    from probe.results.analyze import analyze as analyze
    from probe.results.example_causes import example_causes as example_causes
    from probe.results.load import load as load, predictions as predictions
    from probe.retrain import (
        cache_plan as cache_plan,
        partial_retrain as partial_retrain,
    )
    from probe.rewinding.causes import causes as causes
    from probe.training.recipe import Recipe as Recipe
    from probe.values.allocation import CacheSettings as CacheSettings

_HOMES = {
    "AccuracyMatrix": "probe.metrics.matrix",
    "Analysis": "probe.results.analysis",
    "CacheSettings": "probe.values.allocation",
    "Counts": "probe.metrics.counts",
    "Examples": "probe.examples",
    "Measure": "probe.by_layer.probing",
    "Model": "probe.model",
    "Recipe": "probe.training.recipe",
    "Recorder": "probe.record.recorder",
    "TooMuchLost": "probe.before_after.watching",
    "Watch": "probe.before_after.watching",
    "analyze": "probe.results.analyze",
    "cache_plan": "probe.retrain",
    "candidates": "probe.cut.candidates",
    "causes": "probe.rewinding.causes",
    "cut_each": "probe.cut.cuts",
    "data": "probe.extensions",
    "Diff": "probe.before_after.result",
    "diff": "probe.before_after.comparison",
    "example_causes": "probe.results.example_causes",
    "learner": "probe.extensions",
    "load": "probe.results.load",
    "metric": "probe.extensions",
    "network": "probe.extensions",
    "partial_retrain": "probe.retrain",
    "predictions": "probe.results.load",
    "readout": "probe.extensions",
    "split": "probe.cut.cuts",
}

__all__ = [*_HOMES, "metrics"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from probe.version import installed_version

        return installed_version()
    if name == "metrics":
        return import_module("probe.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
