"""A[l, t, j] of networks whose layers are known to hold what they hold: laws of the whole."""

from __future__ import annotations

import copy
import math
from itertools import product

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from probe import Examples, partial_retrain
from probe.metrics.counts import Counts
from probe.readouts.readout import Knn, Linear
from probe.results.analysis import Analysis
from probe.results.evaluations import At
from probe.training.batch_norm import reestimated
from tests.probe.by_layer.nets import (
    BEHIND,
    FEATURES,
    RECIPE,
    TASKS,
    analyzed,
    digits,
    finetuned,
    fresh,
    offline,
    rows,
    with_output_of,
)

READOUTS = ("retrain", "linear")
HIDDEN = list(product(READOUTS, BEHIND))


@pytest.fixture(scope="module")
def whole() -> Analysis:
    models = {1: finetuned(1), 3: finetuned(3)}
    return analyzed(models, untrained=fresh(), offline=offline(), seeds=2)


def plain_accuracies(model: nn.Module) -> list[float]:
    """The accuracy on each task, with nothing of ours."""
    _, test = digits()
    with torch.no_grad():
        predicted = model.eval()(test.x).argmax(1)
    own = [torch.isin(test.y, torch.tensor(classes)) for classes in TASKS]
    return [float((predicted == test.y)[of].double().mean()) for of in own]


def test_an_untrained_prefix_retains_nothing_whatever_is_behind_it() -> None:
    last = with_output_of(fresh(), offline())
    found = analyzed({3: last}, untrained=fresh(), offline=offline(), seeds=3)
    retained = rows(found, "retained")
    for key in HIDDEN:
        assert retained[key].value == 0
        assert retained[key].low <= 0 <= retained[key].high
    assert retained["retrain", "output"].value != 0


def test_an_offline_prefix_retains_all_whatever_is_behind_it() -> None:
    last = with_output_of(offline(), fresh())
    found = analyzed({3: last}, untrained=fresh(), offline=offline(), seeds=3)
    retained = rows(found, "retained")
    assert {retained[key].value for key in HIDDEN} == {1.0}
    assert {(retained[key].low, retained[key].high) for key in HIDDEN} == {(1.0, 1.0)}
    assert rows(found, "missing")["retrain", "relu2"].value == 0
    assert retained["retrain", "output"].value != 1


def test_an_unchanged_network_has_forgotten_nothing_and_a_changed_one_has() -> None:
    same = analyzed({1: finetuned(), 3: finetuned()})
    other = analyzed({1: finetuned(1), 3: finetuned()})
    for place in (None, 1, 2, 3):
        assert {row.value for row in rows(same, "forgotten", place).values()} == {0.0}
    forgotten = rows(other, "forgotten", 1)
    assert min(forgotten[readout, "relu2"].value for readout in READOUTS) > 0.05
    assert forgotten["retrain", "output"].value > 0.5


@pytest.mark.parametrize("readout", READOUTS)
def test_at_the_output_it_is_the_accuracy_matrix_bit_for_bit(whole: Analysis, readout: str) -> None:
    at_output = whole.matrix("output", readout).values
    np.testing.assert_array_equal(at_output, whole.R.values)
    np.testing.assert_array_equal(at_output[1], plain_accuracies(finetuned(1)))
    np.testing.assert_array_equal(at_output[3], plain_accuracies(finetuned()))
    np.testing.assert_array_equal(whole.ceiling("output", readout), plain_accuracies(offline()))
    assert np.isnan(at_output[2]).all()
    assert not np.array_equal(whole.matrix("relu2", readout).values[3], at_output[3])


def test_behind_a_feature_retraining_is_the_protocol_for_one_model(whole: Analysis) -> None:
    train, test = digits()
    for seed in range(2):
        single = partial_retrain(finetuned(), FEATURES, train, test, TASKS, RECIPE, seed=seed)
        for feature in FEATURES:
            one = whole.evaluations[At(3, feature, "retrain", seed)]
            assert one.counts == single.counts[feature]
    first, second = (whole.evaluations[At(3, "relu2", "retrain", seed)] for seed in range(2))
    assert first.counts != second.counts


