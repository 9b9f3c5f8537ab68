"""Streams: examples with tasks, lists of examples, heads told the task, labels by output."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from probe import Examples, Model, Recipe, Recorder, analyze, partial_retrain
from probe.by_layer.head_predictions import Heads
from probe.errors import InputError
from probe.record.recording import read_recording
from probe.task_aware import make_task_aware
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario
from tests.laws import reference
from tests.probe.calls import DATA, TASKS as PARTS, net, retrained

RECIPE = Recipe(epochs=3, batch_size=16, init="murata")
CLASSES, PLACES = 3, 3
FEATURES = ["1", "3", "4"]


def rotated(n, seed):
    """Return three tasks of the same three classes, each at another place."""
    draw = torch.Generator().manual_seed(seed)
    corners = torch.randn(CLASSES, 6, generator=torch.Generator().manual_seed(5))
    turn = torch.linalg.qr(
        torch.randn(6, 6, generator=torch.Generator().manual_seed(6))
    ).Q
    each = []
    for place in range(PLACES):
        y = torch.arange(n) % CLASSES
        x = corners[y] @ torch.matrix_power(turn, place)
        each.append(Examples(x + 0.7 * torch.randn(n, 6, generator=draw), y))
    return each


TRAIN, TEST = rotated(60, 0), rotated(40, 1)


def tagged(each, numbers=None):
    """Return the same examples as one, with the number of the task of each."""
    task = torch.tensor(numbers or range(len(each))).repeat_interleave(len(each[0]))
    return Examples(
        torch.cat([e.x for e in each]), torch.cat([e.y for e in each]), task
    )


@cache
def networks():
    """Return a network after each task, fine-tuned; not to be changed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(6, 12),
            nn.ReLU(),
            nn.Linear(12, 8),
            nn.ReLU(),
            nn.Linear(8, CLASSES),
        )
        found = {0: copy.deepcopy(net)}
        for step, own in enumerate(TRAIN, 1):
            optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
            for _ in range(30):
                optimizer.zero_grad()
                nn.functional.cross_entropy(net(own.x), own.y).backward()
                optimizer.step()
            found[step] = copy.deepcopy(net)
    return found


def right(predicted, tests=TEST):
    """Return the accuracy on each task of predictions for all test examples."""
    parts = torch.as_tensor(predicted).split([len(own) for own in tests])
    return [
        float((p == own.y).double().mean()) for p, own in zip(parts, tests, strict=True)
    ]


def test_one_stream_however_it_is_given():
    forms = [(TRAIN, TEST, None), (tagged(TRAIN), tagged(TEST), None)]
    # Another order of numbers, told by tasks=.
    shuffled = [2, 0, 1]
    forms.append((tagged(TRAIN, shuffled), tagged(TEST, shuffled), shuffled))
    ends = {step: networks()[step] for step in (0, 3)}
    retrained, rows = [], []
    for train, test, tasks in forms:
        found = partial_retrain(ends[3], FEATURES, train, test, tasks, RECIPE)
        retrained.append(
            [(p.predicted.tolist(), p.f1().tolist()) for p in found.measured.values()]
        )
        how = {"features": FEATURES, "recipe": RECIPE, "offline": "train"}
        rows.append(analyze(ends, train, test, tasks, **how).measurements())
    assert retrained[0] == retrained[1] == retrained[2]
    assert rows[0].equals(rows[1])
    assert rows[0].equals(rows[2])


def test_classes_of_tasks_are_a_shorthand():
    """Bit for bit the same as examples with their tasks, where no class recurs."""
    classes = [[2], [0, 1]]
    train, test = TRAIN[0], TEST[0]
    numbers = [torch.tensor([1, 1, 0])[half.y] for half in (train, test)]
    told = [
        Examples(h.x, h.y, task) for h, task in zip((train, test), numbers, strict=True)
    ]
    model = networks()[1]
    by_class = partial_retrain(model, FEATURES, train, test, classes, RECIPE)
    by_number = partial_retrain(model, FEATURES, *told, recipe=RECIPE)
    assert by_class.measured == by_number.measured
    assert by_class.measurements().equals(by_number.measurements())
    pair = {0: networks()[0], 2: model}
    one = analyze(pair, train, test, classes, FEATURES, recipe=RECIPE)
    again = analyze(pair, *told, features=FEATURES, recipe=RECIPE)
    assert one.measurements().equals(again.measurements())


def test_f1_where_classes_recur_is_of_the_task_s_own_examples():
    """Two of three classes in each task: the third, where predicted, is no false positive."""
    parts = [
        own.of_classes(classes)
        for own, classes in zip(TEST, ([0, 1], [1, 2]), strict=False)
    ]
    model = networks()[3]
    found = partial_retrain(model, ["4"], parts, parts, recipe=RECIPE)
    for f1, own, classes in zip(found.task_f1[0], parts, ([0, 1], [1, 2]), strict=True):
        predicted = torch.as_tensor(reference.predictions(model, own.x))
        counted = int(torch.isin(predicted, torch.tensor(classes)).sum())
        assert f1 == 2 * int((predicted == own.y).sum()) / (len(own) + counted)


