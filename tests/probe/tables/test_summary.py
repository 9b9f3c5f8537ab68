import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import InputError
from probe.metrics.mean_over_seeds import mean_over_seeds
from probe.tables.rows import Row
from probe.tables.summary import Layer, mean_accuracies, pra_by_step, summarize


def a_row(seed, order, value, learner="er", **cells) -> Row:
    known = {"scenario": "digits", "network": "cnn3", "learner": learner, "order": order}
    return Row(**known, seed=seed, value=value, **cells)


def pra(*run, feature="conv1", depth=1, **given) -> Row:
    return a_row(*run, measure="pra", feature=feature, depth=depth, **given)


def f1(seed, order, place, task, value) -> Row:
    at = {"feature": "conv1", "depth": 1, "place": place, "task": task}
    return a_row(seed, order, value, measure="f1", **at)


def accuracy(seed, order, step, place, value, **given) -> Row:
    at = {"step": step, "place": place, "task": f"t{place}"}
    return a_row(seed, order, value, measure="accuracy", **at, **given)


UNEQUAL = [pra(0, "0", 0.9), pra(0, "1", 0.6), pra(0, "2", 0.3), pra(1, "0", 1.0)]


def test_orders_are_averaged_within_a_seed_before_the_seeds():
    (row,) = summarize(UNEQUAL)
    assert row.mean == pytest.approx((0.6 + 1.0) / 2)
    assert row.std == pytest.approx(math.sqrt(0.2**2 + 0.2**2))
    assert row.seeds == 2
    pooled = np.array([r.value for r in UNEQUAL])
    assert row.mean != pytest.approx(pooled.mean())
    assert row.std != pytest.approx(pooled.std(ddof=1))


def test_the_deviation_of_a_single_seed_is_nan_however_many_its_orders():
    (row,) = summarize(UNEQUAL[:3])
    assert row.mean == pytest.approx(0.6)
    assert math.isnan(row.std)
    assert row.seeds == 1


def test_f1_is_grouped_by_place_not_by_task():
    rows = [
        f1(0, "0", 1, "a", 0.2),
        f1(0, "0", 2, "b", 0.9),
        f1(0, "1", 1, "b", 0.4),
        f1(0, "1", 2, "a", 0.7),
    ]
    means = {row.place: row.mean for row in summarize(rows)}
    assert means == pytest.approx({1: 0.3, 2: 0.8})
    by_task = {"a": (0.2 + 0.7) / 2, "b": (0.9 + 0.4) / 2}
    assert sorted(means.values()) != pytest.approx(sorted(by_task.values()))


def test_rows_come_by_learner_as_first_seen_then_measure_depth_and_place():
    rows = [
        accuracy(0, "0", 1, 1, 0.5, learner="zeta"),
        f1(0, "0", 10, "j", 0.1),
        f1(0, "0", 2, "b", 0.1),
        pra(0, "0", 0.1, feature="b", depth=2),
        pra(0, "0", 0.1, feature="c", depth=10),
        pra(0, "0", 0.1, feature="z", depth=1),
        pra(0, "0", 0.1, learner="zeta"),
    ]
    order = [(r.learner, r.measure, r.depth, r.place) for r in summarize(rows)]
    assert order == [
        ("zeta", "pra", 1, None),
        ("er", "pra", 1, None),
        ("er", "pra", 2, None),
        ("er", "pra", 10, None),
        ("er", "f1", 1, 2),
        ("er", "f1", 1, 10),
    ]


def test_summary_of_a_balanced_study_equals_numpys_whatever_the_order_of_the_rows():
    values = np.random.default_rng(0).random((4, 5))
    rows = [pra(s, str(o), float(v)) for (s, o), v in np.ndenumerate(values)]
    (row,) = summarize(rows)
    per_seed = values.mean(axis=1)
    assert row.mean == pytest.approx(per_seed.mean(), abs=1e-15)
    assert row.std == pytest.approx(per_seed.std(ddof=1), abs=1e-15)
    random.Random(0).shuffle(rows)
    assert summarize(rows) == [row]


def test_what_was_not_measured_counts_nowhere():
    (row,) = summarize([pra(0, "0", 0.4), pra(0, "1", math.nan), pra(1, "0", math.nan)])
    assert (row.mean, row.seeds) == (0.4, 1)
    assert summarize([pra(0, "0", math.nan)]) == []


