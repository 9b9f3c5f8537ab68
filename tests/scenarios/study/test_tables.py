"""The tables of a run directory against values computed by hand from counts made by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from probe.errors import InputError
from probe.tables.run_directory import TABLES, TIMES
from tests.scenarios.study.toy_study import FINETUNE, RUNS, cells, read, spread, values, written

ACCURACY = {"measure": "accuracy", "head": "single", "feature": "", "depth": ""}


def f1(right, of, lost, taken):
    """Return F1 from its definition: right, of that many, with predictions lost and taken."""
    assert right + lost == of
    return 2 * right / (2 * right + lost + taken)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables of a finished study of finetune, offline and cumulative."""
    return written(tmp_path_factory.mktemp("run"), RUNS)


def test_every_measurement_is_one_row(tables):
    found = Counter((row["learner"], row["measure"]) for row in tables["rows"])
    assert found == {
        ("finetune", "accuracy"): 2 * 2 * (3 * 2 + 2),
        # R, and a row of the feature; PRA at the output after each step, and behind the feature.
        ("finetune", "pra"): 2 * 2 * (3 + 1),
        ("finetune", "f1"): 2 * 2 * 2 * 2,
        ("cumulative", "accuracy"): 2 * 2 * (3 * 2 + 2),
        ("cumulative", "pra"): 2 * 2 * (3 + 1),
        ("cumulative", "f1"): 2 * 2 * 2 * 2,
        ("offline", "accuracy"): 2 * 2 * 2,
        ("offline", "pra"): 2 * 2,
        ("offline", "f1"): 2 * 2,
    }


def test_accuracy_is_the_matrix_cell_by_cell_by_place_in_the_executed_order(tables):
    rows = cells(tables["rows"], learner="finetune", order="back", seed="0", **ACCURACY)
    assert [(r["step"], r["place"], r["task"], float(r["value"])) for r in rows] == [
        ("0", "1", "2-3", 0.2),
        ("0", "2", "0-1", 0.2),
        ("1", "1", "2-3", 0.8),
        ("1", "2", "0-1", 0.0),
        ("2", "1", "2-3", 0.4),
        ("2", "2", "0-1", 1.0),
    ]
    assert {(row["scenario"], row["network"]) for row in tables["rows"]} == {("digits", "mlp")}


def test_pra_and_f1_are_of_the_retrained_model_and_at_the_output_of_the_trained_one(tables):
    run = {"learner": "finetune", "order": "back", "seed": "0", "step": "2"}
    hidden = {"feature": "hidden1", "depth": "1"}
    output = {"feature": "output", "depth": "2"}
    assert values(tables["rows"], measure="pra", place="", task="", **hidden, **run) == [36 / 40]
    assert values(tables["rows"], measure="pra", place="", task="", **output, **run) == [22 / 40]
    first, second = {"place": "1", "task": "2-3"}, {"place": "2", "task": "0-1"}
    for feature, place, score in [
        (hidden, first, f1(30, 30, 0, taken=4)),
        (hidden, second, f1(6, 10, 4, taken=0)),
        (output, first, f1(12, 30, 18, taken=0)),
        (output, second, f1(10, 10, 0, taken=18)),
    ]:
        found = values(tables["rows"], measure="f1", **feature, **place, **run)
        assert found == pytest.approx([score], abs=1e-15)


def test_offline_has_no_order_no_features_and_is_seen_before_and_after(tables):
    rows = cells(tables["rows"], learner="offline")
    assert {row["order"] for row in rows} == {""}
    assert {row["feature"] for row in rows if row["measure"] != "accuracy"} == {"output"}
    one = cells(rows, seed="1", **ACCURACY)
    assert [(r["step"], r["place"], r["task"], float(r["value"])) for r in one] == [
        ("0", "1", "0-1", 0.0),
        ("0", "2", "2-3", 0.0),
        ("2", "1", "0-1", 0.8),
        ("2", "2", "2-3", 1.0),
    ]
    assert values(rows, measure="pra", depth="2", step="2") == [34 / 40, 38 / 40]


def test_the_summary_averages_orders_within_a_seed_first(tables):
    run = {"learner": "finetune", "measure": "pra", "place": ""}
    seeds = [(32 / 40 + 36 / 40) / 2, (40 / 40 + 32 / 40) / 2]
    expected = (np.mean(seeds), np.std(seeds, ddof=1), 2)
    assert spread(tables["summary"], depth="1", feature="hidden1", **run) == pytest.approx(expected)
    seeds = [(34 / 40 + 22 / 40) / 2, (38 / 40 + 32 / 40) / 2]
    expected = (np.mean(seeds), np.std(seeds, ddof=1), 2)
    assert spread(tables["summary"], depth="2", feature="output", **run) == pytest.approx(expected)
    offline = spread(tables["summary"], learner="offline", measure="pra")
    assert offline[::2] == pytest.approx((36 / 40, 2))


