"""Predictions that depend on the batch are refused, whatever reads them."""

import copy

import pytest
import torch
from torch.nn import functional

import probe
from probe.errors import InputError
from probe.training.evaluation import check_independence
from tests.laws.zoo.hostile import prompts
from tests.laws.zoo.written import ABC, Written

TASKS = [[0, 1], [2]]


def normalized(side, change):
    def run(m, x):
        by_batch = m.mark(functional.batch_norm(h := m.a(x), None, None, training=True))
        return change(m.c(h if side else by_batch))

    return Written(run, ABC)


LAST = torch.tensor(2)
CHANGES = {
    "as it is": lambda z: z,
    "a masked class": lambda z: z.index_fill(1, LAST, -torch.inf),
    "a class to come": lambda z: z.index_fill(1, LAST, -1e4),
    "noise": lambda z: z + 1e-7 * torch.randn_like(z),
}


def data(shape):
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    centers = 3 * torch.randn(3, *[1] * (len(shape) - 1), shape[-1], generator=draw)
    return centers[y] + torch.randn(60, *shape, generator=draw), y


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_values_of_a_batch_are_refused(change):
    examples = data((6,))
    for side, name in (False, "the output"), (True, "'mark'"):
        with pytest.raises(
            InputError, match=f"{name}.* depends on the others of its batch"
        ):
            probe.analyze(
                {2: normalized(side, change)},
                examples,
                examples,
                TASKS,
                ["mark"],
                readouts=["ncm"],
            )


def test_a_prompt_of_the_batch_is_refused(tmp_path):
    model, *_ = prompts.l2p_by_batch.made()
    with pytest.raises(InputError, match="the output of an example depends"):
        probe.Recorder(tmp_path, model, data((4, 8)), TASKS).after_task(1)


def test_what_the_size_of_a_batch_rounds_is_not_refused():
    check_independence(lambda x: [("fired", x + (len(x) < 16))], *data((6,)))


def rarely_elsewhere(m, x):
    """Return other logits for a batch if one of its values is large."""
    h = m.mark(m.a(x))
    return m.c(h.flip(1) if x.abs().max() > 50 else h)


def alone(model, x):
    return torch.cat([model(row) for row in x.split(1)])


@pytest.mark.parametrize("factor", [100, 1e6])
def test_a_rare_example_that_sends_its_batch_down_another_path_is_refused(
    tmp_path, factor
):
    x, y = data((6,))
    x[7] *= factor
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Written(rarely_elsewhere, ABC)
    predicted = alone(model, x).argmax(1)
    y = torch.where(torch.arange(60) < 40, y, predicted)
    with pytest.raises(InputError, match="a test example depends on the others"):
        probe.analyze({2: model}, (x, y), (x, y), TASKS, ["mark"], readouts=["ncm"])
    with pytest.raises(InputError, match="a test example depends on the others"):
        probe.Recorder(tmp_path / "as it is", model, (x, y), TASKS).after_task(1)
    with pytest.raises(InputError, match="a test example depends on the others"):
        probe.partial_retrain(model, ["mark"], (x, y), (x, y), TASKS)
    other = copy.deepcopy(model)
    other.c.bias.data[0] += 1
    with pytest.raises(InputError, match="a test example depends on the others"):
        probe.diff(model, other, (x, y))
    lost = probe.diff(model, other, (x, y), call=alone).answer.lost.value
    after = alone(other, x).argmax(1)
    assert lost == pytest.approx(
        float((predicted == y).sum() - (after == y).sum()) / 60
    )
    rec = probe.Recorder(tmp_path / "alone", model, (x, y), TASKS, call=alone)
    rec.after_task(1)
    right = (predicted == y).double()
    expected = [float(right[task].mean()) for task in (y < 2, y == 2)]
    assert max(expected) > 0
    assert rec.R.values[1].tolist() == pytest.approx(expected)


def test_examples_that_take_the_usual_path_are_not_refused(tmp_path):
    model = Written(rarely_elsewhere, ABC)
    rec = probe.Recorder(tmp_path, model, data((6,)), TASKS)
    rec.after_task(1)
    assert rec.R.values[1].max() <= 1
