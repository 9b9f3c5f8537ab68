"""The Avalanche plugin in a real strategy: R, networks, and a training that does not notice it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.record.recorder import Recorder
from probe.record.recording import load_data, read_recording
from tests.probe.record.tiny import TASKS, accuracies, assert_unnoticed, examples, network

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


def strategy(model, *plugins):
    return Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=2,
        plugins=list(plugins),
        evaluator=None,
    )


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one call"])
def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(tmp_path, together):
    test, tasks, plain, model = examples(60, 1), benchmark().train_stream, network(), network()
    of_train, of_test, classes = data_of(benchmark())
    plugin = ForgettingProbe(Recorder(tmp_path, model, of_test, classes, train=of_train))
    assert plugin.recorder.tasks == TASKS
    loops = {False: strategy(plain), True: strategy(model, plugin)}

    def trained(_, task, recorded):
        loops[recorded].train(task)

    def row(own):
        return accuracies(own, test)

    assert_unnoticed(plain, plugin.recorder, trained, row, tasks, together)
    kept = load_data(read_recording(tmp_path).data)
    assert [len(each) for each in kept] == [120, 60]
    assert kept[1].of_classes([4]).x.shape == (10, 8)


def test_another_model_too_many_tasks_and_two_recorders_are_one_sentence(tmp_path):
    experiences = benchmark().train_stream
    rec = Recorder(tmp_path, network(), examples(60, 1), TASKS)
    with pytest.raises(InputError, match="recorder's model is not the one that is trained"):
        strategy(network(), ForgettingProbe(rec)).train(experiences[0])
    with pytest.raises(InputError, match=r"a plugin takes a probe\.Recorder, got Sequential"):
        ForgettingProbe(rec.model)
    with pytest.raises(InputError, match="all 3 tasks have been learned"):
        strategy(rec.model, ForgettingProbe(rec, learned=3)).train(experiences[0])
    assert np.isnan(rec.R.values).all()
