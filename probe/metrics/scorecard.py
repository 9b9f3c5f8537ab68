"""All metrics of an accuracy matrix at once, with a reason for each that cannot be computed.

`probe.metrics.registry.metric` marks a function of R in the module of its paper.
The scorecard, `probe metrics`, the tables of studies and `probe list` then include it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from numpy.typing import ArrayLike

from probe.errors import NotMeasured
from probe.immutable import immutable
from probe.metrics.kemker import task_sizes
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import Metric, registered

Number = float | None

# The reason where an input is left out. Test sizes have none: tasks then weigh the
# same.
_MISSING = {
    "ideal": (
        "needs --ideal, the accuracy of joint training on the first task's test data"
    ),
    "reference": (
        "needs --reference, R of a network trained on all tasks so far (cumulative)"
    ),
}

_FORWARD = ("fwt", "transfer")

METRICS = tuple(metric for metric in registered() if metric.scorecard)
"""All metrics of a matrix, in the order of the tables."""


@immutable
class Scorecard:
    """The metrics of one accuracy matrix, by paper.

    Attributes:
        values: The numbers by paper and metric; T numbers (index k - 1) for Chaudhry's
            metrics and Kemker's alphas, which exist after every task k. None = not
            measured.
        not_measured: The reason for each None, by names such as `gem.fwt` and
            `chaudhry.forgetting[1]` (k from 1).
    """

    values: Mapping[str, Mapping[str, Number | list[Number]]]
    not_measured: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, str, Number]]:
        """Yield (paper, metric, number) for every number; after task k it is `forgetting[k]`."""
        for paper, metrics in self.values.items():
            for name, value in metrics.items():
                if isinstance(value, list):
                    yield from (
                        (paper, f"{name}[{k}]", x) for k, x in enumerate(value, 1)
                    )
                else:
                    yield paper, name, value

    def to_json(self, **more: object) -> str:
        """Return a JSON object with the values by paper and `not_measured`; missing ones null.

        Args:
            more: Further entries.
        """
        content = {**self.values, "not_measured": self.not_measured, **more}
        return json.dumps(content, indent=2, allow_nan=False)


def scorecard(
    R: AccuracyMatrix | ArrayLike,
    *,
    reference: AccuracyMatrix | ArrayLike | None = None,
    ideal: float | None = None,
    test_sizes: Sequence[int] | None = None,
    forward: bool = True,
) -> Scorecard:
    """Compute every metric that the measured cells of an accuracy matrix allow.

    Args:
        R: Accuracy matrix, (T+1, T) or (T, T).
        reference: The cumulative learner's matrix, for Chaudhry's intransigence.
        ideal: alpha_ideal, for Kemker's Omega_base and Omega_all.
        test_sizes: Numbers of test examples of the tasks (T,), for alpha_all and
            Omega_all.
        forward: Whether accuracies before a task is learned are those of a forward
            transfer.

    Returns:
        The metrics; one that lacks an input is None with a reason.

    Raises:
        InputError: reference, ideal or test_sizes does not fit R.

    >>> card = scorecard([[0.75, 0.0], [0.25, 1.0]])
    >>> card.values["gem"]["bwt"], card.values["gem"]["fwt"]
    (-0.5, None)
    >>> card.not_measured["gem.fwt"]
    'R[0,2] (task 2 before any training) was not measured'
    """
    matrix = AccuracyMatrix.of(R)
    ceiling = None if reference is None else AccuracyMatrix.of(reference)
    # Checked once here: wrong sizes are the caller's mistake, and no reason for a gap.
    sizes = task_sizes(matrix, test_sizes)
    inputs = {"reference": ceiling, "ideal": ideal, "test_sizes": sizes}
    values: defaultdict[str, dict[str, Number | list[Number]]] = defaultdict(dict)
    reasons: dict[str, str] = {}

    def tried(metric: Metric, k: int | None = None) -> Number:
        """Return the metric's value, or None with a note in `reasons`."""
        try:
            # Before all tasks are learned, its test set has tasks yet to come.
            # Of these, some tasks learned count tasks that are not learned yet.
            tasks_seen = k or matrix.tasks
            ahead = (
                metric.name in _FORWARD
                or (metric.name == "fixed_accuracy" and tasks_seen < matrix.tasks)
                or (metric.name == "expected_forgetting" and tasks_seen > 2)
            )
            if ahead and not forward:
                raise NotMeasured("there are only zeros above the diagonal")
            return value_of(metric, matrix, inputs, k)
        except NotMeasured as reason:
            reasons[f"{metric.paper}.{metric.name}{f'[{k}]' if k else ''}"] = str(
                reason
            )
            return None

    for metric in METRICS:
        after = (
            [tried(metric, k) for k in range(1, matrix.tasks + 1)]
            if metric.after
            else None
        )
        values[metric.paper][metric.name] = after or tried(metric)
    return Scorecard(values=values, not_measured=reasons)


def value_of(
    metric: Metric,
    R: AccuracyMatrix,
    inputs: Mapping[str, object],
    k: int | None = None,
) -> float:
    """Return a metric of an accuracy matrix.

    Args:
        metric: The metric.
        R: Accuracy matrix, (T+1, T).
        inputs: The inputs of `scorecard`, by name.
        k: The number of tasks learned, for a metric that is defined after each.

    Raises:
        NotMeasured: An input or a cell is missing.
    """
    kwargs = {name: inputs[name] for name in metric.needs}
    if missing := [
        name for name in _MISSING if name in kwargs and kwargs[name] is None
    ]:
        raise NotMeasured(_MISSING[missing[0]])
    if metric.after:
        kwargs[metric.after] = k
    return float(metric.function(R, **kwargs))
