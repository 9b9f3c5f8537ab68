"""The seven criteria of Diaz-Rodriguez 2018, each in [0, 1] with higher better, and their scores.

Source: Diaz-Rodriguez et al., Don't forget, there is more than forgetting: new metrics
for Continual Learning, NeurIPS workshop 2018 (equation numbers are the paper's, not the
poster's). A, BWT, REM, BWT+ and FWT are functions of R, (T+1, T), whose row 0 they do
not use; the paper's N is T here. MS, SSS and CE are functions of the cost of learning
each task.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from probe.arguments import checked
from probe.arrays import Floats
from probe.errors import InputError, NotMeasured, check_known
from probe.metrics.kemker import task_sizes
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric

NAMES = {
    "A": "accuracy",
    "MS": "ms",
    "SSS": "sss",
    "CE": "ce",
    "REM": "rem",
    "BWT+": "bwt_plus",
    "FWT": "fwt",
}
"""The names of CLscore's criteria in metrics.csv, by their names in the paper."""

CRITERIA = tuple(NAMES)
"""The criteria in the order in which the paper lists weights."""

# From the caption of Table 3. The body text has another W2, (.4, .1, .1, .1, .2, .05,
# .05), which does not give the table's CLscores.
W1 = (1 / 7,) * 7
W2 = (0.4, 0.05, 0.2, 0.1, 0.15, 0.05, 0.05)
W3 = (0.4, 0.05, 0.2, 0.2, 0.05, 0.05, 0.05)
WEIGHTS = {"W1": W1, "W2": W2, "W3": W3}
"""The weights of Table 3, in the order of CRITERIA, which every study reports."""

COST_COLUMNS = (
    "parameter_bytes",
    "carried_bytes",
    "stored_bytes",
    "train_bytes",
    "ops_one_pass",
    "ops",
)
"""The costs of learning a task that MS, SSS and CE need, as in costs.csv."""

CeForm = Literal["paper", "poster"]
"""The form of CE: the paper's, or the poster's, which divides by 1 + Ops."""

Criteria = Mapping[str, float]
"""Values by the name of a criterion."""

Weights = Criteria | Sequence[float]
"""Weights of the seven criteria: by key, or in the order of CRITERIA."""


@metric(public="diaz_accuracy")
def accuracy(R: AccuracyMatrix) -> float:
    """Accuracy over the whole training: A = sum_{i>=j} R_{i,j} / (T(T+1)/2).

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: Diaz-Rodriguez 2018, eq. 2.

    >>> accuracy(AccuracyMatrix.square([[0.75, 0.0], [0.5, 1.0]]))
    0.75
    """
    i, j = np.tril_indices(R.tasks)
    return R.mean(i + 1, j + 1)


@metric(after="i", needs=["test_sizes"])
def fixed_accuracy(
    R: AccuracyMatrix, i: int, test_sizes: Sequence[int] | None = None
) -> float:
    """Accuracy after task i on the fixed test set of all T tasks, those to come among them.

    sum_j n_j R_{i,j} / sum_j n_j over all j.

    Args:
        R: Accuracy matrix, (T+1, T).
        i: Number of tasks learned, 1 to T.
        test_sizes: Numbers n_j of test examples (T,), by default all equal.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing.

    Source: Diaz-Rodriguez 2018, figure 1b, after Lomonaco & Maltoni, CORe50, CoRL 2017.

    >>> fixed_accuracy(AccuracyMatrix.square([[0.75, 0.25], [0.5, 1.0]]), i=1)
    0.5
    """
    row = R.measured(R.check_task(i, "i"), np.arange(1, R.tasks + 1))
    return float(np.average(row, weights=task_sizes(R, test_sizes)))


@metric(public="diaz_bwt")
def bwt(R: AccuracyMatrix) -> float:
    """Backward transfer after every task: BWT = sum_{j<i} (R_{i,j} - R_{j,j}) / (T(T-1)/2).

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [-1, 1]; higher is better, below 0 is forgetting.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Diaz-Rodriguez 2018, eq. 3.

    >>> bwt(AccuracyMatrix.square([[0.75, 0.0], [0.25, 1.0]]))
    -0.5
    """
    # Below the diagonal: every task j at every later task i.
    i, j = np.tril_indices(R.tasks, -1)
    return R.mean(i + 1, j + 1) - R.mean(j + 1, j + 1)


@metric()
def rem(R: AccuracyMatrix) -> float:
    """Remembering, the part of BWT below 0: REM = 1 - |min(BWT, 0)|.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better, 1 means no forgetting on average.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Diaz-Rodriguez 2018, Section 2 (poster eq. 4).
    """
    return 1 - abs(min(bwt(R), 0.0))


