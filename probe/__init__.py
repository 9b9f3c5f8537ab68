"""forgetting-probe: which layer of a network forgot what, toward which task.

The names below are imported when they are first used, so that `import probe` (and the command
line's `--help`) does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probe import metrics
    from probe.by_layer.measure import Measure
    from probe.by_layer.model import Model
    from probe.cut.candidates import candidates
    from probe.cut.cuts import cut_each, split
    from probe.examples import Examples
    from probe.metrics.counts import Counts
    from probe.metrics.matrix import AccuracyMatrix
    from probe.record.recorder import Recorder
    from probe.registered import data, metric, network, readout
    from probe.results.analysis import Analysis
    from probe.results.analyze import analyze
    from probe.results.load import load
    from probe.retrain import cache_plan, partial_retrain
    from probe.training.recipe import Recipe
    from probe.values.allocation import CacheSettings

__all__ = [
    "AccuracyMatrix",
    "Analysis",
    "CacheSettings",
    "Counts",
    "Examples",
    "Measure",
    "Model",
    "Recipe",
    "Recorder",
    "analyze",
    "cache_plan",
    "candidates",
    "cut_each",
    "data",
    "load",
    "metric",
    "metrics",
    "network",
    "partial_retrain",
    "readout",
    "split",
]

_HOMES = {
    "AccuracyMatrix": "probe.metrics.matrix",
    "Analysis": "probe.results.analysis",
    "CacheSettings": "probe.values.allocation",
    "Counts": "probe.metrics.counts",
    "Examples": "probe.examples",
    "Measure": "probe.by_layer.measure",
    "Model": "probe.by_layer.model",
    "Recipe": "probe.training.recipe",
    "Recorder": "probe.record.recorder",
    "analyze": "probe.results.analyze",
    "cache_plan": "probe.retrain",
    "candidates": "probe.cut.candidates",
    "cut_each": "probe.cut.cuts",
    "data": "probe.registered",
    "load": "probe.results.load",
    "metric": "probe.registered",
    "network": "probe.registered",
    "partial_retrain": "probe.retrain",
    "readout": "probe.registered",
    "split": "probe.cut.cuts",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("forgetting-probe")
    if name == "metrics":
        return import_module("probe.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
