"""A[l, t, j] of networks whose layers are known to hold what they hold: laws of the whole."""

import copy
import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from probe import (
    Examples,
    Measure,
    Model,
    analyze,
    partial_retrain,
    predictions,
)
from probe.metrics.counts import Counts
from probe.readouts.readout import Linear
from probe.results.tables import DEAD
from probe.seeding import python_generators
from probe.training.batch_norm import reestimate
from tests.probe.by_layer.nets import (
    FEATURES,
    INNER,
    RECIPE,
    SHORT,
    TASKS,
    analyzed,
    classes,
    digits,
    finetuned,
    fresh,
    offline,
    rows,
    with_output_of,
)
from tests.probe.calls import DATA, Scaled, net
from tests.probe.record.tiny import same_state

READOUTS = ("retrain", "linear")
HIDDEN = list(product(READOUTS, INNER))
CONTROLS = {"untrained": fresh(), "offline": offline()}


def predicted(model, classes=10):
    """The predictions among the first classes, with nothing of ours."""
    with torch.no_grad():
        return model.eval()(digits()[1].x)[:, :classes].argmax(1)


def accuracies(model, among=10):
    """The accuracy on each task."""
    _, test = digits()
    correct = predicted(model, among) == test.y
    return [
        float(correct[torch.isin(test.y, torch.tensor(own))].double().mean())
        for own in TASKS
    ]


@pytest.mark.parametrize(
    ("prefix", "output", "control"),
    [(fresh, offline, "floor"), (offline, fresh, "ceiling")],
)
def test_the_prefix_of_a_control_has_its_accuracy_whatever_follows(
    prefix, output, control
):
    found = analyzed({3: with_output_of(prefix(), output())}, **CONTROLS, recipe=SHORT)
    own, other = rows(found, "accuracy"), rows(found, control)
    assert [own[key].value for key in HIDDEN] == [other[key].value for key in HIDDEN]
    assert own["retrain", "output"].value != other["retrain", "output"].value
    retained = [rows(found, "retained")[key] for key in HIDDEN]
    known = {row.value for row in retained if not math.isnan(row.value)}
    assert known == {0.0 if control == "floor" else 1.0}


def test_an_unchanged_network_has_forgotten_nothing_and_a_changed_one_has(whole):
    every = Measure(steps={"retrain": "all"})
    same = analyzed(dict.fromkeys((1, 2, 3), finetuned()), readouts=every, recipe=SHORT)
    for task_position in (None, 1, 2):
        forgotten = rows(same, "forgotten", task_position)
        # At the output fewer classes compete after the first task than after all.
        assert {forgotten[key].value for key in HIDDEN} == {0.0}
    forgotten = rows(whole, "forgotten", 1)
    assert min(forgotten[readout, "relu2"].value for readout in READOUTS) > 0.05
    assert forgotten["retrain", "output"].value > 0.5


def test_at_the_output_it_is_the_accuracy_matrix_bit_for_bit(whole):
    for readout in READOUTS:
        at_output = whole.matrix("output", readout).values
        np.testing.assert_array_equal(at_output, whole.R.values)
        np.testing.assert_array_equal(
            whole.ceiling("output", readout), accuracies(offline())
        )
        assert not np.array_equal(
            whole.matrix("relu2", readout).values[3], at_output[3]
        )
    # Only the classes seen so far compete.
    np.testing.assert_array_equal(whole.R.values[1], accuracies(finetuned(1), among=3))
    np.testing.assert_array_equal(whole.R.values[3], accuracies(finetuned()))
    assert np.isnan(whole.R.values[2]).all()
    assert (classes(whole, 3) == predicted(finetuned()).numpy()).all()


def test_downstream_of_a_feature_retraining_is_the_protocol_for_one_model(whole):
    train, test = digits()
    for seed in range(2):
        single = partial_retrain(
            finetuned(),
            FEATURES,
            train,
            test,
            TASKS,
            RECIPE,
            seed=seed,
        )
        for feature in FEATURES:
            readout = "" if feature == "output" else "retrain"
            found = classes(whole, 3, feature, readout)[seed]
            assert Counts.of(test.y, found, 10) == single.counts[feature]
    first, second = classes(
        whole,
        3,
        "relu2",
        "retrain",
    )
    assert (first != second).any()


