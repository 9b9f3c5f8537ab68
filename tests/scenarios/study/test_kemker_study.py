"""Kemker's scenarios through a study: its tables against a plain re-evaluation of what it saved."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from torch import nn

from probe.tables.run_directory import TABLES, TIMES
from scenarios.data.datasets import load
from scenarios.streams.permuted import permutation
from tests.scenarios.probed import rows
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
features = ["hidden1"]
[training]
epochs = 8
batch_size = 32
[report]
heads = ["single"]
[probing]
readouts = { retrain = "last" }
checkpoints = "all"
[learners.finetune]
[learners.cumulative]
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
SESSIONS = {"there": (1, 2, 3), "back": (3, 1, 2)}

Table = list[dict[str, str]]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """A finished study: its directory, and its tables by name."""

    root: Path
    tables: Mapping[str, Table]

    @classmethod
    def of(cls, text: str, folder: Path) -> Run:
        tiny, tables = Tiny(folder), {}
        tiny.run(text)
        for name in (*TABLES, TIMES):
            with (tiny.root / name).open(newline="") as file:
                tables[name.removesuffix(".csv")] = list(csv.DictReader(file))
        return cls(tiny.root, tables)

    def values(self, measure: str, **given: str) -> dict[tuple[str, str], float]:
        """Return the values of a measure by step and place."""
        rows = [row for row in self.tables["rows"] if row["measure"] == measure]
        rows = [row for row in rows if all(row[name] == value for name, value in given.items())]
        found = {(row["step"], row["place"]): float(row["value"]) for row in rows}
        assert len(found) == len(rows) > 0
        return found

    def metric(self, learner: str, metric: str) -> float:
        [value] = {
            float(row["mean"])
            for row in self.tables["metrics"]
            if (row["learner"], row["metric"]) == (learner, metric)
        }
        return value

    def predicted(self, job: str, step: int, x: torch.Tensor, seen: list[int]) -> Labels:
        """Return what a saved model predicts among the classes seen, by a plain network."""
        [file] = (self.root / "jobs" / job).glob(f"*/step-{step}.pt")
        state = torch.load(file, weights_only=True)
        layers: list[nn.Module] = []
        for weight, bias in zip(*[iter(state.values())] * 2, strict=True):
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            layer.load_state_dict({"weight": weight, "bias": bias})
            layers += [layer, nn.ReLU()]
        with torch.no_grad():
            scores = nn.Sequential(*layers[:-1])(x.flatten(1)).numpy()
        labels: Labels = np.array(seen)[scores[:, seen].argmax(1)]
        return labels


@pytest.fixture(scope="module")
def permuted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.of(PERMUTED, tmp_path_factory.mktemp("permuted"))


@pytest.fixture(scope="module")
def by_class(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.of(INCREMENTAL, tmp_path_factory.mktemp("incremental"))


def session(number: int) -> torch.Tensor:
    """Return the test inputs (N, D) of a session, permuted here."""
    x = load("digits").test.x.flatten(1)
    return x if number == 1 else x[:, permutation(64, number, 0)]


def accuracies(run: Run, learner: str, order: str, step: int, turned: int = 0) -> list[float]:
    """Return the accuracies in executed order; turned: on the test data of later sessions."""
    y = load("digits").test.y.numpy()
    job = f"{learner}.order-{order}.seed-0" if order else f"{learner}.seed-0"
    sessions = SESSIONS[order] if order else (1, 2, 3)
    each = sessions[turned:] + sessions[:turned]
    return [
        float(np.mean(run.predicted(job, step, session(k), list(range(10))) == y)) for k in each
    ]


@pytest.mark.parametrize(
    ("learner", "order"),
    [("finetune", "there"), ("cumulative", "back"), ("offline", "")],
)
def test_r_is_the_accuracy_on_each_sessions_own_permuted_test_data(
    permuted: Run, learner: str, order: str
) -> None:
    R = permuted.values("accuracy", learner=learner, order=order, head="single")
    for step in (1, 2, 3) if order else (3,):
        expected = accuracies(permuted, learner, order, step)
        assert [R[str(step), place] for place in "123"] == pytest.approx(expected, abs=0)
        assert expected[step - 1] > 0.6  # the session was learned, in its own permutation
        if order:
            turned = accuracies(permuted, learner, order, step, 1)
            assert turned != pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("learner", ["finetune", "cumulative"])
def test_the_omegas_of_permuted_data_are_means_of_r(permuted: Run, learner: str) -> None:
    """alpha_ideal is offline's on the session that the order begins with; sessions weigh alike."""
    ideal = accuracies(permuted, "offline", "", 3)
    omegas: dict[str, list[float]] = {"omega_base": [], "omega_new": [], "omega_all": []}
    for order, sessions in SESSIONS.items():
        values = permuted.values("accuracy", learner=learner, order=order, head="single")
        R = np.array([[values[str(i), str(j)] for j in (1, 2, 3)] for i in (1, 2, 3)])
        alpha = ideal[sessions[0] - 1]
        omegas["omega_base"].append((R[1, 0] + R[2, 0]) / 2 / alpha)
        omegas["omega_new"].append((R[1, 1] + R[2, 2]) / 2)
        omegas["omega_all"].append((R[1, :2].mean() + R[2].mean()) / 2 / alpha)
    for name, each in omegas.items():
        assert permuted.metric(learner, name) == pytest.approx(np.mean(each), abs=1e-12)
    assert permuted.metric("cumulative", "omega_all") > permuted.metric("finetune", "omega_all")


