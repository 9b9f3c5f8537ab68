"""A training that records is killed at random moments: every row is of the network beside it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from probe.errors import InputError
from probe.record.recording import load_data, read_recording
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import TASKS, accuracies, examples, network

pytestmark = pytest.mark.slow

# Another network each time: what is left of an earlier one would be seen.
ENDLESS = """
import sys, itertools, torch
from tests.probe.record.tiny import TASKS, examples, network, train
from probe.record.recorder import Recorder
torch.set_num_threads(1)
data, test = examples(), examples(60, 1)
print("ready", flush=True)
for seed in itertools.count(int(sys.argv[2])):
    model = network(seed)
    torch.manual_seed(seed)
    rec = Recorder(sys.argv[1], model, test, TASKS, train=data)
    rec.after_task(0)
    for learned, task in enumerate(TASKS, 1):
        train(model, data, task, steps=3)
        rec.after_task(learned)
"""


def test_every_row_is_of_the_network_beside_it(tmp_path):
    chance, test, read = random.Random(0), examples(60, 1), 0
    for kill in range(5):
        call = (sys.executable, "-c", ENDLESS, str(tmp_path / "rec"), str(1000 * kill))
        root = Path(__file__).parents[2]
        with subprocess.Popen(call, cwd=root, stdout=subprocess.PIPE) as worker:
            worker.stdout.readline()
            time.sleep(chance.uniform(0, 0.5))
            worker.send_signal(signal.SIGKILL)
        try:
            found = read_recording(tmp_path / "rec")
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