def test_a_dead_layer_is_flagged_and_a_living_one_is_not(tmp_path):
    dead = copy.deepcopy(offline())
    with torch.no_grad():
        dead.get_submodule("hidden2").bias.fill_(-1e3)
    measure = Measure(seeds=2)
    found = analyzed(
        {3: dead},
        offline=offline(),
        readouts=measure,
        recipe=SHORT,
    )
    units = found.tables()["diagnostics"].query("metric == 'dead'")
    share = units.set_index(["learner", "feature"])["value"].to_dict()
    assert share["model", "relu2"] == 1.0
    assert max(share["model", "relu1"], share["offline", "relu2"]) < 1
    notes = list(found.tables()["notes"].query("learner == 'model'").itertuples())
    flagged = {(n.seed, n.feature, n.readout) for n in notes if n.note == DEAD}
    assert flagged == {(0, "relu2", ""), (1, "relu2", "")}
    constant = {
        (n.feature, n.readout) for n in notes if n.note.startswith("it predicts")
    }
    assert constant == {("", ""), ("relu2", "retrain"), ("relu2", "linear")}
    assert f"model, relu2, after 3 tasks, in 2 runs: {DEAD}" in found.notes
    covered, *others = found.remarks()
    assert tuple(others) == found.notes
    found.report(tmp_path / "page.html")
    assert f"{covered}." in (tmp_path / "page.html").read_text()


def test_an_untrained_batch_norm_gets_the_statistics_of_the_training_inputs():
    train, _ = digits()
    net, given = fresh(norm=True), fresh(norm=True)
    measure = Measure(readouts=["ncm"])
    found = analyzed({1: net, 3: net}, untrained=given, readouts=measure)
    expected = copy.deepcopy(net)
    reestimate(expected, train.x)
    with torch.no_grad():
        inputs = net[:2](train.x)
    # The mean over batches of one size is that over all.
    norm = expected.get_submodule("norm")
    torch.testing.assert_close(
        norm.running_mean,
        inputs.mean(0),
        rtol=1e-3,
        atol=1e-4,
    )
    assert (classes(found, 0) == predicted(expected).numpy()).all()
    # As row 1 the same network keeps the statistics that it has: of nothing.
    floor, kept = (found.matrix("relu2", "ncm").values[row] for row in (0, 1))
    assert not np.array_equal(floor, kept)
    pairs = zip(
        given.state_dict().values(), fresh(norm=True).state_dict().values(), strict=True
    )
    assert all(torch.equal(one, other) for one, other in pairs)
    # No labels go into them.
    turned = Examples(train.x, (train.y + 1) % 10)
    other = analyzed(
        {1: net, 3: net},
        untrained=given,
        train=turned,
        readouts=measure,
    )
    assert (classes(other, 0) == classes(found, 0)).all()
    assert (other.matrix("relu2", "ncm").values[0] < floor).all()


def test_the_networks_are_not_changed():
    models = {0: fresh(norm=True), 3: fresh(1, norm=True).train()}
    before = copy.deepcopy(models)
    analyzed(
        models,
        offline="train",
        readouts=["ncm"],
        recipe=SHORT,
    )
    for tasks_seen, model in models.items():
        assert same_state(model.state_dict(), before[tasks_seen].state_dict())
    assert models[3].training


def test_features_are_taken_by_depth_in_whatever_order_they_are_named():
    given = {"models": {3: offline()}, "readouts": [Linear(C=0.5)]}
    turned, plain = (
        analyzed(**given, features=each) for each in (FEATURES[::-1], FEATURES)
    )
    assert turned.features == plain.features == tuple(FEATURES)
    assert turned.layers().equals(plain.layers())


class Named(nn.Module):
    """A network that wants its input by name, and returns more than its logits, two unused."""

    def __init__(self, net):
        super().__init__()
        self.net = copy.deepcopy(net)

    def forward(self, pixels):
        logits = self.net(pixels)
        spare = logits.new_full((len(logits), 2), 1e6)
        return {"scores": torch.cat([spare, logits], 1), "pixels": pixels}


