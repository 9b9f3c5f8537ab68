"""Notes on networks that were hardly trained, or not as the others were."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean, median

from probe.by_layer.plan import CONTROLS, OFFLINE, UNTRAINED
from probe.results.result import Result, own_head
from probe.tables.rows import NoteRow


def sanity_notes(results: Sequence[Result]) -> Iterator[NoteRow]:
    """Yield a note on each run whose output makes its layers doubtful.

    - near chance on the task just learned, or offline on all tasks, by two standard errors;
    - collapsed: above chance by less than half of what the median run of its learner is, on the
      tasks just learned;
    - offline training below a learner of the same seed by two standard errors of the difference.
    """
    learned = {id(r): _above_chance(r) for r in results}
    for result in results:
        run, offline = partial(NoteRow, **result.job.columns, feature=""), result.job.offline
        steps = [result.job.last] if offline else range(1, len(result.tasks) + 1)
        of = "all tasks" if offline else "the task just learned"
        near = (
            f"its accuracy on {of} is near chance: if it was trained elsewhere, compare {_COMPARE}"
        )
        for step in steps if result.job.kind != UNTRAINED else ():
            found = _accuracy(result, step)
            # Of a single class chance is 1.
            if found and found[1] < 1 and found[0] < found[1] + 2 * _error(*found[1:]):
                yield run(step=step, note=near)
        peers = [learned[id(r)] for r in results if r.job.learner == result.job.learner]
        if len(peers) > 2 and learned[id(result)] < median(peers) / 2 and median(peers) > 0:
            yield run(step=result.job.last, note=_COLLAPSED)
        if result.job.kind == OFFLINE and (top := result.output.get(result.job.last)):
            for learner, mean in _learners_beside(result, results).items():
                if top.pra < mean - 2 * math.sqrt(2) * _error(mean, sum(result.test_sizes)):
                    note = f"its accuracy is below that of {learner}: compare {_COMPARE} of the two"
                    yield run(step=result.job.last, note=f"{note}; until then it is no ceiling")


_COMPARE = "labels, scaling of inputs and order of tasks"
_COLLAPSED = "it collapsed: less than half as far above chance as its learner's median run"


def _learners_beside(offline: Result, results: Sequence[Result]) -> dict[str, float]:
    """Return the mean accuracy on all tasks of each learner of an offline network's seed."""
    runs: dict[str, list[float]] = {}
    for r in results:
        same = (r.job.seed, own_head(r.job)) == (offline.job.seed, own_head(offline.job))
        if same and r.job.kind not in CONTROLS and (end := r.output.get(r.job.last)):
            runs.setdefault(r.job.learner, []).append(end.pra)
    return {learner: fmean(values) for learner, values in runs.items()}


def _accuracy(result: Result, step: int) -> tuple[float, float, int] | None:
    """Return accuracy, chance and test examples: of the task just learned, offline of all."""
    found = result.output.get(step)
    if found is None or result.test_counts is None:
        return None
    classes, multi = [own for _, own in result.tasks], own_head(result.job) == "multi"
    if result.job.offline:
        return found.pra, 1 / len(set().union(*classes)), int(result.test_counts.sum())
    among = set().union(*classes[step - 1 if multi else 0 : step])
    size = int(result.test_counts[step - 1].sum())
    return float(found.accuracy[step - 1]), 1 / len(among), size


def _above_chance(result: Result) -> float:
    """Return the mean accuracy above chance on the tasks just learned; 0 where none is."""
    each = filter(None, (_accuracy(result, step + 1) for step in range(len(result.tasks))))
    return fmean([own[0] - own[1] for own in each] or [0.0])


def _error(accuracy: float, examples: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / examples)  # binomial
