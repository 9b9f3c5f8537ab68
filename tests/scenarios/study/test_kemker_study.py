"""Kemker's scenarios through a study: its tables against a plain re-evaluation of what it saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from torch import nn

from scenarios.data.datasets import load
from scenarios.streams.permuted import permutation
from tests.scenarios.probed import rows, value
from tests.scenarios.tiny_run import Tiny

PERMUTED = """
orders = {there = [1, 2, 3], back = [3, 1, 2]}
[scenario]
kind = "permutation"
data = "digits"
sessions = 3
train_limit = 30
[network]
name = "mlp"
features = ["output"]
[training]
epochs = 8
batch_size = 32
[probing]
checkpoints = "all"
[learners.finetune]
[learners.offline]
"""
INCREMENTAL = """
orders = "none"
[scenario]
kind = "incremental"
data = "digits"
base = 7
train_limit = 20
[network]
name = "mlp"
features = ["output"]
[training]
epochs = 4
batch_size = 16
[report]
mean = "classes"
[probing]
checkpoints = "all"
[learners.er]
memory_per_class = 4
[learners.offline]
"""
SESSIONS = {"there": (1, 2, 3), "back": (3, 1, 2), "": (1, 2, 3)}
TEST = load("digits").test
Y, EVERY = TEST.y.numpy(), list(range(10))


def matrix(tiny: Tiny, learner: str, order: str = "0") -> dict[tuple[int, int], float]:
    """Return R by step and position, from the table."""
    own = {"learner": learner, "order": order, "measure": "accuracy", "feature": ""}
    found = rows(tiny, "rows", head="single", **own)
    return {(int(row["step"]), int(row["place"])): float(row["value"]) for row in found}


def predicted(
    tiny: Tiny, job: str, step: int, x: torch.Tensor, seen: list[int]
) -> NDArray[np.int64]:
    """Return what a saved model predicts among the classes seen, by a plain network."""
    [file] = tiny.root.glob(f"jobs/{job}/*/step-{step}.pt")
    layers: list[nn.Module] = []
    for weight, bias in zip(*[iter(torch.load(file, weights_only=True).values())] * 2, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        layers += [layer, nn.ReLU()]
    with torch.no_grad():
        scores = nn.Sequential(*layers[:-1])(x.flatten(1)).numpy()
    labels: NDArray[np.int64] = np.array(seen)[scores[:, seen].argmax(1)]
    return labels


@pytest.fixture(scope="module")
def permuted(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    tiny = Tiny(tmp_path_factory.mktemp("permuted") / "tiny")
    tiny.run(PERMUTED)
    return tiny


@pytest.mark.parametrize(
    ("learner", "order"), [("finetune", "there"), ("finetune", "back"), ("offline", "")]
)
def test_r_is_the_accuracy_on_each_sessions_own_permuted_test_data(
    permuted: Tiny, learner: str, order: str
) -> None:
    def accuracies(step: int, sessions: tuple[int, ...]) -> list[float]:
        x = TEST.x.flatten(1)
        job = f"{learner}.order-{order}.seed-0" if order else f"{learner}.seed-0"
        each = [x if k == 1 else x[:, permutation(64, k, 0)] for k in sessions]
        return [float(np.mean(predicted(permuted, job, step, own, EVERY) == Y)) for own in each]

    R, sessions = matrix(permuted, learner, order), SESSIONS[order]
    for step in (1, 2, 3) if order else (3,):
        expected = accuracies(step, sessions)
        assert [R[step, place] for place in (1, 2, 3)] == pytest.approx(expected, abs=0)
        assert expected[step - 1] > 0.6  # the session was learned, in its own permutation
        if order:
            turned = accuracies(step, (*sessions[1:], sessions[0]))
            assert turned != pytest.approx(expected, abs=0.01)


def test_mean_per_class_is_balanced_accuracy_and_over_examples_it_is_accuracy(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Of the base session, whose classes have 35 to 37 test digits each."""
    tiny = Tiny(tmp_path_factory.mktemp("incremental") / "tiny")
    tiny.run(INCREMENTAL)
    groups = [tuple(range(7)), (7,), (8,), (9,)]
    R, alpha_all = matrix(tiny, "er"), []
    for step in (1, 2, 3, 4):
        seen = [c for group in groups[:step] for c in group]
        labels = predicted(tiny, "er.order-0.seed-0", step, TEST.x, seen)
        own = [np.mean(labels[c == Y] == c) for c in EVERY]
        expected = [np.mean([own[c] for c in group]) for group in groups]
        assert [R[step, place] for place in (1, 2, 3, 4)] == pytest.approx(expected, abs=1e-12)
        among = np.isin(Y, seen)
        alpha_all.append(balanced_accuracy_score(Y[among], labels[among]))
    offline = predicted(tiny, "offline.seed-0", 4, TEST.x, EVERY)
    ideal = np.mean([np.mean(offline[c == Y] == c) for c in range(7)])
    omega = value(tiny, "metrics", "mean", learner="er", metric="omega_all")
    assert omega == pytest.approx(np.mean(alpha_all[1:]) / ideal, abs=1e-12)
    tiny.run(INCREMENTAL.replace('"classes"', '"examples"'))
    over = matrix(tiny, "er")[4, 1]
    assert over == pytest.approx(np.mean(labels[Y < 7] == Y[Y < 7]), abs=1e-12)
    assert over != R[4, 1]