@metric()
def bwt_plus(R: AccuracyMatrix) -> float:
    """Positive backward transfer, the part of BWT above 0: BWT+ = max(BWT, 0).

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Diaz-Rodriguez 2018, Section 2 (poster eq. 5).
    """
    return max(bwt(R), 0.0)


@metric(public="diaz_fwt")
def fwt(R: AccuracyMatrix) -> float:
    """Forward transfer, accuracy on tasks still to come: FWT = sum_{i<j} R_{i,j} / (T(T-1)/2).

    Rows start at 1, and no random baseline is subtracted, unlike in the GEM paper's
    FWT.

    Args:
        R: Accuracy matrix, (T+1, T).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        NotMeasured: A cell is missing, or T = 1.

    Source: Diaz-Rodriguez 2018, eq. 4.
    """
    i, j = np.triu_indices(R.tasks, 1)
    return R.mean(i + 1, j + 1)


@metric(scorecard=False)
def ms(model_bytes: Sequence[float]) -> float:
    """Model size efficiency: MS = min(1, (1/T) sum_i Mem(theta_1) / Mem(theta_i)).

    Args:
        model_bytes: Mem(theta_i), (T,), the memory of the model after task i and of all
            else that the learner keeps.

    Returns:
        A value in [0, 1]; higher is better, 1 means that the model did not grow.

    Raises:
        InputError: A size is not above 0.

    Source: Diaz-Rodriguez 2018, eq. 5. Deviation: the text counts parameters only;
    Table 1 (MS = 0.4 of EWC and SI) counts their copies too.

    >>> round(ms([1] + 9 * [3]), 4)
    0.4
    """
    sizes = _per_task(model_bytes, "model_bytes", above_zero=True)
    return min(1.0, float((sizes[0] / sizes).mean()))


@metric(scorecard=False)
@checked
def sss(stored_bytes: Sequence[float], lifetime_bytes: float) -> float:
    """Samples storage size efficiency: SSS = 1 - min(1, (1/T) sum_i Mem(M_i) / Mem(D)).

    Args:
        stored_bytes: Mem(M_i), (T,), the memory of the samples stored *while* task i is
            learned (0 for the first task).
        lifetime_bytes: Mem(D), the memory of all tasks' training data.

    Returns:
        A value in [0, 1]; higher is better, 1 means that nothing is stored.

    Raises:
        InputError: A size is below 0, or lifetime_bytes is 0.

    Source: Diaz-Rodriguez 2018, eq. 6; that M_i excludes task i itself follows from
        Table 1.

    >>> round(sss(range(10), 10), 4)
    0.55
    """
    stored = _per_task(stored_bytes, "stored_bytes")
    if not 0 < np.float64(lifetime_bytes) < math.inf:
        raise InputError(
            f"lifetime_bytes must be a number above 0, got {lifetime_bytes!r}"
        )
    return 1 - min(1.0, float((stored / lifetime_bytes).mean()))


@metric(scorecard=False)
@checked
def ce(
    ops_one_pass: Sequence[float],
    ops_spent: Sequence[float],
    epsilon: float = 1.0,
    form: CeForm = "paper",
) -> float:
    """Computational efficiency: CE = min(1, (1/T) sum_i Ops_fb(Tr_i) epsilon / Ops(Tr_i)).

    Args:
        ops_one_pass: Ops_fb, (T,), mul-adds of one forward and backward pass over task
            i's training data.
        ops_spent: Ops, (T,), all mul-adds spent to learn task i.
        epsilon: A scale of 1 or more, to avoid values very near 0.
        form: "poster" divides by 1 + Ops(Tr_i).

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        InputError: Numbers are out of range or of another length.

    Source: Diaz-Rodriguez 2018, eq. 7; poster, eq. 9.

    >>> ce([10, 10], [20, 40]), ce([10, 10], [19, 39], form="poster")
    (0.375, 0.375)
    """
    one_pass = _per_task(ops_one_pass, "ops_one_pass")
    spent = _per_task(ops_spent, "ops_spent", above_zero=True)
    if one_pass.shape != spent.shape:
        raise InputError(
            f"got operations of {one_pass.size} and {spent.size} tasks: give as many"
        )
    if not 1 <= epsilon < math.inf:
        raise InputError(f"epsilon must be a number >= 1, got {epsilon:g}")
    # The poster's 1 keeps the quotient finite where nothing was spent.
    return min(1.0, float((one_pass * epsilon / (spent + (form == "poster"))).mean()))


