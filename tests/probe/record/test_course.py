"""The course: accuracies between tasks are right, and the training does not notice."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from probe.errors import InputError
from probe.record.recorder import Recorder
from tests.probe.record.tiny import TASKS, accuracies, examples, network, same_state, train

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


def test_a_training_does_not_notice_and_the_last_step_of_a_task_has_its_row_of_r(tmp_path):
    states = []
    for every in (None, 4):
        torch.manual_seed(0)
        layers = ["0", "4"] if every else []
        model = network()
        rec = recorder(tmp_path / str(every), model, train=TRAIN, every=every, layers=layers)
        states.append(learn(model, rec).state_dict())
    assert same_state(*states)
    course = rec.course
    assert sorted(set(course.step)) == list(range(0, 61, 4))
    assert dict(zip(course.step, course.tasks_seen, strict=True))[24] == 1
    output = course[course.feature == ""].pivot_table("accuracy", "step", "task_position")
    assert output.loc[[0, 20, 40, 60]].to_numpy() == pytest.approx(rec.R.values)
    written = (tmp_path / "4").rglob("course.csv")
    assert next(written).read_text().count("\n") == 1 + len(course)


def test_a_layer_is_read_by_scikit_learns_nearest_centroid(tmp_path):
    model = network()
    rec = recorder(tmp_path, model, train=TRAIN, every=1, layers=["2"])
    model.eval()
    readout = make_pipeline(StandardScaler(), NearestCentroid())
    readout.fit(model[:3](TRAIN.x).detach().numpy(), TRAIN.y)

    def logits(x):
        return torch.eye(6)[readout.predict(model[:3](x).numpy())]

    expected = accuracies(logits, TEST)
    got = rec.course[rec.course.feature == "2"].sort_values("task_position").accuracy
    assert got.to_numpy() == pytest.approx(expected)
    assert not np.allclose(expected, rec.course[rec.course.feature == ""].accuracy)


def test_after_a_restart_steps_of_an_unfinished_task_are_dropped(tmp_path):
    model = network()
    rec = recorder(tmp_path, model, every=4)
    learn(model, rec, upto=2)
    for _ in range(8):
        rec.after_step()
    assert set(rec.course.step[rec.course.tasks_seen == 2]) == {44, 48}
    again = recorder(tmp_path, model, every=4)
    assert set(again.course.tasks_seen) == {0, 1}
    learn(model, again, begin=3)
    assert sorted(set(again.course.step)) == list(range(0, 61, 4))


def test_of_many_examples_a_thousand_are_read_the_same_each_time(tmp_path):
    many = examples(6000, 2)
    values = []
    for name in "ab":
        rec = Recorder(tmp_path / name, network(), many, TASKS, every=1)
        values.append(rec.course.accuracy.to_list())
    assert values[0] == values[1]
    assert values[0] == pytest.approx(accuracies(network().eval(), many), abs=0.1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"layers": ["0"], "every": 3}, "give every=, train="),
        ({"layers": ["0"], "train": TRAIN}, "give every=, train="),
        ({"layers": "0", "every": 3, "train": TRAIN}, "give every=, train="),
        ({"layers": ["conv9"], "every": 3, "train": TRAIN}, "conv9"),
        ({"every": 0}, "every must be a whole number, 1 or more, got 0"),
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
