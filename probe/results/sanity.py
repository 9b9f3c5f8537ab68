"""Notes on networks that were hardly trained, or not as the others were."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median

from probe.analysis.statements import STATEMENTS
from probe.by_layer.plan import CONTROLS, OFFLINE
from probe.results.result import Result, own_head
from probe.tables.rows import NoteRow


def doubts(results: Sequence[Result]) -> tuple[list[NoteRow], Mapping[tuple[str, str], str]]:
    """Return a note on each run whose output makes its layers doubtful, and verdicts withheld.

    - near chance on the task just learned, or offline on all tasks, by two standard errors;
    - collapsed: above chance by less than half of what the median run of its learner is, on the
      tasks just learned;
    - offline training below a learner of the same seed by two standard errors of the difference.

    Verdicts are withheld by learner and statement: `near chance` where a run that did not collapse
    is, on the first task, as later ones may well be learned worse; `no ceiling`, of all but what is
    forgotten, where the offline network of a seed is below the learner.
    """
    notes: list[NoteRow] = []
    withheld: dict[tuple[str, str], str] = {}
    learners = {r.job.learner for r in results}
    least = {name: _least(r for r in results if r.job.learner == name) for name in learners}
    for result in results:
        run, job = partial(NoteRow, **result.job.columns, feature=""), result.job
        of = "all tasks" if job.offline else "the task just learned"
        near, better = _near_chance(result), _better(result, results)
        note = f"its accuracy on {of} is near chance: if it was trained elsewhere, compare"
        notes += [run(step=step, note=f"{note} {_COMPARE}") for step in near]
        if _above_chance(result) < least[job.learner]:
            notes.append(run(step=job.last, note=_COLLAPSED))
        elif 1 in near and not job.offline:
            withheld |= {(job.learner, name): "near chance" for name in STATEMENTS}
        for learner in better:
            note = f"its accuracy is below that of {learner}: compare {_COMPARE} of the two"
            notes.append(run(step=job.last, note=f"{note}; until then it is no ceiling"))
            withheld |= {(learner, name): "no ceiling" for name in STATEMENTS.keys() - {"forgets"}}
    return notes, withheld


_COMPARE = "labels, scaling of inputs and order of tasks"
_COLLAPSED = "it collapsed: less than half as far above chance as its learner's median run"


def _near_chance(result: Result) -> list[int]:
    """Return the numbers of tasks learned after which a run is near chance."""
    job, T = result.job, len(result.tasks)
    # The untrained network has learned none.
    steps = filter(None, [job.last] if job.offline else range(1, T + 1))
    each = [(step, *found) for step in steps if (found := _accuracy(result, step))]
    # Of a single class chance is 1.
    return [s for s, own, chance, n in each if chance < 1 and own < chance + 2 * _error(chance, n)]


def _least(runs: Iterable[Result]) -> float:
    """Return the accuracy above chance below which a run of a learner has collapsed."""
    levels = [_above_chance(r) for r in runs]
    # Nothing is below -1.
    return median(levels) / 2 if len(levels) > 2 and median(levels) > 0 else -1.0


def _better(offline: Result, results: Sequence[Result]) -> list[str]:
    """Return the learners that are more accurate on all tasks than a seed's offline network."""
    runs, top = dict[str, list[float]](), offline.output.get(offline.job.last)
    if top is None or offline.job.kind != OFFLINE:
        return []
    for r in results:
        same = (r.job.seed, own_head(r.job)) == (offline.job.seed, own_head(offline.job))
        if same and r.job.kind not in CONTROLS and (end := r.output.get(r.job.last)):
            runs.setdefault(r.job.learner, []).append(end.pra)
    n, means = sum(offline.test_sizes), {name: fmean(own) for name, own in runs.items()}
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
