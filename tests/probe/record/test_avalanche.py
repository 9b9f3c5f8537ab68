"""The Avalanche plugin in a real strategy: R, networks, and a training that does not notice it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.record.recorder import Recorder
from probe.record.recording import load_data, read_recording
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    assert_recorded,
    examples,
    network,
    same_state,
)

pytest.importorskip("avalanche", reason="the extra avalanche is not installed")

from avalanche.benchmarks import nc_benchmark
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.training import Naive
from torch.utils.data import TensorDataset

from probe.record.plugins.avalanche import ForgettingProbe, data_of


def benchmark():
    parts = []
    for data in (examples(), examples(60, 1)):
        made = TensorDataset(data.x, data.y)
        made.targets = data.y.tolist()
        parts.append(as_classification_dataset(made))
    order = [c for task in TASKS for c in task]
    return nc_benchmark(*parts, n_experiences=3, task_labels=False, fixed_class_order=order)


def of_benchmark(folder, model, learner="model"):
    train, test, tasks = data_of(benchmark())
    return Recorder(folder, model, test, tasks, train=train, learner=learner)


def strategy(model, plugins=(), kind=Naive, **settings):
    torch.manual_seed(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return kind(
        model=model,
        optimizer=optimizer,
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=2,
        plugins=list(plugins),
        evaluator=None,
        **settings,
    )


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one call"])
def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(tmp_path, together):
    test, tasks = examples(60, 1), benchmark().train_stream
    plain, model = network(), network()
    without, expected = strategy(plain), []
    rows = [accuracies(copy.deepcopy(plain).eval(), test)]
    for experience in tasks:
        without.train(experience)
        expected.append(copy.deepcopy(plain.state_dict()))
        rows.append(accuracies(copy.deepcopy(plain).eval(), test))
    draws = torch.rand(3)

    plugin = ForgettingProbe(of_benchmark(tmp_path, model))
    assert plugin.recorder.tasks == TASKS
    held = strategy(model, [plugin])
    for part in [tasks] if together else tasks:
        held.train(part)
    assert torch.equal(draws, torch.rand(3))
    assert same_state(plain.state_dict(), model.state_dict())
    assert_recorded(plugin.recorder, tmp_path, rows, expected, lambda: [network(5)] * 2)
    kept = load_data(read_recording(tmp_path).data)
    assert [len(each) for each in kept] == [120, 60]
    assert kept[1].of_classes([4]).x.shape == (10, 8)


def test_another_model_too_many_tasks_and_two_recorders_are_one_sentence(tmp_path):
    experiences = benchmark().train_stream
    rec = Recorder(tmp_path, network(), examples(60, 1), TASKS)
    with pytest.raises(InputError, match="another model than the one that is trained"):
        strategy(network(), [ForgettingProbe(rec)]).train(experiences[0])
    with pytest.raises(InputError, match=r"a plugin takes a probe\.Recorder, got Sequential"):
        ForgettingProbe(rec.model)
    with pytest.raises(InputError, match="all 3 tasks have been learned"):
        strategy(rec.model, [ForgettingProbe(rec, learned=3)]).train(experiences[0])
    assert np.isnan(rec.R.values).all()
