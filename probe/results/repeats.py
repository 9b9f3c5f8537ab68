"""Networks that are the same network: in several seeds, or after several tasks.

Copies that were forgotten, a seed that was reset and shared or frozen layers give differences of
exactly 0, which say nothing of learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from probe.analysis.statements import STATEMENTS
from probe.by_layer.plan import CONTROLS, Plan
from probe.results.layers import jobs_by_learner
from probe.results.result import JobResult
from probe.tables.schemas import Row

Withheld = Mapping[tuple[str, str, str], str]
"""Verdicts by learner, feature and statement."""

UNCHANGED = "its values are the same after every task: frozen, shared, dead, or not copied"
SINCE = "its values at the end are those after task {}: frozen, shared, or not copied"
EQUAL_WEIGHTS = "it is the network of {}, order {}, seed {}, after {} tasks, bit for bit"
EQUAL = "it is the same network as seed {}: its training does not depend on the seed"


def repeated_networks(plan: Plan, results: Sequence[JobResult]) -> tuple[list[Row], Withheld]:
    """Return notes on equal networks and layers, and the verdicts that are withheld for them.

    Networks are compared by predictions and losses on all test examples, layers by their values
    (CKA is 1 only for equal ones). Seeds that only repeat the retraining of networks trained
    elsewhere may be equal.

    Args:
        plan: The plan, with hashes of networks that were trained elsewhere.
        results: The results of its jobs.

    Returns:
        The rows of notes, and the verdicts: `unchanged` of the forgetting of a layer whose values
        are the same after every task in a run, and of all statements if no layer changes; `equal
        seeds` of all statements on a learner.
    """
    notes = list(_equal_networks(plan))
    withheld: dict[tuple[str, str, str], str] = {}
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for learner, runs in jobs_by_learner(learned).items():
        *features, output = runs[0].features
        unchanged: dict[str, list[JobResult]] = {}
        for feature, run in product(features, runs):
            steps = _equal_steps(run, feature)
            if any(steps.values()):
                since = min(step for step, equal in steps.items() if equal)
                whole = all(steps.values())
                notes.append(_note(run, UNCHANGED if whole else SINCE.format(since), feature))
                unchanged.setdefault(feature, []).extend([run] * whole)
        for run in filter(_predicts_the_same, runs):
            if all(any(run is same for same in unchanged.get(f, ())) for f in features):
                notes.append(_note(run, UNCHANGED, output))
                unchanged.setdefault(output, []).append(run)
        withheld |= {(learner, f, "forgets"): "unchanged" for f in unchanged if unchanged[f]}
        every = [(learner, f, name) for f in runs[0].features for name in STATEMENTS]
        withheld |= dict.fromkeys(every if output in unchanged else (), "unchanged")
        for first, second in combinations(runs, 2):
            one, other = first.job, second.job
            retrained = one.weights == other.weights != ()
            same_order = one.order == other.order and not retrained
            if same_order and _tests(first) == _tests(second) != []:
                notes.append(_note(second, EQUAL.format(one.seed)))
                withheld |= dict.fromkeys(every, "equal seeds")
    return notes, withheld


def _note(run: JobResult, text: str, feature: str = "") -> Row:
    return {**run.job.columns, "feature": feature, "tasks_seen": run.job.last, "note": text}


def _tests(run: JobResult) -> list[bytes]:
    """Return predictions and losses after each task; nothing for networks that predict one class.

    Networks that collapsed may well be equal.
    """
    tested = [m for tasks_seen, m in run.tested.items() if tasks_seen]
    if all((x == x[0]).all() for m in tested for x in m.predicted.values()):
        return []
    return [x.tobytes() for m in tested for x in (*m.predicted.values(), *m.loss.values())]


def _predicts_the_same(run: JobResult) -> bool:
    """Return whether the network predicts the same after every task, of all classes if it can."""
    tested = [m.predicted for tasks_seen, m in run.tested.items() if tasks_seen]
    distinct = {m.get("all", next(iter(m.values()))).tobytes() for m in tested}
    return len(distinct) == 1 < len(tested)


def _equal_steps(run: JobResult, feature: str) -> dict[int, bool]:
    """Return whether a feature's values at the end are those after each earlier task."""
    return {
        int(name.removeprefix("cka.step-")): similarity == 1
        for key, values in run.diagnostics.items()
        if key.feature == feature
        for name, similarity in values.items()
        if name.startswith("cka.step-")
    }


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
                if (name, other, step) == (learner, run, tasks_seen) or retrained or not late:
                    continue
                order, _, seed = run.rpartition("/")
                text = EQUAL_WEIGHTS.format(name, *other.split("/"), step)
                columns = {"learner": learner, "order": order, "seed": int(seed), "feature": ""}
                yield {**columns, "tasks_seen": tasks_seen, "note": text}
