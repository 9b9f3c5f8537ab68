"""A training that records is killed at random moments: every row is of the network beside it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.record.recorder import Recorder
from probe.record.recording import load_data, read_recording
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import TASKS, accuracies, examples, network, train
from tests.slow.helpers import killed_after

pytestmark = pytest.mark.slow


def record(folder: Path, first: int) -> None:
    """Record without end, another network each time: files of an earlier one would be seen."""
    torch.set_num_threads(1)
    data, test = examples(), examples(60, 1)
    for seed in itertools.count(first):
        model = network(seed)
        torch.manual_seed(seed)
        recorder = Recorder(folder, model, test, TASKS, train=data)
        recorder.after_task(0)
        for learned, task in enumerate(TASKS, 1):
            train(model, data, task, steps=3)
            recorder.after_task(learned)


def test_every_row_is_of_the_network_beside_it(tmp_path):
    chance, test, read, folder = random.Random(0), examples(60, 1), 0, tmp_path / "rec"
    for kill in range(10):
        begin = 1000 * kill
        assert killed_after(
            chance.randint(0, 99), folder, lambda begin=begin: record(folder, begin)
        )
        try:
            found = read_recording(folder)
        except InputError as error:
            assert "has no network in it yet" in str(error) or "is no folder" in str(error)  # noqa: PT017
            continue
        ((run, matrix),) = found.R.items()
        for learned, path in found.checkpoints.runs[run].items():
            model = network()
            fit_state(model, load_state(path), path.name)
            expected = accuracies(model.eval(), test, TASKS)
            np.testing.assert_array_equal(matrix.values[learned], expected)
            read += 1
        if found.data:
            assert len(load_data(found.data)[0]) == 120
    assert read > 3
