"""Notes on networks that were hardly trained, or trained worse than the others."""

import math
from collections.abc import Mapping
from statistics import fmean, median, stdev

from probe.analysis.intervals import half_width
from probe.analysis.statements import FEWEST
from probe.by_layer.jobs import Job
from probe.by_layer.plan import OFFLINE
from probe.results.predictions import JobsOfLearner, Predictions, main_head, note_row
from probe.results.statements import Doubts
from probe.tables.schemas import Row


def check_trainings(predictions: Predictions) -> tuple[list[Row], Doubts]:
    """Return a note on each run whose output makes its layers doubtful, and the doubts.

    A run gets a note

    - if it is near chance, less than two standard errors above it, on the task just
      learned; if offline, on all tasks
    - if it collapsed: its accuracy above chance, the mean over the tasks just learned,
      is less than half that of its learner's median run
    - if it is offline and less accurate than a learner, see `_runs_above_offline`

    A learner is doubted as near chance if a run that did not collapse is near chance on
    the first task. Later tasks may well be learned worse.
    """
    notes: list[Row] = []
    doubtful = set[str]()
    medians = {
        learner: median(_above_chance(predictions, job) for job in jobs)
        for learner, jobs in predictions.by_learner(controls=True).items()
        if len(jobs) > 2
    }
    for job in predictions.runs:
        near_chance = _near_chance(predictions, job)
        tasks = "all tasks" if job.offline else "the task just learned"
        for tasks_seen in near_chance:
            text = (
                f"its accuracy on {tasks} is near chance: train it longer, or check "
                f"{_CHECK}"
            )
            notes.append(note_row(job, tasks_seen, text))
        middle = medians.get(job.learner, 0.0)
        if middle > _DOUBTFUL and _above_chance(predictions, job) < middle / 2:
            notes.append(note_row(job, job.last, _COLLAPSED))
        elif 1 in near_chance and not job.offline:
            doubtful.add(job.learner)
    above = _runs_above_offline(predictions)
    for learner, offline_below in above.items():
        for offline in offline_below:
            text = (
                f"it is less accurate than {learner}, which joint training should "
                f"not be: check {_CHECK} of both"
            )
            notes.append(note_row(offline, offline.last, text))
    return notes, Doubts(near_chance=doubtful, above_ceiling=bool(above))


_CHECK = "labels, input scaling and task order"
_DOUBTFUL = 0.05  # above chance; a median run below it is no standard for a collapse
_COLLAPSED = (
    "it collapsed: less than half as far above chance as its learner's median run"
)


def _near_chance(predictions: Predictions, job: Job) -> list[int]:
    """Return the numbers of tasks learned after which a run is near chance."""
    near = []
    # The untrained network has learned none.
    steps = [job.last] if job.offline else range(1, len(job.tasks) + 1)
    for tasks_seen in filter(None, steps):
        if measured := _accuracy(predictions, job, tasks_seen):
            accuracy, chance, examples = measured
            # With a single class, chance is 1.
            least = chance + 2 * _standard_error(chance, examples)
            if chance < 1 and accuracy < least:
                near.append(tasks_seen)
    return near


def _runs_above_offline(predictions: Predictions) -> JobsOfLearner:
    """Return learners that are more accurate than offline training, with its runs below them.

    The accuracy is over all tasks. It must be above by the 95 % interval of the
    difference over seeds and by two standard errors of the test set; for one or two
    seeds only by the latter. Learners under another head are left out.
    """
    pra_of_run: dict[str, float] = {}
    for job in predictions.runs:
        rows = predictions.output(job)
        if job.last in rows:
            pra_of_run[job.name] = predictions.pra[rows[job.last]]
    offline = {
        job.seed: job
        for job in predictions.runs
        if job.kind == OFFLINE and job.name in pra_of_run
    }
    above: JobsOfLearner = {}
    for learner, jobs in predictions.by_learner().items():
        pra_by_seed: dict[int, list[float]] = {}
        for job in jobs:
            control = offline.get(job.seed)
            comparable = control and main_head(job) == main_head(control)
            if comparable and job.name in pra_of_run:
                pra_by_seed.setdefault(job.seed, []).append(pra_of_run[job.name])
        means = {seed: fmean(values) for seed, values in pra_by_seed.items()}
        difference = {
            seed: mean - pra_of_run[offline[seed].name] for seed, mean in means.items()
        }
        # All seeds are tested on the same examples.
        n = sum(predictions.test_sizes(jobs[0]))
        if difference and fmean(difference.values()) > _least_visible(
            means, difference, n
        ):
            below = [seed for seed, more in difference.items() if more > 0]
            above[learner] = [offline[seed] for seed in below]
    return above


def _least_visible(
    means: Mapping[int, float], difference: Mapping[int, float], n: int
) -> float:
    """Return how far a learner must be above offline training to count as above.

    Two standard errors of a difference of two accuracies on n test examples; from
    FEWEST seeds on, also half the interval over seeds.
    """
    by_examples = 2 * math.sqrt(2) * _standard_error(fmean(means.values()), n)
    if len(difference) < FEWEST:
        return by_examples
    return max(by_examples, half_width(stdev(difference.values()), len(difference)))


def _accuracy(
    predictions: Predictions, job: Job, tasks_seen: int
) -> tuple[float, float, int] | None:
    """Return accuracy, chance and test size for the task just learned; offline, for all tasks."""
    row = predictions.output(job).get(tasks_seen)
    if row is None:
        return None
    classes = predictions.classes(job)
    sizes = predictions.test_sizes(job)
    if job.offline:
        return predictions.pra[row], 1 / len(set().union(*classes)), sum(sizes)
    first = tasks_seen - 1 if main_head(job) == "multi" else 0
    competing = set().union(*classes[first:tasks_seen])
    accuracy = float(predictions.accuracy[row][tasks_seen - 1])
    return accuracy, 1 / len(competing), sizes[tasks_seen - 1]


def _above_chance(predictions: Predictions, job: Job) -> float:
    """Return the mean accuracy above chance on the tasks just learned; 0 if none is measured."""
    steps = range(1, len(job.tasks) + 1)
    measured = [_accuracy(predictions, job, tasks_seen) for tasks_seen in steps]
    return fmean([m[0] - m[1] for m in measured if m] or [0.0])


def _standard_error(accuracy: float, examples: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / examples)  # binomial
