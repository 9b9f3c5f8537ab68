"""Notes on networks that were hardly trained, or trained worse than the others."""

import math
from collections.abc import Mapping
from itertools import product
from statistics import fmean, median, stdev

from scipy.special import stdtrit

from probe.analysis.intervals import LEVEL
from probe.analysis.statements import FEWEST, STATEMENTS
from probe.by_layer.plan import CONTROLS, OFFLINE
from probe.results.layers import jobs_by_learner
from probe.results.result import JobResult, Results, main_head
from probe.tables.schemas import Row


def check_trainings(
    results: Results,
) -> tuple[list[Row], Mapping[tuple[str, str], str]]:
    """Return a note on each run whose output makes its layers doubtful, and withheld verdicts.

    A run gets a note if it is near chance, less than two standard errors above it, on
    the task just learned (if offline, on all tasks); if it collapsed, with less than
    half the accuracy above chance of its learner's median run on the tasks just
    learned; or if it is an offline run that is less accurate than a learner, see
    `_runs_above_offline`.

    Verdicts are withheld by learner and statement: `near chance` if a run that did not
    collapse is near chance on the first task, as later tasks may well be learned worse;
    `no ceiling` if offline training is below a learner, for all statements but
    `forgets` of every learner.
    """
    notes: list[Row] = []
    withheld: dict[tuple[str, str], str] = {}

    def note(result: JobResult, tasks_seen: int, text: str) -> None:
        notes.append({**result.job.columns, "tasks_seen": tasks_seen, "note": text})

    runs_of = jobs_by_learner(results)
    medians = {
        k: median(map(_above_chance, runs))
        for k, runs in runs_of.items()
        if len(runs) > 2
    }
    for result in results:
        job = result.job
        near_chance = _near_chance(result)
        tasks = "all tasks" if job.offline else "the task just learned"
        for tasks_seen in near_chance:
            text = (
                f"its accuracy on {tasks} is near chance: train it longer, or check "
                f"{_CHECK}"
            )
            note(result, tasks_seen, text)
        middle = medians.get(job.learner, 0.0)
        if middle > _DOUBTFUL and _above_chance(result) < middle / 2:
            note(result, job.last, _COLLAPSED)
        elif 1 in near_chance and not job.offline:
            withheld |= {(job.learner, name): "near chance" for name in STATEMENTS}
    for learner, offline_below in _runs_above_offline(results).items():
        for offline in offline_below:
            text = (
                f"it is less accurate than {learner}, and no ceiling: check {_CHECK} "
                "of both"
            )
            note(offline, offline.job.last, text)
        resting = product(runs_of.keys() - {*CONTROLS}, STATEMENTS.keys() - {"forgets"})
        withheld |= dict.fromkeys(resting, "no ceiling")
    return notes, withheld


_CHECK = "labels, input scaling and task order"
_DOUBTFUL = 0.05  # above chance: below it a median run has learned too little to tell a collapse
_COLLAPSED = (
    "it collapsed: less than half as far above chance as its learner's median run"
)


def _near_chance(result: JobResult) -> list[int]:
    """Return the numbers of tasks learned after which a run is near chance."""
    job = result.job
    near = []
    # The untrained network has learned none.
    for tasks_seen in filter(
        None, [job.last] if job.offline else range(1, len(result.tasks) + 1)
    ):
        if measured := _accuracy(result, tasks_seen):
            accuracy, chance, examples = measured
            # Of a single class chance is 1.
            if chance < 1 and accuracy < chance + 2 * _standard_error(chance, examples):
                near.append(tasks_seen)
    return near


def _runs_above_offline(results: Results) -> dict[str, list[JobResult]]:
    """Return learners that are more accurate than offline training, with its runs below them.

    The accuracy is over all tasks. It must be above by the 95 % interval of the
    difference over seeds and by two standard errors of the test set; for one or two
    seeds only by the latter. Learners under another head are left out.
    """
    offline = {
        r.job.seed: r
        for r in results
        if r.job.kind == OFFLINE and r.job.last in r.output
    }
    pra_by_seed: dict[str, dict[int, list[float]]] = {}
    for r in results:
        control = offline.get(r.job.seed)
        end = r.output.get(r.job.last)
        comparable = control and main_head(r.job) == main_head(control.job)
        if comparable and end and r.job.kind not in CONTROLS:
            seeds = pra_by_seed.setdefault(r.job.learner, {})
            seeds.setdefault(r.job.seed, []).append(end.pra)
    above = {}
    for learner, seeds in pra_by_seed.items():
        means = {seed: fmean(values) for seed, values in seeds.items()}
        ends = {
            seed: offline[seed].output[offline[seed].job.last].pra for seed in means
        }
        difference = {seed: mean - ends[seed] for seed, mean in means.items()}
        S = len(difference)
        n = sum(sum(offline[seed].test_sizes) for seed in difference)
        least = 2 * math.sqrt(2) * _standard_error(fmean(means.values()), n)
        if S >= FEWEST:
            quantile = float(stdtrit(S - 1, (1 + LEVEL) / 2))
            least = max(least, quantile * stdev(difference.values()) / math.sqrt(S))
        if fmean(difference.values()) > least:
            above[learner] = [
                offline[seed] for seed, more in difference.items() if more > 0
            ]
    return above


def _accuracy(result: JobResult, tasks_seen: int) -> tuple[float, float, int] | None:
    """Return accuracy, chance and test size for the task just learned; offline, for all tasks."""
    scores = result.output.get(tasks_seen)
    if scores is None or not result.test_sizes:
        return None
    classes = [task_classes for _, task_classes in result.tasks]
    if result.job.offline:
        return scores.pra, 1 / len(set().union(*classes)), sum(result.test_sizes)
    first = tasks_seen - 1 if main_head(result.job) == "multi" else 0
    competing = set().union(*classes[first:tasks_seen])
    size = result.test_sizes[tasks_seen - 1]
    return float(scores.accuracy[tasks_seen - 1]), 1 / len(competing), size


def _above_chance(result: JobResult) -> float:
    """Return the mean accuracy above chance on the tasks just learned; 0 if none is measured."""
    measured = [_accuracy(result, 1 + task) for task in range(len(result.tasks))]
    return fmean([m[0] - m[1] for m in measured if m] or [0.0])


def _standard_error(accuracy: float, examples: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / examples)  # binomial
