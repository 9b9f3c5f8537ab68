"""First calls of someone with one network before and one after: each names a way that works."""

import re
import warnings

import pytest
import torch
from torch import nn

import probe
from probe.cut.model_call import ModelCall
from probe.errors import InputError
from tests.probe.one_pair import AFTER, BEFORE, NEW, OLD, TEST, TRAIN, UNTRAINED

TASKS = [[0, 1], [2, 3]]


def analyzed(models, tasks, train=TRAIN, test=TEST):
    return probe.analyze(
        models,
        train,
        test,
        tasks,
        readouts=["linear"],
    )


CALLS = {
    "a pair for the tests": lambda: probe.causes({1: BEFORE, 2: AFTER}, OLD),
    "a list for causes": lambda: probe.causes([BEFORE, AFTER], [OLD, NEW]),
    "two models": lambda: probe.analyze(BEFORE, AFTER),
    "a list for analyze": lambda: analyzed([BEFORE, AFTER], TASKS),
    "no tasks": lambda: analyzed({1: BEFORE, 2: AFTER}, None),
    "only old": lambda: probe.analyze({0: BEFORE, 1: AFTER}, test=OLD),
    "a number of tasks": lambda: analyzed({1: BEFORE, 2: AFTER}, 2),
    "names": lambda: analyzed({"before": BEFORE, "after": AFTER}, TASKS),
    "row 0 and 1": lambda: analyzed({0: BEFORE, 1: AFTER}, TASKS),
    "half of the classes": lambda: analyzed(
        {0: BEFORE, 1: AFTER},
        [[0, 1]],
        OLD,
        OLD,
    ),
}


def assert_remedied(message):
    """Carry out the call of `probe.diff` that a message names."""
    call = re.search(r"probe\.diff\([a-z, ]+\)", message)[0]
    names = {
        "probe": probe,
        "before": BEFORE,
        "after": AFTER,
        "old": OLD,
        "new": NEW,
    }
    assert eval(call, names).answer.lost.low > 0.5


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_a_pair_names_diff_which_takes_it(name):
    with pytest.raises(InputError) as error:
        CALLS[name]()
    assert_remedied(str(error.value))


ROWS = pytest.mark.parametrize(
    ("last", "tasks"),
    [(1, [[0, 1, 2, 3]]), (2, TASKS)],
)


@ROWS
def test_a_trained_network_in_row_0_is_no_floor(last, tasks):
    with pytest.warns(UserWarning, match="network 0") as caught:
        result = analyzed({0: BEFORE, last: AFTER}, tasks)
    assert_remedied(str(caught[0].message))
    accuracy = result.R.values[0][0]
    assert f"{accuracy:.1%}" in str(caught[0].message)
    assert caught[0].filename == __file__


@ROWS
def test_an_untrained_network_is_one(last, tasks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analyzed({0: UNTRAINED, last: AFTER}, tasks)


def test_a_mistake_with_tasks_does_not_name_diff():
    with pytest.raises(InputError, match="classes") as error:
        analyzed(
            {1: BEFORE, 2: AFTER},
            [[0, 1], [1, 2, 3]],
        )
    assert "diff" not in str(error.value)


class OfMapping(nn.Sequential):
    """A network whose forward takes one dict."""

    def forward(self, batch):
        return super().forward(batch["image"] * batch["mask"])


def batch(x, y):
    return {"image": x, "mask": torch.ones_like(x)}, y


MAPPED = {1: OfMapping(*BEFORE), 2: OfMapping(*AFTER)}
BY_NAME = {
    "diff": lambda call: probe.diff(
        *MAPPED.values(),
        batch(*OLD),
        call=call,
    ),
    "causes": lambda call: probe.causes(
        probe.Model(MAPPED, call=call), [batch(*OLD), batch(*NEW)]
    ),
    "analyze": lambda call: analyzed(
        probe.Model(MAPPED, call=call),
        TASKS,
        batch(*TRAIN),
        batch(*TEST),
    ),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_forward_function_of_one_dict_is_called_as_its_error_says(name):
    with pytest.raises(InputError, match="whole mapping") as error:
        BY_NAME[name](None)
    assert isinstance(error.value.__cause__, TypeError)
    call = eval(re.search(r"call=(lambda model, x: model\(x\))", str(error.value))[1])
    BY_NAME[name](call)


def test_an_error_inside_a_forward_function_is_not_taken_for_its_arguments():
    class Broken(nn.Module):
        def forward(self, image):
            return image + None

    with pytest.raises(TypeError, match="unsupported"):
        ModelCall()(Broken(), {"image": OLD[0]})
