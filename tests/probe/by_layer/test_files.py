"""An analysis that leaves a run directory: stopped, repeated, and of files."""

import json
import shutil
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import probe
from probe.errors import InputError
from probe.results.analyze import _device_of
from probe.results.run_directory import is_run_directory
from tests.probe.by_layer.nets import (
    FEATURES,
    TASKS,
    analyzed,
    digits,
    finetuned,
    fresh,
)
from tests.scenarios.tiny_run import measured


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Figures and pages take longer than the work."""
    monkeypatch.setattr("figures.build.Plot.write", lambda *_: [])
    monkeypatch.setattr("probe.results.analysis.Analysis.report", lambda *_: None)


def tables(out):
    """Return every table but that of seconds."""
    return {
        path.name: path.read_bytes()
        for path in out.glob("*.csv")
        if path.stem != "times"
    }


def model(**given):
    return probe.Model({3: finetuned()}, **given)


def test_predictions_in_a_corrupt_file_are_said_to_be_missing(tmp_path):
    here = analyzed(model(), readouts=["ncm"], out=tmp_path / "run")
    pd.testing.assert_frame_equal(
        probe.predictions(tmp_path / "run"), probe.predictions(here)
    )
    file = next((tmp_path / "run" / "jobs").glob("*/*/predictions.npz"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=r"missing until the next run: .*checksums"):
        fewer = probe.predictions(tmp_path / "run")
    assert 0 < len(fewer) < len(probe.predictions(here))


def test_files_leave_nothing_without_out(tmp_path, monkeypatch):
    state = finetuned().state_dict() | {"loss.weight": torch.ones(6)}
    torch.save(state, tmp_path / "task2.pt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files = probe.Model("task{index}.pt", fresh=fresh)
    found = analyzed(files, readouts=["linear"])
    assert "also has loss.weight" in str(found.notes)
    assert [path.name for path in tmp_path.iterdir()] == ["task2.pt"]


class Stopping:
    """Calls a model, and is stopped by Ctrl-C the n-th time."""

    def __init__(self):
        self.calls, self.stop = 0, 0

    def __call__(self, model, x):
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return model(x)


def test_what_ctrl_c_stopped_goes_on_to_the_same_tables(tmp_path):
    call = Stopping()
    models = probe.Model(
        {tasks_seen: finetuned(tasks_seen) for tasks_seen in (1, 2, 3)}, call=call
    )
    given = {"models": models, "readouts": ["ncm"]}
    analyzed(**given, out=tmp_path / "whole")
    every, stops, finished = call.calls, 0, dict[Any, str]()
    for _ in range(20):
        call.calls, call.stop = 0, 2 * every // 3
        try:
            analyzed(**given, out=tmp_path / "run")
        except KeyboardInterrupt:
            now = measured(tmp_path / "run")
            assert is_run_directory(tmp_path / "run")
            assert now.items() > finished.items()
            stops, finished = stops + 1, now
        else:
            break
    assert stops
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    # Finished measurements were not made again.
    assert call.calls < 2 * every // 3


def test_what_is_no_run_directory_is_left_as_it_was(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no study"):
        analyzed(model(), out=tmp_path)
    with pytest.raises(InputError, match="unknown feature 'third'"):
        analyzed(model(), features=["third"], out=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def _signed(sign, model, x):
    return model(sign * x)


def _recorded(folder, call=None):
    train, test = digits()
    rec = probe.Recorder(folder, finetuned(), test, TASKS, train=train, call=call)
    for tasks_seen in (1, 2, 3):
        rec.model.load_state_dict(finetuned(tasks_seen).state_dict())
        rec.after_task(tasks_seen)
    return rec


def test_a_recorder_that_was_given_call_wants_it_again(tmp_path):
    call = partial(_signed, -1)
    rec = _recorded(tmp_path, call)
    with pytest.raises(InputError, match="recorded network was called by a function"):
        probe.analyze(probe.Model(tmp_path, fresh=fresh))
    given = {"features": FEATURES, "readouts": ["ncm"]}
    found = probe.analyze(probe.Model(tmp_path, fresh=fresh, call=call), **given)
    np.testing.assert_array_equal(found.R.values[3], rec.R.values[3])
    assert "recorded accuracy" not in str(found)


def test_a_recording_is_of_the_networks_and_the_data_that_are_measured(tmp_path):
    train, test = digits()
    _recorded(tmp_path)
    files, given = (
        probe.Model(tmp_path, fresh=fresh),
        {"features": FEATURES, "readouts": ["ncm"]},
    )
    assert "recorded" not in str(probe.analyze(files, **given))
    for head, noted in (
        (None, True),
        ("multi", False),
    ):  # of other outputs, it is no recorded one
        changed = probe.analyze(
            replace(files, head=head),
            train,
            replace(test, x=-test.x),
            **given,
        )
        assert ("its recorded accuracy on task 1 is" in str(changed)) == noted
    run = tmp_path / "runs/model/order-0/seed-0"
    shutil.copy(run / "task-2.pt", run / "task-3.pt")
    with pytest.raises(
        InputError, match=r"task-3\.pt is not the network that was recorded"
    ):
        probe.analyze(files, **given)
    # Without its hashes only the accuracies show it.
    record = run / "run.npz"
    with np.load(record) as stored:
        arrays = dict(stored)
    settings = json.loads(str(arrays["record"])) | {"hashes": {}}
    np.savez(record, **(arrays | {"record": json.dumps(settings)}))
    assert "its recorded accuracy on task 3 is" in str(probe.analyze(files, **given))


def test_networks_are_measured_where_they_are_and_files_on_a_gpu_if_there_is_one(
    monkeypatch, capsys
):
    cpu, elsewhere = torch.device("cpu"), torch.device("meta")
    files, networks = (
        SimpleNamespace(build=b, blank=lambda: nn.Linear(1, 1)) for b in (1, None)
    )
    assert torch.cuda.is_available() or _device_of(files, "auto", cpu) == cpu
    for name, value in (
        ("is_available", True),
        ("device_count", 2),
        ("get_device_name", "A"),
    ):
        monkeypatch.setattr(torch.cuda, name, lambda *_, value=value: value)
    for source, name, data in (
        (files, "cpu", cpu),
        (networks, "auto", cpu),
        (networks, "cpu", cpu),
    ):
        assert _device_of(source, name, data) == cpu
    assert _device_of(files, "auto", elsewhere) == elsewhere
    assert _device_of(files, "cuda:1", cpu) == torch.device("cuda:1")
    with pytest.raises(InputError, match="cuda:1"):
        _device_of(networks, "cuda:1", cpu)
    assert not capsys.readouterr().err
    assert _device_of(files, "auto", cpu).type == "cuda"
    assert capsys.readouterr().err == "networks are measured on A\n"