def test_the_linear_readout_is_scikit_learn_s(whole: Analysis) -> None:
    train, test = digits()
    with torch.no_grad():
        inputs = [finetuned()[:2](each.x).numpy() for each in (train, test)]
    scaler = StandardScaler().fit(inputs[0])
    theirs = LogisticRegression(max_iter=5000, tol=1e-8).fit(scaler.transform(inputs[0]), train.y)
    right = theirs.predict(scaler.transform(inputs[1])) == test.y.numpy()
    # Ours stops where a ten-thousandth of the objective is left.
    assert (right != whole.right(3, "relu1", "linear")).mean() < 0.03
    assert (right != whole.right(3, "relu2", "linear")).mean() > 0.1


def test_the_mean_over_seeds_stands_in_a_cell(whole: Analysis) -> None:
    _, test = digits()
    own = np.isin(test.y.numpy(), TASKS[1])
    mean = whole.right(3, "relu2", "retrain")[:, own].mean()
    assert whole.matrix("relu2", "retrain").cell(3, 2) == pytest.approx(mean, abs=1e-12)
    value = rows(whole, "accuracy", 2)["retrain", "relu2"].value
    assert value == pytest.approx(mean, abs=1e-12)


def test_all_evaluations_keep_counts_and_what_was_right(whole: Analysis) -> None:
    _, test = digits()
    steps, seeds = (0, 1, 3, "offline"), range(2)
    expected = set(product(steps, FEATURES, READOUTS, seeds))
    assert set(whole.evaluations) == expected
    for one in whole.evaluations.values():
        assert one.counts.total == one.right.size == len(test)
        assert np.trace(one.counts.table) == one.right.right.sum()


def test_the_untrained_network_is_row_0_and_the_floor(whole: Analysis) -> None:
    again = analyzed({0: fresh(), 3: finetuned()}, offline=offline(), seeds=2)
    for readout, feature in product(READOUTS, FEATURES):
        floor = whole.matrix(feature, readout).values[0]
        np.testing.assert_array_equal(again.matrix(feature, readout).values[0], floor)
        right = whole.right(0, feature, readout)
        assert rows(whole, "floor")[readout, feature].value == pytest.approx(right.mean())


def test_a_dead_layer_is_flagged_and_a_living_one_is_not() -> None:
    dead = offline()
    with torch.no_grad():
        dead.get_submodule("hidden2").bias.fill_(-1e3)
    found = analyzed({3: dead}, offline=offline())
    assert found.dead_units[3, "relu2"] == 1.0
    assert max(found.dead_units[3, "relu1"], found.dead_units["offline", "relu2"]) < 1
    of_last = [note for note in found.notes if "the model after 3 tasks" in note]
    assert any("relu2: all of its units are dead" in note for note in of_last)
    for readout in READOUTS:
        named = f"{readout}: the model after 3 tasks: relu2: it predicts class"
        assert any(note.startswith(named) for note in of_last)
    assert any(note.startswith("the model after 3 tasks: output: it pre") for note in of_last)
    others = [note for note in found.notes if "relu1" in note or note not in of_last]
    assert not any("predicts" in note or "dead" in note for note in others)


def test_an_untrained_batch_norm_gets_the_statistics_of_the_training_inputs() -> None:
    train, _ = digits()
    net, given = fresh(norm=True), fresh(norm=True)
    found = analyzed({1: net, 3: net}, untrained=given)
    norm = reestimated(net, train.x).get_submodule("norm")
    with torch.no_grad():
        inputs = net[:2](train.x)
    # The mean over batches of one size is that over all.
    torch.testing.assert_close(norm.running_mean, inputs.mean(0), rtol=1e-3, atol=1e-4)
    expected = copy.deepcopy(net)
    expected.load_state_dict(
        expected.state_dict() | {f"norm.{name}": value for name, value in norm.state_dict().items()}
    )
    np.testing.assert_array_equal(found.R.values[0], plain_accuracies(expected))
    # As row 1 the same network keeps the statistics that it has: of nothing.
    floor, kept = (found.matrix("relu2", "retrain").values[row] for row in (0, 1))
    assert not np.array_equal(floor, kept)
    pairs = zip(given.state_dict().values(), fresh(norm=True).state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_no_labels_go_into_the_statistics_of_the_floor() -> None:
    train, _ = digits()
    turned = Examples(train.x, (train.y + 1) % 10)
    both = [
        analyzed({3: fresh(norm=True)}, untrained=fresh(norm=True), train=each, readouts=["ncm"])
        for each in (train, turned)
    ]
    np.testing.assert_array_equal(both[0].R.values, both[1].R.values)
    first, second = (each.matrix("relu2", "ncm").values for each in both)
    assert (first[0] > second[0]).all()


def test_on_shuffled_labels_readouts_are_at_chance_and_on_true_ones_above() -> None:
    train, _ = digits()
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))
    shuffled = Examples(train.x, train.y[order])
    asked = ["retrain", "linear", "ncm", Knn(k=5)]
    for data, low, high in ((shuffled, 0.0, 0.22), (train, 0.6, 1.0)):
        found = analyzed({3: offline()}, train=data, readouts=asked)
        scores = [row.value for key, row in rows(found, "accuracy").items() if key[1] in BEHIND]
        assert len(scores) == 8
        assert low <= min(scores) <= max(scores) <= high