def test_pra_is_over_the_test_examples_of_all_sessions_in_rows_and_metrics(permuted: Run) -> None:
    """And F1 is a session's own accuracy: each has as many test examples, and all classes."""
    plain = np.array([accuracies(permuted, "finetune", order, 3) for order in SESSIONS])
    ceiling = np.mean(accuracies(permuted, "offline", "", 3))
    assert permuted.metric("finetune", "pra[output]") == pytest.approx(plain.mean(), abs=1e-12)
    assert abs(plain[:, 0].mean() - plain.mean()) > 0.05
    for feature in ("hidden1", "output"):
        given = {"learner": "finetune", "feature": feature, "step": "3"}
        rows = [permuted.values("pra", order=order, **given)["3", ""] for order in SESSIONS]
        f1 = [list(permuted.values("f1", order=order, **given).values()) for order in SESSIONS]
        assert np.mean(f1, axis=1) == pytest.approx(rows, abs=1e-12)
        if feature == "output":
            assert np.array(f1) == pytest.approx(plain, abs=1e-12)
        else:
            assert np.min(f1) > 0.4  # retrained on all of them
        names = (f"pra[{feature}]", f"forgetting_strength[{feature}]")
        found = [permuted.metric("finetune", name) for name in names]
        assert found == pytest.approx([np.mean(rows), ceiling - np.mean(rows)], abs=1e-12)


def test_mean_per_class_is_balanced_accuracy_task_by_task(by_class: Run) -> None:
    """Of the base session, whose classes have 35 to 37 test digits each."""
    groups = [tuple(range(7)), (7,), (8,), (9,)]
    test = load("digits").test
    R = by_class.values("accuracy", learner="er", head="single")
    alpha_all, unbalanced = [], []
    for step in (1, 2, 3, 4):
        seen = [c for group in groups[:step] for c in group]
        predicted = by_class.predicted("er.order-0.seed-0", step, test.x, seen)
        y = test.y.numpy()
        own = [np.mean(predicted[y == c] == c) for c in range(10)]
        for place, group in enumerate(groups, 1):
            expected = np.mean([own[c] for c in group])
            assert R[str(step), str(place)] == pytest.approx(expected, abs=1e-12)
        among = np.isin(y, seen)
        alpha_all.append(balanced_accuracy_score(y[among], predicted[among]))
        unbalanced.append(np.mean(y[among] == predicted[among]))
    offline = by_class.predicted("offline.seed-0", 4, test.x, list(range(10)))
    ideal = np.mean([np.mean(offline[y == c] == c) for c in range(7)])
    omega = by_class.metric("er", "omega_all")
    assert omega == pytest.approx(np.mean(alpha_all[1:]) / ideal, abs=1e-12)
    assert omega != pytest.approx(np.mean(unbalanced[1:]) / ideal, abs=1e-6)

    # Over examples it is the plain accuracy of the base session.
    er = Tiny(by_class.root.parent)
    er.run(INCREMENTAL.replace('"classes"', '"examples"'))
    base = y < 7
    whole = by_class.predicted("er.order-0.seed-0", 4, test.x, list(range(10)))
    [row] = rows(er, "rows", learner="er", measure="accuracy", feature="", step=4, place=1)
    assert float(row["value"]) == pytest.approx(np.mean(whole[base] == y[base]), abs=1e-12)
    assert float(row["value"]) != R["4", "1"]
