"""Runs that Mammoth, FACIL, PyCIL and PILOT have written (`tests/record_fixtures`), read back.

Accuracies of the networks that are read, on labels by the order of classes that is read, are those
that the framework measured itself: names, heads, tasks and labels are right, or they would not be.
"""

import json
import shutil

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.record.checkpoints import Run, fit_state, load_state
from probe.record.readers import NEVER, READERS
from tests.probe.record.readers_nets import RUNS, Facil, Mammoth, Pilot, Pycil, test_data

FACIL_ORDER = list(range(6))
np.random.RandomState(3).shuffle(FACIL_ORDER)

TWOS = ((0, 1), (2, 3), (4, 5))
CASES = {
    "mammoth": (Run("er", "0", 3), Mammoth, TWOS, 6),
    "facil": (Run("finetuning", "0", 3), Facil, TWOS, 6),
    "pycil": (Run("finetune", "0", 1993), Pycil, tuple(np.arange(30).reshape(3, 10)), 30),
    "pilot": (Run("finetune", "0", 1993), Pilot, (range(6), range(6, 10), range(10, 14)), 14),
}


def outputs(reading, y):
    """FACIL does not write which class an output stands for: it is drawn as we say it is."""
    return y.new_tensor(np.argsort(FACIL_ORDER))[y] if reading.class_order is None else (
        reading.labels(y)
    )


@pytest.mark.parametrize("name", CASES)
def test_networks_are_as_accurate_as_the_framework_found_them(tmp_path, name):
    run, build, tasks, classes = CASES[name]
    reading = READERS[name](RUNS / name)
    assert list(reading.files) == [run]
    kept = reading.keep(tmp_path).runs[run]
    assert list(kept) == [1, 2, 3]
    x, y = test_data(classes)
    y = outputs(reading, y)
    R = reading.R[run].values
    wrong = []
    for learned, path in kept.items():
        model = build().eval()
        fit_state(model, load_state(path), str(path))
        with torch.no_grad():
            right = model(x).argmax(1) == y
        for at, task in enumerate(tasks[:learned]):
            own = right[torch.isin(y, torch.tensor(list(task)))].double().mean()
            # PyCIL rounds percentages to two digits, FACIL fractions to six.
            assert R[learned, at] == pytest.approx(float(own), abs=6e-5)
            # Labels that were not mapped would not do.
            wrong.append(float(own) - float((model(x).argmax(1) == test_data(classes)[1]).float().mean()))
    assert np.nanmin(R) < 0.9
    assert max(map(abs, wrong)) > 0.1
