"""The metrics of the literature, as pure functions of accuracy matrices and confusion counts.

>>> from probe import metrics
>>> R = [[0.75, 0.0], [0.25, 1.0]]  # accuracy on each task, after task 1 and after task 2
>>> metrics.average_accuracy(R), metrics.forgetting(R), metrics.gem_bwt(R)
(0.625, 0.5, -0.5)

R is an array or list of rows, (T, T) or, with a row before any training, (T+1, T), or
an `AccuracyMatrix`; counts are `Counts` or (K, K) arrays. There is a module for each
paper; where two papers define one name differently, a prefix says whose it is.

- Lopez-Paz and Ranzato 2017 (`gem`): `acc`, `gem_bwt`, `gem_fwt`;
- Diaz-Rodriguez 2018 (`diaz_rodriguez`): `diaz_accuracy`, `diaz_bwt`, `rem`,
  `bwt_plus`, `diaz_fwt`, `ms`, `sss`, `ce`, `cl_score`, `cl_stability`;
- Chaudhry 2018 (`chaudhry`): `average_accuracy`, `forgetting`, `task_forgetting`,
  `forgetting_since_learned`, `expected_forgetting`, `intransigence`;
- Kemker 2018 (`kemker`): `alpha_base`, `alpha_new`, `alpha_all`, `omega_base`,
  `omega_new`, `omega_all`;
- Rebuffi 2017 (`icarl`): `average_incremental_accuracy`;
- Serra 2018 (`serra`): `forgetting_ratio`; Hayes 2018 (`hayes`): `hayes_omega`;
- Zheng 2023 (`zscl`): `zscl_transfer`;
- Murata 2020 (`murata`), from counts: `pra`, `forgetting_strength`, `task_f1`;
- deep and shallow forgetting, ICLR 2026 (`deep_shallow`): `deep_forgetting`,
  `task_deep_forgetting`, `shallow_forgetting`, `task_shallow_forgetting`, `replay_gap`.

`TaskPredictions` holds the results of an evaluation, `Counts` its confusion matrix, and
`AccuracyMatrix` the accuracies of a whole run, which `read_matrix` reads from a file;
`scorecard` computes all metrics of a matrix. `dir(metrics)` lists every metric. Names
are imported when they are first used.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probe.metrics import diaz_rodriguez, gem, hayes, zscl
    from probe.metrics.chaudhry import *
    from probe.metrics.counts import Counts as Counts
    from probe.metrics.deep_shallow import *
    from probe.metrics.diaz_rodriguez import *
    from probe.metrics.gem import *
    from probe.metrics.icarl import *
    from probe.metrics.kemker import *
    from probe.metrics.matrix import AccuracyMatrix as AccuracyMatrix
    from probe.metrics.matrix_file import read_matrix as read_matrix
    from probe.metrics.murata import *
    from probe.metrics.serra import *
    from probe.metrics.task_predictions import TaskPredictions as TaskPredictions

    diaz_accuracy, diaz_fwt = diaz_rodriguez.accuracy, diaz_rodriguez.fwt
    diaz_bwt, gem_bwt, gem_fwt = diaz_rodriguez.bwt, gem.bwt, gem.fwt
    hayes_omega, zscl_transfer = hayes.omega, zscl.transfer

_HOMES = {
    "AccuracyMatrix": "matrix",
    "Counts": "counts",
    "TaskPredictions": "task_predictions",
    "read_matrix": "matrix_file",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"probe.metrics.{_HOMES[name]}"), name)
    if name in {module for _, module, _ in iter_modules(globals()["__path__"])}:
        return import_module(f"probe.metrics.{name}")
    if not name.startswith("_"):
        for metric in import_module("probe.metrics.registry").registered():
            if metric.public == name:
                return metric.function
    raise AttributeError(f"module 'probe.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    metrics = import_module("probe.metrics.registry").registered()
    return sorted([*_HOMES, *(metric.public for metric in metrics)])
