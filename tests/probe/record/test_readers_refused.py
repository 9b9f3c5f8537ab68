"""Folders of other frameworks that cannot be read: one sentence each, and nothing is written."""

import shutil

import pytest
import torch

from probe.errors import InputError
from probe.record.readers import READERS
from tests.probe.record.readers_nets import RUNS
from tests.probe.record.test_readers import rewrite


def resave(path, change):
    state = torch.load(path, weights_only=True)
    inner = state.get("model_state_dict", state)
    change(inner)
    torch.save(state, path)


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def no_folder(folder):
    shutil.rmtree(folder)


def copied_run(folder):
    for path in sorted(folder.glob("er_*.pt")):
        shutil.copy(path, folder / f"b{path.name}")


def other_classes(folder):
    copied_run(folder)
    for path in folder.glob("ber_*.pt"):
        rewrite(path, model="b", class_order=[0, 1, 2, 3, 4, 5])


def a_state_dict(folder):
    torch.save({"net.fc.weight": torch.zeros(2)}, sorted(folder.glob("er_*.pt"))[-1])


def lacks_a_step(folder):
    for path in folder.glob("*_1.p*"):
        path.unlink()


def other_steps(folder):
    copied_run(folder)
    for path in sorted(folder.glob("ber_*.pt")):
        rewrite(path, model="b")
    path.unlink()


def two_joint(folder):
    path = next(folder.glob("*_joint.pt"))
    shutil.copy(path, folder / "b_joint.pt")


def two_arguments(folder):
    (folder / "mnist_finetuning/args-2026-01-01-00-00.txt").write_text("{}")


def damaged_arguments(folder):
    next(folder.glob("*/args-*.txt")).write_text('{"seed" : 3,')


def no_arguments(folder):
    next(folder.glob("*/args-*.txt")).unlink()


def two_seeds(folder):
    copy = shutil.copytree(folder / "mnist_finetuning", folder / "b")
    path = next(copy.glob("args-*.txt"))
    path.write_text(path.read_text().replace('"seed" : 3', '"seed" : 4'))


def heads_without_bias(folder):
    """As those of LUCIR, which are cosines."""
    path = folder / "mnist_finetuning/models/task2.ckpt"
    resave(path, lambda state: [state.pop(f"heads.{at}.bias") for at in range(3)])


def cosine_head(folder):
    resave(folder / "finetune_10_10_2.pkl", lambda state: state.pop("fc.bias"))


def head_with_more(folder):
    """As IL2A's, which has further outputs for mixed classes."""
    more = {"fc.weight": torch.zeros(40, 8), "fc.bias": torch.zeros(40)}
    resave(folder / "finetune_10_10_2.pkl", lambda state: state.update(more))


def head_that_shrinks(folder):
    less = {"fc.weight": torch.zeros(4, 8), "fc.bias": torch.zeros(4)}
    resave(folder / "finetune_10_10_1.pkl", lambda state: state.update(less))


def two_runs(folder):
    shutil.copy(folder / "finetune_10_10_0.pkl", folder / "wa_10_10_0.pkl")


def log_of_two_runs(folder):
    path = folder / "tiny_1993_tiny.log"
    path.write_text(path.read_text() * 2)


def two_runs_without_logs(folder):
    for path in list(folder.iterdir()):
        for name in ("a", "b"):
            (folder / name).mkdir(exist_ok=True)
            if path.suffix == ".pkl":
                shutil.copy(path, folder / name)
        path.unlink()


def strange_order(folder):
    path = folder / "tiny_1993_tiny.log"
    path.write_text(path.read_text().replace("=> [27, ", f"=> [{'9' * 5000}, , "))


def order_of_texts(folder):
    for path in folder.glob("er_*.pt"):
        rewrite(path, class_order=[[0], "1", 2.0, 3, 4, 5])


def damaged(folder):
    last = sorted(path for path in folder.rglob("*") if path.suffix in {".pt", ".ckpt", ".pkl"})[-1]
    last = sorted(folder.glob("er_*.pt"))[-1] if last.suffix == ".pt" else last
    last.write_bytes(last.read_bytes()[:900])


CASES = [
    ("mammoth", damaged, "is damaged.*--savecheck task"),
    ("mammoth", order_of_texts, "no class_order of 6"),
    ("pycil", two_runs_without_logs, r"a has no \.log"),
    ("pycil", strange_order, "an order of"),
    ("mammoth", no_folder, "is no folder"),
    ("mammoth", empty, r"has no NAME_0\.pt, NAME_1\.pt.*--savecheck task"),
    ("mammoth", copied_run, "are both of er with seed 3"),
    ("mammoth", other_classes, "have another order of the classes.*one of them at a time"),
    ("mammoth", a_state_dict, "no arguments of Mammoth"),
    ("mammoth", other_steps, "b/order-0/seed-3 has no checkpoint after 3 tasks"),
    ("mammoth", two_joint, "are of one seed"),
    ("facil", no_folder, "is no folder"),
    ("facil", empty, r"has no models/task\*\.ckpt in it"),
    ("facil", two_arguments, "2 files of arguments"),
    ("facil", damaged_arguments, "no arguments of FACIL"),
    ("facil", no_arguments, r"has no args-\*\.txt"),
    ("facil", two_seeds, "seeds 3, 4.*one seed at a time"),
    ("facil", heads_without_bias, "only linear heads with a bias"),
    ("pycil", lacks_a_step, "checkpoints after 1, 3 tasks"),
    ("pycil", cosine_head, "only one linear fc with a bias"),
    ("pycil", head_with_more, "order of 30 classes, and the last network 40 outputs"),
    ("pycil", head_that_shrinks, "networks of 10, 4, 30 outputs"),
    ("pycil", two_runs, "checkpoints of finetune_10_10, wa_10_10"),
    ("pycil", log_of_two_runs, "order of the classes of 2 runs"),
]


@pytest.mark.parametrize(("name", "spoil", "said"), CASES)
def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path, name, spoil, said):
    folder = shutil.copytree(RUNS / name, tmp_path / "run")
    spoil(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=said) as raised:
        READERS[name](folder)
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pickle_of_objects_is_not_loaded():
    """Mammoth's `old_pickle` needs classes of its own: a Namespace alone would be harmless."""
    (path,) = (RUNS / "mammoth_old").iterdir()
    needed = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    assert {"argparse.Namespace", "utils.buffer.Buffer"} <= set(needed)
    with pytest.raises(InputError, match=r"holds an object of .*save_checkpoint_mode safe"):
        READERS["mammoth"](path.parent)


def test_a_file_without_a_backbone_is_refused_when_it_is_loaded(tmp_path):
    folder = shutil.copytree(RUNS / "mammoth", tmp_path / "run")
    path = sorted(folder.glob("er_*.pt"))[-1]
    content = torch.load(path, weights_only=True)
    content["model"] = {"prompt": torch.zeros(2)}
    torch.save(content, path)
    with pytest.raises(InputError, match="no network of Mammoth"):
        READERS["mammoth"](folder).keep(tmp_path / "kept")
