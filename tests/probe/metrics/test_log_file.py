"""Logs that Mammoth, FACIL, PyCIL and PILOT have written (`tests/record_fixtures`)."""

import re
from pathlib import Path

import numpy as np
import pytest

from probe.errors import InputError
from probe.metrics.matrix_file import LOGS, read_log

RUNS = Path(__file__).parents[2] / "record_fixtures"
MAMMOTH = RUNS / "mammoth/results"
ER = MAMMOTH / "class-il/seq-mnist/er/logs.pyd"
FACIL = RUNS / "facil/mnist_finetuning/results"
TAG = next(FACIL.glob("acc_tag-*.txt"))
PYCIL = RUNS / "pycil/tiny_1993_tiny.log"
PILOT = RUNS / "pilot/logs/finetune/cifar100/6/4/tiny_1993_tiny.log"

# As their code has printed them.
PRINTED = {
    "mammoth": (
        ER,
        [
            [55, None, None],
            [15, 70, None],
            [25, 15, 100],
        ],
    ),
    "facil": (
        TAG,
        [
            [60, None, None],
            [60, 100, None],
            [45, 100, 100],
        ],
    ),
    "pycil": (
        PYCIL,
        [
            [89, None, None],
            [62, 73, None],
            [58, 64, 86],
        ],
    ),
    "pilot": (
        PILOT,
        [
            [96.67, None, None],
            [83.33, 50, None],
            [60, 50, 15],
        ],
    ),
}


@pytest.mark.parametrize("source", LOGS)
def test_a_matrix_is_what_the_framework_has_printed(source):
    path, printed = PRINTED[source]
    wanted = np.array(printed, dtype=np.float64) / 100
    R = read_log(path, source).values
    assert np.isnan(R[0]).all()
    assert R[1:] == pytest.approx(wanted, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("path", "source"), [(PYCIL, "pycil"), (ER, "mammoth")])
def test_forgetting_is_what_the_framework_has_computed(path, source):
    """Both take the best accuracy that a task has had since it was learned."""
    said = r"(?:Forgetting \(CNN\): |'forgetting': np\.float64\()([\d.]+)"
    R = read_log(path, source).values
    found = np.nanmax(R[:, :-1], 0) - R[-1, :-1]
    assert found.mean() * 100 == pytest.approx(
        float(re.findall(said, path.read_text())[-1])
    )
    assert found.mean() > 0.1


def test_a_log_of_numpy_1_says_the_same():
    """PyCIL's code under `numpy.set_printoptions(legacy="1.25")`, which prints as NumPy 1 did."""
    old = RUNS / "pycil_numpy1/tiny_1993_tiny.log"
    assert "np.float64" not in old.read_text()
    assert np.array_equal(
        read_log(old, "pycil").values, read_log(PYCIL, "pycil").values, equal_nan=True
    )


def test_tasks_that_facil_has_not_reached_are_not_measured(tmp_path):
    """It fills a square of zeros row by row, so a run that was stopped has rows of zeros."""
    path = tmp_path / "acc_tag-x.txt"
    rows = np.loadtxt(TAG)
    rows[2] = 0
    np.savetxt(path, rows, "%.6f", delimiter="\t")
    R = read_log(path, "facil").values
    assert np.isnan(R[3]).all()
    assert np.array_equal(R[1:3], read_log(TAG, "facil").values[1:3], equal_nan=True)


def test_cells_of_mammoth_go_by_their_numbers(tmp_path):
    path = tmp_path / "logs.pyd"
    cells = re.findall(r"'accuracy_\d_task\d': [\d.]+", ER.read_text())
    path.write_text(", ".join(reversed(cells)))
    expected = read_log(ER, "mammoth").values
    np.testing.assert_array_equal(read_log(path, "mammoth").values, expected)


@pytest.mark.parametrize("source", LOGS)
def test_text_of_others_is_refused_in_one_sentence(tmp_path, source):
    others = [
        "",
        "0.5\t0.1\n0.5\n",
        "7.000000\n",
        "9" * 5000,
        "=> CNN: {'00-09': nan}",
    ]
    others += [f"'accuracy_1_task{'9' * 5000}': 1.0", f"=> Learning on {'9' * 5000}-9"]
    path = tmp_path / "log"
    for text in others:
        path.write_text(text)
        with pytest.raises(InputError, match=r"log.* give"):
            read_log(path, source)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not a text file"):
        read_log(path, source)
    with pytest.raises(InputError, match="cannot be read"):
        read_log(tmp_path, source)
