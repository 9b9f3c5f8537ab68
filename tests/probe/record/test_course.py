"""The course: accuracies between tasks are right, and the training does not notice."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from probe.errors import InputError
from probe.examples import Examples
from probe.record.recorder import Recorder
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    examples,
    network,
    same_state,
    train,
)

TRAIN, TEST = examples(), examples(60, 1)


def recorder(folder, model, **settings):
    return Recorder(folder, model, TEST, TASKS, **settings)


def learn(model, rec, upto=3, begin=0):
    """Train the tasks one by one, a step at a time."""
    for learned in range(begin, upto + 1):
        for _ in range(20 * bool(learned)):
            train(model, TRAIN, TASKS[learned - 1], steps=1)
            if rec.every:
                rec.after_step()
        rec.after_task(learned)
    return model


def steps(rec):
    """Return the steps that were read, by the tasks learned then."""
    return {t: sorted(set(own.step)) for t, own in rec.course.groupby("tasks_seen")}


WHOLE = {
    0: [*range(0, 21, 4)],
    1: [*range(20, 41, 4)],
    2: [*range(40, 61, 4)],
    3: [60],
}


def test_a_training_does_not_notice_and_a_reading_after_a_task_is_its_row_of_r(
    tmp_path,
):
    states = []
    for every in (None, 4):
        torch.manual_seed(0)
        layers = ["0", "4"] if every else []
        model = network()
        rec = recorder(
            tmp_path / str(every), model, train=TRAIN, every=every, layers=layers
        )
        states.append(learn(model, rec).state_dict())
    assert same_state(*states)
    assert steps(rec) == WHOLE
    course = rec.course
    ends = course[(course.feature == "") & (course.step == 20 * course.tasks_seen)]
    output = ends.pivot_table("accuracy", "tasks_seen", "task_position")
    assert list(output) == [1, 2, 3]
    assert output.to_numpy() == pytest.approx(rec.R.values)
    (written,) = (tmp_path / "4").rglob("course.csv")
    assert written.read_text().count("\n") == 1 + len(course)


def test_a_layer_is_read_by_scikit_learns_nearest_centroid(tmp_path):
    model = network()
    rec = recorder(tmp_path, model, train=TRAIN, every=1, layers=["2"])
    rec.after_task(0)
    model.eval()
    readout = make_pipeline(StandardScaler(), NearestCentroid())
    readout.fit(model[:3](TRAIN.x).detach().numpy(), TRAIN.y)

    def logits(x):
        return torch.eye(6)[readout.predict(model[:3](x).numpy())]

    expected = accuracies(logits, TEST)
    got = rec.course[rec.course.feature == "2"].sort_values("task_position").accuracy
    assert got.to_numpy() == pytest.approx(expected)
    assert not np.allclose(expected, rec.course[rec.course.feature == ""].accuracy)


def test_after_a_restart_steps_of_an_unfinished_task_are_taken_again(tmp_path):
    """Also with as many steps between two readings as are not a part of those of a task."""
    whole = network()
    rec = recorder(tmp_path / "whole", whole, every=7)
    learn(whole, rec)
    model = network()
    stopped = recorder(tmp_path / "stopped", model, every=7)
    learn(model, stopped, upto=2)
    for _ in range(8):
        stopped.after_step()
    again = recorder(tmp_path / "stopped", model, every=7)
    assert max(again.course.step) == 40
    learn(model, again, begin=3)
    assert steps(again) == steps(rec)


@pytest.mark.parametrize("begin", [0, 1])
def test_a_training_that_is_recorded_again_replaces_the_steps_of_the_first(
    tmp_path, begin
):
    first = recorder(tmp_path, network(), every=4)
    learn(first.model, first)
    again = recorder(tmp_path, network(1), every=4)
    learn(again.model, again, begin=begin)
    # The last step before the task that is learned again was read of the network that
    # is replaced.
    before = {0: [0, 4, 8, 12, 16]} if begin else {}
    assert steps(again) == WHOLE | before
    assert not again.course.duplicated(
        ["step", "tasks_seen", "feature", "task_position"]
    ).any()


@pytest.mark.parametrize("finished", [0, 1])
def test_a_program_that_starts_from_scratch_counts_steps_from_0(tmp_path, finished):
    """It was stopped in the middle of task 1 or 2, and never recorded the untrained network."""
    whole = recorder(tmp_path / "whole", network(), every=7)
    learn(whole.model, whole, begin=1)
    stopped = recorder(tmp_path / "stopped", network(), every=7)
    learn(stopped.model, stopped, upto=finished, begin=1)
    for _ in range(8):
        stopped.after_step()
    again = recorder(tmp_path / "stopped", network(), every=7)
    learn(again.model, again, begin=1)
    assert steps(again) == steps(whole)


def test_of_two_recorders_the_one_that_wrote_last_goes_on(tmp_path):
    one, two = (recorder(tmp_path, network(), every=1) for _ in range(2))
    one.after_step()
    with pytest.raises(InputError, match="another recorder has written"):
        two.after_step()
    assert one.course.step.max() == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-3].replace(b"\n", b"\n\n", 1),
        lambda text: b"a,b,c,d,e\n",
        lambda text: b"\xff",
        lambda text: b"",
        None,
    ],
)
def test_a_damaged_file_is_named(tmp_path, damage):
    """And a folder in its place."""
    recorder(tmp_path, network(), every=1).after_step()
    (path,) = tmp_path.rglob("course.csv")
    text = path.read_bytes()
    path.unlink()
    if damage:
        path.write_bytes(damage(text))
    else:
        path.mkdir()
    with pytest.raises(InputError, match=r"course\.csv is damaged: remove it"):
        recorder(tmp_path, network(), every=1)


class Told(torch.nn.Module):
    """A network whose classes share one feature across tasks; the task chooses among outputs."""

    def forward(self, x, task):
        return torch.stack([-x[:, 0], x[:, 0]] * 3, 1)


def test_of_a_task_aware_network_layers_are_read_among_the_classes_of_the_task(
    tmp_path,
):
    y = torch.arange(60) % 6
    data = Examples(
        (2.0 * (y % 2) - 1)[:, None] + torch.zeros(60, 2),
        y,
    )
    model = torch.nn.Sequential(torch.nn.Identity())
    model.told = Told()
    rec = Recorder(
        tmp_path,
        model,
        data,
        TASKS,
        train=data,
        every=1,
        layers=["0"],
        call=lambda model, x, task: model.told(model[0](x), task),
    )
    rec.after_step()
    assert rec.course.accuracy.tolist() == [1] * 6


def test_of_many_examples_a_thousand_are_read_the_same_each_time(tmp_path):
    many = examples(6000, 2)
    values = []
    for name in "ab":
        rec = Recorder(tmp_path / name, network(), many, TASKS, every=1)
        rec.after_task(0)
        values.append(rec.course.accuracy.to_list())
    assert values[0] == values[1]
    assert values[0] == pytest.approx(accuracies(network().eval(), many), abs=0.1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"layers": ["0"], "every": 3}, "give every=, train="),
        ({"layers": ["0"], "train": TRAIN}, "give every=, train="),
        ({"layers": "0", "every": 3, "train": TRAIN}, "layers must be a list"),
        ({"layers": ["conv9"], "every": 3, "train": TRAIN}, "conv9"),
        ({"every": 0}, "every must be 1 or more, got 0"),
    ],
)
def test_what_would_fail_after_a_step_fails_before_any(settings, said, tmp_path):
    with pytest.raises(InputError, match=said):
        recorder(tmp_path, network(), **settings)


def test_without_every_no_step_is_read(tmp_path):
    rec = recorder(tmp_path, network())
    for read in (rec.after_step, lambda: rec.course):
        with pytest.raises(InputError, match="give every=100"):
            read()
