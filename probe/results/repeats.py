"""Networks that are the same network: in several seeds, or after several tasks.

A forgotten copy, a reset seed, and a shared or frozen layer all give differences of
exactly 0, which say nothing of learning.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from probe.by_layer.jobs import Job
from probe.by_layer.plan import OFFLINE, Plan
from probe.results.predictions import Predictions, note_row
from probe.results.statements import Doubts
from probe.stored_names import compared_step
from probe.tables.schemas import Row

UNCHANGED = (
    "its values are the same after every task: frozen, shared, dead, or not copied"
)
SINCE = "its values at the end are those after task {}: frozen, shared, or not copied"
EQUAL_WEIGHTS = (
    "it is the network of {}, order {}, seed {}, after {} tasks, bit for bit"
)
EQUAL = "it is the same network as seed {}: its training does not depend on the seed"


def repeated_networks(
    predictions: Predictions, doubts: Doubts
) -> tuple[list[Row], Doubts]:
    """Return notes on equal networks and layers, and the doubts with those that follow.

    Networks are compared by predictions and losses on all test examples, layers by
    their values (CKA is 1 only for equal ones). Seeds that only repeat the retraining
    of networks trained elsewhere may be equal.

    Args:
        predictions: The predictions of all jobs, of a plan with the hashes of networks
            that were trained elsewhere.
        doubts: The doubts so far, see `check_trainings`.
    """
    learners = predictions.plan.learners
    notes = list(_equal_networks(predictions.plan))
    offline = learners[OFFLINE].weight_hashes if OFFLINE in learners else {}
    ceilings = {sha for hashes in offline.values() for sha in hashes.values()}
    equal = set[str]()
    on_ceiling = set[str]()
    unchanged = set[tuple[str, str]]()
    motionless = set[str]()
    for learner, jobs in predictions.by_learner().items():
        for job in jobs:
            features, remarks = _unchanged_features(predictions, job)
            notes += remarks
            unchanged |= {(learner, feature) for feature in features}
            if predictions.features(job)[-1] in features:
                motionless.add(learner)
        if any(ceilings.intersection(job.weights[-1:]) for job in jobs):
            on_ceiling.add(learner)
        for first, second in combinations(jobs, 2):
            if _are_equal(predictions, first, second):
                notes.append(note_row(second, second.last, EQUAL.format(first.seed)))
                equal.add(learner)
    return notes, replace(
        doubts,
        equal=equal,
        on_ceiling=on_ceiling,
        unchanged=unchanged,
        motionless=motionless,
    )


def _are_equal(predictions: Predictions, first: Job, second: Job) -> bool:
    """Return whether two trainings of a learner gave the same networks."""
    is_retrained = first.weights == second.weights != ()
    if first.order != second.order or is_retrained:
        return False
    return _tests(predictions, first) == _tests(predictions, second) != []


def _unchanged_features(
    predictions: Predictions, job: Job
) -> tuple[set[str], list[Row]]:
    """Return the features that are the same after every task of a run, and notes."""
    *features, output = predictions.features(job)
    unchanged: list[str] = []
    since: dict[str, int] = {}
    for feature in features:
        is_equal = _equal_steps(predictions, job, feature)
        if is_equal and all(is_equal.values()):
            unchanged.append(feature)
        elif any(is_equal.values()):
            since[feature] = min(step for step, equal in is_equal.items() if equal)
    if unchanged == features and _predicts_the_same(predictions, job):
        unchanged.append(output)
    texts = dict.fromkeys(unchanged, UNCHANGED)
    texts |= {feature: SINCE.format(step) for feature, step in since.items()}
    notes = [note_row(job, job.last, text, feature=f) for f, text in texts.items()]
    return set(unchanged), notes


def _tests(predictions: Predictions, job: Job) -> list[bytes]:
    """Return predictions and losses after each task; nothing for networks that predict one class.

    Networks that collapsed may well be equal.
    """
    tested = [m for step, m in predictions.output_tests(job).items() if step]
    if all((x == x[0]).all() for m in tested for x in m.predicted.values()):
        return []
    arrays = [x for m in tested for x in (*m.predicted.values(), *m.loss.values())]
    return [x.tobytes() for x in arrays]


def _predicts_the_same(predictions: Predictions, job: Job) -> bool:
    """Return whether the network predicts the same after every task, of all classes if it can."""
    tested = [m.predicted for step, m in predictions.output_tests(job).items() if step]
    distinct = {m.get("all", next(iter(m.values()))).tobytes() for m in tested}
    return len(distinct) == 1 < len(tested)


def _equal_steps(predictions: Predictions, job: Job, feature: str) -> dict[int, bool]:
    """Return whether a feature's values at the end are those after each earlier task."""
    is_equal: dict[int, bool] = {}
    for key, values in predictions.diagnostics(job).items():
        for name, similarity in values.items() if key.feature == feature else ():
            step = compared_step(name)
            if step is not None:
                is_equal[step] = similarity == 1
    return is_equal


def _equal_networks(plan: Plan) -> Iterator[Row]:
    """Yield a note on each network trained elsewhere that is another one, after any task.

    Networks of several learners may well be equal before the last task.
    """
    seen: dict[str, tuple[str, str, int]] = {}
    for learner, planned in plan.learners.items():
        for run, hashes in planned.weight_hashes.items():
            for tasks_seen, sha in sorted(hashes.items())[0 in hashes :]:
                name, other, step = seen.setdefault(sha, (learner, run, tasks_seen))
                retrained = other != run and planned.weight_hashes.get(other) == hashes
                late = tasks_seen == max(hashes) or (name, other) == (learner, run)
                if (
                    (name, other, step) == (learner, run, tasks_seen)
                    or retrained
                    or not late
                ):
                    continue
                order, _, seed = run.rpartition("/")
                yield {
                    "learner": learner,
                    "order": order,
                    "seed": int(seed),
                    "feature": "",
                    "tasks_seen": tasks_seen,
                    "note": EQUAL_WEIGHTS.format(name, *other.split("/"), step),
                }
