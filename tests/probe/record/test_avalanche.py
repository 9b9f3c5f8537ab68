"""The Avalanche plugin in a real strategy: R, networks, and a training that does not notice it."""

import copy
import re
import struct
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.model import Model
from probe.record.data import load_data
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
from probe.results.analyze import analyze
from probe.training.recipe import Recipe
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    assert_unnoticed,
    examples,
    network,
    same_state,
)

# Its first import writes a file of settings into the home folder, which another worker of
# pytest would read half-written.
with FileLock(Path(sys.prefix) / "avalanche.lock"):
    pytest.importorskip("avalanche", reason="the extra avalanche is not installed")

import avalanche.benchmarks as streams
from avalanche.benchmarks import PermutedMNIST, RotatedMNIST, SplitMNIST, nc_benchmark
from avalanche.benchmarks.scenarios.online import (
    split_continuous_linear_decay_stream,
    split_online_stream,
)
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.models import IncrementalClassifier, MTSimpleMLP, SimpleMLP
from avalanche.models.dynamic_modules import avalanche_model_adaptation
from avalanche.training import Naive
from avalanche.training.plugins import EvaluationPlugin
from torch.utils.data import TensorDataset

from probe.record.plugins.avalanche import ForgettingProbe, data_of

PAGE = Path(__file__).parents[3] / "docs" / "watch.md"
ZERO = {"class_ids_from_zero_in_each_exp": True}
TOLD = {**ZERO, "return_task_id": True}