def test_f1_is_averaged_by_place_whatever_the_task(tables):
    seeds = [
        (f1(8, 10, 2, taken=6) + f1(30, 30, 0, taken=4)) / 2,
        (f1(10, 10, 0, taken=0) + f1(26, 30, 4, taken=4)) / 2,
    ]
    run = {"learner": "finetune", "measure": "f1", "feature": "hidden1", "place": "1"}
    expected = (np.mean(seeds), np.std(seeds, ddof=1), 2)
    assert spread(tables["summary"], **run) == pytest.approx(expected)


def test_times_are_those_of_every_task_learned_and_no_others(tmp_path):
    """Offline learns all at once, which is kept with its last step; see `toy_study.measured`."""
    written(tmp_path, RUNS, {("finetune", "there", 0, "step-1")})
    times = read(tmp_path / TIMES)
    assert list(times[0]) == ["learner", "order", "seed", "step", "seconds"]
    found = {tuple(row.values())[:4]: float(row["seconds"]) for row in times}
    assert len(found) == len(times)
    assert found == {
        **{("offline", "", seed, "2"): 0.25 for seed in "01"},
        **{
            (learner, order, seed, str(step)): 0.25 * step
            for learner in ("finetune", "cumulative")
            for order in ("there", "back")
            for seed in "01"
            for step in (1, 2)
            if (learner, order, seed, step) != ("finetune", "there", "0", 1)
        },
    }
    # Elsewhere no table differs between runs.
    assert TIMES not in TABLES


def test_an_order_that_is_not_finished_weighs_on_its_own_seed_alone(tmp_path):
    missing = {("finetune", "back", 1, "feature-hidden1"), ("finetune", "there", 0, "step-1")}
    tables = written(tmp_path, RUNS, missing)
    pra = {"learner": "finetune", "measure": "pra", "depth": "1"}
    assert spread(tables["summary"], **pra)[::2] == pytest.approx(((0.85 + 1.0) / 2, 2))
    assert len(cells(tables["rows"], learner="finetune", **ACCURACY)) == 2 * 2 * 3 * 2 - 2
    # Without all of R there is no metric of it: seed 0 has only the order `back` left.
    acc = {"learner": "finetune", "paper": "gem", "metric": "acc"}
    assert spread(tables["metrics"], **acc)[0] == pytest.approx((0.7 + 0.75) / 2)


def test_nothing_finished_gives_empty_tables_not_zeros(tmp_path):
    missing = {
        ("finetune", order, seed, part)
        for order, seed in FINETUNE
        for part in ("step-0", "step-1", "step-2", "feature-hidden1")
    }
    tables = written(tmp_path, ["finetune"], missing)
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
    # Of the costs, see `toy_study.cost`.
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
    rows = cells(written(tmp_path, learners)["metrics"], learner="finetune")
    rows = [row for row in rows if not row["metric"].startswith("cl_")]  # see test_cl_scores
    found = {(r["paper"], r["metric"]): (float(r["mean"]), float(r["std"])) for r in rows}
    assert found.keys() == expected.keys()
    for name, (first, second, third, fourth) in expected.items():
        seeds = [(first + second) / 2, (third + fourth) / 2]
        reference = (np.mean(seeds), np.std(seeds, ddof=1))
        assert found[name] == pytest.approx(reference, abs=1e-12), name
    assert {row["seeds"] for row in rows} == {"2"}
    of_costs = ("ms", "sss", "ce", "model_size_mb")
    headless = {
        name for name in expected if name[0] in ("murata", "deep_shallow") or name[1] in of_costs
    }
    assert {(r["paper"], r["metric"]) for r in rows if r["head"] == ""} == headless
    assert {row["head"] for row in rows} == {"", "single"}


def test_offline_has_a_pra_and_no_metric_of_the_matrix(tables):
    rows = cells(tables["metrics"], learner="offline")
    assert [(row["paper"], row["metric"]) for row in rows] == [("murata", "pra[output]")]


def test_cumulative_learning_has_no_intransigence_against_itself(tables):
    own = {"learner": "cumulative", "paper": "chaudhry"}
    assert spread(tables["metrics"], metric="intransigence[2]", **own) == (0, 0, 2)


def test_one_seed_has_no_deviation(tmp_path):
    missing = {("finetune", order, 1, f"step-{k}") for order in ("there", "back") for k in range(3)}
    acc = written(tmp_path, ["finetune"], missing)["metrics"]
    mean, std, seeds = spread(acc, paper="gem", metric="acc")
    assert (mean, seeds) == (pytest.approx(0.7), 1)
    assert math.isnan(std)


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "summary.csv").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*summary.csv \(Is a directory\): make"):
        written(tmp_path, ["finetune"])
    assert not list(tmp_path.glob("*.tmp"))
