"""The tables of a run directory against values computed by hand from counts made by hand."""

import csv
import math

import numpy as np
import pytest

from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement, Spent
from probe.errors import InputError
from probe.metrics.counts import Counts
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from probe.tables.run_directory import TABLES, TIMES
from probe.training.costs import Cost
from tests.scenarios.study.toy import named_plan
from tests.scenarios.tiny_run import PLAIN

TASKS = (("0-1", (0, 1)), ("2-3", (2, 3)))

# (order, seed) -> part -> how many of the 10 test examples of task 0-1, and of the 30 of task 2-3,
# are right. Order `there` learns 0-1 first, order `back` 2-3.
FINETUNE = {
    ("there", 0): {"0": (2, 6), "1": (10, 0), "2": (4, 30), "hidden1": (8, 24)},
    ("back", 0): {"0": (2, 6), "1": (0, 24), "2": (10, 12), "hidden1": (6, 30)},
    ("there", 1): {"0": (0, 0), "1": (8, 0), "2": (8, 30), "hidden1": (10, 30)},
    ("back", 1): {"0": (0, 0), "1": (0, 30), "2": (2, 30), "hidden1": (6, 26)},
}
CUMULATIVE = {
    ("there", 0): {"0": (2, 6), "1": (10, 0), "2": (10, 24), "hidden1": (10, 30)},
    ("back", 0): {"0": (2, 6), "1": (0, 30), "2": (8, 30), "hidden1": (10, 30)},
    ("there", 1): {"0": (0, 0), "1": (8, 0), "2": (10, 30), "hidden1": (10, 30)},
    ("back", 1): {"0": (0, 0), "1": (0, 30), "2": (10, 30), "hidden1": (10, 30)},
}
OFFLINE = {("", 0): {"0": (2, 6), "2": (10, 24)}, ("", 1): {"0": (0, 0), "2": (8, 30)}}
RUNS = {"finetune": FINETUNE, "offline": OFFLINE, "cumulative": CUMULATIVE}


