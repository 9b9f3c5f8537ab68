"""Folders of other frameworks that cannot be read: one sentence each, and nothing is written."""

import os
import shutil

import pytest
import torch

from probe.errors import InputError
from probe.record.readers import READERS
from tests.probe.record.readers_nets import RUNS

ARGS = "*/args-*.txt"
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


def heads_without_bias(folder):
    """As those of LUCIR, which are cosines."""
    path = folder / "mnist_finetuning/models/task2.ckpt"
    resaved(path, lambda state: [state.pop(f"heads.{at}.bias") for at in range(3)])


def two_runs_without_logs(folder):
    for path in list(folder.iterdir()):
        for name in ("a", "b"):
            (folder / name).mkdir(exist_ok=True)
            if path.suffix == ".pkl":
                shutil.copy(path, folder / name)
        path.unlink()


def order_of_texts(folder):
    change = {"class_order": [[0], "1", 2.0, 3, 4, 5]}
    resaved(checkpoints(folder)[-1], lambda content: content["args"].update(change))


# By framework, a change of the folder of a run and the message.
CASES = {
    "mammoth": [
        (shutil.rmtree, "is not a folder"),
        (empty, r"has no NAME_0\.pt, NAME_1\.pt.*--savecheck task"),
        (lambda at: checkpoints(at)[-1].write_bytes(b"PK"), "is damaged.*--savecheck task"),
        (order_of_texts, "no class_order of 6"),
        (a_second_run, "are both of er with seed 3"),
        (another_order, "have another order of the classes.*one of them at a time"),
        (lambda at: torch.save(NO_BIAS, checkpoints(at)[-1]), "no arguments"),
        (without_a_step, "er/order-0/seed-3 has no checkpoint after 3 tasks"),
        (lambda at: a_second_run(at, model="b", num_classes=10**9), "num_classes 1000000000, exp"),
        (a_pipe, "er/order-0/seed-3 has no checkpoint after 3 tasks"),
        (lambda at: shutil.copy(next(at.glob("*_joint.pt")), at / "b_joint.pt"), "are of one seed"),
    ],
    "facil": [
        (shutil.rmtree, "is not a folder"),
        (empty, r"have no models/task\*\.ckpt"),
        (lambda at: (at / "mnist_finetuning/args-2.txt").touch(), "2 files of arguments"),
        (lambda at: next(at.glob(ARGS)).write_text('{"seed" : 3,'), "no arguments of FACIL"),
        (lambda at: next(at.glob(ARGS)).unlink(), r"has no args-\*\.txt"),
        (two_seeds, "seeds 3, 4.*one seed at a time"),
        (heads_without_bias, "only linear heads with a bias"),
    ],
    "pycil": [
        (two_runs_without_logs, r"a has no \.log"),
        (lambda at: (at / SECOND).unlink(), "checkpoints after 1, 3 tasks"),
        (lambda at: torch.save(NO_BIAS, at / LAST), "only one linear fc with a bias"),
        # As IL2A, which has further outputs for mixed classes.
        (lambda at: torch.save(head(40, 8), at / LAST), "of 30 classes, and the last network 40 o"),
        (lambda at: torch.save(head(4, 8), at / SECOND), "networks of 10, 4, 30 outputs"),
        (lambda at: shutil.copy(at / LAST, at / "wa_0.pkl"), "checkpoints of finetune_10_10, wa"),
        (lambda at: (at / LOG).write_text((at / LOG).read_text() * 2), "of the classes of 2 runs"),
        (lambda at: edited(at / LOG, "=> [27, ", f"=> [{'9' * 5000}, , "), "an order of"),
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


def test_a_file_without_a_backbone_is_refused_when_it_is_loaded(tmp_path):
    folder = shutil.copytree(RUNS / "mammoth", tmp_path / "run")
    no_backbone = {"model": {"prompt": torch.zeros(2)}}
    resaved(checkpoints(folder)[-1], lambda content: content.update(no_backbone))
    with pytest.raises(InputError, match="no network of Mammoth"):
        READERS["mammoth"](folder).keep(tmp_path / "kept")
