"""Networks that are the same network: in several seeds, or after several tasks.

Copies that were forgotten, a seed that was reset and shared or frozen layers give
differences of exactly 0, which say nothing of learning.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from probe.analysis.statements import STATEMENTS
from probe.by_layer.plan import OFFLINE, Plan
from probe.results.layers import learners_jobs
from probe.results.result import JobResult
from probe.stored_names import compared_step
from probe.tables.schemas import Row

Withheld = Mapping[tuple[str, str, str], str]
"""Verdicts by learner, feature and statement."""

UNCHANGED = (
    "its values are the same after every task: frozen, shared, dead, or not copied"
)
SINCE = "its values at the end are those after task {}: frozen, shared, or not copied"
EQUAL_WEIGHTS = (
    "it is the network of {}, order {}, seed {}, after {} tasks, bit for bit"
)
EQUAL = "it is the same network as seed {}: its training does not depend on the seed"


def repeated_networks(
    plan: Plan, results: Sequence[JobResult]
) -> tuple[list[Row], Withheld]:
    """Return notes on equal networks and layers, and the verdicts that are withheld for them.

    Networks are compared by predictions and losses on all test examples, layers by
    their values (CKA is 1 only for equal ones). Seeds that only repeat the retraining
    of networks trained elsewhere may be equal.

    Args:
        plan: The plan, with hashes of networks that were trained elsewhere.
        results: The results of its jobs.

    Returns:
        The rows of notes, and the verdicts: `unchanged` of the forgetting of a layer
        whose values are the same after every task in a run, and of all statements if no
        layer changes; `equal seeds` of all statements on a learner, or of those on the
        ceiling if that is its network.
    """
    notes = list(_equal_networks(plan))
    offline = (
        plan.learners[OFFLINE].weight_hashes.values()
        if OFFLINE in plan.learners
        else ()
    )
    ceilings = {sha for hashes in offline for sha in hashes.values()}
    withheld: dict[tuple[str, str, str], str] = {}
    for learner, runs in learners_jobs(results).items():
        unchanged, remarks = _unchanged(runs)
        notes += remarks
        withheld |= {
            (learner, feature, "forgets"): "unchanged" for feature in unchanged
        }
        every = [(learner, f, name) for f in runs[0].features for name in STATEMENTS]
        withheld |= dict.fromkeys(
            every if runs[0].features[-1] in unchanged else (), "unchanged"
        )
        if any(ceilings.intersection(run.job.weights[-1:]) for run in runs):
            on_ceiling = (
                key for key in every if key[2] in ("below_ceiling", "learns_less")
            )
            withheld |= dict.fromkeys(on_ceiling, "equal seeds")
        for first, second in combinations(runs, 2):
            one = first.job
            other = second.job
            retrained = one.weights == other.weights != ()
            same_order = one.order == other.order and not retrained
            if same_order and _tests(first) == _tests(second) != []:
                notes.append(_note(second, EQUAL.format(one.seed)))
                withheld |= dict.fromkeys(every, "equal seeds")
    return notes, withheld


def _unchanged(runs: Sequence[JobResult]) -> tuple[set[str], list[Row]]:
    """Return the features that are the same after every task in a run of a learner, and notes."""
    *features, output = runs[0].features
    unchanged = set[str]()
    notes = list[Row]()
    for run in runs:
        steps = {feature: _equal_steps(run, feature) for feature in features}
        whole = [
            feature
            for feature in features
            if steps[feature] and all(steps[feature].values())
        ]
        if whole == features and _predicts_the_same(run):
            whole.append(output)
        notes += (_note(run, UNCHANGED, feature) for feature in whole)
        for feature in (
            f for f in features if any(steps[f].values()) and f not in whole
        ):
            since = min(step for step, equal in steps[feature].items() if equal)
            notes.append(_note(run, SINCE.format(since), feature))
        unchanged.update(whole)
    return unchanged, notes


def _note(run: JobResult, text: str, feature: str = "") -> Row:
    return {
        **run.job.columns,
        "feature": feature,
        "tasks_seen": run.job.last,
        "note": text,
    }


def _tests(run: JobResult) -> list[bytes]:
    """Return predictions and losses after each task; nothing for networks that predict one class.

    Networks that collapsed may well be equal.
    """
    tested = [m for tasks_seen, m in run.tested.items() if tasks_seen]
    if all((x == x[0]).all() for m in tested for x in m.predicted.values()):
        return []
    return [
        x.tobytes() for m in tested for x in (*m.predicted.values(), *m.loss.values())
    ]


def _predicts_the_same(run: JobResult) -> bool:
    """Return whether the network predicts the same after every task, of all classes if it can."""
    tested = [m.predicted for tasks_seen, m in run.tested.items() if tasks_seen]
    distinct = {m.get("all", next(iter(m.values()))).tobytes() for m in tested}
    return len(distinct) == 1 < len(tested)


def _equal_steps(run: JobResult, feature: str) -> dict[int, bool]:
    """Return whether a feature's values at the end are those after each earlier task."""
    is_equal: dict[int, bool] = {}
    for key, values in run.diagnostics.items():
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