def counts(first, second):
    """Return counts with that many right; what is wrong is taken for 3, or in task 2-3 for 0."""
    table = np.diag([first // 2, first // 2, second // 2, second // 2])
    table[:2, 3] = 5 - first // 2
    table[2:, 0] = 15 - second // 2
    return Counts(table)


def cost(order, seed, step):
    """Return what a task cost: three copies of the parameters and the first task's data at step 2.

    The data of task 0-1 take 60 bytes, those of 2-3 140; a task costs 4 passes, in seed 1 only 2.
    """
    sizes = (140, 60) if order == "back" else (60, 140)
    return Cost(
        parameter_bytes=100,
        carried_bytes=200 * (step - 1),
        stored_bytes=sizes[0] * (step - 1),
        train_bytes=sizes[step - 1],
        ops_one_pass=10 * step,
        ops=10 * step * (2 if seed else 4),
        kept_bytes=100 + 200 * step + sum(sizes[:step]),
    )


def written(root, learners, without=(), costs=True, weights=()):
    """Write the tables of a study of these learners and return them as lists of dicts.

    without: the parts (learner, order, seed, part) that are not finished.
    """
    raw = {
        "name": "toy",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1"]},
        "learners": {name: {} for name in learners},
        "orders": {"there": [1, 2], "back": [2, 1]},
        "seeds": 2,
        "probing": PLAIN,
        "report": {"weights": dict(weights)},
    }
    plan = named_plan(raw, TASKS)
    for job in jobs_of(plan):
        store = store_of(plan, root, job)
        for part in parts_of(plan, job):
            if (job.learner, job.order, job.seed, part) not in without:
                store.write(part, measured(job, part, costs))
    write_tables(plan, root)
    return {name.removesuffix(".csv"): read(root / name) for name in TABLES}


def measured(job, part, costs):
    """Return the measurement of a part: its counts under each head, and a task's cost."""
    kind, _, name = part.partition("-")
    single = counts(*RUNS[job.learner][job.order, job.seed][name])
    if kind == "feature":
        return Measurement(counts={"single": (single,)})
    step = min(int(name), 1) if job.offline else int(name)
    spent = None
    if costs and step:
        spent = Spent(cost=cost(job.order, job.seed, step), seconds=0.25 * step)
    return Measurement(counts=dict.fromkeys(("single", "multi", "all"), (single,)), spent=spent)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cells(rows, **given):
    """Return the rows in which every given column has that value."""
    return [row for row in rows if all(row[name] == value for name, value in given.items())]


def spread(rows, **given):
    """Return mean, std and seeds of the only such row."""
    [row] = cells(rows, **given)
    return float(row["mean"]), float(row["std"] or "nan"), int(row["seeds"])


def over_seeds(four):
    """Return mean, deviation and number of two seeds, each the mean of its two orders."""
    seeds = [(four[0] + four[1]) / 2, (four[2] + four[3]) / 2]
    return pytest.approx((np.mean(seeds), np.std(seeds, ddof=1), 2), abs=1e-12)


def test_times_and_costs_have_a_row_for_each_task_learned(tmp_path):
    """Offline learns all at once; nothing was spent before the first task."""
    found = written(tmp_path, RUNS, {("finetune", "there", 0, "step-1")})
    times = read(tmp_path / TIMES)
    runs = [
        *(("finetune", order, step) for order in ("there", "back") for step in "12"),
        ("offline", "", "2"),
        *(("cumulative", order, step) for order in ("there", "back") for step in "12"),
    ]
    expected = [(*run[:2], seed, run[2]) for seed in "01" for run in runs]
    expected.remove(("finetune", "there", "0", "1"))
    for rows in (times, found["costs"]):
        assert [tuple(row.values())[:4] for row in rows] == expected
    spent = {0.25 * (1 if learner == "offline" else int(step)) for learner, _, _, step in expected}
    assert {float(row["seconds"]) for row in times} == spent
    [one] = cells(found["costs"], learner="finetune", order="back", seed="1", step="2")
    assert list(map(int, list(one.values())[4:])) == [100, 200, 140, 60, 20, 40, 700]


def test_an_order_that_is_not_finished_weighs_on_its_own_seed_alone(tmp_path):
    missing = {("finetune", "back", 1, "feature-hidden1"), ("finetune", "there", 0, "step-1")}
    tables = written(tmp_path, RUNS, missing)
    pra = {"learner": "finetune", "measure": "pra", "depth": "1"}
    assert spread(tables["summary"], **pra)[::2] == pytest.approx(((0.85 + 1.0) / 2, 2))
    # Without all of R there is no metric of it: seed 0 has only the order `back` left.
    acc = {"learner": "finetune", "paper": "gem", "metric": "acc"}
    assert spread(tables["metrics"], **acc)[0] == pytest.approx((0.7 + 0.75) / 2)


def all_but(seeds):
    """Return all parts of finetune with these seeds."""
    parts = ("step-0", "step-1", "step-2", "feature-hidden1")
    return {("finetune", o, s, part) for o, s in FINETUNE if s in seeds for part in parts}


def test_nothing_finished_gives_empty_tables_not_zeros(tmp_path):
    tables = written(tmp_path, ["finetune"], all_but({0, 1}))
    assert [name for name, rows in tables.items() if rows] == ["learners"]


# For each metric, its value in the orders `there` and `back` of seed 0, then of seed 1, from
# R = [[1, 0], [.4, 1]], [[.8, 0], [.4, 1]]; [[.8, 0], [.8, 1]], [[1, 0], [1, .2]], rows 1 and 2.
METRICS = {
    ("gem", "acc"): [0.7, 0.7, 0.9, 0.6],
    ("gem", "bwt"): [-0.6, -0.4, 0.0, 0.0],
    ("gem", "fwt"): [-0.2, -0.2, 0.0, 0.0],
    ("diaz_rodriguez", "accuracy"): [0.8, 2.2 / 3, 2.6 / 3, 2.2 / 3],
    ("diaz_rodriguez", "bwt"): [-0.6, -0.4, 0.0, 0.0],
    ("diaz_rodriguez", "rem"): [0.4, 0.6, 1.0, 1.0],
    ("diaz_rodriguez", "bwt_plus"): [0.0, 0.0, 0.0, 0.0],
    ("diaz_rodriguez", "fwt"): [0.0, 0.0, 0.0, 0.0],
    # Of the costs, see `cost`.
    ("diaz_rodriguez", "ms"): [(1 + 1 / 3) / 2] * 4,
    ("diaz_rodriguez", "sss"): [1 - 60 / 200 / 2, 1 - 140 / 200 / 2] * 2,
    ("diaz_rodriguez", "ce"): [1 / 4, 1 / 4, 1 / 2, 1 / 2],
    ("kemker", "model_size_mb"): [700 / 1e6] * 4,
    ("chaudhry", "average_accuracy[1]"): [1.0, 0.8, 0.8, 1.0],
    ("chaudhry", "average_accuracy[2]"): [0.7, 0.7, 0.9, 0.6],
    ("chaudhry", "forgetting[2]"): [0.6, 0.4, 0.0, 0.0],
    **{("kemker", f"alpha_{of}[1]"): [1.0, 0.8, 0.8, 1.0] for of in ("base", "new", "all")},
    ("kemker", "alpha_base[2]"): [0.4, 0.4, 0.8, 1.0],
    ("kemker", "alpha_new[2]"): [1.0, 1.0, 1.0, 0.2],
    ("kemker", "alpha_all[2]"): [34 / 40, 22 / 40, 38 / 40, 32 / 40],
    ("kemker", "omega_new"): [1.0, 1.0, 1.0, 0.2],
    ("murata", "pra[hidden1]"): [0.8, 0.9, 1.0, 0.8],
    ("murata", "pra[output]"): [0.85, 0.55, 0.95, 0.8],
    # GEM's BWT with the other sign.
    ("deep_shallow", "shallow_forgetting"): [0.6, 0.4, 0.0, 0.0],
}
# a* = 1, .8; 1, .8; .8, 1; 1, 1: the diagonal of the cumulative learner's R.
WITH_CUMULATIVE = {
    ("chaudhry", "intransigence[1]"): [0.0, 0.2, 0.0, 0.0],
    ("chaudhry", "intransigence[2]"): [-0.2, -0.2, 0.0, 0.8],
}
# Offline: .85 and .95 on all; on the first task 1 and .8, .8 and 1.
WITH_OFFLINE = {
    ("kemker", "omega_base"): [0.4, 0.4 / 0.8, 1.0, 1.0],
    ("kemker", "omega_all"): [34 / 40, 22 / 40 / 0.8, 38 / 40 / 0.8, 32 / 40],
    ("murata", "forgetting_strength[hidden1]"): [0.05, -0.05, -0.05, 0.15],
    ("murata", "forgetting_strength[output]"): [0.0, 0.3, 0.0, 0.15],
}
OF_COSTS = ("ms", "sss", "ce", "model_size_mb")


@pytest.mark.parametrize(
    ("learners", "expected"),
    [
        (["finetune"], METRICS),
        (["finetune", "offline"], METRICS | WITH_OFFLINE),
        (["finetune", "cumulative"], METRICS | WITH_CUMULATIVE),
        (list(RUNS), METRICS | WITH_CUMULATIVE | WITH_OFFLINE),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_the_metrics_are_those_that_the_studys_learners_allow(tmp_path, learners, expected):
    tables = written(tmp_path, learners)["metrics"]
    rows = [r for r in cells(tables, learner="finetune") if not r["metric"].startswith("cl_")]
    assert {(r["paper"], r["metric"]) for r in rows} == expected.keys()
    for (paper, metric), four in expected.items():
        assert spread(rows, paper=paper, metric=metric) == over_seeds(four), metric
    headless = {n for n in expected if n[0] in ("murata", "deep_shallow") or n[1] in OF_COSTS}
    assert {(r["paper"], r["metric"]) for r in rows if r["head"] == ""} == headless
    if len(learners) == 3:
        # Offline has a PRA and no metric of the matrix; cumulative is not compared with itself.
        assert [r["metric"] for r in cells(tables, learner="offline")] == ["pra[output]"]
        own = {"learner": "cumulative", "paper": "chaudhry", "metric": "intransigence[2]"}
        assert spread(tables, **own) == (0, 0, 2)


# CLscore: the criteria in the order of the paper's weights

CRITERIA = ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt")
SINGLE_CRITERIA = [METRICS["diaz_rodriguez", name] for name in CRITERIA]
WEIGHTS = {
    "W1": np.full(7, 1 / 7),
    "W2": np.array([0.4, 0.05, 0.2, 0.1, 0.15, 0.05, 0.05]),
    "W3": np.array([0.4, 0.05, 0.2, 0.2, 0.05, 0.05, 0.05]),
    # A weight meets the criterion at its place.
    **{f"w{place}": np.eye(7)[place] for place in range(7)},
}


def test_cl_score_is_of_the_means_and_cl_stability_of_the_deviations(tmp_path):
    own = {name: w.tolist() for name, w in WEIGHTS.items() if name[0] == "w"}
    rows = written(tmp_path, ["finetune"], weights=own)["metrics"]
    seeds = np.array([[(a + b) / 2, (c + d) / 2] for a, b, c, d in SINGLE_CRITERIA])
    for name, weights in WEIGHTS.items():
        score, stability = (
            spread(rows, metric=f"cl_{of}[{name}]") for of in ("score", "stability")
        )
        assert score[0] == pytest.approx(weights @ seeds.mean(1))
        assert stability[0] == pytest.approx(1 - weights @ seeds.std(1, ddof=1))
        assert math.isnan(score[1])
        assert score[2] == stability[2] == 2


def test_one_seed_has_a_score_and_neither_stability_nor_deviation(tmp_path):
    rows = written(tmp_path, ["finetune"], all_but({1}))["metrics"]
    found = {row["metric"] for row in rows if row["metric"].startswith("cl_")}
    assert found == {"cl_score[W1]", "cl_score[W2]", "cl_score[W3]"}
    first = [np.mean(four[:2]) for four in SINGLE_CRITERIA]
    assert spread(rows, metric="cl_score[W1]")[::2] == (pytest.approx(np.mean(first)), 1)
    mean, std, _ = spread(rows, paper="gem", metric="acc")
    assert mean == pytest.approx(0.7)
    assert math.isnan(std)


def test_without_costs_there_are_neither_their_criteria_nor_a_score(tmp_path):
    metrics = {row["metric"] for row in written(tmp_path, RUNS, costs=False)["metrics"]}
    assert not {*OF_COSTS, "cl_score[W1]", "cl_stability[W1]"} & metrics
    assert "rem" in metrics


def test_learners_are_told_by_their_kind_and_what_they_store(tmp_path):
    total = {"kind": "finetune", "exemplars": {"total": 30, "sampling": "fifo"}}
    learners = {"finetune": {}, "er": {}, "er-5": {"kind": "er", "memory_per_class": 5}, "s": total}
    raw = {"name": "toy", "scenario": {"data": "digits"}, "network": {"name": "mlp"}}
    write_tables(named_plan({**raw, "learners": learners}, TASKS), tmp_path)
    assert [list(row.values()) for row in read(tmp_path / "learners.csv")] == [
        ["finetune", "finetune", "", "", ""],
        ["er", "er", "128", "", "uniform"],
        ["er-5", "er", "5", "", "uniform"],
        ["s", "finetune", "", "30", "fifo"],
    ]


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "summary.csv").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*summary.csv \(Is a directory\): make"):
        written(tmp_path, ["finetune"])
    assert not list(tmp_path.glob("*.tmp"))
