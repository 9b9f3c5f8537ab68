"""Every matrix metric of the literature at once, and the reason for each that cannot be had.

To add a metric, write it as a function of R in the module of its paper, with a docstring that says
what it is, and give it one line in METRICS: the scorecard, `probe metrics`, the tables of studies
and `probe list` then have it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from probe.errors import NotMeasured
from probe.metrics import chaudhry, diaz_rodriguez, gem, kemker
from probe.metrics.matrix import AccuracyMatrix

Number = float | None

# What to say where an input is left out; test sizes are not missed: tasks then weigh the same.
_MISSING = {
    "ideal": "needs the ideal accuracy: offline, on the first task's test data (--ideal)",
    "reference": "needs a reference, the accuracy matrix of the cumulative learner (--reference)",
}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A function of R, (T+1, T), and of what else is known; its paper and name are its own.

    after: what the function calls the number k of tasks learned, if it is defined after each task;
    needs: the inputs of `scorecard` that it takes beside R, as keywords of the same names.
    """

    function: Callable[..., float]
    after: str | None = None
    needs: Sequence[str] = ()

    @property
    def paper(self) -> str:
        """The module of the function, such as `gem`."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        """The name of the function, such as `bwt`."""
        return self.function.__name__

    def of(self, R: AccuracyMatrix, inputs: Mapping[str, object], k: int | None = None) -> float:
        """Return the metric of R, (T+1, T), after k tasks if it is defined after each.

        inputs: by name, those of `scorecard`. Raises NotMeasured for a missing input or cell.
        """
        given = {name: inputs[name] for name in self.needs}
        for name, value in given.items():
            if value is None and name in _MISSING:
                raise NotMeasured(_MISSING[name])
        if self.after:
            given[self.after] = k
        return self.function(R, **given)


METRICS = (
    Metric(function=gem.acc),
    Metric(function=gem.bwt),
    Metric(function=gem.fwt),
    Metric(function=diaz_rodriguez.accuracy),
    Metric(function=diaz_rodriguez.bwt),
    Metric(function=diaz_rodriguez.rem),
    Metric(function=diaz_rodriguez.bwt_plus),
    Metric(function=diaz_rodriguez.fwt),
    Metric(function=chaudhry.average_accuracy, after="k"),
    Metric(function=chaudhry.forgetting, after="k"),
    Metric(function=chaudhry.intransigence, after="k", needs=["reference"]),
    Metric(function=kemker.alpha_base, after="i"),
    Metric(function=kemker.alpha_new, after="i"),
    Metric(function=kemker.alpha_all, after="i", needs=["test_sizes"]),
    Metric(function=kemker.omega_base, needs=["ideal"]),
    Metric(function=kemker.omega_new),
    Metric(function=kemker.omega_all, needs=["ideal", "test_sizes"]),
)
"""All metrics of a matrix, paper by paper, in the order in which they are shown."""


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
    >>> card.values["gem"]["bwt"], card.values["gem"]["fwt"]
    (-0.5, None)
    >>> card.not_measured["gem.fwt"]
    'R[0,2] (task 2 before any training) was not measured'
    """
    # Checked once here: wrong sizes are the caller's mistake, and no reason for a gap.
    kemker.task_sizes(R, test_sizes)
    inputs = {"reference": reference, "ideal": ideal, "test_sizes": test_sizes}
    values: defaultdict[str, dict[str, Number | list[Number]]] = defaultdict(dict)
    reasons: dict[str, str] = {}

    def tried(metric: Metric, k: int | None = None) -> Number:
        try:
            return metric.of(R, inputs, k)
        except NotMeasured as reason:
            after = "" if k is None else f"[{k}]"
            reasons[f"{metric.paper}.{metric.name}{after}"] = str(reason)
            return None

    for metric in METRICS:
        each = [tried(metric, k) for k in range(1, R.tasks + 1)] if metric.after else tried(metric)
        values[metric.paper][metric.name] = each
    return Scorecard(values=values, not_measured=reasons)
