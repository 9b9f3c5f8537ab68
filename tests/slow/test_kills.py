"""Whatever is killed at random moments: the same tables, and nothing that was finished is lost."""

import itertools
import random
import re

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.record.data import load_data
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import TASKS, accuracies, examples, network, train
from tests.scenarios import own_run
from tests.scenarios.own_run import Own
from tests.scenarios.probed import tables
from tests.scenarios.tiny_run import TINY, Tiny, measured, probed
from tests.slow.helpers import killed_after

pytestmark = pytest.mark.slow


def killed(root, seed, kills, action):
    """Do something again and again, killed after up to 150 accesses to files, then to its end.

    What was finished stays as it is, and nothing unfinished is left.
    """
    draw = random.Random(seed)
    before = measured(root)
    count = 0
    for left in reversed(range(kills + 1)):
        if left:
            count += killed_after(draw.randint(0, 150), root, action)
        else:
            action()
        assert measured(root).items() >= before.items()
        before = measured(root)
    assert count
    assert not list(root.rglob("*.tmp"))
    assert not (root / "quarantine").exists()
    assert not (root / "scratch").exists()


STAGES = {
    "plain": TINY,
    "probed": probed('budget = [1, 2]\nreadouts = { retrain = "all", linear = "all" }'),
    "all": probed('readouts = { ncm = "ends" }') + "[learners.si]\n",
}


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.soak) for k in (1, 2, 3))]
)
def test_a_study_that_grows(tmp_path, seed):
    """Its tables are those of a fresh study; no checkpoint is left but those that it leaves."""
    grown = Tiny(tmp_path / "grown")
    for stage, toml in STAGES.items():
        fresh = Tiny(tmp_path / stage)
        fresh.ran(toml)
        killed(grown.root, seed, 3, lambda toml=toml: grown.run(toml))
        assert tables(grown) == tables(fresh)
        assert measured(grown.root).keys() >= measured(fresh.root).keys()


@pytest.mark.soak
def test_probe_model(tmp_path):
    own = Own(tmp_path).written()
    own.keep(own.run())
    whole = own.model("whole")
    killed(tmp_path / "killed", 0, 4, lambda: own.model("killed"))
    assert measured(tmp_path / "killed").keys() == measured(whole).keys()
    assert own_run.tables(tmp_path / "killed") == own_run.tables(whole)


def record(folder, first):
    """Record without end, another network each time: files of an earlier one would be seen."""
    torch.set_num_threads(1)
    data = examples()
    test = examples(60, 1)
    for seed in itertools.count(first):
        model = network(seed)
        torch.manual_seed(seed)
        recorder = Recorder(folder, model, test, TASKS, train=data)
        recorder.after_task(0)
        for learned, task in enumerate(TASKS, 1):
            train(model, data, task, steps=3)
            recorder.after_task(learned)


def test_every_row_of_a_recorder_is_of_the_network_beside_it(tmp_path):
    chance = random.Random(0)
    test = examples(60, 1)
    read = 0
    folder = tmp_path / "rec"
    for first in range(0, 6000, 1000):
        assert killed_after(
            chance.randint(0, 99), folder, lambda first=first: record(folder, first)
        )
        try:
            found = read_recording(folder)
        except InputError as error:
            assert re.search("has no network in it yet|is not a folder", str(error))  # noqa: PT017
            continue
        ((name, matrix),) = found.R.items()
        for learned, path in found.checkpoints.runs[name].items():
            model = network()
            fit_state(model, load_state(path), path.name)
            expected = accuracies(model.eval(), test, TASKS)
            np.testing.assert_array_equal(matrix.values[learned], expected)
            read += 1
        if found.data:
            assert len(load_data(found.data)[0]) == 120
    assert read > 1
