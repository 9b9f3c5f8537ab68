"""Kemker's scenarios through a study: its tables against a plain re-evaluation of what it saved."""

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score
from torch import nn

from scenarios.data.datasets import load
from scenarios.streams import permutation
from tests.scenarios.probed import rows, value
from tests.scenarios.tiny_run import Tiny

STUDY = """
orders = {orders}
[scenario]
{scenario}
data = "digits"
train_limit = 30
[network]
name = "mlp"
features = ["output"]
[training]
epochs = 8
batch_size = 32
[probing]
checkpoints = "all"
[learners.offline]
{rest}
"""
PERMUTED = STUDY.format(
    orders="{ there = [1, 2, 3], back = [3, 1, 2] }",
    scenario='kind = "permutation"\nsessions = 3',
    rest="[learners.finetune]",
)
INCREMENTAL = STUDY.format(
    orders='"none"',
    scenario='kind = "incremental"\nbase = 7',
    rest='[learners.er]\nmemory_per_class = 4\n[report]\nmean = "classes"',
)
TEST = load("digits").test
Y = TEST.y.numpy()
EVERY = list(range(10))


def matrix(tiny, learner, order="0"):
    """Return R by step and position, from the table."""
    own = {"learner": learner, "order": order, "metric": "accuracy", "feature": ""}
    found = rows(tiny, "measurements", head="single", **own)
    return {
        (int(row["tasks_seen"]), int(row["task_position"])): float(row["value"])
        for row in found
    }


def predicted(tiny, job, tasks_seen, x, seen):
    """Return what a saved model predicts among the classes seen, by a plain network."""
    [file] = tiny.root.glob(f"jobs/{job}/*/after-{tasks_seen}.pt")
    layers = []
    state = torch.load(file, weights_only=True)["state_dict"]
    for weight, bias in zip(*[iter(state.values())] * 2, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        layers += [layer, nn.ReLU()]
    with torch.no_grad():
        scores = nn.Sequential(*layers[:-1])(x.flatten(1)).numpy()
    return np.array(seen)[scores[:, seen].argmax(1)]


def test_r_is_the_accuracy_on_each_sessions_own_permuted_test_data(
    tmp_path,
):
    tiny = Tiny(tmp_path / "tiny").ran(PERMUTED)
    x = TEST.x.flatten(1)

    def accuracies(job, tasks_seen, sessions):
        each = [x if k == 1 else x[:, permutation(64, k, 0)] for k in sessions]
        return [
            float(np.mean(predicted(tiny, job, tasks_seen, own, EVERY) == Y))
            for own in each
        ]

    for order, sessions in (("there", (1, 2, 3)), ("back", (3, 1, 2))):
        R = matrix(tiny, "finetune", order)
        job = f"finetune.order-{order}.seed-0"
        for tasks_seen in (1, 2, 3):
            expected = accuracies(job, tasks_seen, sessions)
            assert [R[tasks_seen, position] for position in (1, 2, 3)] == expected
            # The session was learned, in its own permutation.
            assert expected[tasks_seen - 1] > 0.6
            assert accuracies(job, tasks_seen, (*sessions[1:], sessions[0])) != expected
    R = matrix(tiny, "offline", "")
    assert [R[3, task_position] for task_position in (1, 2, 3)] == accuracies(
        "offline.seed-0", 3, (1, 2, 3)
    )


def test_mean_per_class_is_balanced_accuracy_and_over_examples_it_is_accuracy(
    tmp_path,
):
    """Of the base session, whose classes have 35 to 37 test digits each."""
    tiny = Tiny(tmp_path / "tiny").ran(INCREMENTAL)
    groups = [tuple(range(7)), (7,), (8,), (9,)]
    R = matrix(tiny, "er")
    alpha_all = []
    for tasks_seen in (1, 2, 3, 4):
        seen = list(sum(groups[:tasks_seen], ()))
        labels = predicted(tiny, "er.order-0.seed-0", tasks_seen, TEST.x, seen)
        own = np.array([np.mean(labels[c == Y] == c) for c in EVERY])
        expected = [own[list(group)].mean() for group in groups]
        found = [R[tasks_seen, position] for position in (1, 2, 3, 4)]
        assert found == pytest.approx(expected, abs=1e-12)
        among = np.isin(Y, seen)
        alpha_all.append(balanced_accuracy_score(Y[among], labels[among]))
    offline = predicted(tiny, "offline.seed-0", 4, TEST.x, EVERY)
    ideal = np.mean([np.mean(offline[c == Y] == c) for c in range(7)])
    omega = value(tiny, "metrics", "mean", learner="er", metric="omega_all")
    assert omega == pytest.approx(np.mean(alpha_all[1:]) / ideal, abs=1e-12)
    tiny.ran(INCREMENTAL.replace('"classes"', '"examples"'))
    over = matrix(tiny, "er")[4, 1]
    assert over == pytest.approx(np.mean(labels[Y < 7] == Y[Y < 7]), abs=1e-12)
    assert over != R[4, 1]
