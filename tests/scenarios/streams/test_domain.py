"""Domain-incremental streams: the same classes in every task, of turned or other inputs."""

import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams import brought, contexts, rotated, turned
from scenarios.streams import split_by_class
from tests.scenarios.streams.numbered import dataset

IMAGES = torch.rand(5, 3, 7, 7, generator=torch.Generator().manual_seed(0))
HALF = Examples(IMAGES, torch.tensor([0, 1, 2, 1, 0]))
DATA = Dataset(name="toy", classes=3, train=HALF, test=HALF)


@pytest.mark.parametrize("quarters", [1, 2, 3, -1])
def test_quarter_turns_are_those_of_torch(quarters):
    expected = torch.rot90(IMAGES, quarters, (2, 3))
    assert torch.allclose(turned(IMAGES, 90 * quarters), expected, atol=1e-5)


def test_an_oblong_image_is_turned_not_sheared():
    """Half a turn fits; by a quarter the middle rows and columns alone stay within."""
    oblong = IMAGES[:, :, :3]
    assert torch.allclose(turned(oblong, 180), torch.rot90(oblong, 2, (2, 3)), atol=1e-5)
    expected = torch.rot90(oblong[..., 2:5], 1, (2, 3))
    quarter = turned(oblong, 90)
    assert torch.allclose(quarter[..., 2:5], expected, atol=1e-5)
    assert quarter[..., :2].abs().max() < 1e-5


def test_by_0_images_are_the_data_and_others_have_their_labels():
    first, second = rotated(DATA, (0, 30)).tasks
    assert (first.train.x, first.test.x) == (IMAGES, IMAGES)
    assert [first.name, second.name] == ["0°", "30°"]
    assert torch.equal(second.train.x, turned(IMAGES, 30))
    for task in (first, second):
        assert (task.classes, task.test.y.tolist()) == ((0, 1, 2), HALF.y.tolist())


def test_contexts_are_the_tasks_of_a_split_with_labels_within_each():
    data = dataset(6, [3, 1, 0, 2, 2, 5, 4, 1])
    for own, split in zip(contexts(data, 3).tasks, split_by_class(data, 3).tasks, strict=True):
        assert torch.equal(own.train.x, split.train.x)
        assert own.train.y.tolist() == [label % 3 for label in split.train.y.tolist()]
        assert (own.name, own.classes) == (split.name, (0, 1, 2))


def test_no_images_and_data_without_tasks_are_refused():
    with pytest.raises(InputError, match="toy has no images"):
        rotated(dataset(2, [0, 1]), (0, 90))
    with pytest.raises(InputError, match=r"toy brings no tasks: return a list of \(train, test\)"):
        brought(DATA, "domain")
