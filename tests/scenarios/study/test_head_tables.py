"""The tables of a study under several heads, by hand, and CLscore under several weightings."""

import math

import numpy as np
import pytest

from probe.by_layer.fingerprint import Setup
from probe.results.tables import write_tables
from scenarios.study.source import check_study
from tests.scenarios.study.toy_study import (
    FINETUNE,
    RUNS,
    TASKS,
    cells,
    read,
    spread,
    values,
    written,
)

# As RUNS, with the task's own classes alone competing; the retrained models have no such head.
MULTI = {
    "finetune": {
        ("there", 0): {"0": (4, 16), "1": (10, 12), "2": (6, 30)},
        ("back", 0): {"0": (4, 16), "1": (6, 24), "2": (10, 20)},
        ("there", 1): {"0": (4, 16), "1": (8, 10), "2": (10, 30)},
        ("back", 1): {"0": (4, 16), "1": (4, 30), "2": (4, 30)},
    },
    "cumulative": {
        ("there", 0): {"0": (4, 16), "1": (8, 0), "2": (10, 24)},
        ("back", 0): {"0": (4, 16), "1": (0, 30), "2": (6, 30)},
        ("there", 1): {"0": (4, 16), "1": (10, 0), "2": (8, 24)},
        ("back", 1): {"0": (4, 16), "1": (2, 24), "2": (10, 18)},
    },
    "offline": {("", 0): {"0": (4, 16), "2": (8, 30)}, ("", 1): {"0": (4, 16), "2": (10, 24)}},
}
# In the orders `there` and `back` of seed 0, then of seed 1, from MULTI.
UNDER_MULTI = {
    ("gem", "acc"): [0.8, 2.5 / 3, 1.0, 0.7],
    ("diaz_rodriguez", "accuracy"): [2.6 / 3, (0.8 + 2 / 3 + 1) / 3, 2.8 / 3, 2.4 / 3],
    ("diaz_rodriguez", "rem"): [0.6, 1 - (0.8 - 2 / 3), 1.0, 1.0],
    ("diaz_rodriguez", "bwt_plus"): [0.0, 0.0, 0.2, 0.0],
    ("diaz_rodriguez", "fwt"): [12 / 30, 6 / 10, 10 / 30, 4 / 10],
    ("chaudhry", "forgetting[2]"): [0.4, 0.8 - 2 / 3, -0.2, 0.0],
    ("chaudhry", "intransigence[1]"): [0.8 - 1, 1 - 0.8, 1 - 0.8, 0.8 - 1],
    ("chaudhry", "intransigence[2]"): [0.8 - 1, 0.6 - 1, 0.8 - 1, 1 - 0.4],
    ("kemker", "omega_base"): [0.6 / 0.8, 2 / 3, 1.0, 1 / 0.8],
}
# The criteria in the order of the paper's weights, over orders and seeds as above.
SINGLE_CRITERIA = [
    [0.8, 2.2 / 3, 2.6 / 3, 2.2 / 3],
    [2 / 3] * 4,
    [0.85, 0.65] * 2,
    [0.25, 0.25, 0.5, 0.5],
    [0.4, 0.6, 1.0, 1.0],
    [0.0] * 4,
    [0.0] * 4,
]
MULTI_CRITERIA = [
    UNDER_MULTI["diaz_rodriguez", "accuracy"],
    *SINGLE_CRITERIA[1:4],
    *(UNDER_MULTI["diaz_rodriguez", name] for name in ("rem", "bwt_plus", "fwt")),
]
WEIGHTS = {
    "W1": np.full(7, 1 / 7),
    "W2": np.array([0.4, 0.05, 0.2, 0.1, 0.15, 0.05, 0.05]),
    "W3": np.array([0.4, 0.05, 0.2, 0.2, 0.05, 0.05, 0.05]),
}


