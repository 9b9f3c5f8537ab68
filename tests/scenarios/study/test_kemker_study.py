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
heads = ["single", "multi", "all"]
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


def accuracies(run: Run, job: str, step: int, order: tuple[int, ...]) -> list[float]:
    y = load("digits").test.y.numpy()
    every = list(range(10))
    return [float(np.mean(run.predicted(job, step, session(k), every) == y)) for k in order]


@pytest.mark.parametrize("order", SESSIONS)
@pytest.mark.parametrize("learner", ["finetune", "cumulative"])
def test_r_is_the_accuracy_on_each_sessions_own_permuted_test_data(
    permuted: Run, learner: str, order: str
) -> None:
    R = permuted.values("accuracy", learner=learner, order=order, head="single")
    assert len(R) == 4 * 3
    for step in (1, 2, 3):
        expected = accuracies(permuted, f"{learner}.order-{order}.seed-0", step, SESSIONS[order])
        assert [R[str(step), str(place)] for place in (1, 2, 3)] == pytest.approx(expected, abs=0)
        assert expected[step - 1] > 0.6  # the session was learned, in its own permutation
        others = SESSIONS[order][1:] + SESSIONS[order][:1]
        swapped = accuracies(permuted, f"{learner}.order-{order}.seed-0", step, others)
        assert swapped != pytest.approx(expected, abs=0.01)
    assert R["1", "2"] < 0.4 < R["1", "1"]  # before it was learned


def test_offline_learns_all_permutations_at_once(permuted: Run) -> None:
    R = permuted.values("accuracy", learner="offline", head="single")
    expected = accuracies(permuted, "offline.seed-0", 3, (1, 2, 3))
    assert [R["3", place] for place in "123"] == pytest.approx(expected, abs=0)
    assert min(expected) > 0.6


def test_where_all_sessions_have_all_classes_the_heads_agree(permuted: Run) -> None:
    for learner in ("finetune", "cumulative", "offline"):
        given = {"learner": learner, "order": "" if learner == "offline" else "back"}
        single, multi, every = (
            permuted.values("accuracy", head=head, **given) for head in ("single", "multi", "all")
        )
        assert single == multi == every


@pytest.mark.parametrize("learner", ["finetune", "cumulative"])
def test_the_omegas_of_permuted_data_are_means_of_r(permuted: Run, learner: str) -> None:
    """alpha_ideal is offline's on the session that the order begins with; sessions weigh alike."""
    ideal = accuracies(permuted, "offline.seed-0", 3, (1, 2, 3))
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


@pytest.mark.parametrize("feature", ["hidden1", "output"])
def test_pra_is_over_all_sessions_and_f1_is_a_sessions_own_accuracy(
    permuted: Run, feature: str
) -> None:
    """Each session has as many test examples, and all classes."""
    given = {"learner": "finetune", "order": "back", "feature": feature, "step": "3"}
    [pra] = permuted.values("pra", **given).values()
    f1 = list(permuted.values("f1", **given).values())
    assert np.mean(f1) == pytest.approx(pra, abs=1e-12)
    if feature == "output":
        sessions = accuracies(permuted, "finetune.order-back.seed-0", 3, SESSIONS["back"])
        assert f1 == pytest.approx(sessions, abs=1e-12)
    else:
        assert min(f1) > 0.4  # retrained on all of them


def test_the_metric_pra_is_over_the_test_examples_of_all_sessions(permuted: Run) -> None:
    """As in the rows, where the first session alone would have another."""
    of = {order: f"finetune.order-{order}.seed-0" for order in SESSIONS}
    plain = np.array([accuracies(permuted, of[o], 3, SESSIONS[o]) for o in SESSIONS])
    level = np.mean(accuracies(permuted, "offline.seed-0", 3, (1, 2, 3)))
    assert permuted.metric("finetune", "pra[output]") == pytest.approx(plain.mean(), abs=1e-12)
    assert abs(plain[:, 0].mean() - plain.mean()) > 0.05
    for feature in ("hidden1", "output"):
        given = {"learner": "finetune", "feature": feature, "step": "3"}
        rows = [permuted.values("pra", order=order, **given)["3", ""] for order in SESSIONS]
        names = (f"pra[{feature}]", f"forgetting_strength[{feature}]")
        found = [permuted.metric("finetune", name) for name in names]
        assert found == pytest.approx([np.mean(rows), level - np.mean(rows)], abs=1e-12)


def test_times_are_one_row_per_task_learned(permuted: Run) -> None:
    times = permuted.tables["times"]
    named = [(row["learner"], row["order"], row["step"]) for row in times]
    assert len(set(named)) == len(named)
    assert set(named) == {
        *((who, o, s) for who in ("finetune", "cumulative") for o in SESSIONS for s in "123"),
        ("offline", "", "3"),
    }
    assert all(float(row["seconds"]) > 0 for row in times)
    spent = {key: float(row["seconds"]) for key, row in zip(named, times, strict=True)}
    # It is by seconds of work: three sessions take longer than one.
    assert spent["cumulative", "there", "3"] > spent["finetune", "there", "3"]


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


def test_over_examples_r_is_another(by_class: Run, tmp_path: Path) -> None:
    """The same measurements, reported over examples: the plain accuracy of the base session."""
    over = Run.of(INCREMENTAL.replace('"classes"', '"examples"'), tmp_path)
    test = load("digits").test
    y, base = test.y.numpy(), test.y.numpy() < 7
    predicted = over.predicted("er.order-0.seed-0", 4, test.x, list(range(10)))
    found = over.values("accuracy", learner="er", head="single")["4", "1"]
    assert found == pytest.approx(np.mean(predicted[base] == y[base]), abs=1e-12)
    assert found != by_class.values("accuracy", learner="er", head="single")["4", "1"]