def criteria_of_costs(
    costs: Mapping[str, Sequence[float]], epsilon: float = 1.0, form: CeForm = "paper"
) -> dict[str, float]:
    """Return MS, SSS and CE of the columns of costs.csv, each (T,), by name in metrics.csv.

    Mem(theta_i) is the model with all that the learner carried into task i, Mem(D) all
    training data.

    Args:
        costs: The columns COST_COLUMNS, by name.
        epsilon: See `ce`.
        form: See `ce`.

    Raises:
        InputError: A column is missing, or its numbers are out of range.
    """
    if missing := [name for name in COST_COLUMNS if name not in costs]:
        raise InputError(
            f"costs lack the columns {', '.join(missing)}: give a number per task"
        )
    model, carried, stored, train, one_pass, ops = (
        _per_task(costs[n], n) for n in COST_COLUMNS
    )
    return {
        "ms": ms([*(model + carried)]),
        "sss": sss([*stored], train.sum()),
        "ce": ce([*one_pass], [*ops], epsilon, form),
    }


@metric(scorecard=False)
@checked
def cl_score(criteria: Criteria, weights: Weights | None = None) -> float:
    """Weighted mean of the seven criteria: CLscore = sum_k w_k c_k.

    Args:
        criteria: c_k for every key of CRITERIA, as fractions, means over the runs.
        weights: w_k by key or in the order of CRITERIA, each 0 or more, with sum 1;
            None = W1.

    Returns:
        A value in [0, 1]; higher is better.

    Raises:
        InputError: Keys are missing or unknown, or numbers out of range.
        NotMeasured: A number is NaN.

    Source: Diaz-Rodriguez 2018, eq. 8.

    >>> naive = {"A": 0.3825, "MS": 1, "SSS": 1, "CE": 0.4492, "REM": 0.6664, "BWT+": 0, "FWT": 0.1}
    >>> round(cl_score(naive), 4), round(cl_score(naive, W2), 4)
    (0.514, 0.5529)
    """
    return _weighted_sum(criteria, "criterion", weights)


@metric(scorecard=False)
@checked
def cl_stability(deviations: Criteria, weights: Weights | None = None) -> float:
    """Agreement of the runs: CLstability = 1 - sum_k w_k stddev(c_k).

    Args:
        deviations: stddev(c_k) over the runs for every key of CRITERIA, fractions.
        weights: w_k, see `cl_score`.

    Returns:
        A value in [0, 1]; higher is better, 1 means that the runs agree.

    Raises:
        InputError: Keys are missing or unknown, or numbers out of range.
        NotMeasured: A number is NaN.

    Source: Diaz-Rodriguez 2018, eq. 9 (which does not say whether sample or population
        deviation).
    """
    return 1 - _weighted_sum(deviations, "deviation of criterion", weights)


def weights_by_criterion(weights: Weights) -> Criteria:
    """Return the weight w_k of each of the seven criteria.

    Args:
        weights: The weights, by key or in the order of CRITERIA.

    Returns:
        The weights by key.

    Raises:
        InputError: The weights are not seven numbers of 0 or more with sum 1.

    >>> weights_by_criterion(W2)["SSS"]
    0.2
    """
    if not isinstance(weights, Mapping):
        if len(weights) != len(CRITERIA):
            raise InputError(
                f"got {len(weights)} weights, expected 7: {', '.join(CRITERIA)}"
            )
        weights = dict(zip(CRITERIA, weights, strict=True))
    total = math.fsum(_checked(weights, "weight of criterion").values())
    # Weights typed with a few decimals, as thirds, sum to 1 only nearly.
    if not math.isclose(total, 1, abs_tol=1e-6):
        raise InputError(
            f"weights must sum to 1, got {total:g}: divide each by their sum"
        )
    return weights


def _weighted_sum(values: Criteria, kind: str, weights: Weights | None) -> float:
    checked = _checked(values, kind)
    w = weights_by_criterion(W1 if weights is None else weights)
    return math.fsum(w[name] * checked[name] for name in CRITERIA)


def _checked(values: Criteria, kind: str) -> Criteria:
    """Return values of all seven criteria by name; raise InputError for others."""
    if not isinstance(values, Mapping):
        raise InputError(
            f"give {kind} by name, {{{CRITERIA[0]!r}: ...}}, got {values!r:.60}"
        )
    for name, value in values.items():
        check_known("criterion", name, CRITERIA)
        if not 0 <= value <= 1:
            error = NotMeasured if math.isnan(value) else InputError
            raise error(f"{kind} {name} is {value:g}, expected a number in [0, 1]")
    if missing := [name for name in CRITERIA if name not in values]:
        raise InputError(
            f"no {kind} {', '.join(missing)}: give all of {', '.join(CRITERIA)}"
        )
    return values


def _per_task(values: Sequence[float], name: str, above_zero: bool = False) -> Floats:
    """Return a number >= 0 for each task, (T,); raise InputError for anything else."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        numbers = np.array([])
    if (
        numbers.ndim != 1
        or not numbers.size
        or not (np.isfinite(numbers) & (numbers >= 0)).all()
    ):
        raise InputError(
            f"{name} must hold a number >= 0 for each task, got {values!r}"
        )
    if above_zero and not numbers.all():
        raise InputError(f"{name} must be above 0, got {numbers.tolist()}")
    return numbers