def over_seeds(four):
    """Return the mean of the two orders in each of the two seeds."""
    return (four[0] + four[1]) / 2, (four[2] + four[3]) / 2


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables under the heads `multi` and `single`, in this order."""
    root = tmp_path_factory.mktemp("run")
    return written(root, RUNS, multi=MULTI, report={"heads": ["multi", "single"]})


def test_metrics_of_a_head_come_from_its_own_matrix_and_reference(tables):
    """Chaudhry's reference and Kemker's ideal are those of the same head, order and seed."""
    for (paper, metric), four in UNDER_MULTI.items():
        seeds = over_seeds(four)
        own = {"learner": "finetune", "head": "multi", "paper": paper, "metric": metric}
        expected = (np.mean(seeds), np.std(seeds, ddof=1), 2)
        assert spread(tables["metrics"], **own) == pytest.approx(expected, abs=1e-12), metric


@pytest.mark.parametrize("name", ["rows", "metrics"])
def test_a_head_more_adds_rows_and_changes_none(tmp_path, tables, name):
    """The main head comes first; what no head concerns is there once."""
    alone = written(tmp_path, RUNS, multi=MULTI)[name]
    both = tables[name]
    assert [row for row in both if row["head"] != "multi"] == alone
    assert sum(row["head"] == "multi" for row in both) == sum(r["head"] != "" for r in alone)
    assert next(row["head"] for row in both if row["head"]) == "multi"


def test_accuracy_rows_are_the_matrix_of_their_head(tables):
    run = {"learner": "finetune", "order": "back", "seed": "0", "measure": "accuracy"}
    by_head = {head: values(tables["rows"], head=head, **run) for head in ("multi", "single")}
    assert by_head["multi"] == pytest.approx([16 / 30, 0.4, 0.8, 0.6, 20 / 30, 1.0])
    assert by_head["single"] == pytest.approx([0.2, 0.2, 0.8, 0.0, 0.4, 1.0])


def test_pra_and_f1_have_no_head_and_those_of_the_output_are_single_headed(tables):
    rows = [row for row in tables["rows"] if row["measure"] in ("pra", "f1")]
    assert {row["head"] for row in rows} == {""}
    run = {"learner": "finetune", "order": "back", "seed": "0", "measure": "pra", "step": "2"}
    assert values(rows, feature="output", **run) == [22 / 40]  # multi-head it would be 30 / 40


@pytest.mark.parametrize(
    ("head", "criteria"), [("single", SINGLE_CRITERIA), ("multi", MULTI_CRITERIA)]
)
@pytest.mark.parametrize("weighting", WEIGHTS)
def test_cl_score_is_of_the_means_and_cl_stability_of_the_deviations(
    tables, head, criteria, weighting
):
    seeds = np.array([over_seeds(four) for four in criteria])
    own = {"learner": "finetune", "head": head, "paper": "diaz_rodriguez"}
    weights = WEIGHTS[weighting]
    score = spread(tables["metrics"], metric=f"cl_score[{weighting}]", **own)
    assert score[0] == pytest.approx(weights @ seeds.mean(1))
    stability = spread(tables["metrics"], metric=f"cl_stability[{weighting}]", **own)
    assert stability[0] == pytest.approx(1 - weights @ seeds.std(1, ddof=1))
    for _, std, count in (score, stability):
        assert math.isnan(std)
        assert count == 2


@pytest.mark.parametrize("place", range(7))
def test_a_weight_meets_the_criterion_at_its_place(tmp_path, place):
    alone = [float(k == place) for k in range(7)]
    report = {"heads": ["multi"], "weights": {"alone": alone}}
    rows = written(tmp_path, ["finetune"], multi=MULTI, report=report)["metrics"]
    means = [np.mean(over_seeds(four)) for four in MULTI_CRITERIA]
    assert len(set(means)) == 7
    expected = means[place]
    assert spread(rows, metric="cl_score[alone]")[0] == pytest.approx(expected)
    assert [row["metric"] for row in rows if row["metric"].startswith("cl_score")] == [
        f"cl_score[{name}]" for name in ("W1", "W2", "W3", "alone")
    ]


def test_one_seed_has_a_score_and_no_stability(tmp_path):
    parts = ("step-0", "step-1", "step-2", "feature-hidden1")
    missing = {("finetune", order, 1, part) for order, _ in FINETUNE for part in parts}
    rows = written(tmp_path, ["finetune"], missing)["metrics"]
    metrics = {row["metric"] for row in rows if row["metric"].startswith("cl_")}
    assert metrics == {"cl_score[W1]", "cl_score[W2]", "cl_score[W3]"}
    first = [over_seeds(four)[0] for four in SINGLE_CRITERIA]
    assert spread(rows, metric="cl_score[W1]")[::2] == (pytest.approx(np.mean(first)), 1)


def test_without_costs_there_are_neither_their_criteria_nor_a_score(tmp_path):
    rows = written(tmp_path, RUNS, costs=False)["metrics"]
    of_costs = {"ms", "sss", "ce", "cl_score[W1]", "cl_stability[W1]"}
    assert not of_costs & {row["metric"] for row in rows}
    assert "rem" in {row["metric"] for row in rows}


def test_costs_are_one_row_for_each_task_learned(tables):
    """Offline learns all at once; nothing was spent before the first task."""
    rows = tables["costs"]
    assert [(r["learner"], r["order"], r["seed"], r["step"]) for r in rows] == [
        (learner, order, str(seed), str(step))
        for seed in (0, 1)
        for learner, orders, steps in [
            ("finetune", ("there", "back"), (1, 2)),
            ("offline", ("",), (2,)),
            ("cumulative", ("there", "back"), (1, 2)),
        ]
        for order in orders
        for step in steps
    ]
    [one] = cells(rows, learner="finetune", order="back", seed="1", step="2")
    assert list(map(int, list(one.values())[4:])) == [100, 200, 140, 60, 20, 40, 700]


def test_learners_are_told_by_their_kind_and_what_they_store(tmp_path):
    total = {"kind": "finetune", "exemplars": {"total": 30, "sampling": "fifo"}}
    learners = {"finetune": {}, "er": {}, "er-5": {"kind": "er", "memory_per_class": 5}, "s": total}
    raw = {"name": "toy", "scenario": {"data": "digits"}, "network": {"name": "mlp"}}
    study = check_study({**raw, "learners": learners}, "toy")
    setup = Setup(study=study, tasks=TASKS, data="", device="cpu", torch="")
    write_tables(setup, tmp_path)
    assert [list(row.values()) for row in read(tmp_path / "learners.csv")] == [
        ["finetune", "finetune", "", "", ""],
        ["er", "er", "128", "", "uniform"],
        ["er-5", "er", "5", "", "uniform"],
        ["s", "finetune", "", "30", "fifo"],
    ]
