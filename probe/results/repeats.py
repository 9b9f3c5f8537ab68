"""Networks that are the same network: in several seeds, or after several tasks.

Copies that were forgotten, a seed that was reset and shared or frozen layers give differences of
exactly 0, which say nothing of learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from probe.analysis.statements import STATEMENTS
from probe.by_layer.plan import CONTROLS
from probe.results.layers import jobs_by_learner
from probe.results.result import JobResult
from probe.tables.schemas import Row

Withheld = Mapping[tuple[str, str, str], str]
"""Verdicts by learner, feature and statement."""

UNCHANGED = "its values are the same after every task: frozen, shared, dead, or not copied"
EQUAL = "it is the same network as seed {}: its training does not depend on the seed"


def repeated_networks(results: Sequence[JobResult]) -> tuple[list[Row], Withheld]:
    """Return notes on equal networks and layers, and the verdicts that are withheld for them.

    Networks are compared by predictions and losses on all test examples, layers by their values
    (CKA is 1 only for equal ones). Seeds that only repeat the retraining of networks trained
    elsewhere may be equal.

    Args:
        results: The results of jobs.

    Returns:
        The rows of notes, and the verdicts: `unchanged` of the forgetting of a layer whose values
        are the same after every task in a run, and of all statements if no layer changes; `equal
        seeds` of all statements on a learner.
    """
    notes: list[Row] = []
    withheld: dict[tuple[str, str, str], str] = {}
    learned = (result for result in results if result.job.kind not in CONTROLS)
    for learner, runs in jobs_by_learner(learned).items():
        *features, output = runs[0].features
        unchanged = {f: [run for run in runs if _is_unchanged(run, f)] for f in features}
        same = filter(_predicts_the_same, runs)
        unchanged[output] = [run for run in same if all(_is_unchanged(run, f) for f in features)]
        for feature in (f for f, of_feature in unchanged.items() if of_feature):
            withheld[learner, feature, "forgets"] = "unchanged"
            notes += (_note(run, UNCHANGED, feature) for run in unchanged[feature])
        every = [(learner, f, name) for f in runs[0].features for name in STATEMENTS]
        withheld |= dict.fromkeys(every if unchanged[output] else (), "unchanged")
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


def _is_unchanged(run: JobResult, feature: str) -> bool:
    """Return whether a feature's values are the same after every task, as far as measured."""
    similarities = [
        similarity
        for key, values in run.diagnostics.items()
        if key.feature == feature
        for name, similarity in values.items()
        if name.startswith("cka.step-")
    ]
    return bool(similarities) and set(similarities) == {1.0}
