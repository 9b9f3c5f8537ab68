"""Feature files that stay on disk: the same results as from memory, hashed once, and checked."""

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.memory import FileRows
from probe.tasks import data_hash
from scenarios.data import npz
from scenarios.data.datasets import Location, load
from scenarios.streams import split_by_class
from scenarios.study.plan import plan_of, study_networks
from scenarios.study.study_file import check_study
from scenarios.user_code import UserCode
from tests.probe.resident import resident
from tests.scenarios.tiny_run import Tiny

RNG = np.random.default_rng(0)


def arrays(n=48, dtype="f4", shape=(1, 4, 4), tasks=False):
    """Return unsorted examples of four classes, of numbers that every dtype holds exactly."""
    found = {}
    for half in ("train", "test"):
        order = RNG.permutation(n)
        x = RNG.integers(-8, 8, (n, *shape)).astype(dtype)
        found |= {
            f"x_{half}": x,
            f"y_{half}": order % 4,
        }
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


@pytest.mark.parametrize(
    "tasks", [pytest.param("classes", marks=pytest.mark.soak), "numbered", "files"]
)
def test_tables_are_those_of_the_same_data_in_memory(tmp_path, tasks):
    """Of learners that each take the data in their own way, with the tasks in another order."""
    file = tmp_path / ("a{task}.npz" if tasks == "files" else "a.npz")
    each = [
        arrays(tasks=tasks == "numbered") for _ in range(2 if tasks == "files" else 1)
    ]
    tables = []
    for save, dtype in (
        (np.savez_compressed, "f4"),
        (np.savez, "f4"),
        (np.savez, "f8"),
    ):
        for number, own in enumerate(each):
            changed = {
                name: x.astype(dtype) for name, x in own.items() if name[0] == "x"
            }
            save(str(file).replace("{task}", str(number)), **own | changed)
        assert isinstance(load(str(file)).train.x, FileRows) == bool(tables)
        tiny = Tiny(tmp_path / str(len(tables))).ran(STUDY.replace("{file}", str(file)))
        tables.append(tiny.tables())
    for found in tables[1:]:
        assert {name for name in found if found[name] != tables[0][name]} <= {
            "times.csv"
        }


def test_a_worker_hashes_only_a_file_that_has_changed(tmp_path, monkeypatch):
    given = arrays()
    file = tmp_path / "a.npz"
    cpu = torch.device("cpu")
    np.savez(file, **given)
    raw = {
        "name": "a",
        **tomllib.loads(STUDY.replace("{file}", str(file))),
    }
    spec = check_study(raw, "a")
    location = Location(files=Location().stamps(str(file)))
    planned = plan_of(spec, spec.scenario.scenario(Location()), cpu)

    def scenario_of():
        with study_networks(spec, location, UserCode(), planned, cpu) as source:
            return source.scenario

    with monkeypatch.context() as patch:
        patch.setattr("scenarios.study.plan.data_hash", None)
        patch.setattr("probe.examples.pieces", None)
        scenario = scenario_of()
    assert data_hash(scenario) == planned.data
    # Touched alone it is the same data, in other hands not.
    os.utime(file, ns=(1, 1))
    scenario_of()
    given["x_train"][-1, 0, 0, 0] += 1
    np.savez(file, **given)
    with pytest.raises(InputError, match="are not those of the first run"):
        scenario_of()


def test_a_file_by_columns_is_read_as_it_was_saved(tmp_path):
    given = arrays()
    file = tmp_path / "a.npz"
    np.savez(file, **given | {"x_train": np.asfortranarray(given["x_train"])})
    x = load(str(file)).train.x
    assert torch.equal(x[:], torch.from_numpy(given["x_train"]))


def test_a_damaged_file_is_refused(tmp_path):
    given = arrays()
    file = tmp_path / "a.npz"
    np.savez(file, **given)
    raw = file.read_bytes()
    x = given["x_train"].tobytes()
    longer = raw.replace(b"(48, 1, 4, 4)", b"(80, 1, 4, 4)")
    for damaged in (raw.replace(x, x[:-1] + bytes([x[-1] ^ 1])), longer):
        file.write_bytes(damaged)
        with pytest.raises(
            InputError, match=r"complete \.npz file of numbers \((BadZip|Value)"
        ):
            load(str(file))


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says what is held"
)
def test_tasks_in_any_order_take_no_memory(tmp_path):
    given = arrays(n=1500, shape=(2**13,))
    np.savez(tmp_path / "a.npz", **given)
    size = given["x_train"].nbytes
    del given
    kept = []
    before = 0
    # Buffers that the allocator keeps are as large as one copy: six scenarios tell them
    # apart.
    for number in range(7):
        scenario = split_by_class(load(str(tmp_path / "a.npz"))).reordered([1, 0])
        assert data_hash(scenario)
        assert len(scenario.merged.train) == 1500
        kept.append(scenario)
        if number == 0:
            before = resident("RssAnon")
    assert resident("RssAnon") - before < 3 * size
