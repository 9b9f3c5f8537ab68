"""The forgetting ratio (Serra 2018): accuracy between a random and a joint classifier's.

Source: Serra et al., Overcoming catastrophic forgetting with hard attention to the
task, ICML 2018, which Diaz-Rodriguez 2018 cites.
"""

import numpy as np
from numpy.typing import ArrayLike

from probe.errors import NotMeasured
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.registry import metric

_ROUNDING = 1e-9  # less than one of any number of examples: equal but for the last bits


@metric(after="k", needs=["reference"])
def forgetting_ratio(
    R: AccuracyMatrix, reference: AccuracyMatrix | ArrayLike, k: int | None = None
) -> float:
    """Forgetting ratio: rho_k = (1/k) sum_{j=1..k} ((R_{k,j} - R_{0,j}) / (J_{k,j} - R_{0,j}) - 1).

    Args:
        R: Accuracy matrix, (T+1, T).
        reference: J, the matrix of the cumulative learner, trained on tasks 1..k
            together.
        k: Number of tasks learned, 1 to T; T by default.

    Returns:
        Any number; higher is better, 0 is the joint training's accuracy, -1 the random
        one's.

    Raises:
        NotMeasured: A cell of either matrix is missing, or J is not above the random
            accuracy.
        InputError: The reference has a different number of tasks.

    Source: Serra 2018, Section 4.1; the random accuracy is that of the untrained
    network, as Diaz-Rodriguez 2018 describes it, where Serra takes a classifier that
    knows the class shares.

    >>> R = [[0.5, 0.5], [1.0, 0.5], [0.75, 1.0]]
    >>> forgetting_ratio(R, reference=[[1.0, 0.5], [1.0, 1.0]])
    -0.25
    """
    k = R.check_task(k)
    joint = R.check_reference(reference)
    chance = R.measured(0, np.arange(1, k + 1))
    room = joint.seen(k) - chance
    least = room.min()
    if least <= _ROUNDING:
        raise NotMeasured(
            f"on task {room.argmin() + 1} the reference is {least:g} above chance"
        )
    return float(((R.seen(k) - chance) / room - 1).mean())
