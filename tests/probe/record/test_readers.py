"""Runs that Mammoth, FACIL, PyCIL and PILOT have written (`tests/record_fixtures`), read back.

The networks that are read are as accurate as the framework itself found them, on labels
by the order of the classes that is read: names, heads, tasks and labels are right, or
they would not be.
"""

import shutil

import numpy as np
import pytest
import torch

from probe.metrics.matrix_file import read_log
from probe.record.checkpoints import Run
from probe.record.readers.frameworks import READERS
from probe.record.state_files import NEVER, fit_state, load_state
from tests.probe.metrics.test_log_file import PRINTED
from tests.probe.record.readers_nets import RUNS, Facil, Mammoth, Pilot, Pycil, examples

# FACIL does not write which class an output stands for; it is drawn as its reader says.
FACIL_ORDER = list(range(6))
np.random.RandomState(3).shuffle(FACIL_ORDER)

TWOS = ((0, 1), (2, 3), (4, 5))
TENS = (range(10), range(10, 20), range(20, 30))
CASES = {
    "mammoth": (Run("er", "0", 3), Mammoth, TWOS, 6),
    "facil": (Run("finetuning", "0", 3), Facil, TWOS, 6),
    "pycil": (Run("finetune", "0", 1993), Pycil, TENS, 30),
    "pilot": (
        Run("finetune", "0", 1993),
        Pilot,
        (range(6), range(6, 10), range(10, 14)),
        14,
    ),
}
EACH = pytest.mark.parametrize("name", CASES)


def network(build, path):
    model = build().eval()
    fit_state(model, load_state(path), str(path))
    return model.requires_grad_(False)


def measured(name, kept, labels):
    """Return R of the networks of a run by a plain loop, task by task."""
    _, build, tasks, classes = CASES[name]
    x, _ = examples(classes)
    R = np.full((len(tasks) + 1, len(tasks)), np.nan)
    for learned, path in kept.items():
        right = network(build, path)(x).argmax(1) == labels
        for at, task in enumerate(tasks):
            R[learned, at] = (
                right[torch.isin(labels, torch.tensor(task))].double().mean()
            )
    return R


@EACH
def test_networks_are_as_accurate_as_the_framework_found_them(tmp_path, name):
    run, _, tasks, classes = CASES[name]
    reading = READERS[name](RUNS / name)
    assert list(reading.files) == [run]
    # Mammoth does not write which outputs are of which task.
    assert reading.tasks == (None if name == "mammoth" else tuple(map(tuple, tasks)))
    kept = reading.keep(tmp_path).runs[run]
    assert list(kept) == [1, 2, 3]
    _, y = examples(classes)
    labels = torch.tensor(np.argsort(reading.class_order or FACIL_ORDER))[y]
    R = read_log(PRINTED[name][0], name).values
    # PyCIL rounds percentages to two digits, FACIL fractions to six.
    there = ~np.isnan(R)
    assert there.sum() >= 6
    assert measured(name, kept, labels)[there] == pytest.approx(R[there], abs=6e-5)
    # Labels as they are in the data are not those of the outputs.
    assert abs(measured(name, kept, y)[there] - R[there]).max() > 0.3


@pytest.mark.parametrize("name", ["facil", "pycil", "pilot"])
def test_outputs_that_came_later_never_win_and_the_others_are_as_they_were(
    tmp_path, name
):
    run, build, tasks, classes = CASES[name]
    reading = READERS[name](RUNS / name)
    kept = reading.keep(tmp_path).runs[run]
    x, _ = examples(classes)
    for learned, path in reading.files[run].items():
        model = network(build, kept[learned])
        logits, there = model(x), sum(map(len, tasks[:learned]))
        assert (logits[:, there:] == NEVER).all()
        assert (logits[:, :there] > NEVER / 100).all()
        # The head of the size that it had then, as it lies in their file.
        own = load_state(path)
        parts = [f"heads.{at}" for at in range(learned)] if name == "facil" else ["fc"]
        weight = torch.cat([own[f"{part}.weight"] for part in parts])
        bias = torch.cat([own[f"{part}.bias"] for part in parts])
        assert len(bias) == there
        wanted = model.features(x) @ weight.T + bias
        assert torch.allclose(logits[:, :there], wanted, atol=1e-5)


def test_a_run_that_has_not_ended_has_the_classes_of_its_outputs(tmp_path):
    folder = shutil.copytree(RUNS / "pycil", tmp_path / "pycil")
    whole = READERS["pycil"](folder)
    (folder / "finetune_10_10_2.pkl").unlink()
    begun = READERS["pycil"](folder)
    assert begun.tasks == tuple(map(tuple, TENS[:2]))
    assert begun.class_order == whole.class_order[:20]


def test_a_network_of_joint_training_is_the_offline_one(tmp_path):
    reading = READERS["mammoth"](RUNS / "mammoth")
    kept = reading.keep(tmp_path).offline
    assert list(kept) == [3]
    x, y = examples(6)
    labels = torch.tensor(np.argsort(reading.class_order))[y]
    right = network(Mammoth, kept[3])(x).argmax(1) == labels
    # The second line of the log is of this run, of which all classes are one task.
    log = RUNS / "mammoth/results/class-il/seq-mnist/sgd/logs.pyd"
    joint = log.read_text().splitlines()[1]
    assert "'joint': 1," in joint
    assert (
        f"'accmean_task1': np.float64({100 * float(right.double().mean()):.1f}" in joint
    )
