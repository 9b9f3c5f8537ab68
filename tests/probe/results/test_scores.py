"""Scores of a study against counts by hand and published tables: Omegas, forgetting, CLscore."""

import math

import pytest

from probe.analysis.intervals import SeedMean
from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.report import ReportSpec
from probe.metrics.diaz_rodriguez import NAMES
from probe.readouts.linear import UNFINISHED
from probe.results.predictions import Predictions
from probe.results.scores import cl_scores, metric_rows
from probe.training.history import History
from tests.probe.metrics.test_diaz_rodriguez import PUBLISHED, TABLE_1
from tests.scenarios.study.toy import measurement, named_plan

PLAN = named_plan(
    {
        "name": "scored",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["output"]},
        "learners": {name: {} for name in ("offline", "finetune", "er", "pathnet")},
        "report": {"heads": ["single", "multi"]},
    },
    (("a", (0,)), ("b", (1,))),
)
JOBS = {(job.learner, job.order): job for job in jobs_of(PLAN)}


def metrics(runs, by_first=False):
    """Return the metrics by learner and name; runs: tables by head, by job and step."""
    measurements = []
    for run, steps in runs.items():
        by_key = {Key(t): measurement(tables) for t, tables in steps.items()}
        measurements.append((JOBS[run], by_key))
    rows = metric_rows(Predictions.of(PLAN, measurements), by_first=by_first)
    return {(row["learner"], row["metric"]): row["mean"] for row in rows}


def test_an_offline_model_that_knows_nothing_is_no_ideal():
    """Omega divides by its accuracy on the first task: 0 gives no number."""
    for right in (3, 0):
        offline = {2: {"single": [[right, 3 - right], [0, 3]]}}
        own = {tasks_seen: {"single": [[2, 1], [1, 2]]} for tasks_seen in range(3)}
        found = metrics({("offline", ""): offline, ("finetune", "0"): own})
        omegas = {name for _, name in found if name.startswith("omega_")}
        expected = {"omega_new"}
        if right:
            expected |= {"omega_base", "omega_all"}
        assert omegas == expected


@pytest.mark.parametrize("mean", ["examples", "classes"])
def test_a_layer_that_predicts_what_the_network_does_has_its_metrics(mean):
    """Tasks of unlike numbers of classes and examples are weighed alike, too."""
    raw = {
        "name": "weighed",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1", "output"]},
        "probing": {"readouts": {"ncm": "all"}},
        "learners": {"finetune": {}},
        "report": {"mean": mean},
    }
    classes = ((0, 1), (2,))
    plan = named_plan(raw, (("a", classes[0]), ("b", classes[1])))
    table = [
        [3, 1, 0],
        [4, 1, 0],
        [1, 0, 6],
    ]
    predicted = measurement({"single": table}, classes)
    runs = []
    for job in jobs_of(plan):
        keys = [key for key in keys_of(plan, job) if str(key.readout) in ("", "ncm")]
        runs.append((job, dict.fromkeys(keys, predicted)))
    means = {}
    for row in metric_rows(Predictions.of(plan, runs)):
        if row["metric"] == "alpha_all[2]":
            means[row["feature"]] = row["mean"]
    right = {
        "examples": 10 / 16,
        "classes": (3 / 4 + 1 / 5 + 6 / 7) / 3,
    }
    assert means == pytest.approx({"": right[mean], "hidden1": right[mean]})


def test_omegas_come_by_the_first_task_where_that_is_asked_for():
    """Both orders have 4 of 4 right on the second task, and 1 or 3 on the first."""
    runs = {("0", ((1, 3), (0, 4))), ("1", ((4, 0), (1, 3)))}
    parts = {}
    for order, counts in runs:
        parts["er", order] = {k: {"single": counts} for k in range(3)}
    parts["offline", ""] = {k: {"single": [[4, 0], [0, 4]]} for k in (0, 2)}
    both = metrics(parts, by_first=True)
    mean = metrics(parts)
    assert both["er", "omega_base[a first]"] == 0.25
    assert both["er", "omega_base[b first]"] == 0.75
    assert both["er", "omega_all[a first]"] == 0.625
    assert both["er", "omega_new[b first]"] == 1
    assert both["er", "omega_base"] == mean["er", "omega_base"] == 0.5
    assert not any("first" in metric for _, metric in mean)


WEIGHTINGS = ("W1", "W2", "W3")


def criteria(strategy, std=0.0):
    published = zip(TABLE_1, PUBLISHED[strategy][0], strict=True)
    return {NAMES[name]: SeedMean(mean=n, std=std, seeds=3) for name, n in published}


def test_stability_needs_two_seeds_of_every_criterion():
    each = criteria("ewc", std=0.02)
    scores = dict(cl_scores(each, ReportSpec()))
    assert scores["cl_stability[W2]"].mean == pytest.approx(0.98)
    each["ce"] = SeedMean(mean=0.5, std=math.nan, seeds=1)
    names = [name for name, _ in cl_scores(each, ReportSpec())]
    assert names == [f"cl_score[{weighting}]" for weighting in WEIGHTINGS]
    del each["ce"]
    assert not list(cl_scores(each, ReportSpec()))


@pytest.mark.parametrize(
    ("history", "notes", "converged"),
    [
        (None, (), True),
        (None, (f"{UNFINISHED} after 500 iterations",), False),
        (None, ("its author writes that it had not converged",), True),
        (History(losses=(2.0, 1.0, 1.0), accuracies=(0.5, 0.5)), (), True),
        (History(losses=(2.0, 1.5, 1.0), accuracies=(0.5, 0.5)), (), False),
    ],
)
def test_scores_converged_if_their_history_did_or_no_note_denies_it(
    history, notes, converged
):
    measured = measurement(
        {"single": [[1, 0], [0, 1]]},
        history=history,
        notes=notes,
    )
    job = JOBS["finetune", "0"]
    predictions = Predictions.of(PLAN, [(job, {Key(2): measured})])
    assert predictions.converged[predictions.output(job)[2]] == converged
