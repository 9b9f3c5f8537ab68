"""The metrics of the literature, as pure functions of accuracy matrices and confusion counts.

`from probe import metrics`, then `metrics.forgetting(R)`, where R is an `AccuracyMatrix`. There is
a module for each paper; where two papers give one name to two things, the names here say whose.

- Lopez-Paz and Ranzato 2017 (`gem`): `acc`, `gem_bwt`, `gem_fwt`;
- Diaz-Rodriguez 2018 (`diaz_rodriguez`): `diaz_accuracy`, `diaz_bwt`, `rem`, `bwt_plus`,
  `diaz_fwt`, `ms`, `sss`, `ce`, `cl_score`, `cl_stability`;
- Chaudhry 2018 (`chaudhry`): `average_accuracy`, `forgetting`, `task_forgetting`, `intransigence`;
- Kemker 2018 (`kemker`): `alpha_base`, `alpha_new`, `alpha_all`, `omega_base`, `omega_new`,
  `omega_all`;
- Murata 2020 (`murata`), of counts: `pra`, `forgetting_strength`, `task_f1`;
- deep and shallow forgetting, ICLR 2026 (`deep_shallow`): `deep_forgetting`,
  `task_deep_forgetting`, `shallow_forgetting`, `task_shallow_forgetting`, `replay_gap`.

`Counts` and `TaskCounts` hold what an evaluation gave, `AccuracyMatrix` the accuracies of a whole
run, which `read_matrix` reads from a file. The module `scorecard` has all metrics of a matrix in
one table, METRICS, and says how to add one. Names are imported when they are first used.

>>> from probe import metrics
>>> R = metrics.AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]])
>>> metrics.average_accuracy(R), metrics.forgetting(R), metrics.gem_bwt(R)
(0.625, 0.5, -0.5)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probe.metrics.chaudhry import (
        average_accuracy,
        forgetting,
        intransigence,
        task_forgetting,
    )
    from probe.metrics.counts import Counts
    from probe.metrics.deep_shallow import (
        deep_forgetting,
        replay_gap,
        shallow_forgetting,
        task_deep_forgetting,
        task_shallow_forgetting,
    )
    from probe.metrics.diaz_rodriguez import accuracy as diaz_accuracy
    from probe.metrics.diaz_rodriguez import bwt as diaz_bwt
    from probe.metrics.diaz_rodriguez import (
        bwt_plus,
        ce,
        cl_score,
        cl_stability,
        ms,
        rem,
        sss,
    )
    from probe.metrics.diaz_rodriguez import fwt as diaz_fwt
    from probe.metrics.gem import acc
    from probe.metrics.gem import bwt as gem_bwt
    from probe.metrics.gem import fwt as gem_fwt
    from probe.metrics.kemker import (
        alpha_all,
        alpha_base,
        alpha_new,
        omega_all,
        omega_base,
        omega_new,
    )
    from probe.metrics.matrix import AccuracyMatrix
    from probe.metrics.matrix_file import read_matrix
    from probe.metrics.murata import forgetting_strength, pra, task_f1
    from probe.metrics.task_counts import TaskCounts

__all__ = [
    "AccuracyMatrix",
    "Counts",
    "TaskCounts",
    "acc",
    "alpha_all",
    "alpha_base",
    "alpha_new",
    "average_accuracy",
    "bwt_plus",
    "ce",
    "cl_score",
    "cl_stability",
    "deep_forgetting",
    "diaz_accuracy",
    "diaz_bwt",
    "diaz_fwt",
    "forgetting",
    "forgetting_strength",
    "gem_bwt",
    "gem_fwt",
    "intransigence",
    "ms",
    "omega_all",
    "omega_base",
    "omega_new",
    "pra",
    "read_matrix",
    "rem",
    "replay_gap",
    "shallow_forgetting",
    "sss",
    "task_deep_forgetting",
    "task_f1",
    "task_forgetting",
    "task_shallow_forgetting",
]

_NAMES = {
    "chaudhry": ("average_accuracy", "forgetting", "intransigence", "task_forgetting"),
    "counts": ("Counts",),
    "deep_shallow": (
        "deep_forgetting",
        "replay_gap",
        "shallow_forgetting",
        "task_deep_forgetting",
        "task_shallow_forgetting",
    ),
    "diaz_rodriguez": (
        "accuracy as diaz_accuracy",
        "bwt as diaz_bwt",
        "bwt_plus",
        "ce",
        "cl_score",
        "cl_stability",
        "fwt as diaz_fwt",
        "ms",
        "rem",
        "sss",
    ),
    "gem": ("acc", "bwt as gem_bwt", "fwt as gem_fwt"),
    "kemker": ("alpha_all", "alpha_base", "alpha_new", "omega_all", "omega_base", "omega_new"),
    "matrix": ("AccuracyMatrix",),
    "matrix_file": ("read_matrix",),
    "murata": ("forgetting_strength", "pra", "task_f1"),
    "task_counts": ("TaskCounts",),
}
_HOMES = {
    name.rpartition(" as ")[2]: (module, name.partition(" as ")[0])
    for module, names in _NAMES.items()
    for name in names
}


def __getattr__(name: str) -> object:
    if name in _NAMES or name == "scorecard":
        return import_module(f"probe.metrics.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'probe.metrics' has no attribute {name!r}")
    module, own = _HOMES[name]
    return getattr(import_module(f"probe.metrics.{module}"), own)
