"""Arguments that metrics, counts and logs refuse: the type of the error, and the value it names."""

import re

import numpy as np
import pytest

from probe.errors import InputError, NotMeasured
from probe.metrics import chaudhry, deep_shallow, kemker, murata
from probe.metrics.counts import Counts
from probe.metrics.diaz_rodriguez import ce, cl_stability, ms
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.matrix_file import read_log
from probe.metrics.scorecard import scorecard
from probe.metrics.task_predictions import TaskPredictions
from tests.probe.metrics.test_diaz_rodriguez import PUBLISHED, TABLE_1
from tests.probe.metrics.test_log_file import ER, MAMMOTH, PYCIL, RUNS, TAG
from tests.probe.metrics.test_papers import ONE, R

NAIVE = dict(zip(TABLE_1, PUBLISHED["naive"][0], strict=True))
GAP = AccuracyMatrix.square(
    np.diag(
        [
            0.9,
            np.nan,
            0.9,
        ]
    )
)
EMPTY = Counts(np.zeros((2, 2), dtype=int))
PAIR = [[0, 1], [0, 1]]


def predictions(positions):
    return TaskPredictions.of([0, 1, 1], [0, 1, 0], positions, PAIR)


INPUTS = [
    (lambda: chaudhry.intransigence(R, ONE, 2), "1 tasks, expected 3"),
    (lambda: Counts(np.zeros((2, 3), dtype=int)), "(2, 3)"),
    (lambda: AccuracyMatrix.square(np.zeros((2, 3))), "(2, 3)"),
    (lambda: Counts(np.eye(2)), "whole numbers"),
    (lambda: Counts(-np.eye(2, dtype=int)), "none below 0"),
    (lambda: Counts.of([0, 1], [0], classes=2), "(2,) and (1,)"),
    (lambda: Counts.of([0, 2], [0, 1], classes=2), "0..1"),
    (lambda: Counts.of([0, 1], [0, -1], classes=2), "0..1"),
    (lambda: Counts.of([0.0, 0.7], [0, 1], classes=2), "float64"),
    (lambda: Counts.of([0], [0], classes=2).accuracy([-1]), "0..1"),
    (lambda: deep_shallow.replay_gap(R, ONE), "A_star has 1 tasks, expected 3"),
    (lambda: cl_stability(NAIVE, (0.2,) * 7), "1.4"),
    (lambda: cl_stability(NAIVE, (0.5, 0.7, -0.2, 0, 0, 0, 0)), "SSS is -0.2"),
    (lambda: cl_stability(NAIVE, {"A": 1.0}), "MS, SSS"),
    (lambda: cl_stability(NAIVE, {"accuracy": 1.0}), "'accuracy'"),
    (lambda: ms([1, 0]), "model_bytes must be above 0"),
    (lambda: ms([1, float("nan")]), "model_bytes must hold a number >= 0"),
    (lambda: ce([1, 1], [2]), "2 and 1 tasks"),
    (lambda: ce([1], [2], epsilon=0.5), "epsilon"),
    (lambda: ce([1], [2], form="papr"), "got 'papr'"),
    (lambda: kemker.omega_base(R, 0), "got 0"),
    (lambda: kemker.omega_all(R, float("nan")), "nan"),
    (
        lambda: kemker.omega_all(
            R,
            0.8,
            [
                10,
                np.nan,
                10,
            ],
        ),
        "nan",
    ),
    (lambda: AccuracyMatrix(np.eye(2)), "(2, 2)"),
    (lambda: AccuracyMatrix.square([0.5, 0.5]), "(2,)"),
    (lambda: chaudhry.forgetting(None), "got ()"),
    *(
        (lambda i=i, j=j: R.measured(i, j), "0..3")
        for i, j in ((1, 0), (1, 4), (4, 1), (-1, 1))
    ),
    (lambda: murata.task_f1(EMPTY, [[0, 2]]), "[0, 2]"),
    (lambda: scorecard(R, ideal=90.0), "90"),
    (lambda: scorecard(R, test_sizes=[1, 2]), "2 test sizes"),
    (
        lambda: predictions([0, 0]),
        "`positions` must hold a task from 0 to 1 for each of 3",
    ),
    (
        lambda: predictions([0, 1, 2]),
        "task positions: labels must lie in 0..1, got 0 to 2",
    ),
    (lambda: TaskPredictions.of([0, 2], [0, 1], [0, 1], PAIR), "0..1"),
    (lambda: read_log(TAG, "facill"), "'facill': did you mean 'facil'"),
]
GAPS = [
    (lambda: chaudhry.intransigence(R, GAP, 2), "task 2"),
    (lambda: deep_shallow.deep_forgetting(ONE), "T = 1"),
    (lambda: kemker.omega_new(ONE), "2 sessions"),
    (lambda: murata.pra(EMPTY), "test examples"),
    (
        lambda: murata.task_f1(Counts.of([0, 0], [0, 1], classes=2), [[0], [1]]),
        "task 2",
    ),
]


@pytest.mark.parametrize(("call", "value"), INPUTS)
def test_inputs_that_do_not_fit(call, value):
    with pytest.raises(InputError, match=re.escape(value)) as error:
        call()
    assert not isinstance(error.value, NotMeasured)


@pytest.mark.parametrize(("call", "value"), GAPS)
def test_what_was_not_measured(call, value):
    with pytest.raises(NotMeasured, match=re.escape(value)):
        call()


SGD = (MAMMOTH / "class-il/seq-mnist/sgd/logs.pyd").read_text()
LOGS = [
    (SGD, "mammoth", "2 runs"),
    (SGD.splitlines()[1], "mammoth", "joint training"),
    (
        ER.read_text().replace("accuracy_2_task2", "accuracy_1_task2"),
        "mammoth",
        "lacks or repeats accuracies after 2 tasks",
    ),
    (
        ER.read_text().replace("accuracy_1_task2", "a"),
        "mammoth",
        "lacks or repeats accuracies after 2 tasks",
    ),
    (
        ER.read_text().replace(": 70.0", ": 170.0"),
        "mammoth",
        "no accuracies in percent",
    ),
    (PYCIL.read_text() * 2, "pycil", "2 runs"),
    (
        (RUNS / "pycil_fives/tiny_1993_tiny.log").read_text(),
        "pycil",
        "groups classes by ten",
    ),
]


@pytest.mark.parametrize(("text", "source", "value"), LOGS)
def test_logs_without_one_matrix(
    tmp_path,
    text,
    source,
    value,
):
    (tmp_path / "log").write_text(text)
    with pytest.raises(InputError, match=value):
        read_log(tmp_path / "log", source)