def test_accuracies_are_averaged_over_orders_then_seeds_and_the_rest_is_nan():
    rows = [
        accuracy(0, "0", 1, 1, 0.9),
        accuracy(0, "1", 1, 1, 0.6),
        accuracy(0, "2", 1, 1, 0.3),
        accuracy(1, "0", 1, 1, 1.0),
        accuracy(0, "0", 2, 1, 0.25),
        accuracy(0, "0", 2, 2, math.nan),
        *(accuracy(0, "0", 2, place, 0.99, learner="finetune") for place in (1, 2)),
        pra(0, "0", 0.1, learner="gem"),
    ]
    assert list(mean_accuracies(rows)) == ["er", "finetune"]
    assert (mean_accuracies(rows)["finetune"].values[2] == 0.99).all()
    R = mean_accuracies(rows)["er"]
    assert R.tasks == 2
    assert R.values[1, 0] == pytest.approx(0.8)
    assert R.values[1, 0] != pytest.approx((0.9 + 0.6 + 0.3 + 1.0) / 4)
    assert R.values[2, 0] == 0.25
    assert np.isnan(R.values).sum() == 4


def test_an_offline_run_fills_the_first_and_the_last_row_alone():
    rows = [
        accuracy(0, "", step, place, 0.1 * place, learner="offline")
        for step in (0, 3)
        for place in (1, 2, 3)
    ]
    R = mean_accuracies(rows)["offline"]
    assert R.values.shape == (4, 3)
    assert not np.isnan(R.values[[0, 3]]).any()
    assert np.isnan(R.values[[1, 2]]).all()


def test_each_learners_accuracies_equal_numpys_whatever_the_others_are():
    values = np.random.default_rng(0).random((2, 3, 4, 5, 4))
    rows = [
        accuracy(s, str(o), step, place + 1, float(v), learner=f"er{learner}")
        for (learner, s, o, step, place), v in np.ndenumerate(values)
    ]
    random.Random(0).shuffle(rows)
    matrices = mean_accuracies(rows)
    assert list(matrices) == list(dict.fromkeys(row.learner for row in rows))
    for learner, own in enumerate(values):
        expected = own.mean(axis=1).mean(axis=0)
        assert matrices[f"er{learner}"].values == pytest.approx(expected, abs=1e-15)


def test_fewer_cells_than_tasks_are_refused_as_no_evaluation_gives_them():
    whole = [accuracy(0, "0", 2, place, 0.5) for place in (1, 2)]
    assert mean_accuracies(whole)["er"].tasks == 2
    with pytest.raises(InputError, match="of 'er' name 2 tasks, but have 1 cells of R"):
        mean_accuracies(whole[1:])


@pytest.mark.parametrize("other", [{"scenario": "mnist"}, {"network": "mlp"}])
def test_rows_of_two_studies_are_not_averaged(other):
    rows = [pra(0, "0", 0.5), replace(pra(1, "0", 0.5), **other)]
    with pytest.raises(InputError, match="different studies"):
        summarize(rows)
    with pytest.raises(InputError, match="different studies"):
        mean_accuracies(rows)


def test_a_row_without_the_cells_of_its_measure_is_refused():
    with pytest.raises(InputError, match="needs a depth from 1, got None"):
        summarize([replace(pra(0, "0", 0.5), depth=None)])
    with pytest.raises(InputError, match="needs a place from 1, got 0"):
        summarize([f1(0, "0", 0, "a", 0.5)])
    with pytest.raises(InputError, match="needs a step from 0, got -1"):
        mean_accuracies([accuracy(0, "0", -1, 1, 0.5)])


pairs = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=12)


@given(pairs=pairs)
def test_a_spread_is_numpys_mean_and_deviation_of_the_seeds_means(pairs):
    spread = mean_over_seeds(pairs)
    seeds = sorted({seed for seed, _ in pairs})
    means = [np.mean([value for own, value in pairs if own == seed]) for seed in seeds]
    assert spread.seeds == len(seeds)
    assert spread.mean == pytest.approx(np.mean(means), abs=1e-15)
    if len(seeds) > 1:
        assert spread.std == pytest.approx(np.std(means, ddof=1), abs=1e-12)
    else:
        assert math.isnan(spread.std)