def test_told_the_task_the_outputs_of_its_classes_compete():
    """As by a call that bars the others by hand; overlapping classes, too."""
    classes = torch.tensor(
        [[True, True, False], [False, True, True], [True, False, True]]
    )
    train, test = (
        [
            own.of_classes(row.nonzero()[:, 0].tolist())
            for own, row in zip(half, classes, strict=True)
        ]
        for half in (TRAIN, TEST)
    )

    def barred(model, x, task):
        return model(x).masked_fill(~classes[task], -1e30)

    model = networks()[3]
    by_head = partial_retrain(
        Model(model, head="multi"), FEATURES, train, test, recipe=RECIPE
    )
    by_hand = partial_retrain(
        Model(model, call=barred), FEATURES, train, test, recipe=RECIPE
    )
    assert by_head.measured == by_hand.measured
    plain = [
        model(own.x).masked_fill(~row, -torch.inf).argmax(1)
        for own, row in zip(test, classes, strict=True)
    ]
    np.testing.assert_array_equal(
        by_head.measured["4"].accuracies(), right(torch.cat(plain), test)
    )
    stream = Scenario.of_examples(
        "", assign_tasks({"train": train, "test": test}, None)
    )
    heads, _ = Heads(scenario=stream, classes_seen=[0, 1]).predict(model)
    assert torch.equal(heads["multi"], torch.cat(plain))
    assert heads["single"].max() == 1


