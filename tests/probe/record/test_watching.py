"""A watch over a training: what it measures, when it stops, and that the training goes on."""

import copy
import re

import pytest
import torch
from torch.nn.functional import cross_entropy

import probe
from probe.before_after.watching import TooMuchLost, Watch
from probe.errors import InputError
from probe.record.plugins.task_counter import TaskCounter
from probe.record.recorder import Recorder
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    examples,
    network,
    same_state,
    train,
)

TRAIN = examples()
TEST = examples(120, 1)
OLD = TEST.of_classes(TASKS[0])
NEW = TEST.of_classes(TASKS[1])


def learned():
    """Return a network that has learned the first task."""
    torch.manual_seed(0)
    model = network()
    train(model, TRAIN, TASKS[0], steps=60)
    return model


def watch(**settings):
    return Watch(**{"old": (OLD.x, OLD.y), "tolerate": 0.2, "every": 2} | settings)


def recorder(folder, model, **settings):
    return Recorder(folder, model, TEST, TASKS, diff=watch(**settings))


def forget(model, rec=None, steps=20, states=None):
    """Learn the second task only, and return the network after each step."""
    states = [] if states is None else states
    for _ in range(steps):
        train(model, TRAIN, TASKS[1], steps=1)
        states.append(copy.deepcopy(model.state_dict()))
        if rec:
            rec.after_step()
    return states


def test_a_training_does_not_notice(tmp_path):
    plain = learned()
    watched = copy.deepcopy(plain)
    torch.manual_seed(1)
    forget(plain)
    draws = torch.rand(3)
    rec = recorder(tmp_path, watched, stop=False, new=(NEW.x, NEW.y))
    torch.manual_seed(1)
    forget(watched, rec)
    assert torch.equal(draws, torch.rand(3))
    assert same_state(plain.state_dict(), watched.state_dict())
    assert watched.training


class Second(torch.nn.Module):
    """A network whose logits are its second output."""

    def __init__(self):
        super().__init__()
        self.inner = learned()

    def forward(self, x):
        return x, self.inner(x)


def test_networks_are_called_as_the_recorder_calls_them(tmp_path):
    model = Second()
    rec = Recorder(tmp_path, model, TEST, TASKS, output=1, diff=watch(every=1))
    model.inner[-1].bias.data[-1] = 1e3
    with pytest.raises(TooMuchLost) as stopped:
        rec.after_step()
    assert stopped.value.diff.answer.old.after == 0


class Counted(torch.nn.Linear):
    """A layer that keeps a list of its passes."""

    def forward(self, x):
        self.passes.append(len(x))
        return super().forward(x)


def test_what_a_network_keeps_of_its_passes_is_that_of_the_training(tmp_path):
    model = Counted(8, 6)
    model.passes = []
    recorder(tmp_path, model)
    assert model.passes == []


def test_each_test_is_the_accuracy_of_the_network_and_what_diff_says(tmp_path):
    before = learned()
    model = copy.deepcopy(before)
    rec = recorder(tmp_path, model, stop=False, new=(NEW.x, NEW.y))
    states = forget(model, rec)
    table = rec._watch.table
    assert table.step.tolist() == [*range(2, 21, 2)]
    for row in table.itertuples():
        after = network()
        after.load_state_dict(states[row.step - 1])
        old, new, _ = accuracies(after.eval(), TEST)
        assert (row.old, row.new) == pytest.approx((old, new))
    lost = probe.diff(before, after, (OLD.x, OLD.y)).answer.lost
    assert (row.lost, row.lost_low, row.lost_high) == (lost.value, lost.low, lost.high)


@pytest.mark.parametrize("score", ["accuracy", "loss"])
def test_it_stops_where_more_is_lost_for_sure_and_keeps_the_network_of_the_test_before(
    score, tmp_path
):
    model = learned()
    rec = recorder(tmp_path, model, score=score)
    states = []
    with pytest.raises(TooMuchLost) as stopped:
        forget(model, rec, 100, states)
    error = stopped.value
    table = rec._watch.table
    is_good = table.lost_low <= 0.2
    assert is_good.iloc[:-1].all()
    assert not is_good.iloc[-1]
    assert error.diff.answer.lost.low == table.lost_low.iloc[-1]
    if score == "loss":
        first = network()
        first.load_state_dict(states[1])
        expected = -cross_entropy(first.eval()(OLD.x), OLD.y).item()
        assert table.old.iloc[0] == pytest.approx(expected, abs=1e-6)
    good = torch.load(error.last_good, weights_only=True)
    assert same_state(good, states[error.step - 3])
    assert error.last_good.is_relative_to(tmp_path)
    assert error.diff.answer.blocks[0].block in str(error)


