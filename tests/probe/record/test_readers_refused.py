"""Folders of other frameworks that cannot be read: one sentence each, and nothing is written."""

import os
import shutil

import pytest
import torch

from probe.errors import InputError
from probe.record.readers import READERS
from tests.probe.record.readers_nets import RUNS

LOG = "tiny_1993_tiny.log"
SECOND, LAST = "finetune_10_10_1.pkl", "finetune_10_10_2.pkl"
NO_BIAS = {"fc.weight": torch.zeros(9, 8)}


def resaved(path, change):
    """Change the content of a file of torch in place."""
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


def edited(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def head(*size):
    return {"model_state_dict": {"fc.weight": torch.zeros(*size), "fc.bias": torch.zeros(size[0])}}


def checkpoints(folder):
    return sorted(folder.glob("er_*.pt"))


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def a_second_run(folder, **args):
    """Add a copy of the run, with other arguments."""
    for path in checkpoints(folder):
        copy = shutil.copy(path, folder / f"b{path.name}")
        resaved(copy, lambda content: content["args"].update(args))


def another_order(folder):
    a_second_run(folder, model="b", class_order=[0, 1, 2, 3, 4, 5])


def without_a_step(folder):
    a_second_run(folder, model="b")
    checkpoints(folder)[-1].unlink()


def a_pipe(folder):
    """Put a pipe, which would block its reader, in the place of a checkpoint."""
    last = checkpoints(folder)[-1]
    without_a_step(folder)
    os.mkfifo(last)


def two_seeds(folder):
    copy = shutil.copytree(folder / "mnist_finetuning", folder / "b")
    edited(next(copy.glob("args-*.txt")), '"seed" : 3', '"seed" : 4')


def two_runs_without_logs(folder):
    for path in list(folder.iterdir()):
        for name in ("a", "b"):
            (folder / name).mkdir(exist_ok=True)
            if path.suffix == ".pkl":
                shutil.copy(path, folder / name)
        path.unlink()


# By framework, a change of the folder of a run and the message.
CASES = {
    "mammoth": [
        (empty, r"has no NAME_0\.pt, NAME_1\.pt.*--savecheck task"),
        (lambda at: checkpoints(at)[-1].write_bytes(b"PK"), "is damaged.*--savecheck task"),
        (a_second_run, "are both of er with seed 3"),
        (another_order, "have another order of the classes.*one of them at a time"),
        (without_a_step, "er/order-0/seed-3 has no checkpoint after 3 tasks"),
        (a_pipe, "er/order-0/seed-3 has no checkpoint after 3 tasks"),
    ],
    "facil": [
        (lambda at: (at / "mnist_finetuning/args-2.txt").touch(), "2 files of arguments"),
        (two_seeds, "seeds 3, 4.*one seed at a time"),
    ],
    "pycil": [
        (two_runs_without_logs, r"a has no \.log"),
        (lambda at: (at / SECOND).unlink(), "checkpoints after 1, 3 tasks"),
        (lambda at: torch.save(NO_BIAS, at / LAST), "only one linear fc with a bias"),
        # As IL2A, which has further outputs for mixed classes.
        (lambda at: torch.save(head(40, 8), at / LAST), "of 30 classes, and the last network 40 o"),
        (lambda at: shutil.copy(at / LAST, at / "wa_0.pkl"), "checkpoints of finetune_10_10, wa"),
        (lambda at: (at / LOG).write_text((at / LOG).read_text() * 2), "of the classes of 2 runs"),
    ],
}
EACH = [(name, *case) for name, own in CASES.items() for case in own]


@pytest.mark.parametrize(("name", "spoil", "said"), EACH)
def test_folders_that_cannot_be_read_are_refused_in_one_sentence(tmp_path, name, spoil, said):
    folder = shutil.copytree(RUNS / name, tmp_path / "run")
    spoil(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=said) as raised:
        READERS[name](folder)
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pickle_of_objects_is_not_loaded():
    """Mammoth's `old_pickle` needs classes of its own: a Namespace alone would be harmless."""
    with pytest.raises(InputError, match=r"holds an object of .*save_checkpoint_mode safe"):
        READERS["mammoth"](RUNS / "mammoth_old")
