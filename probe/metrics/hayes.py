"""Overall performance relative to a joint training (Hayes 2018).

Source: Hayes et al., New Metrics and Experimental Paradigms for Continual Learning,
CVPR workshops 2018, which Diaz-Rodriguez 2018 cites. Kemker's Omega_all divides by a
single accuracy instead.
"""

from collections.abc import Sequence
from statistics import fmean

from numpy.typing import ArrayLike

from probe.errors import NotMeasured
from probe.metrics.kemker import alpha_all
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric


@metric(needs=["reference", "test_sizes"], public="hayes_omega")
def omega(
    R: AccuracyMatrix,
    reference: AccuracyMatrix | ArrayLike,
    test_sizes: Sequence[int] | None = None,
) -> float:
    """Overall performance: Omega = (1/T) sum_{i=1..T} alpha_{all,i} / alpha_{joint,i}.

    Args:
        R: Accuracy matrix, (T+1, T).
        reference: The matrix of the cumulative learner, trained on tasks 1..i together,
            whose accuracy on them is alpha_{joint,i}.
        test_sizes: Numbers of test examples (T,), by default all equal.

    Returns:
        At least 0; higher is better, 1 is as good as joint training.

    Raises:
        NotMeasured: A cell of either matrix is missing, or the reference's accuracy is
            0.
        InputError: The reference has a different number of tasks.

    Source: Hayes 2018, eq. 1, with alpha over the test data of all tasks so far.

    >>> omega([[0.5, 0.0], [0.25, 1.0]], reference=[[1.0, 0.0], [1.0, 0.25]])
    0.75
    """
    joint = R.check_reference(reference)
    best = [alpha_all(joint, i, test_sizes) for i in range(1, R.tasks + 1)]
    if not all(best):
        raise NotMeasured(
            f"the reference's accuracy after task {best.index(0) + 1} is 0"
        )
    return fmean(alpha_all(R, i, test_sizes) / alpha for i, alpha in enumerate(best, 1))
