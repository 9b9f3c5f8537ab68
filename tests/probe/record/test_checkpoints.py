"""Patterns find what a plain search finds, and states go into a network and back unchanged."""

import itertools
import random
import sys

import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.record.checkpoints import Checkpoints, Run
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import network, written

GRID = list(
    itertools.product(
        ("er", "der-pp_2"),
        ("2", "10", "a"),
        (0, 12),
        (1, 2, 10),
    )
)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (
            "{learner}/seed{seed}-order{order}-task{task}.pt",
            "{0}/seed{2}-order{1}-task{3}.pt",
        ),
        ("[x]*/{learner} {order} {seed}+{task}.ckpt", "[x]*/{0} {1} {2}+{3}.ckpt"),
        (
            "{learner}/{learner}_{order}/{seed}_{task}_{seed}",
            "{0}/{0}_{1}/{2}_{3:03}_{2:02}",
        ),
    ],
)
def test_every_place_is_found_and_nothing_else(tmp_path, pattern, name):
    places = list(GRID)
    random.Random(0).shuffle(places)
    written(tmp_path, [name.format(*place) for place in places])
    written(tmp_path, ["other er/notes.txt", "er/seed0-order2-task1.pt.4f.tmp"])
    for folder in {(tmp_path / name.format(*place)).parent for place in places}:
        (folder / "events.log").touch()
        (folder / "cache").mkdir()
    found = Checkpoints.find(tmp_path / pattern)
    expected = {
        Run(learner, order, seed): {
            task: tmp_path / name.format(learner, order, seed, task)
            for task in (1, 2, 10)
        }
        for learner, order, seed, _ in GRID
    }
    assert found.runs == expected
    assert [run.order for run in found.runs][:6] == ["2", "2", "10", "10", "a", "a"]
    assert all(list(steps) == [1, 2, 10] for steps in found.runs.values())
    assert not found.offline


def test_files_of_a_method_with_another_name_are_not_passed_over(tmp_path):
    written(tmp_path, ["er-0.pt", "er_0.5-0.pt", "er-best.pt"])
    with pytest.raises(InputError, match="has other characters"):
        Checkpoints.find(tmp_path / "{learner}-{task}.pt")


def test_a_star_stands_for_any_text_and_folders_are_found(tmp_path):
    written(tmp_path, ["task1/checkpoint-7/model.pt", "task2/checkpoint-90/model.pt"])
    [run] = Checkpoints.find(tmp_path / "task{task}/checkpoint-*").runs.values()
    assert [path.name for path in run.values()] == ["checkpoint-7", "checkpoint-90"]


def test_what_a_pattern_lacks_has_a_default(tmp_path, monkeypatch):
    written(
        tmp_path,
        ["task0.pt", "task1.pt", "task2.pt", "offline.pt", "off-0.pt", "off-7.pt"],
    )
    monkeypatch.chdir(tmp_path)
    found = Checkpoints.find("task{task}.pt", "offline.pt", learner="mine")
    assert list(found.runs) == [Run("mine", "0", 0)]
    assert [str(path) for path in found.runs["mine", "0", 0].values()] == [
        "task0.pt", "task1.pt", "task2.pt"
    ]  # fmt: skip
    assert list(found.offline) == [0]
    # Those of seeds that no run has are left out.
    assert list(Checkpoints.find("task{task}.pt", "off-{seed}.pt").offline) == [0]


def test_safetensors_are_read_where_the_package_is_there(tmp_path, monkeypatch):
    safetensors = pytest.importorskip(
        "safetensors.torch", reason="safetensors is not installed"
    )
    path = tmp_path / "a.safetensors"
    safetensors.save_file(network(1).state_dict(), path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"a\.safetensors is damaged"):
        load_state(path)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ValueError, match="pip install safetensors"):
        load_state(path)


def test_files_that_count_tasks_from_0_are_named_by_their_index(tmp_path):
    written(tmp_path, ["net0.pt", "net1.pt"])
    [run] = Checkpoints.find(tmp_path / "net{index}.pt").runs.values()
    assert {step: path.name for step, path in run.items()} == {
        1: "net0.pt",
        2: "net1.pt",
    }
    with pytest.raises(InputError, match=r"has both \{task\} and \{index\}"):
        Checkpoints.find(tmp_path / "{task}-{index}.pt")


def test_buffers_may_be_of_another_kind_of_number_parameters_not():
    """Averages of state dicts have a fraction of batches in batch norm."""
    model = nn.BatchNorm1d(3)
    state = {name: own.double() for name, own in model.state_dict().items()}
    fit_state(model, {**state, "num_batches_tracked": torch.tensor(2.0)}, "averaged")
    assert model.num_batches_tracked == 2
    with pytest.raises(
        InputError, match=r"'weight' of torch\.int64, expected torch\.float32"
    ):
        fit_state(model, {**state, "weight": torch.ones(3).long()}, "rounded")


def test_adapters_without_a_network_are_refused(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="give load="):
        load_state(tmp_path)


@pytest.mark.parametrize(("stored", "times"), [(1, 2**26), (335_545, 200)])
def test_a_view_that_would_unpack_is_refused_and_a_small_one_is_not(
    tmp_path, stored, times
):
    path = tmp_path / "task1.pt"
    numbers = torch.zeros(stored, dtype=torch.uint8)
    torch.save({"a": numbers.expand(times, stored)}, path)
    assert load_state(path)["a"].shape == (times, stored)
    torch.save({"a": numbers.expand(times + 1, stored)}, path)
    size = (times + 1) * stored
    with pytest.raises(InputError, match=f"would unpack to {size} bytes at 'a'"):
        load_state(path)
