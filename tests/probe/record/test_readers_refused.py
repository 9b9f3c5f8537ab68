"""Folders of other frameworks that cannot be read: the message names what is wrong in them."""

import os
import re
import shutil

import pytest
import torch

from probe.errors import InputError
from probe.record.readers.frameworks import READERS
from tests.probe.record.readers_nets import RUNS

ARGS, LOG = "*/args-*.txt", "tiny_1993_tiny.log"
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
    return {
        "model_state_dict": {
            "fc.weight": torch.zeros(*size),
            "fc.bias": torch.zeros(size[0]),
        }
    }


def checkpoints(folder):
    return sorted(folder.glob("er_*.pt"))


def arguments(folder, **changes):
    """Change the arguments of the last checkpoint."""
    resaved(checkpoints(folder)[-1], lambda content: content["args"].update(changes))


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def a_second_run(folder, **args):
    """Add a copy of the run, with other arguments."""
    for path in checkpoints(folder):
        copy = shutil.copy(path, folder / f"b{path.name}")
        resaved(copy, lambda content: content["args"].update(args))


def a_pipe(folder):
    """Put a pipe, which would block its reader, in the place of a checkpoint."""
    a_second_run(folder, model="b")
    last = checkpoints(folder)[-1]
    last.unlink()
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


# By framework, a change of the folder of a run, and the value that the message names.
CASES = {
    "mammoth": [
        (shutil.rmtree, "is not a folder"),
        (empty, "NAME_0.pt"),
        (
            lambda at: arguments(at, class_order=[[0], "1", 2.0, 3, 4, 5]),
            "class_order of 6",
        ),
        (a_second_run, "er/order-0/seed-3"),
        (
            lambda at: a_second_run(at, model="b", class_order=[0, 1, 2, 3, 4, 5]),
            "order of the cl",
        ),
        (lambda at: torch.save(NO_BIAS, checkpoints(at)[-1]), "no Mammoth arguments"),
        (
            lambda at: a_second_run(at, model="b", num_classes=10**9),
            "num_classes 1000000000",
        ),
        (a_pipe, "er/order-0/seed-3 has no checkpoint after 3"),
        (
            lambda at: shutil.copy(next(at.glob("*_joint.pt")), at / "b_joint.pt"),
            "b_joint.pt",
        ),
    ],
    "facil": [
        (empty, "models/task*.ckpt"),
        (
            lambda at: (at / "mnist_finetuning/args-2.txt").touch(),
            "2 files of arguments",
        ),
        (
            lambda at: next(at.glob(ARGS)).write_text('{"seed" : 3,'),
            "no FACIL arguments",
        ),
        (lambda at: next(at.glob(ARGS)).unlink(), "args-*.txt"),
        (two_seeds, "seeds 3, 4"),
    ],
    "pycil": [
        (two_runs_without_logs, "a has no .log"),
        (lambda at: (at / SECOND).unlink(), "after 1, 3 tasks"),
        (lambda at: torch.save(NO_BIAS, at / LAST), "fc.weight"),
        # As IL2A, which has further outputs for mixed classes.
        (lambda at: torch.save(head(40, 8), at / LAST), "30 classes, and fc 40 o"),
        (lambda at: torch.save(head(10, 8), at / SECOND), "10, 10, 30 outputs"),
        (lambda at: shutil.copy(at / LAST, at / "wa_0.pkl"), "finetune_10_10, wa"),
        (lambda at: (at / LOG).write_text((at / LOG).read_text() * 2), "2 runs"),
        (
            lambda at: edited(at / LOG, "=> [27, ", f"=> [{'9' * 5000}, , "),
            "an order of",
        ),
    ],
}
EACH = [(name, *case) for name, cases in CASES.items() for case in cases]


@pytest.mark.parametrize(("name", "spoil", "value"), EACH)
def test_nothing_is_written_beside_a_folder_that_cannot_be_read(
    tmp_path, name, spoil, value
):
    folder = shutil.copytree(RUNS / name, tmp_path / "run")
    spoil(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=re.escape(value)):
        READERS[name](folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_of_pycil_needs_no_log_and_a_task_may_have_one_class(tmp_path):
    folder = shutil.copytree(RUNS / "pycil", tmp_path / "run")
    (folder / LOG).unlink()
    torch.save(head(11, 8), folder / SECOND)
    assert READERS["pycil"](folder).tasks[1] == (10,)


def test_a_pickle_of_objects_is_not_loaded():
    """Mammoth's `old_pickle` needs classes of its own: a Namespace alone would be harmless."""
    with pytest.raises(InputError, match="run code"):
        READERS["mammoth"](RUNS / "mammoth_old")


def test_a_file_without_a_backbone_is_refused_when_it_is_loaded(tmp_path):
    folder = shutil.copytree(RUNS / "mammoth", tmp_path / "run")
    no_backbone = {"model": {"prompt": torch.zeros(2)}}
    resaved(checkpoints(folder)[-1], lambda content: content.update(no_backbone))
    with pytest.raises(InputError, match="no set of weights 'net'"):
        READERS["mammoth"](folder).keep(tmp_path / "kept")
