"""Notes on networks that were hardly trained, or not as the others were."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    collapsed = _collapsed(results)
    for result in results:
        run, last = partial(NoteRow, **result.job.columns, feature=""), result.job.last
        of = "all tasks" if result.job.offline else "the task just learned"
        for step in _near_chance(result):
            note = f"its accuracy on {of} is near chance: if it was trained elsewhere, compare"
            yield run(step=step, note=f"{note} {_COMPARE}")
        if id(result) in collapsed:
            yield run(step=last, note=_COLLAPSED)
        for learner in _better(result, results):
            note = f"its accuracy is below that of {learner}: compare {_COMPARE} of the two"
            yield run(step=last, note=f"{note}; until then it is no ceiling")


def doubts(results: Sequence[Result]) -> Mapping[str, list[str]]:
    """Return the verdicts that withhold statements, by learner.

    `near chance` where a run that did not collapse is, on the first task: that later ones are
    learned worse is no mistake. `no ceiling` where the offline network of a seed is near chance, or
    below the learner.
    """
    collapsed, found = _collapsed(results), defaultdict[str, list[str]](list)
    for result in results:
        steps, name = _near_chance(result), result.job.learner
        learners = {r.job.learner for r in results} if steps else _better(result, results)
        if result.job.kind == OFFLINE:
            for each in learners:
                found[each].append("no ceiling")
        elif 1 in steps and id(result) not in collapsed:
            found[name].insert(0, "near chance")
    return found


_COMPARE = "labels, scaling of inputs and order of tasks"
_COLLAPSED = "it collapsed: less than half as far above chance as its learner's median run"


def _near_chance(result: Result) -> list[int]:
    """Return the numbers of tasks learned after which a run is near chance."""
    offline = result.job.offline
    steps = [result.job.last] if offline else range(1, len(result.tasks) + 1)
    if result.job.kind == UNTRAINED:
        return []
    each = [(step, *found) for step in steps if (found := _accuracy(result, step))]
    # Of a single class chance is 1.
    return [s for s, own, chance, n in each if chance < 1 and own < chance + 2 * _error(chance, n)]


def _collapsed(results: Sequence[Result]) -> set[int]:
    """Return the ids of the runs that collapsed."""
    levels: dict[str, list[float]] = {}
    for r in results:
        levels.setdefault(r.job.learner, []).append(_above_chance(r))
    typical = {name: median(own) for name, own in levels.items() if len(own) > 2}
    least = {name: level / 2 for name, level in typical.items() if level > 0}
    return {id(r) for r in results if _above_chance(r) < least.get(r.job.learner, -1)}


def _better(offline: Result, results: Sequence[Result]) -> list[str]:
    """Return the learners that are more accurate on all tasks than the offline network of a seed.

    None for a run of another kind.
    """
    top, runs = offline.output.get(offline.job.last), dict[str, list[float]]()
    if top is None or offline.job.kind != OFFLINE:
        return []
    for r in results:
        same = (r.job.seed, own_head(r.job)) == (offline.job.seed, own_head(offline.job))
        if same and r.job.kind not in CONTROLS and (end := r.output.get(r.job.last)):
            runs.setdefault(r.job.learner, []).append(end.pra)
    n = sum(offline.test_sizes)
    means = {name: fmean(own) for name, own in runs.items()}
    return [k for k, m in means.items() if top.pra < m - 2 * math.sqrt(2) * _error(m, n)]


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