@given(pairs=pairs, data=st.data())
def test_the_order_of_runs_and_what_was_not_measured_change_no_bit_of_a_spread(pairs, data):
    spread = mean_over_seeds(pairs)
    missing = data.draw(st.lists(st.tuples(st.integers(0, 9), st.just(math.nan)), max_size=3))
    other = mean_over_seeds(data.draw(st.permutations(pairs + missing)))
    assert repr(other) == repr(spread)


@given(pairs=pairs)
def test_a_new_seed_at_the_mean_leaves_it_there_and_narrows_the_spread(pairs):
    before = mean_over_seeds(pairs)
    after = mean_over_seeds([*pairs, (9, before.mean)])
    assert after.mean == pytest.approx(before.mean, abs=1e-15)
    assert after.seeds == before.seeds + 1
    assert math.isnan(before.std) or after.std <= before.std + 1e-15


@given(pairs=pairs, scale=st.floats(0.1, 10), shift=st.floats(-1, 1))
def test_a_spread_scales_and_shifts_with_its_scores(pairs, scale, shift):
    before, after = (
        mean_over_seeds([(seed, a * value + b) for seed, value in pairs])
        for a, b in ((1, 0), (scale, shift))
    )
    assert after.mean == pytest.approx(scale * before.mean + shift, abs=1e-12)
    assert after.std == pytest.approx(scale * before.std, abs=1e-12, nan_ok=True)


def test_of_several_steps_and_readouts_the_last_step_of_retraining_is_summarized():
    """The untrained network's last step is 0; other readouts and variants are other measures."""
    rows = [
        pra(0, "0", 0.1, step=1, readout="retrain"),
        pra(0, "0", 0.2, step=3, readout="retrain"),
        pra(0, "0", 0.3, step=3, readout="linear"),
        pra(0, "0", 0.4, step=4, readout="linear"),
        pra(0, "0", 0.5, step=3, readout="retrain@2"),
        pra(0, "0", 0.6, step=3, feature="output", depth=2),
        pra(0, "0", 0.7, step=2, feature="output", depth=2),
        pra(0, "", 0.8, step=0, learner="untrained", readout="retrain"),
        pra(0, "", 0.9, step=0, learner="untrained", readout="linear"),
    ]
    found = {(row.learner, row.feature): row.mean for row in summarize(rows)}
    expected = {("er", "conv1"): 0.2, ("er", "output"): 0.6, ("untrained", "conv1"): 0.8}
    assert found == pytest.approx(expected)


def test_cells_of_a_features_own_matrix_are_not_in_r():
    own = {"feature": "conv1", "depth": 1, "readout": "linear"}
    R = [accuracy(0, "0", step, place, 0.5) for step in (0, 1, 2) for place in (1, 2)]
    A = [replace(row, value=0.9, **own) for row in R]
    found = mean_accuracies([*R, *A, *(replace(row, step=9) for row in A)])["er"]
    assert found.tasks == 2
    assert (found.values == 0.5).all()
    assert mean_accuracies(A) == {}


def test_pra_by_step_is_a_mean_over_seeds_of_means_of_orders_for_each_readout():
    rows = [
        replace(row, step=step, readout=readout, value=scale * row.value)
        for step, readout, scale in ((2, "linear", 0.5), (1, "linear", 1), (1, "retrain", 0.1))
        for row in UNEQUAL
    ]
    output = [pra(0, "0", 0.25, step=k, feature="output", depth=2) for k in (1, 2)]
    untrained = [pra(0, "", 0.75, step=0, learner="untrained", readout="linear")]
    old = [pra(0, "0", 0.0, readout="linear")]
    found = pra_by_step([*output, *rows, *untrained, *old], "linear")
    means = {layer: {k: each.mean for k, each in own.items()} for layer, own in found.items()}
    assert list(means) == [
        Layer("er", 1, "conv1"),
        Layer("er", 2, "output"),
        Layer("untrained", 1, "conv1"),
    ]
    assert list(means[Layer("er", 1, "conv1")]) == [1, 2]
    assert means[Layer("er", 1, "conv1")] == pytest.approx({1: 0.8, 2: 0.4})
    assert means[Layer("er", 2, "output")] == {1: 0.25, 2: 0.25}
    assert means[Layer("untrained", 1, "conv1")] == {0: 0.75}
    (two,) = pra_by_step(rows, "retrain").values()
    assert two[1].mean == pytest.approx(0.08)
    # conv1 of `retrain` does not take part, and nothing else is there.
    assert pra_by_step(rows, "knn") == {}
