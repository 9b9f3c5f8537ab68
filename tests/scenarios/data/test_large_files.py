"""Feature files that stay on disk: the same results as from memory, hashed once, and checked."""

import os
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.by_layer.fingerprint import data_hash
from probe.errors import InputError
from probe.memory import FileRows
from scenarios.data import npz
from scenarios.data.datasets import Location, load
from scenarios.own_code import OwnCode
from scenarios.streams.split import split_by_class
from scenarios.study.origin import StudyOrigin
from scenarios.study.planning import plan_of
from scenarios.study.source import check_study
from tests.probe.resident import resident
from tests.scenarios.tiny_run import Tiny

RNG = np.random.default_rng(0)


def arrays(n=48, dtype="f4", shape=(1, 4, 4), tasks=False):
    """Return unsorted examples of four classes, on a grid that every dtype holds exactly."""
    found = {}
    for half in ("train", "test"):
        order = RNG.permutation(n)
        y = order % 4
        x = RNG.integers(-8, 8, (n, *shape)) / 8 + y.reshape(-1, *[1] * len(shape))
        found |= {f"x_{half}": x.astype(dtype), f"y_{half}": y}
        found |= {f"task_{half}": order // 4 % 2} if tasks else {}
    return found


@pytest.fixture(autouse=True)
def _mapped_whatever_the_size(monkeypatch):
    monkeypatch.setattr(npz, "_LARGE", 0)


STUDY = """
orders = { back = [2, 1] }
[scenario]
data = "{file}"
validation = 2
[network]
name = "mlp"
features = ["hidden1"]
[training]
epochs = 1
batch_size = 8
[probing]
readouts = { retrain = "last", linear = "ends" }
[learners.ewc]
[learners.icarl]
[learners.joined]
kind = "finetune"
exemplars = { per_class = 3, replay = "joined" }
"""


@pytest.mark.parametrize("tasks", [False, True])
def test_tables_are_those_of_the_same_data_in_memory(tmp_path, tasks):
    """Of learners that each take the data in their own way, with the tasks in another order."""
    given, file = arrays(tasks=tasks), tmp_path / "a.npz"
    wide = {name: each.astype("f8") if name[0] == "x" else each for name, each in given.items()}
    tables = []
    for save, held in ((np.savez_compressed, given), (np.savez, given), (np.savez, wide)):
        save(file, **held)
        assert isinstance(load(str(file)).train.x, FileRows) == bool(tables)
        tiny = Tiny(tmp_path / str(len(tables)))
        tiny.run(STUDY.replace("{file}", str(file)))
        tables.append(tiny.tables())
    for found in tables[1:]:
        assert {name for name in found if found[name] != tables[0][name]} <= {"times.csv"}


def test_files_of_tasks_stay_on_disk(tmp_path):
    each = [arrays() for _ in range(2)]
    for number, own in enumerate(each):
        np.savez(tmp_path / f"{number}.npz", **own)
    train = load(str(tmp_path / "{task}.npz")).train
    assert isinstance(train.of_task(1).x, FileRows)
    assert torch.equal(train.x + 0, torch.tensor(np.concatenate([own["x_train"] for own in each])))


def plan(file):
    """Return the origin of a study of a file, as a worker gets it, and the plan."""
    raw = tomllib.loads(STUDY.replace("{file}", str(file)))
    study = check_study({"name": "a", **raw}, "a")
    checked = Location(files=Location().stamps(str(file)))
    origin = StudyOrigin(study=study, location=checked, own=OwnCode(), sources={})
    cpu = torch.device("cpu")
    return pickle.loads(pickle.dumps(origin)), plan_of(
        study, study.scenario.scenario(Location()), cpu
    )


def test_a_worker_hashes_only_a_file_that_has_changed(tmp_path, monkeypatch):
    given, file, cpu = arrays(), tmp_path / "a.npz", torch.device("cpu")
    np.savez(file, **given)
    origin, planned = plan(file)
    with monkeypatch.context() as patch:
        patch.setattr("scenarios.study.origin.data_hash", None)
        patch.setattr("probe.examples.pieces", None)
        scenario = origin.source(planned, cpu).scenario
    assert data_hash(scenario) == planned.data
    # Touched alone it is the same data, in other hands not.
    os.utime(file, ns=(1, 1))
    origin.source(planned, cpu)
    given["x_train"][-1, 0, 0, 0] += 1
    np.savez(file, **given)
    with pytest.raises(InputError, match="differ from those with which the study began"):
        origin.source(planned, cpu)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw, at: raw[: at + 9] + bytes([raw[at + 9] ^ 1]) + raw[at + 10 :], "Bad CRC-32"),
        (lambda raw, at: raw[:-30], "is not a complete .npz file"),
        (lambda raw, at: raw.replace(b"(48, 1, 4, 4)", b"(80, 1, 4, 4)"), "not a complete .npz"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, said):
    given, file = arrays(), tmp_path / "a.npz"
    np.savez(file, **given)
    raw = file.read_bytes()
    file.write_bytes(change(raw, raw.index(given["x_train"].tobytes())))
    with pytest.raises(InputError, match=said):
        load(str(file))


@pytest.mark.parametrize("bad", [np.nan, 1e300])
def test_numbers_that_are_not_finite_are_refused(tmp_path, bad):
    given = arrays(dtype="f8")
    given["x_test"][7] = bad
    np.savez(tmp_path / "a.npz", **given)
    with pytest.raises(InputError, match="x_test has NaN or Inf in example 7"):
        load(str(tmp_path / "a.npz"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says what is held")
def test_tasks_in_any_order_take_no_memory(tmp_path):
    given = arrays(n=1500, shape=(2**13,))
    np.savez(tmp_path / "a.npz", **given)
    size = given["x_train"].nbytes
    del given
    before = resident("RssAnon")
    scenario = split_by_class(load(str(tmp_path / "a.npz"))).reordered([1, 0])
    data_hash(scenario)
    merged = scenario.merged.train
    assert len(merged) == 1500
    assert resident("RssAnon") - before < size
