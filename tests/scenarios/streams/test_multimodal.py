"""Two data sets one after the other: widths, classes and orders."""

import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams import multimodal


def dataset(name, shape, classes):
    """Return two examples of each class, all inputs different and none zero."""
    y = torch.arange(classes).repeat(2)
    x = torch.arange(1.0, 1 + y.numel() * torch.Size(shape).numel()).reshape(-1, *shape)
    return Dataset(name=name, classes=classes, train=Examples(x, y), test=Examples(-x, y))


WIDE, NARROW = dataset("image", (1, 3, 4), 3), dataset("sound", (5,), 2)


@pytest.mark.parametrize(("first", "second"), [(WIDE, NARROW), (NARROW, WIDE)])
def test_each_task_is_its_data_set_flattened_and_zeros_to_the_larger_width(first, second):
    scenario = multimodal(first, second)
    assert scenario.kind == "multimodal"
    assert [task.name for task in scenario.tasks] == [first.name, second.name]
    assert [task.index for task in scenario.tasks] == [1, 2]
    for task, data in zip(scenario.tasks, (first, second), strict=True):
        for half in ("train", "test"):
            got, given = getattr(task, half).x, getattr(data, half).x.flatten(1)
            assert got.shape == (len(given), 12)
            assert torch.equal(got[:, : given.shape[1]], given)
            assert not got[:, given.shape[1] :].any()


def test_the_same_data_set_twice_is_refused():
    with pytest.raises(InputError, match="both data sets are called image: name two different"):
        multimodal(WIDE, dataset("image", (5,), 2))