@pytest.fixture
def root(tmp_path):
    """Return a folder with 60 and 40 images in the files of MNIST, all digits in turn."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, n in (("train", 60), ("t10k", 40)):
        digits = np.arange(n, dtype=np.uint8) % 10
        images = np.zeros((n, 28, 28), np.uint8)
        for at, digit in enumerate(digits):
            images[at, digit : digit + 9, at % 19 :] = 255
        head = struct.pack(">4i", 0x803, n, 28, 28)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2i", 0x801, n) + bytes(digits)
        )
    return tmp_path


def halves():
    parts = []
    for data in (examples(), examples(60, 1)):
        made = TensorDataset(data.x, data.y)
        made.targets = data.y.tolist()
        parts.append(as_classification_dataset(made))
    return parts


def benchmark():
    parts = halves()
    order = [c for task in TASKS for c in task]
    return nc_benchmark(
        *parts, n_experiences=3, task_labels=False, fixed_class_order=order
    )


def strategy(model, *plugins, evaluator=None):
    return Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=10,
        train_epochs=2,
        plugins=list(plugins),
        evaluator=evaluator,
    )


def rows_of(plugin, stream):
    """Train on each experience, recorded; return the accuracies that Avalanche itself finds."""
    own = EvaluationPlugin(accuracy_metrics(experience=True), loggers=[])
    loop, rows = strategy(plugin.recorder.model, plugin, evaluator=own), []
    for experience in stream.train_stream:
        loop.train(experience)
        found = loop.eval(stream.test_stream)
        rows.append(
            [own for name, own in found.items() if name.startswith("Top1_Acc_Exp/eval")]
        )
    return rows


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one call"])
def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(
    tmp_path, together
):
    test, tasks, plain, model = (
        examples(60, 1),
        benchmark().train_stream,
        network(),
        network(),
    )
    data = data_of(benchmark())
    plugin = ForgettingProbe(
        Recorder(tmp_path, model, data.test, train=data.train, every=2)
    )
    assert plugin.recorder.tasks == TASKS
    loops = {False: strategy(plain), True: strategy(model, plugin)}

    def trained(_, task, recorded):
        loops[recorded].train(task)

    def row(own):
        return accuracies(own, test)

    assert_unnoticed(plain, plugin.recorder, trained, row, tasks, together)
    kept = load_data(read_recording(tmp_path).data)
    assert [len(each) for each in kept] == [120, 60]
    assert kept[1].of_task(2).x.shape == (20, 8)


@pytest.mark.parametrize("drop_last", [False, True])
def test_the_parts_of_an_online_stream_are_the_task_that_they_are_of(
    tmp_path, drop_last
):
    test = examples(60, 1)
    plain = network()
    model = network()
    split = partial(split_online_stream, experience_size=7, drop_last=drop_last, seed=0)
    tasks = [list(split([experience])) for experience in benchmark().train_stream]
    plugin = ForgettingProbe(Recorder(tmp_path, model, test, TASKS))
    loops = {False: strategy(plain), True: strategy(model, plugin)}

    def trained(_, task, recorded):
        for part in task:
            loops[recorded].train(part)

    def row(own):
        return accuracies(own, test)

    assert_unnoticed(plain, plugin.recorder, trained, row, tasks)


def test_an_online_stream_without_tasks_is_refused_before_any_training(tmp_path):
    rec = Recorder(tmp_path, network(), examples(60, 1), TASKS)
    stream = split_continuous_linear_decay_stream(
        benchmark().train_stream, 8, 4, 3, shuffle=True
    )
    with pytest.raises(InputError, match="where its tasks end"):
        strategy(rec.model, ForgettingProbe(rec)).train(next(iter(stream)))
    assert same_state(rec.model.state_dict(), network().state_dict())


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        (partial(SplitMNIST, 5), 10),
        (partial(SplitMNIST, 5, **ZERO), 2),
        (partial(SplitMNIST, 5, class_ids_from_zero_from_first_exp=True), 10),
        (partial(PermutedMNIST, 3, return_task_id=True), 10),
        (partial(RotatedMNIST, 3), 10),
    ],
    ids=["split", "split from zero", "split as met", "permuted", "rotated"],
)
def test_each_row_is_the_accuracies_that_avalanche_finds(tmp_path, root, make, classes):
    stream = make(seed=1, dataset_root=root)
    data = data_of(stream)
    for half, own in zip(data, (stream.train_stream, stream.test_stream), strict=True):
        for number, experience in enumerate(own):
            known = Examples.of(experience.dataset.eval())
            found = half.of_task(number)
            assert torch.equal(found.x, known.x)
            assert torch.equal(found.y, known.y)
    model = SimpleMLP(classes, hidden_size=16)
    rec = Recorder(tmp_path / "rec", model, data.test, train=data.train)
    rows = rows_of(ForgettingProbe(rec), stream)
    np.testing.assert_array_equal(rec.R.values[1:], rows)
    assert len(np.unique(rows)) > 1


def check_recorded(rec, stream, **settings):
    """Compare what a strategy evaluates, and an analysis, with the recorder; return the latter."""
    rows = rows_of(ForgettingProbe(rec), stream)
    np.testing.assert_array_equal(rows, rec.R.values[1:])
    model = Model(rec.folder, **settings)
    found = analyze(model, readouts=["linear"], recipe=Recipe(epochs=1))
    np.testing.assert_array_equal(found.R.values, rec.R.values)
    return found


def told(model, x, task):
    return model(x, task)


def test_a_network_with_a_head_per_task_is_told_the_task(tmp_path, root):
    stream = SplitMNIST(5, **TOLD, dataset_root=root)

    def build():
        model = MTSimpleMLP(hidden_size=16)
        for experience in stream.train_stream:
            avalanche_model_adaptation(model, experience)
        return model

    data = data_of(stream)
    rec = Recorder(tmp_path / "rec", build(), data.test, train=data.train, call=told)
    found = check_recorded(rec, stream, call=told, fresh=build)
    assert found.features == ("features", "output")


def test_a_masked_head_is_recorded_as_it_grows_and_refused_if_it_was_grown_before(
    tmp_path,
):
    def build():
        model = network()
        model[4] = IncrementalClassifier(16)
        return model

    stream, grown = benchmark(), build()
    for experience in stream.train_stream:
        avalanche_model_adaptation(grown, experience)
    data = data_of(stream)
    first = build()
    avalanche_model_adaptation(first, stream.train_stream[0])
    rec = Recorder(tmp_path / "rec", first, data.test, train=data.train, grows="4")
    check_recorded(rec, stream, fresh=lambda: copy.deepcopy(grown))
    with pytest.raises(InputError, match="outputs 0, 1, 2"):
        rows_of(ForgettingProbe(Recorder(tmp_path / "other", grown, data.test)), stream)


def test_training_examples_are_recorded_without_augmentation(root):
    def augment(image):
        return torch.full((1, 28, 28), torch.nan)

    stream = SplitMNIST(5, dataset_root=root, train_transform=augment)
    assert data_of(stream).train.x.isfinite().all()


def test_a_whole_test_set_is_divided_by_classes_that_tell_the_tasks(root):
    parts = halves()
    names = dict(zip(("train", "test"), parts, strict=True))
    split = streams.class_incremental_benchmark(
        dict(names), num_experiences=3, class_order=[*range(6)]
    )
    data = data_of(streams.task_incremental_benchmark(split))
    assert torch.equal(data.test.task, data.test.y // 2)
    train = [experience.dataset for experience in split.train_stream]
    whole = data_of(streams.benchmark_from_datasets(train=train, test=parts[1:])).test
    assert torch.equal(whole.task, whole.y // 2)
    for drifting in (streams.new_instances_benchmark, streams.ni_benchmark):
        with pytest.raises(InputError, match="3 experiences to train on, 1 to test on"):
            data_of(drifting(*parts, 3))


def test_the_program_of_the_docs_goes_from_a_stream_to_the_page(
    root, monkeypatch, capsys
):
    [program] = re.findall(
        r"```py\n(from avalanche.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    monkeypatch.chdir(root)
    monkeypatch.setattr(
        streams, "RotatedMNIST", partial(RotatedMNIST, dataset_root=root)
    )
    # Instead of a thousand.
    monkeypatch.setattr("probe.training.recipe.LEAST_STEPS", 50)
    exec(compile(program, str(PAGE), "exec"), {})
    assert re.search(
        r"^features +-?\d+\.\d +\[.*\d+\.\d$", capsys.readouterr().out, re.MULTILINE
    )


def test_another_model_too_many_tasks_and_two_recorders_are_one_sentence(tmp_path):
    experiences = benchmark().train_stream
    rec = Recorder(tmp_path, network(), examples(60, 1), TASKS)
    with pytest.raises(InputError, match="recorder's model"):
        strategy(network(), ForgettingProbe(rec)).train(experiences[0])
    with pytest.raises(
        InputError, match=r"a plugin takes a probe\.Recorder, got Sequential"
    ):
        ForgettingProbe(rec.model)
    with pytest.raises(InputError, match="all 3 tasks have been learned"):
        strategy(rec.model, ForgettingProbe(rec, learned=3)).train(experiences[0])
    assert np.isnan(rec.R.values).all()