def test_the_classes_that_compete_are_those_of_an_example_s_task_in_any_order():
    y = torch.arange(60) % 6
    examples = Examples(torch.eye(6)[y], y, y // 2)
    model = Model(nn.Linear(6, 6), head="multi")
    for order in (None, [1, 2, 0], [2, 1, 0]):
        stream = assign_tasks({"test": examples}, order)
        aware, stream = make_task_aware(model, stream, lambda: model.network, [""])
        test = stream.splits["test"]
        best = aware.class_call(model.network, test.x).argmax(1)
        assert torch.equal(best // 2, y // 2)


def test_a_recorder_of_numbered_tasks(tmp_path):
    """R is that of a plain evaluation, in executed order; other orders share the folder."""
    model = copy.deepcopy(networks()[0])
    for name, order in (("a", [1, 2, 0]), ("b", [2, 0, 1])):
        rec = Recorder(tmp_path, model, TEST, order, train=TRAIN, order=name)
        rec.after_task(0)
        rec.after_task(3)
        own = [TEST[number] for number in order]
        predicted = torch.cat([model(one.x).argmax(1) for one in own])
        np.testing.assert_array_equal(rec.R.values[3], right(predicted, own))
    assert read_recording(tmp_path).orders == {"a": (1, 2, 0), "b": (2, 0, 1)}
    with pytest.raises(InputError, match=r"learns \(2, 1, 0\).*name another order"):
        Recorder(tmp_path, model, TEST, [2, 1, 0], order="b", seed=1)
    build = lambda: copy.deepcopy(networks()[0])  # noqa: E731
    found = analyze(Model(tmp_path, fresh=build), features=FEATURES, recipe=RECIPE)
    assert found.orders == ("a", "b")
    assert "recorded accuracy" not in " ".join(found.notes)


@pytest.mark.parametrize(
    ("train", "test", "tasks", "message"),
    [
        (TRAIN[0], TEST[0], [[0, 1], [1, 2]], r"classes \[1\] "),
        (TRAIN[0], TEST[0], None, "give each example its task"),
        (TRAIN, TEST[0], None, "test has no task ids"),
        (TRAIN, TEST[:2], None, r"test has task ids \[0, 1\]"),
        (TRAIN, TEST, [0, 2], "0..2"),
        (TRAIN, TEST, [[0], [1], [2]], "0..2"),
        ([TRAIN[0].of_classes([0, 2])], [TEST[0].of_classes([0])], None, r"labels \[0, 2\]"),
        ([], TEST, None, "train: the data hold no examples"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(train, test, tasks, message):
    with pytest.raises(InputError, match=message):
        partial_retrain(networks()[3], ["3"], train, test, tasks, RECIPE)


def test_a_default_for_the_task_leaves_the_choice_of_the_head():
    def call(model, x, task=None):
        return model(x)

    assert Model(networks()[0], call=call).task_aware
    assert not Model(networks()[0], call=call, head="single").task_aware
    with pytest.raises(InputError, match="head='single'"):
        Model(networks()[0], call=lambda model, x, task: model(x), head="single")
    with pytest.raises(InputError, match="`task` only by keyword"):
        Model(networks()[0], call=lambda model, x, *, task: model(x)).task_aware  # noqa: B018


def test_a_call_needs_numbers_that_no_order_changes_and_tasks_of_several_classes():
    """Tasks that classes name have none: a recording and its analysis would count otherwise."""
    model = Model(networks()[0], call=lambda model, x, task: model(x))
    whole = {"test": Examples(TEST[0].x, TEST[0].y)}
    two = {"test": Examples(torch.randn(4, 6), torch.arange(4))}
    named, pair = (
        assign_tasks(whole, [[0], [1, 2]]),
        assign_tasks(two, [[0, 1], [2, 3]]),
    )
    for given, orders, message in (
        (named, "a", "always right"),
        (pair, "ab", "in several orders"),
    ):
        with pytest.raises(InputError, match=message):
            make_task_aware(model, given, lambda: networks()[0], orders)
    make_task_aware(
        model, assign_tasks({"test": TEST}, [2, 0, 1]), lambda: networks()[0], "ab"
    )


class OfTasks(nn.Module):
    """A shared layer, and one of each task, run for its own examples alone or for all."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Linear(6, 6),
            nn.ReLU(),
            nn.Linear(6, 6),
        )
        self.own = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def each(self, x, task, joined):
        if joined:
            return torch.stack([layer(x) for layer in self.own])[
                task, torch.arange(len(x))
            ]
        value = torch.zeros(len(x), 6)
        for number in task.unique():
            value[task == number] = self.own[number](x[task == number])
        return value


@pytest.mark.parametrize("upstream", [False, True])
def test_layers_may_run_for_the_examples_of_their_task_alone(upstream):
    """As if all were computed and one chosen by its index: a few examples do not show them all."""
    torch.manual_seed(0)
    net, found = OfTasks(), []

    def call(joined):
        if upstream:
            return lambda net, x, task: net.shared(net.each(x, task, joined))
        return lambda net, x, task: net.each(net.shared(x), task, joined)

    for joined in (False, True):
        given = Model(net, call=call(joined), classes=range(CLASSES))
        found.append(partial_retrain(given, ["shared.0"], TRAIN, TEST, recipe=RECIPE))
    np.testing.assert_allclose(
        found[0].task_f1, found[1].task_f1, atol=1.01 / len(TEST[0])
    )


def test_a_call_that_takes_one_task_for_a_batch_is_refused():
    heads = nn.ModuleList(nn.Linear(6, CLASSES) for _ in range(PLACES))
    called = Model(
        heads,
        call=lambda net, x, task: net[int(task[0])](x),
    )
    with pytest.raises(InputError, match="task of one example for the whole batch"):
        partial_retrain(called, ["0"], TRAIN, TEST, recipe=RECIPE)


def test_trying_a_call_leaves_model_and_generators_as_they_were():
    """And a lazy model without shapes, as the first batch draws its weights."""

    class Drawing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LazyLinear(CLASSES)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x, task):
            self.calls += 1
            return self.layer(x) + 0 * torch.rand(1)

    model, given = Drawing(), assign_tasks({"train": TRAIN, "test": TEST}, None)
    called = Model(model, call=lambda net, x, task: net(x, task))
    make_task_aware(called, given, lambda: model)
    assert isinstance(model.layer, nn.LazyLinear)
    model(TRAIN[0].x, TRAIN[0].y)
    before = torch.get_rng_state(), model.calls.clone()
    make_task_aware(called, given, lambda: model)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.equal(model.calls, before[1])
    assert model.training


@pytest.mark.parametrize(
    "outputs",
    [[7, 5], [5, 7], [1, 2]],
)
def test_labels_may_be_the_numbers_of_the_outputs(outputs):
    own = replace(DATA, y=torch.tensor(outputs)[DATA.y])
    given = {"model": net(outputs=9), "features": ["1", "2"], "classes": outputs}
    by_place, by_name = (
        retrained(**given),
        retrained(**given, train=own, tasks=[[c] for c in outputs]),
    )
    assert by_name.measurements().equals(by_place.measurements())
    assert by_name.tasks == by_place.tasks
    # And where a list of examples tells their tasks.
    given["tasks"] = None
    by_place = retrained(**given, train=[DATA.of_classes(task) for task in PARTS])
    by_name = retrained(**given, train=[own.of_classes([each]) for each in outputs])
    assert by_name.measurements().equals(by_place.measurements())


def test_labels_from_zero_are_positions_whatever_the_outputs():
    model = net()
    straight, crossed = (
        retrained(model, ["2"], classes=own) for own in ([0, 1], [1, 0])
    )
    assert straight.pra["2"] == pytest.approx(1 - crossed.pra["2"])


def test_classes_may_be_an_array_and_tasks_name_them_as_labels_do():
    model, array = net(outputs=9), torch.tensor([7, 5])
    listed = retrained(model, ["2"], classes=[7, 5])
    by_array = retrained(model, ["2"], classes=array)
    assert by_array.measurements().equals(listed.measurements())
    own = replace(DATA, y=torch.tensor([7, 5])[DATA.y])
    with pytest.raises(InputError, match=r"classes \[0, 1\], missing in `classes`"):
        retrained(model, ["2"], classes=[7, 5], train=own, tasks=PARTS)