def test_one_seed_has_no_intervals_and_several_have() -> None:
    given = {"untrained": fresh(), "offline": offline()}
    one, two = (analyzed({3: finetuned()}, seeds=seeds, **given) for seeds in (1, 2))
    assert all(math.isnan(row.low) and math.isnan(row.high) for row in one.layers())
    assert not any(math.isnan(row.low) for row in two.layers() if row.value == row.value)
    assert [row.feature for row in one.starts()] == ["", ""]
    assert "[" not in str(one)
    assert "[" in str(two)


def test_the_networks_are_not_changed() -> None:
    models = {0: fresh(norm=True), 3: fresh(1, norm=True).train()}
    before = copy.deepcopy(models)
    analyzed(models)
    for step, model in models.items():
        state, old = model.state_dict(), before[step].state_dict()
        assert all(torch.equal(state[name], value) for name, value in old.items())
    assert models[3].training


def test_features_are_taken_by_depth_in_whatever_order_they_are_named() -> None:
    turned = analyzed({3: offline()}, features=FEATURES[::-1], readouts=[Linear(C=0.5)])
    plain = analyzed({3: offline()}, readouts=[Linear(C=0.5)])
    assert turned.features == plain.features == tuple(FEATURES)
    assert list(map(repr, turned.layers())) == list(map(repr, plain.layers()))


class Named(nn.Module):
    """A network that wants its input by name, and returns more than its logits, two unused."""

    def __init__(self, net: nn.Sequential) -> None:
        super().__init__()
        self.net = copy.deepcopy(net)

    def forward(self, pixels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.net(pixels)
        spare = logits.new_full((len(logits), 2), 1e6)
        return {"scores": torch.cat([spare, logits], 1), "pixels": pixels}


def test_models_are_called_and_read_as_they_want_it() -> None:
    train, test = (Examples({"pixels": each.x}, each.y) for each in digits())
    asked = {"readouts": ["linear"], "features": BEHIND}
    plain = analyzed({3: finetuned()}, untrained=fresh(), **asked)
    asked |= {"features": [f"net.{name}" for name in BEHIND], "train": train, "test": test}
    named = {"output": "scores", "classes": range(2, 12)}
    found = analyzed({3: Named(finetuned())}, untrained=Named(fresh()), **asked, **named)
    np.testing.assert_array_equal(found.R.values, plain.R.values)
    for one, other in zip(plain.features, found.features, strict=True):
        expected = plain.matrix(one, "linear").values
        np.testing.assert_array_equal(found.matrix(other, "linear").values, expected)


def test_text_has_a_line_for_each_feature_and_says_where_forgetting_starts(
    whole: Analysis,
) -> None:
    text = str(whole)
    tables = text.split("readout ")[1:]
    assert [table.split(",")[0] for table in tables] == list(READOUTS)
    for table in tables:
        _, titles, *lines = table.splitlines()
        assert titles.split() == ["feature", "accuracy", "floor", "ceiling", "missing", "retained"]
        assert [line.split()[0] for line in lines[:3]] == FEATURES
        accuracy = float(lines[2].split()[1])
        assert accuracy == pytest.approx(100 * whole.R.values[3].mean(), abs=10)
        assert lines[3].startswith("model: ")


def test_counts_are_of_the_whole_test_set() -> None:
    _, test = digits()
    found = analyzed({3: finetuned()}, readouts=["ncm"], features=["relu1"])
    with torch.no_grad():
        predicted = finetuned()(test.x).argmax(1)
    assert found.own[3].counts == Counts.of(test.y, predicted, 10)
    assert np.isnan(found.ceiling("relu1", "ncm")).all()
    assert found.starts() == []
