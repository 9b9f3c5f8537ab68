"""Readouts of each task: they see its classes alone, and are compared with multi-head accuracy."""

import numpy as np
import pytest
import torch

from probe import Examples, Model, predictions, readout
from probe.readouts.readout import LinearTask, read_each
from probe.tables.summary import pra_by_step
from probe.tasks import Scenario, Task
from tests.probe.by_layer.nets import (
    FEATURES,
    TASKS,
    analyzed,
    digits,
    finetuned,
    offline,
    right,
    rows,
)

NETS, NAME, TRUTH = (
    {t: finetuned(t) for t in range(4)},
    "linear-task",
    digits()[1].y.numpy(),
)


@readout("second", task_aware=True)
class Second:
    def predict(self, x, y, test, classes):
        return torch.full((len(test),), 1)


@pytest.fixture(scope="module")
def found():
    return analyzed(NETS, offline=offline(), readouts=["linear", NAME, Second()])


@pytest.mark.parametrize("classes", TASKS)
def test_it_is_the_linear_readout_of_its_task_alone(found, classes):
    """At the output, too, where only the classes of the task compete."""
    halves = (half.of_classes(classes) for half in digits())
    train, test = (Examples(half.x, half.y - classes[0]) for half in halves)
    model, tasks = Model({1: finetuned()}, classes=classes), [range(len(classes))]
    alone = analyzed(
        model,
        train=train,
        test=test,
        tasks=tasks,
        readouts=["linear", NAME],
    )
    frame = predictions(alone)
    for feature in FEATURES:
        here = frame[(frame["feature"] == feature) & (frame["tasks_seen"] == 1)]
        linear, own = (
            here[here["readout"] == name]
            for name in ("" if feature == "output" else "linear", NAME)
        )
        linear = linear[linear["head"] == "single"]
        assert own["predicted"].tolist() == linear["predicted"].tolist()
        correct = (own["predicted"] == own["label"]).to_numpy()
        # Batches of other sizes can change the last bits.
        whole = right(found, 3, feature, NAME)[:, np.isin(TRUTH, classes)]
        assert (whole != correct).mean() < 0.02


def test_at_the_output_every_table_is_multi_head(found):
    multi = found.matrix("output", NAME)
    shown = {
        row.feature: row.value
        for key, row in rows(found, "forgotten").items()
        if NAME in key
    }
    lost = np.mean([multi.cell(j, j) - multi.cell(3, j) for j in (1, 2)])
    assert shown["output"] == pytest.approx(lost)
    metrics = found.tables()["metrics"].itertuples()
    gaps = {(r.metric, r.readout, r.feature): r.mean for r in metrics}
    assert gaps["replay_gap", NAME, "relu2"] == pytest.approx(lost - shown["relu2"])
    chance = sum(np.isin(TRUTH, own).mean() / len(own) for own in TASKS)
    assert rows(found, "chance")[NAME, "output"].value == pytest.approx(chance)
    pra = pytest.approx(
        right(
            found,
            3,
            "output",
            NAME,
        ).mean()
    )
    steps = pra_by_step(found.measurements(), NAME).query(
        "learner == 'model' and tasks_seen == 3"
    )
    assert steps[steps["feature"] == "output"]["mean"].item() == pra


def test_a_feature_need_not_tell_tasks_apart_and_classes_may_recur():
    parity = torch.arange(40) % 2
    data = (
        Examples(parity[:, None].float(), labels) for labels in (parity, 1 - parity)
    )
    tasks = [
        Task(
            index=1,
            name="",
            classes=(0, 1),
            train=own,
            test=own,
        )
        for own in data
    ]
    merged = Scenario(name="", kind="", tasks=tuple(tasks)).merged
    x, y = merged.test.x, merged.test.y
    told, whole = (
        read_each(
            LinearTask(),
            x,
            x,
            own,
        ).predicted
        == y
        for own in (tasks, [merged])
    )
    assert (told.sum(), whole.sum()) == (80, 40)


def test_the_order_in_which_a_task_lists_its_classes_changes_nothing():
    own = Examples(torch.randn(60, 5), torch.arange(60) % 3)
    lists = ((0, 1, 2), (2, 0, 1))
    tasks = [
        Task(
            index=1,
            name="",
            classes=listed,
            train=own,
            test=own,
        )
        for listed in lists
    ]
    one, two = (
        read_each(
            LinearTask(),
            own.x,
            own.x,
            [task],
        ).predicted
        for task in tasks
    )
    assert one.tolist() == two.tolist()


def test_a_user_defined_one_knows_the_classes_of_a_task_by_their_rank(found):
    second = np.isin(TRUTH, [own[1] for own in TASKS])
    assert (
        right(
            found,
            1,
            "relu1",
            "second",
        )
        == second
    ).all()
