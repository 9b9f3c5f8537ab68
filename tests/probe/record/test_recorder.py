"""The recorder: what it keeps is right, and it leaves everything else as it was."""

import copy
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from probe.errors import InputError
from probe.examples import Examples
from probe.record.checkpoints import Checkpoints
from probe.record.data import load_data
from probe.record.plugins.task_counter import TaskCounter
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
from probe.record.state_files import fit_state, load_state
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    assert_unnoticed,
    examples,
    network,
    same_state,
    train,
)
from tests.scenarios.execution.helpers import exit_code, fork


def recorded(folder, tasks=TASKS, seed=0, **settings):
    """Train and record a run; return the recorder."""
    data, test, model = examples(), examples(60, seed=1), network(seed)
    rec = Recorder(folder, model, test, tasks, seed=seed, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for learned in range(len(tasks) + 1):
            if learned:
                train(model, data, tasks[learned - 1])
            rec.after_task(learned)
    return rec


def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(tmp_path):
    test, data = examples(60, 1), examples()
    rec = Recorder(tmp_path, network(), test, TASKS)
    rec.after_task(0)

    def trained(model, task, recorded):
        train(model, data, task)
        if recorded:
            gradients = [p.grad.clone() for p in model.parameters()]
            model[3].eval()  # a mode of its own
            rec.after_task(1 + TASKS.index(task))
            assert [m.training for m in model] == [True, True, True, False, True]
            assert all(
                map(torch.equal, gradients, (p.grad for p in model.parameters()))
            )

    assert_unnoticed(network(), rec, trained, lambda own: accuracies(own, test))
    # The tasks were learned, and forgotten: a matrix of one number could be anybody's.
    assert min(np.diag(rec.R.values[1:])) > 0.6 > max(rec.R.values[3, :2])
    assert [counts.total for counts in rec.counts.values()] == [60] * 4


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, a, b):
        return {"logits": self.net(torch.cat([a, b], 1)), "loss": None}


