"""Predictions for several tasks: each task's own scores, whether or not tasks share classes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import recall_score

from probe.errors import NotMeasured
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.murata import task_f1
from probe.metrics.task_predictions import TaskPredictions

K = 6
DISJOINT = ((4, 1), (0,), (2, 3, 5))
OVERLAPPING = ((0, 1, 2, 3), (3, 4, 5), (5, 0))


def drawn(tasks, seed):
    """Return labels and predictions of each task, and of all shuffled; each class is there."""
    draw = np.random.default_rng(seed)
    true = [np.array([*task, *draw.choice(task, draw.integers(40))]) for task in tasks]
    # Half of them right, so that no score is 0 or 1 by accident.
    predicted = [
        np.where(draw.random(len(y)) < 0.5, y, draw.integers(0, K, len(y)))
        for y in true
    ]
    positions = np.repeat(np.arange(len(tasks)), list(map(len, true)))
    columns = np.concatenate(true), np.concatenate(predicted), positions
    shuffled = draw.permutation(len(positions))
    return true, predicted, TaskPredictions.of(*(x[shuffled] for x in columns), tasks)


@pytest.mark.parametrize("tasks", [DISJOINT, OVERLAPPING])
@given(seed=st.integers(0, 2**32))
def test_accuracies_are_those_of_a_plain_loop_over_each_tasks_own_data(tasks, seed):
    true, predicted, run = drawn(tasks, seed)
    each = list(zip(true, predicted, tasks, strict=True))
    plain = [sum(map(int.__eq__, y.tolist(), p.tolist())) / len(y) for y, p, _ in each]
    assert run.accuracies().tolist() == plain
    assert run.test_sizes().tolist() == list(map(len, true))
    recalls = [
        recall_score(
            y,
            p,
            labels=task,
            average="macro",
        )
        for y, p, task in each
    ]
    assert run.accuracies("classes") == pytest.approx(recalls, abs=1e-12)
    assert run.counts == Counts.of(np.concatenate(true), np.concatenate(predicted), K)


@given(seed=st.integers(0, 2**32))
def test_f1_is_to_the_bit_that_of_the_papers_formula(seed):
    true, predicted, run = drawn(OVERLAPPING, seed)
    by_task = zip(true, predicted, OVERLAPPING, strict=True)
    assert run.f1().tolist() == [
        task_f1(Counts.of(y, p, K), [t])[0] for y, p, t in by_task
    ]
    *_, run = drawn(DISJOINT, seed)
    assert run.f1().tolist() == task_f1(run.counts, DISJOINT).tolist()


def test_the_matrix_is_over_examples_or_over_classes():
    """Of task 1, 3 of 4 are right, of its classes 1/1 and 2/3; of task 2, 1 of 3: 0/1 and 1/2."""
    true = [0, 1, 1, 1, 0, 1, 1]
    predicted = [0, 1, 1, 0, 1, 1, 0]
    run = TaskPredictions.of(true, predicted, [0] * 4 + [1] * 3, [[0, 1], [0, 1]])
    assert (
        AccuracyMatrix.of_predictions([run] * 3).values.tolist() == [[3 / 4, 1 / 3]] * 3
    )
    assert run != TaskPredictions.of(true, predicted, run.positions, [[0, 1], [1]])
    by_class = AccuracyMatrix.of_predictions([run] * 3, "classes").values
    assert by_class == pytest.approx(np.array([[(1 + 2 / 3) / 2, 1 / 4]] * 3))


def test_a_task_without_test_data_has_no_accuracy_and_no_f1():
    run = TaskPredictions.of([0, 1], [0, 0], [0, 0], [[0, 1], [1, 0]])
    assert run.test_sizes().tolist() == [2, 0]
    for mean in ("examples", "classes"):
        assert run.accuracies(mean).tolist() == pytest.approx(
            [0.5, np.nan], nan_ok=True
        )
    with pytest.raises(NotMeasured, match="task 2 of 2 has no test examples"):
        run.f1()