def test_only_a_layer_that_did_not_move_has_a_similarity_of_one():
    frozen = net()
    moved = copy.deepcopy(frozen)
    moved[0].weight.data[0, 0] *= 1 + 1e-6
    for after, is_one in ((copy.deepcopy(frozen), True), (moved, False)):
        after[2].weight.data.neg_()
        result = analyze(
            {1: frozen, 2: after}, DATA, DATA, [[0], [1]], ["0"], readouts=["ncm"]
        )
        rows = result.tables()["diagnostics"].query("metric == 'cka.step-1'")
        (similarity,) = rows[rows["feature"] == "0"]["value"]
        assert similarity == pytest.approx(1, abs=1e-6)
        assert (similarity == 1) == is_one


def test_few_examples_of_a_readout_are_drawn_anew_for_each_seed():
    """The seeds' networks differ only downstream of the feature."""
    first, second = net(), net()
    second[0].load_state_dict(first[0].state_dict())
    networks = {0: {2: first}, 1: {2: second}}
    result = analyze(networks, DATA, DATA, [[0], [1]], ["0"], readouts=["linear:1"])
    rows = predictions(result).query("readout == 'linear:1' and feature == '0'")
    rows = rows[rows["learner"] == "model"]
    of_seed = rows.groupby("seed")["predicted"].agg(list)
    assert of_seed[0] != of_seed[1]


def test_models_are_called_and_read_as_they_want_it():
    train, test = (Examples({"pixels": each.x}, each.y) for each in digits())
    plain = analyzed(
        {3: finetuned()},
        untrained=fresh(),
        features=["relu1"],
        readouts=["linear"],
    )
    found = analyzed(
        Model({3: Named(finetuned())}, output="scores", classes=range(2, 12)),
        untrained=Named(fresh()),
        features=["net.relu1"],
        readouts=["linear"],
        train=train,
        test=test,
    )
    np.testing.assert_array_equal(found.R.values, plain.R.values)
    expected = plain.matrix("relu1", "linear").values
    np.testing.assert_array_equal(found.matrix("net.relu1", "linear").values, expected)


def test_where_no_fresh_network_can_be_drawn_there_is_no_floor():
    scaled, ceiling = (
        nn.Sequential(Scaled(64), *net) for net in (finetuned(), offline())
    )
    found = analyzed(
        {3: scaled},
        features=["2"],
        offline=ceiling,
        recipe=SHORT,
    )
    assert np.isnan(found.matrix("2", "linear").values[0]).all()
    assert np.isfinite(found.ceiling("2", "linear")).all()
    assert np.isfinite(found.matrix("2", "retrain").values[3]).all()


def test_results_do_not_depend_on_the_default_dtype_or_device():
    """On the device meta every tensor that takes the default device loses its values."""
    networks = {tasks_seen: net() for tasks_seen in range(3)}

    def tables():
        result = analyze(
            networks,
            DATA,
            DATA,
            [[0], [1]],
            ["1"],
            offline="train",
            readouts=["retrain", "linear", "ncm", "knn"],
            recipe=SHORT,
        )
        return {
            name: table for name, table in result.tables().items() if name != "times"
        }

    expected = tables()
    with torch.device("meta"):
        elsewhere = tables()
    with python_generators():  # which restores the default type, too
        torch.set_default_dtype(torch.float64)
        wider = tables()
    for name, table in expected.items():
        assert table.equals(elsewhere[name]), name
        assert table.equals(wider[name]), name


def test_each_seed_has_random_orders_of_many_blocks():
    changed = fresh(norm=True)
    for parameter in changed.parameters():
        parameter.data += 0.1
    found = analyzed(
        {1: fresh(norm=True), 3: changed},
        features=["hidden1", "norm", "hidden2"],
        readouts=Measure(readouts=["ncm"], hybrids=8, seeds=2, inherited=False),
    )
    of_seeds = found.causes().query("quantity == 'attributed'")
    assert set(of_seeds["seeds"]) == {2}
    assert {"norm", "output"} < set(of_seeds["feature"])