TEST = examples(60, 1)
A, B = TEST.x[:, :3], TEST.x[:, 3:]
BYTES = Examples(
    (TEST.x * 40 + 128).clamp(0, 255).byte(),
    TEST.y,
)
# The model, the test data that it is given, as the plain loop has them, and settings.
INPUTS = {
    # In another order than the model's arguments.
    "mapping": (Two, Examples({"b": B, "a": A}, TEST.y), TEST, {"output": "logits"}),
    "pair": (Two, ((A, B), TEST.y), TEST, {"output": "logits"}),
    "uint8": (network, BYTES, Examples(BYTES.x.float() / 255, TEST.y),
              {"call": lambda model, x: model(x.float() / 255)}),
    "parallel": (lambda: nn.DataParallel(network()), TEST, TEST, {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", INPUTS)
def test_any_input(tmp_path, kind):
    build, given, plain, settings = INPUTS[kind]
    rec = Recorder(
        tmp_path, build(), given, TASKS, train=given, batch_size=7, **settings
    )
    rec.after_task(2)
    inner = getattr(rec.model, "net", rec.model)
    expected = accuracies(copy.deepcopy(inner).eval(), plain)
    np.testing.assert_array_equal(rec.R.values[2], expected)
    assert np.isnan(rec.R.values[[0, 1, 3]]).all()
    state = load_state(tmp_path / "runs/model/order-0/seed-0/task-2.pt")
    assert same_state(state, rec.model.state_dict())
    again, _ = load_data(read_recording(tmp_path).data)
    assert torch.equal(again.y, TEST.y)
    if kind == "mapping":
        assert torch.equal(again.x["a"], A)


def grow(model, outputs):
    """Replace the head of `network` by a larger one, as class-incremental programs do."""
    head, model[4] = model[4], nn.Linear(16, outputs)
    with torch.no_grad():
        for name, tensor in model[4].named_parameters():
            rows = min(outputs, len(head.bias))
            tensor[:rows] = head.get_parameter(name)[:rows]


def test_a_head_that_grows_is_recorded_as_it_grows_and_read_back(tmp_path):
    test, data, model, plain = examples(60, 1), examples(), network(), network()
    for net in (model, plain):
        torch.manual_seed(0)
        grow(net, 2)
    rec = Recorder(tmp_path, model, test, TASKS, grows="4")
    rows = [accuracies(copy.deepcopy(plain).eval(), test)]
    rec.after_task(0)
    for learned, task in enumerate(TASKS, 1):
        for net in (plain, model):
            torch.manual_seed(learned)
            grow(net, 2 * learned)
            train(net, data, task)
        rec.after_task(learned)
        rows.append(accuracies(copy.deepcopy(plain).eval(), test))
    assert same_state(plain.state_dict(), model.state_dict())
    np.testing.assert_array_equal(rec.R.values, rows)
    for learned, path in read_recording(tmp_path).checkpoints.runs[rec.run].items():
        fit_state(full := network(), load_state(path), "a full network")
        assert accuracies(full.eval(), test) == rows[learned]
    grow(wide := network(), 9)
    with pytest.raises(
        InputError, match=r"9 outputs for 6 classes: .* m\(x\)\[:, :6\]"
    ):
        Recorder(tmp_path / "wide", wide, test, TASKS)
    grow(low := network(), 2)
    nn.init.constant_(low[4].bias, -2e4)
    with pytest.raises(InputError, match="below the -10000"):
        Recorder(tmp_path / "low", low, test, TASKS, grows="4")
    for name in ("0", "1", "gone"):
        with pytest.raises(InputError, match=f"grows='{name}'"):
            Recorder(tmp_path / "other", network(), test, TASKS, grows=name)


def test_a_restarted_run_goes_on_and_rows_of_another_network_are_dropped(tmp_path):
    whole = recorded(tmp_path).R.values
    # The same network again: the rest stays.
    model = network()
    fit_state(
        model, load_state(tmp_path / "runs/model/order-0/seed-0/task-1.pt"), "task 1"
    )
    same = Recorder(tmp_path, model, examples(60, 1), TASKS)
    same.after_task(1)
    np.testing.assert_array_equal(same.R.values, whole)
    del same
    # Another one: what came after is not of this training.
    other = Recorder(tmp_path, network(7), examples(60, 1), TASKS)
    other.after_task(1)
    np.testing.assert_array_equal(other.R.values[0], whole[0])
    assert np.isfinite(other.R.values[1]).all()
    assert np.isnan(other.R.values[2:]).all()
    assert list(read_recording(tmp_path).checkpoints.runs[other.run]) == [0, 1]


def test_two_recorders_of_one_run_do_not_mix(tmp_path):
    first, second = (
        Recorder(tmp_path, network(s), examples(60, 1), TASKS) for s in (0, 1)
    )
    left, own = (
        tmp_path / f"runs/model/order-0/seed-0/{n}.tmp" for n in ("t.pt.0123abcd", "my")
    )
    left.touch()  # by a recorder that was killed
    own.touch()
    first.after_task(0)
    assert not left.exists()
    assert own.exists()
    said = (
        r"another recorder has recorded .*seed-0 since this was made: give each run its"
    )
    with pytest.raises(InputError, match=said):
        second.after_task(0)
    # One made since goes on, as after a failed cell of a notebook, and the first no
    # more.
    later = Recorder(tmp_path, network(2), examples(60, 1), TASKS)
    later.after_task(1)
    for other in (first, second, copy.deepcopy(first)):
        with pytest.raises(InputError, match=said):
            other.after_task(2)


def test_runs_share_a_folder_and_orders_are_numbers_into_the_first(tmp_path):
    other = (TASKS[2], TASKS[0], TASKS[1])
    for seed in (0, 1):
        recorded(tmp_path, seed=seed, learner="er", order=2, train=examples())
        rec = recorded(tmp_path, other, seed=seed, learner="er", order="swapped")
        rec.offline(network(seed))
    found = read_recording(tmp_path)
    assert found.orders == {"2": (0, 1, 2), "swapped": (2, 0, 1)}
    np.testing.assert_array_equal(found.R[rec.run].values, rec.R.values)
    pattern = tmp_path / "runs/{learner}/order-{order}/seed-{seed}/task-{task}.pt"
    assert (
        Checkpoints.find(pattern, tmp_path / "offline/seed-{seed}.pt")
        == found.checkpoints
    )
    assert list(tmp_path.rglob("data*")) == [found.data]  # one for all runs


def test_a_call_of_any_run_is_a_call_of_the_recording(tmp_path):
    for seed, call in enumerate((None, lambda model, x: model(x))):
        rec = Recorder(tmp_path, network(), TEST, TASKS, seed=seed, call=call)
        rec.after_task(1)
        assert read_recording(tmp_path).called == (call is not None)


def test_processes_share_a_folder(tmp_path):
    processes = [
        fork(partial(recorded, tmp_path, seed=seed, train=examples()))
        for seed in (0, 1)
    ]
    assert [exit_code(process) for process in processes] == [0, 0]
    found = read_recording(tmp_path)
    assert [run.seed for run in found.R] == [0, 1]
    assert all(np.isfinite(R.values).all() for R in found.R.values())
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_loop_that_goes_on_does_not_begin_again(tmp_path):
    rec = Recorder(tmp_path, network(), examples(60, 1), TASKS)
    for learned in (0, 1, 2):
        rec.after_task(learned)
        train(rec.model, examples(), TASKS[learned], steps=5)
    before = rec.R.values.copy()
    counter = TaskCounter(rec, learned=2)
    counter.begin(rec.model)
    np.testing.assert_array_equal(rec.R.values, before)
    counter.end()
    assert np.isfinite(rec.R.values[3]).all()


def test_a_network_is_kept_before_it_is_tested_and_no_accuracy_is_of_another(tmp_path):
    rec = recorded(tmp_path)
    model = rec.model
    with torch.no_grad():
        model[4].bias.fill_(torch.nan)
    with pytest.raises(InputError, match="is NaN"):
        rec.after_task(2)
    assert np.isnan(rec.R.values[2:]).all()
    found = read_recording(tmp_path)
    assert found.R[rec.run].values[:2].tolist() == rec.R.values[:2].tolist()
    assert (
        load_state(tmp_path / "runs/model/order-0/seed-0/task-2.pt")["4.bias"]
        .isnan()
        .all()
    )


def replaced(model, mean):
    model.mean = (model.mean + mean) / 2
    return model.mean


def written(model, mean):
    return model.mean.lerp_(mean, 0.5)


def appended(model, mean):
    model.kept.means.append(mean)
    return sum(model.kept.means)


def buffered(model, mean):
    model.late = mean if model.late is None else model.late + mean
    return model.late


def drawn(model, mean):
    return torch.rand(6, generator=model.draw) + model.numpy.random()


class Carrying(nn.Linear):
    """A layer whose passes, also in eval mode, change what the next pass in training reads."""

    def __init__(self, carry):
        super().__init__(8, 6)
        self.carry = carry
        self.mean = torch.zeros(6)
        self.kept = SimpleNamespace(means=[])
        self.draw = torch.Generator().manual_seed(1)
        self.numpy = np.random.default_rng(1)
        self.register_buffer("late", None)

    def forward(self, x):
        h = super().forward(x)
        carried = self.carry(self, h.detach().mean(0)).clone()
        return h * (1 + carried) if self.training else h


@pytest.mark.parametrize("carry", [replaced, written, appended, buffered, drawn])
def test_what_a_network_carries_from_pass_to_pass_is_never_that_of_a_test(
    tmp_path, carry
):
    plain = Carrying(carry)
    model = copy.deepcopy(plain)
    rec = Recorder(tmp_path, model, examples(60, 1), TASKS)
    for tested in (plain, model):
        torch.manual_seed(4)
        for learned, task in enumerate(TASKS, 1):
            train(tested, examples(), task, steps=3)
            if tested is model:
                rec.after_task(learned)
    assert same_state(plain.state_dict(), model.state_dict())