def test_what_is_tolerated_may_be_lost(tmp_path):
    rec = recorder(tmp_path, learned(), score="loss", tolerate=0, every=1)
    rec.after_step()
    assert rec._watch.table.lost_low.tolist() == [0]


def test_after_a_restart_the_first_start_counts_until_one_begins_anew(tmp_path):
    start = learned()
    model = copy.deepcopy(start)
    forget(model, recorder(tmp_path, model, stop=False))
    with pytest.warns(UserWarning, match=re.escape(str(tmp_path))):
        rec = recorder(tmp_path, model, stop=False)
    forget(model, rec, steps=2)
    lost = probe.diff(start, model, (OLD.x, OLD.y)).answer.lost
    assert rec._watch.table.lost.tolist() == [lost.value]
    rec.after_task(0)
    halfway = copy.deepcopy(model)
    forget(model, rec, steps=2)
    lost = probe.diff(halfway, model, (OLD.x, OLD.y)).answer.lost
    assert rec._watch.table.lost.iloc[-1] == lost.value


@pytest.mark.parametrize("score", ["accuracy", "loss"])
def test_a_network_that_diverges_is_lost(tmp_path, score):
    model = learned()
    rec = recorder(
        tmp_path,
        model,
        score=score,
        every=1,
    )
    told = recorder(
        tmp_path / "told",
        model,
        score=score,
        every=1,
        stop=False,
    )
    rec.after_step()
    model[1].running_mean[0] = torch.nan
    told.after_step()
    assert told._watch.table.drop(columns="step").isna().all(axis=None)
    with pytest.raises(TooMuchLost, match=r"NaN or Inf.*last-good\.pt") as stopped:
        rec.after_step()
    assert (stopped.value.step, stopped.value.diff) == (2, None)


@pytest.mark.parametrize("begins_anew", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
def test_the_last_good_network_is_known_until_one_begins_anew(
    tmp_path, restarts, begins_anew
):
    model = learned()
    rec = recorder(tmp_path, model, every=1)
    rec.after_step()
    (good,) = tmp_path.rglob("last-good.pt")
    if begins_anew:
        rec.after_task(0)
    if restarts:
        rec = recorder(tmp_path, model, every=1)
    model[-1].bias.data[5] += 1000
    with pytest.raises(TooMuchLost) as stopped:
        rec.after_step()
    assert stopped.value.last_good == (None if begins_anew else good)


def test_a_plugin_counts_steps_of_a_watch(tmp_path):
    rec = recorder(tmp_path, learned(), score="loss")
    counter = TaskCounter(rec)
    for _ in range(4):
        counter.step()
    assert rec._watch.table[["step", "lost"]].to_numpy().tolist() == [[2, 0], [4, 0]]


@pytest.mark.parametrize(
    "setting",
    [{"every": 0}, {"score": "accuracies"}, {"tolerate": 2}],
)
def test_a_watch_refuses(setting):
    with pytest.raises(InputError, match=re.escape(str(*setting.values())[:8])):
        watch(**setting)


LAZY = torch.nn.Sequential(torch.nn.LazyLinear(6))


@pytest.mark.parametrize(
    ("model", "settings", "named"),
    [
        (LAZY, {"diff": watch()}, "shapes"),
        (
            network(),
            {
                "diff": watch(),
                "call": lambda model, x, task: model(x),
            },
            "task",
        ),
        (network(), {"diff": {"old": OLD}}, "dict"),
    ],
)
def test_a_recorder_refuses_what_cannot_be_watched(tmp_path, model, settings, named):
    with pytest.raises(InputError, match=named):
        Recorder(tmp_path, model, TEST, TASKS, **settings).after_step()
