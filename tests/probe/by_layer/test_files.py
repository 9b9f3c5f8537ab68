"""An analysis that leaves a run directory: the numbers of one that does not, stopped or not."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import probe
import probe.errors
from probe.errors import InputError
from probe.seeding import global_stream, stream
from probe.training.loop import fit

TASKS = [[0, 1], [2, 3]]
FEATURES = ["first", "second", "output"]
RECIPE = probe.Recipe(epochs=2, batch_size=16, learning_rate=0.01)


def build() -> nn.Sequential:
    stages: dict[str, nn.Module] = {
        "first": nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU()),
        "second": nn.Sequential(nn.Linear(8, 8), nn.ReLU()),
        "output": nn.Linear(8, 4),
    }
    return nn.Sequential(OrderedDict(stages))


@cache
def data() -> tuple[probe.Examples, probe.Examples]:
    """Four overlapping clouds of points.

    They lie task by task, as a study has them: mini-batches are drawn by index.
    """
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(200) % 4
    x = torch.randn(4, 6, generator=draw)[y] + torch.randn(200, 6, generator=draw)
    train, test = ((x[part], y[part]) for part in (slice(120), slice(120, None)))
    by_task = (train[1] // 2).argsort(stable=True)
    return probe.Examples(*(each[by_task] for each in train)), probe.Examples(*test)


@cache
def networks() -> dict[int | str, nn.Module]:
    """One run: untrained, after each task, and offline; not to be changed."""
    found: dict[int | str, nn.Module] = {}
    with global_stream(stream(0, "init")):
        found[0] = build()
    for step, classes in enumerate((TASKS[0], TASKS[1], [0, 1, 2, 3]), 1):
        model = build()
        model.load_state_dict(found[0 if step in (1, 3) else 1].state_dict())
        fit(model, data()[0].of_classes(classes), RECIPE, stream(step, "learn"))
        found[step if step < 3 else "offline"] = model.eval()
    return found


def analyzed(models: Any = None, **given: Any) -> probe.Analysis:
    """Analyze the networks in memory, unless others are given."""
    every = networks()
    if models is None:
        models = {step: every[step] for step in (0, 1, 2)}
        given.setdefault("offline", every["offline"])
    train, test = data()
    given = {"features": FEATURES, "recipe": RECIPE, **given}
    found: probe.Analysis = probe.analyze(models, train, test, TASKS, **given)
    return found


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take longer than the work."""
    monkeypatch.setattr("scenarios.commands.run.build", lambda *_, **__: [])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the networks as a user would have saved them."""
    folder = tmp_path_factory.mktemp("files")
    for step, model in networks().items():
        name = "offline" if step == "offline" else f"task{step}"
        torch.save(model.state_dict(), folder / f"{name}.pt")
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[probe.Analysis, dict[str, bytes]]:
    """An analysis in a run directory, and its tables."""
    out = tmp_path_factory.mktemp("kept") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
        found = analyzed(out=out)
    return found, tables(out)


def tables(out: Path) -> dict[str, bytes]:
    """Return every table but that of seconds."""
    found = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    return {name: content for name, content in found.items() if name != "times.csv"}


@pytest.mark.parametrize("readout", ["retrain", "linear"])
def test_a_run_directory_has_the_numbers_of_an_analysis_in_memory(
    kept: tuple[probe.Analysis, dict[str, bytes]], readout: str
) -> None:
    here, there = analyzed(), kept[0]
    assert there.features == here.features == tuple(FEATURES)
    for feature in FEATURES:
        ours, theirs = (each.matrix(feature, readout).values for each in (here, there))
        assert np.array_equal(ours[-1], theirs[-1])
        # The linear readout is measured after every task, retraining at the ends.
        rows = [0, 1, 2] if readout == "linear" else [0, 2]
        assert np.array_equal(ours[rows], theirs[rows])
    assert not np.array_equal(
        here.matrix("first", readout).values, here.matrix("second", readout).values
    )


def test_files_by_a_pattern_by_paths_and_of_a_recorder_agree(
    kept: tuple[probe.Analysis, dict[str, bytes]], files: Path, tmp_path: Path
) -> None:
    train, test = data()
    model = build()
    rec = probe.Recorder(tmp_path / "rec", model, test, TASKS, train=train)
    for step in (0, 1, 2):
        model.load_state_dict(networks()[step].state_dict())
        rec.after_task(step)
    rec.offline(networks()["offline"])
    given: dict[str, dict[str, Any]] = {
        "pattern": {"models": files / "task{task}.pt", "offline": files / "offline.pt"},
        "paths": {
            "models": {step: files / f"task{step}.pt" for step in (0, 1, 2)},
            "offline": str(files / "offline.pt"),
        },
        "recorder": {"models": tmp_path / "rec"},
    }
    found = {}
    for name, each in given.items():
        analyzed(**each, build=build, out=tmp_path / name)
        found[name] = tables(tmp_path / name)
    assert found["pattern"] == found["paths"] == found["recorder"]
    # A factory draws its own fresh weights, where models in memory have a rule's; and the networks
    # are the same.
    own = [
        [line for line in each["rows.csv"].splitlines() if line.startswith(b"data,Sequential,mo")]
        for each in (found["pattern"], kept[1])
    ]
    ours, theirs = ([line for line in each if b"retrain" not in line] for each in own)
    assert len(ours) > 20
    assert ours == theirs


def test_without_out_nothing_is_left_and_the_tables_are_the_same(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given = {"models": files / "task{task}.pt", "build": build, "readouts": ["linear"]}
    here = analyzed(**given)
    assert not list(tmp_path.iterdir())
    assert here.rows() == analyzed(**given, out=tmp_path / "run").rows()


class Stopping:
    """Calls a model, and is stopped by Ctrl-C the n-th time."""

    def __init__(self) -> None:
        self.calls, self.stop = 0, 0

    def __call__(self, model: nn.Module, x: Tensor) -> object:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return model(x)


def test_what_ctrl_c_stopped_goes_on_to_the_same_tables(tmp_path: Path) -> None:
    call = Stopping()
    given = {"call": call, "readouts": ["linear"]}
    analyzed(**given, out=tmp_path / "whole")
    every, stops, finished = call.calls, 0, set[Path]()
    for _ in range(20):
        call.calls, call.stop = 0, every // 2
        try:
            analyzed(**given, out=tmp_path / "run")
        except KeyboardInterrupt:
            now = set((tmp_path / "run").glob("jobs/*/*/*.json"))
            assert now > finished
            stops, finished = stops + 1, now
        else:
            break
    assert stops >= 2
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    # What was finished was not done again.
    assert call.calls < every // 2


def test_what_is_no_run_directory_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(probe.errors.InputError, match="is not empty and holds no study"):
        analyzed(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(probe.errors.InputError, match="unknown feature 'third'"):
        analyzed(features=["third"], out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def _signed(sign: int, model: nn.Module, x: Any) -> Any:
    return model(sign * x)


@pytest.mark.parametrize(
    "changes",
    [
        ({"classes": range(4)}, {"classes": [1, 0, 3, 2]}),
        tuple({"call": partial(_signed, sign)} for sign in (1, -1)),
    ],
    ids=["classes", "what a function holds"],
)
def test_another_way_to_the_logits_is_measured_anew(tmp_path: Path, changes: Any) -> None:
    """Their source is the same: the results in the directory are not."""
    given = {"readouts": ["linear"], "models": {2: networks()[2]}}
    first, second = (analyzed(**given, out=tmp_path / "run", **change) for change in changes)
    fresh = analyzed(**given, out=tmp_path / "fresh", **changes[1])
    assert first.rows() != second.rows() == fresh.rows()


def test_a_recorder_that_was_given_call_wants_it_again(tmp_path: Path) -> None:
    train, test = data()
    model = networks()[2]
    rec = probe.Recorder(tmp_path / "rec", model, test, TASKS, train=train, call=_negated)
    for step in (0, 1, 2):
        rec.after_task(step)
    with pytest.raises(InputError, match="gave the network its batches by a function"):
        probe.analyze(tmp_path / "rec", build=build)
    found = probe.analyze(tmp_path / "rec", build=build, call=_negated, readouts=["linear"])
    np.testing.assert_array_equal(found.R.values[2], rec.R.values[2])


def _negated(model: nn.Module, x: Any) -> Any:
    return model(-x)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"last": "x.pt"}, "files are given by tasks learned"),
        ({0: nn.Linear(1, 1), 2: "x.pt"}, "networks are files or models, got some of both"),
    ],
)
def test_what_are_no_steps_of_files_is_one_sentence(models: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        analyzed(models, build=build)
