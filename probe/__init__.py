"""forgetting-probe: which layer of a network forgot what, toward which task.

The names below are imported when they are first used, so that `import probe` (and the command
line's `--help`) does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probe.candidate import candidates
    from probe.counts import Counts
    from probe.examples import Examples
    from probe.fitting import Recipe
    from probe.matrix import AccuracyMatrix
    from probe.placement import CacheSettings
    from probe.retrain import cache_plan, partial_retrain
    from probe.splitting import split

__all__ = [
    "AccuracyMatrix",
    "CacheSettings",
    "Counts",
    "Examples",
    "Recipe",
    "cache_plan",
    "candidates",
    "partial_retrain",
    "split",
]

_HOMES = {
    "AccuracyMatrix": "probe.matrix",
    "CacheSettings": "probe.placement",
    "Counts": "probe.counts",
    "Examples": "probe.examples",
    "Recipe": "probe.fitting",
    "cache_plan": "probe.retrain",
    "candidates": "probe.candidate",
    "partial_retrain": "probe.retrain",
    "split": "probe.splitting",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
