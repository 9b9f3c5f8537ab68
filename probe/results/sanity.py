"""Notes on networks that were hardly trained, or not as the others were."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from statistics import fmean, median, stdev

from scipy.special import stdtrit

from probe.analysis.intervals import LEVEL
from probe.analysis.statements import FEWEST, STATEMENTS
from probe.by_layer.plan import CONTROLS, OFFLINE
from probe.results.result import Result, own_head
from probe.tables.rows import NoteRow


def doubts(results: Sequence[Result]) -> tuple[list[NoteRow], Mapping[tuple[str, str], str]]:
    """Return a note on each run whose output makes its layers doubtful, and verdicts withheld.

    - near chance on the task just learned, or offline on all tasks, by two standard errors;
    - collapsed: above chance by less than half of what the median run of its learner is, on the
      tasks just learned;
    - offline training below a learner, over seeds, see `_better`.

    Verdicts are withheld by learner and statement: `near chance` where a run that did not collapse
    is, on the first task, as later ones may well be learned worse; `no ceiling`, of all but what is
    forgotten, of every learner, where offline training is below one.
    """
    notes: list[NoteRow] = []
    withheld: dict[tuple[str, str], str] = {}
    learners = {r.job.learner for r in results}
    least = {name: _least(r for r in results if r.job.learner == name) for name in learners}
    for result in results:
        run, job = partial(NoteRow, **result.job.columns, feature=""), result.job
        of = "all tasks" if job.offline else "the task just learned"
        near = _near_chance(result)
        note = f"its accuracy on {of} is near chance: train it longer, or check {_CHECK}"
        notes += [run(tasks_seen=tasks_seen, note=note) for tasks_seen in near]
        if _above_chance(result) < least[job.learner]:
            notes.append(run(tasks_seen=job.last, note=_COLLAPSED))
        elif 1 in near and not job.offline:
            withheld |= {(job.learner, name): "near chance" for name in STATEMENTS}
    for learner, below in _better(results).items():
        note = f"it is less accurate than {learner}, and no ceiling: check {_CHECK} of both"
        notes += [
            NoteRow(**r.job.columns, feature="", tasks_seen=r.job.last, note=note) for r in below
        ]
        resting = product(learners - {*CONTROLS}, STATEMENTS.keys() - {"forgets"})
        withheld |= dict.fromkeys(resting, "no ceiling")
    return notes, withheld


_CHECK = "labels, input scaling and task order"
_DOUBTFUL = 0.05  # above chance: below it a median run has learned too little to tell a collapse
_COLLAPSED = "it collapsed: less than half as far above chance as its learner's median run"


def _near_chance(result: Result) -> list[int]:
    """Return the numbers of tasks learned after which a run is near chance."""
    job, T = result.job, len(result.tasks)
    # The untrained network has learned none.
    steps = filter(None, [job.last] if job.offline else range(1, T + 1))
    each = [
        (tasks_seen, *found) for tasks_seen in steps if (found := _accuracy(result, tasks_seen))
    ]
    # Of a single class chance is 1.
    return [s for s, own, chance, n in each if chance < 1 and own < chance + 2 * _error(chance, n)]


def _least(runs: Iterable[Result]) -> float:
    """Return the accuracy above chance below which a run of a learner has collapsed."""
    levels = [_above_chance(r) for r in runs]
    # Nothing is below -1.
    return median(levels) / 2 if len(levels) > 2 and median(levels) > _DOUBTFUL else -1.0


def _better(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return learners that are more accurate than offline training, with its runs below them.

    On all tasks, by the 95 % interval of the difference over seeds and by two standard errors of
    the test set; of one or two seeds by these alone. Learners under another head are left out.
    """
    tops = {r.job.seed: r for r in results if r.job.kind == OFFLINE and r.job.last in r.output}
    runs: dict[str, dict[int, list[float]]] = {}
    for r in results:
        top, end = tops.get(r.job.seed), r.output.get(r.job.last)
        if top and end and r.job.kind not in CONTROLS and own_head(r.job) == own_head(top.job):
            runs.setdefault(r.job.learner, {}).setdefault(r.job.seed, []).append(end.pra)
    found = {}
    for learner, own in runs.items():
        means = {seed: fmean(each) for seed, each in own.items()}
        above = {seed: m - tops[seed].output[tops[seed].job.last].pra for seed, m in means.items()}
        S, n = len(above), sum(sum(tops[seed].test_sizes) for seed in above)
        wide = 2 * math.sqrt(2) * _error(fmean(means.values()), n)
        if S >= FEWEST:
            half = float(stdtrit(S - 1, (1 + LEVEL) / 2)) * stdev(above.values()) / math.sqrt(S)
            wide = max(wide, half)
        if fmean(above.values()) > wide:
            found[learner] = [tops[seed] for seed, more in above.items() if more > 0]
    return found


def _accuracy(result: Result, tasks_seen: int) -> tuple[float, float, int] | None:
    """Return accuracy, chance and test examples: of the task just learned, offline of all."""
    found = result.output.get(tasks_seen)
    if found is None or not result.test_sizes:
        return None
    classes, multi = [own for _, own in result.tasks], own_head(result.job) == "multi"
    if result.job.offline:
        return found.pra, 1 / len(set().union(*classes)), sum(result.test_sizes)
    among = set().union(*classes[tasks_seen - 1 if multi else 0 : tasks_seen])
    size = result.test_sizes[tasks_seen - 1]
    return float(found.accuracy[tasks_seen - 1]), 1 / len(among), size


def _above_chance(result: Result) -> float:
    """Return the mean accuracy above chance on the tasks just learned; 0 where none is."""
    each = filter(
        None, (_accuracy(result, tasks_seen + 1) for tasks_seen in range(len(result.tasks)))
    )
    return fmean([own[0] - own[1] for own in each] or [0.0])


def _error(accuracy: float, examples: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / examples)  # binomial
