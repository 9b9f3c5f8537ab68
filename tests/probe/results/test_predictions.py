"""The predictions are all that the tables are made of, in the order of the caller's test data."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

import probe
from probe.by_layer.head_predictions import Heads
from probe.examples import Examples
from scenarios.data.datasets import Dataset, limited, load
from scenarios.networks import mlp
from scenarios.streams import (
    incremental,
    multimodal,
    permuted,
    relabeled,
    rotated,
    split_by_class,
)
from tests.scenarios.tiny_run import Tiny, probed

TASKS = ((0, 1, 2), (3, 4, 5, 6), (7, 8, 9))
ORDER = (2, 0, 1)
STUDY = (
    probed('checkpoints = "all"')
    .replace("classes_per_task = 5", f"tasks = {list(map(list, TASKS))}")
    .replace("there = [1, 2]", "cyclic = [3, 1, 2]")
)
DIGITS = limited(load("digits"), 4, 5).test


def test_the_loss_is_torch_s_cross_entropy_of_the_logits_that_compete(tmp_path):
    """In half precision; infinite where the label does not compete."""
    root = Tiny(tmp_path / "tiny").ran(STUDY).root
    [folder] = root.glob("jobs/finetune.order-cyclic.seed-0/*/")
    with np.load(folder / "predictions.npz") as file:
        of_output = file["readout"][file["loss_of"]] == ""
        steps = file["tasks_seen"][file["loss_of"]][of_output]
        losses = file["loss"][of_output]
    assert losses.dtype == np.float16
    assert steps.tolist() == [0, 1, 2, 3]
    for tasks_seen, loss in zip(steps[1:], losses[1:], strict=True):
        model = mlp((1, 8, 8), 10)
        path = folder / f"after-{tasks_seen}.pt"
        model.load_state_dict(torch.load(path, weights_only=True)["state_dict"])
        learned = ORDER[:tasks_seen]
        seen = np.concatenate([TASKS[task] for task in learned])
        barred = torch.tensor([c not in seen for c in range(10)])
        with torch.no_grad():
            logits = model(DIGITS.x).masked_fill(barred, -torch.inf)
        expected = cross_entropy(logits, DIGITS.y, reduction="none").half().numpy()
        assert np.isinf(loss).tolist() == barred[DIGITS.y].tolist()
        np.testing.assert_allclose(loss, expected, rtol=2e-3)


def test_the_loss_is_under_the_main_head():
    """Among the classes of the task where a learner receives the task id."""
    stream = split_by_class(replace(FEW, test=DIGITS), 5)
    torch.manual_seed(0)
    scores = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).requires_grad_(False)
    heads = Heads(scenario=stream, classes_seen=range(10), task_aware=True)
    _, losses = heads.predict(scores)
    y = stream.test.y
    logits = scores(stream.test.x)
    of_task = torch.arange(10)[None] // 5 == y[:, None] // 5
    logits = logits.masked_fill(~of_task, -torch.inf)
    expected = cross_entropy(logits, y, reduction="none")
    torch.testing.assert_close(losses, expected)
    variants = [scores, lambda x: -scores(x)]
    later = replace(heads, position=2)
    together = later.predict_variants(
        lambda x: [one(x) for one in variants],
        any_layout=True,
    )
    for of_all, one in zip(
        together,
        variants,
        strict=True,
    ):
        alone = later.predict(one)
        assert torch.equal(of_all[0]["multi"], alone[0]["multi"])


# The order of the test data


def given_to_analyze(kind):
    """Return x and y in no order of tasks, as a caller has them, tasks, and each example's."""
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(24).remainder(4)[torch.randperm(24, generator=draw)]
    largest = torch.randint(4, (24,), generator=draw)
    x = one_hot(largest, 4).float() + torch.rand(24, 4) / 2
    if kind == "classes":
        return (x, y), (x, y), [[2, 0], [3, 1]], (y % 2).tolist()
    if kind == "list":
        first = torch.isin(y, torch.tensor([1, 2]))
        parts = [(x[rows], y[rows]) for rows in (first, ~first)]
        given = [torch.cat(halves) for halves in zip(*parts, strict=True)]
        return given, parts, None, [0] * 12 + [1] * 12
    number = torch.randint(3, (24,), generator=draw)
    task_of = [[1, 2, 0][n] for n in number]
    return (x, y), Examples(x, y, task=number), [2, 0, 1], task_of


@pytest.mark.parametrize("kind", ["classes", "list", "numbers"])
def test_analyze_keeps_the_order_of_the_callers_test_data(kind):
    given, data, tasks, task_of = given_to_analyze(kind)
    net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    for layer in net:
        nn.init.eye_(layer.weight)
    T = 1 + max(task_of)
    found = probe.analyze(
        {T: net},
        data,
        data,
        tasks,
        ["0"],
        readouts=["ncm"],
    )
    x, y = given
    frame = probe.predictions(found).query(f"learner == 'model' and tasks_seen == {T}")
    for _, own in frame.groupby(["feature", "readout", "head"], observed=True):
        assert own["example"].tolist() == list(range(24))
        assert own["label"].tolist() == y.tolist()
        assert own["task_position"].tolist() == [1 + task for task in task_of]
    output = frame[(frame["readout"] == "") & (frame["head"] == "all")]
    assert output["predicted"].tolist() == x.argmax(1).tolist()


FEW = Dataset(
    name="few",
    classes=10,
    train=DIGITS,
    test=DIGITS.take(torch.randperm(50)),
)
SOUND = Dataset(
    name="sound",
    classes=2,
    train=Examples(torch.rand(4, 3), torch.arange(4) % 2),
    test=Examples(torch.rand(4, 3), torch.arange(4) % 2),
)
STREAMS = {
    "split": (split_by_class(FEW, 2), FEW.test.y),
    "incremental": (incremental(FEW, 4), FEW.test.y),
    "domain": (rotated(FEW, [0, 30, 60]), FEW.test.y.repeat(3)),
    "contexts": (relabeled(FEW, 2), FEW.test.y % 2),
    "permuted": (permuted(FEW, 3), FEW.test.y.repeat(3)),
    "multimodal": (multimodal(FEW, SOUND), torch.cat([FEW.test.y, 10 + SOUND.test.y])),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_keeps_the_order_of_the_test_data_whatever_the_order_of_tasks(
    name,
):
    """Where each task has test data of its own, they come task after task in base order."""
    stream, labels = STREAMS[name]
    T = len(stream.tasks)
    for order in (range(T), [*range(1, T), 0], [T - 1, *range(T - 1)]):
        executed = stream.reordered(list(order))
        test = executed.test_examples
        assert test.labels.tolist() == labels.tolist()
        assert executed.in_callers_order(executed.test.y).tolist() == labels.tolist()
        positions = np.argsort(list(order))[test.tasks]
        assert np.bincount(positions).tolist() == [
            len(task.test) for task in executed.tasks
        ]
        assert all(
            y in executed.tasks[k].classes
            for k, y in zip(positions, labels.tolist(), strict=True)
        )
        by_task = np.concatenate([test.labels[test.tasks == task] for task in order])
        np.testing.assert_array_equal(by_task, executed.test.y)
