"""Scores of a study against counts by hand: Omegas and forgetting, and their levels."""

from __future__ import annotations

import numpy as np
import pytest

from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Measurement
from probe.metrics.counts import Counts
from probe.results.result import result_of
from probe.results.scores import metric_rows
from scenarios.study.source import check_study
from scenarios.study.spec import ReportSpec

PARTS = (("few", 1, 1), ("half", 2, 2), ("most", 3, 3))

STUDY = check_study(
    {
        "name": "scored",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["output"]},
        "learners": {name: {} for name in ("offline", "finetune", "er", "pathnet")},
        "report": {"heads": ["single", "multi"]},
    },
    "scored",
)


def single(counts: Counts) -> Measurement:
    return Measurement(counts={"single": (counts,)})


@pytest.mark.parametrize(("right", "measured"), [(3, True), (0, False)])
def test_an_offline_model_that_knows_nothing_is_no_ideal(right: int, measured: bool) -> None:
    """Omega divides by its accuracy on the first task: 0 gives no number."""
    tasks = (("0", (0,)), ("1", (1,)))
    offline = Counts(np.array([[right, 3 - right], [0, 3]]))
    step = Counts(np.array([[2, 1], [1, 2]]))
    jobs = [
        Job(learner=kind, kind=kind, order=order, tasks=(0, 1), seed=0)
        for kind, order in (("offline", ""), ("finetune", "0"))
    ]
    results = [
        result_of(jobs[0], tasks, STUDY, {"step-2": single(offline)}),
        result_of(
            jobs[1],
            tasks,
            STUDY,
            {f"step-{i}": single(step) for i in range(3)},
        ),
    ]
    rows = metric_rows(results, ReportSpec())
    metrics = {row.metric for row in rows if row.metric.startswith("omega_")}
    assert metrics == {"omega_new", *(("omega_base", "omega_all") if measured else ())}


@pytest.mark.parametrize(("kind", "level"), [("finetune", 0.5), ("pathnet", 0.75)])
def test_who_is_told_the_task_is_compared_with_offline_that_is_told_it(
    kind: str, level: float
) -> None:
    """Offline has 0.5 single-head and 0.75 multi-head, the learner 0.25 under its head."""
    right = {part: Counts(np.array([[n, 4 - n], [4 - m, m]])) for part, n, m in PARTS}
    offline = {"single": (right["half"],), "multi": (right["most"],)}
    own = {"single": (right["few"],), "multi": (right["few"],)}
    if kind == "pathnet":
        del own["single"]
    results = [
        result_of(
            Job(learner=name, kind=name, order=order, tasks=(0, 1), seed=0),
            (("0", (0,)), ("1", (1,))),
            STUDY,
            {"step-2": Measurement(counts=counts)},
        )
        for name, order, counts in (("offline", "", offline), (kind, "0", own))
    ]
    rows = {(row.learner, row.metric): row.mean for row in metric_rows(results, ReportSpec())}
    assert rows[kind, "pra[output]"] == 0.25
    assert rows[kind, "forgetting_strength[output]"] == level - 0.25


def test_omegas_come_by_what_was_learned_first_where_that_is_asked_for() -> None:
    """Both orders have 4 of 4 right on the second task, and 1 or 3 on the first."""
    tasks = (("a", (0,)), ("b", (1,)))
    results = []
    for order, executed, right in (("0", (0, 1), 1), ("1", (1, 0), 3)):
        first = executed[0]
        table = np.zeros((2, 2), dtype=np.int64)
        table[first] = np.eye(2, dtype=np.int64)[first] * right
        table[first, 1 - first] = 4 - right
        table[1 - first, 1 - first] = 4
        results.append(
            result_of(
                Job(learner="er", kind="er", order=order, tasks=executed, seed=0),
                tuple(tasks[task] for task in executed),
                STUDY,
                {f"step-{i}": single(Counts(table)) for i in range(3)},
            )
        )
    whole = Counts(np.array([[4, 0], [0, 4]]))
    job = Job(learner="offline", kind="offline", order="", tasks=(0, 1), seed=0)
    parts = {f"step-{i}": single(whole) for i in (0, 2)}
    results.append(result_of(job, tasks, STUDY, parts))
    both, mean = (
        {
            r.metric: r.mean
            for r in metric_rows(results, ReportSpec(), by_first)
            if r.learner == "er"
        }
        for by_first in (True, False)
    )
    assert (both["omega_base[a first]"], both["omega_base[b first]"]) == (0.25, 0.75)
    assert (both["omega_all[a first]"], both["omega_new[b first]"]) == (0.625, 1)
    assert both["omega_base"] == mean["omega_base"] == 0.5
    assert not any("first" in metric for metric in mean)
