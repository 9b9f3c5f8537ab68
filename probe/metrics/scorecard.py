"""Every matrix metric of the literature at once, and the reason for each that cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from probe.errors import NotMeasured
from probe.metrics import chaudhry, diaz_rodriguez, gem, kemker
from probe.metrics.matrix import AccuracyMatrix

Number = float | None
Metric = Callable[[AccuracyMatrix], float]
MetricAfter = Callable[[AccuracyMatrix, int], float]
Given = TypeVar("Given")

NO_IDEAL = "needs the ideal accuracy: offline, on the first task's test data (--ideal)"
NO_REFERENCE = "needs a reference, the accuracy matrix of the cumulative learner (--reference)"


@dataclass(frozen=True, kw_only=True)
class Scorecard:
    """The metrics of one accuracy matrix, by paper.

    values: paper -> metric -> a number, or T numbers (index k - 1) for those of Chaudhry and the
    alphas of Kemker, which exist after every task k; None = not measured. not_measured: the reason
    for each None, by names such as `gem.fwt` and `chaudhry.forgetting[1]` (k from 1).
    """

    values: Mapping[str, Mapping[str, Number | list[Number]]]
    not_measured: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, str, Number]]:
        """Yield (paper, metric, number) for every number; after task k it is `forgetting[k]`."""
        for paper, metrics in self.values.items():
            for name, value in metrics.items():
                if isinstance(value, list):
                    yield from ((paper, f"{name}[{k}]", each) for k, each in enumerate(value, 1))
                else:
                    yield paper, name, value

    def to_json(self) -> str:
        """Return one JSON object: the values by paper, and `not_measured`; null, never NaN."""
        whole = {**self.values, "not_measured": self.not_measured}
        return json.dumps(whole, indent=2, allow_nan=False)


def scorecard(
    R: AccuracyMatrix,
    *,
    reference: AccuracyMatrix | None = None,
    ideal: float | None = None,
    test_sizes: Sequence[int] | None = None,
) -> Scorecard:
    """Compute every metric that the measured cells of R, (T+1, T), allow.

    reference: the cumulative learner's matrix, for Chaudhry's intransigence; ideal: alpha_ideal,
    for Kemker's Omega_base and Omega_all; test_sizes: the numbers of test examples of the tasks,
    (T,), for alpha_all and Omega_all. What they do not allow is None with a reason, not an error.
    Raises InputError for a reference, ideal or test_sizes that does not fit R.

    >>> card = scorecard(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]))
    >>> card.values["gem"]
    {'acc': 0.625, 'bwt': -0.5, 'fwt': None}
    >>> card.not_measured["gem.fwt"]
    'R[0,2] (task 2 before any training) was not measured'
    """
    kemker.task_sizes(R, test_sizes)
    tried = _Attempts(R)
    values: dict[str, Mapping[str, Number | list[Number]]] = {
        "gem": tried.once("gem", _GEM),
        "diaz_rodriguez": tried.once("diaz_rodriguez", _DIAZ_RODRIGUEZ),
        "chaudhry": tried.after_each_task("chaudhry", _chaudhry(reference)),
        "kemker": {
            **tried.after_each_task("kemker", _alphas(test_sizes)),
            **tried.once("kemker", _omegas(ideal, test_sizes)),
        },
    }
    return Scorecard(values=values, not_measured=tried.reasons)


_GEM: dict[str, Metric] = {"acc": gem.acc, "bwt": gem.bwt, "fwt": gem.fwt}

_DIAZ_RODRIGUEZ: dict[str, Metric] = {
    "accuracy": diaz_rodriguez.accuracy,
    "bwt": diaz_rodriguez.bwt,
    "rem": diaz_rodriguez.rem,
    "bwt_plus": diaz_rodriguez.bwt_plus,
    "fwt": diaz_rodriguez.fwt,
}


def _chaudhry(reference: AccuracyMatrix | None) -> dict[str, MetricAfter]:
    def intransigence(R: AccuracyMatrix, k: int) -> float:
        return chaudhry.intransigence(R, _given(reference, NO_REFERENCE), k)

    return {
        "average_accuracy": chaudhry.average_accuracy,
        "forgetting": chaudhry.forgetting,
        "intransigence": intransigence,
    }


def _alphas(test_sizes: Sequence[int] | None) -> dict[str, MetricAfter]:
    return {
        "alpha_base": kemker.alpha_base,
        "alpha_new": kemker.alpha_new,
        "alpha_all": lambda R, i: kemker.alpha_all(R, i, test_sizes),
    }


def _omegas(ideal: float | None, test_sizes: Sequence[int] | None) -> dict[str, Metric]:
    return {
        "omega_base": lambda R: kemker.omega_base(R, _given(ideal, NO_IDEAL)),
        "omega_new": kemker.omega_new,
        "omega_all": lambda R: kemker.omega_all(R, _given(ideal, NO_IDEAL), test_sizes),
    }


def _given(value: Given | None, reason: str) -> Given:
    if value is None:
        raise NotMeasured(reason)
    return value


@dataclass(frozen=True)
class _Attempts:
    """Metrics of R tried one by one; `reasons` collects why some could not be had."""

    R: AccuracyMatrix
    reasons: dict[str, str] = field(default_factory=dict)

    def once(self, paper: str, metrics: Mapping[str, Metric]) -> dict[str, Number]:
        return {
            name: self._number(f"{paper}.{name}", partial(metric, self.R))
            for name, metric in metrics.items()
        }

    def after_each_task(
        self, paper: str, metrics: Mapping[str, MetricAfter]
    ) -> dict[str, list[Number]]:
        return {
            name: [
                self._number(f"{paper}.{name}[{k}]", partial(metric, self.R, k))
                for k in range(1, self.R.tasks + 1)
            ]
            for name, metric in metrics.items()
        }

    def _number(self, name: str, metric: Callable[[], float]) -> Number:
        try:
            return metric()
        except NotMeasured as reason:
            self.reasons[name] = str(reason)
            return None
