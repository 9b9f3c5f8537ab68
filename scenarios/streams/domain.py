"""Domain-incremental streams: the same classes in every task, of other inputs (van de Ven 2022)."""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from probe.errors import InputError
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset
from scenarios.streams.split import split_by_class


def rotated(data: Dataset, angles: Sequence[float]) -> Scenario:
    """Return a task for each angle in degrees: all images turned by it, counterclockwise.

    Images are interpolated bilinearly, with zeros outside; by 0 they are the data themselves. Tasks
    are named by their angles. Raises InputError for data that are no images.
    """
    x = data.train.x
    if not isinstance(x, Tensor) or x.ndim != 4 or not x.is_floating_point():
        raise InputError(f"{data.name} has no images (N, C, H, W) of floats: choose another shift")
    classes, tasks = tuple(range(data.classes)), []
    for index, angle in enumerate(angles, 1):
        train, test = (replace(h, x=turned(h.x, angle)) for h in (data.train, data.test))
        name = f"{angle:g}°"
        tasks.append(Task(index=index, name=name, classes=classes, train=train, test=test))
    return Scenario(name=data.name, kind="domain", tasks=tuple(tasks))


def turned(x: Tensor, angle: float) -> Tensor:
    """Return images (N, C, H, W) turned counterclockwise by an angle in degrees.

    >>> image = torch.tensor([[[[0.0, 1.0], [0.0, 0.0]]]])
    >>> turned(image, 90).round().tolist()
    [[[[1.0, 0.0], [0.0, 0.0]]]]
    """
    if not angle % 360:
        return x
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    ratio = x.shape[2] / x.shape[3]  # as both axes of the grid go from -1 to 1
    rows = [[cosine, -sine * ratio, 0], [sine / ratio, cosine, 0]]
    theta = torch.tensor([rows], dtype=x.dtype, device=x.device)
    grid = functional.affine_grid(theta, [1, *x.shape[1:]], align_corners=False)
    return functional.grid_sample(x, grid.expand(len(x), -1, -1, -1), align_corners=False)


def contexts(data: Dataset, size: int) -> Scenario:
    """Return tasks of C = size consecutive classes each, all labeled 0..C-1, the class mod C.

    The domain-incremental form of a split data set (van de Ven 2022). Tasks are named by their
    classes in the data. Raises InputError as `split_by_class` does.
    """
    tasks = []
    for task in split_by_class(data, size).tasks:
        train, test = (replace(half, y=half.y % size) for half in (task.train, task.test))
        tasks.append(replace(task, classes=tuple(range(size)), train=train, test=test))
    return Scenario(name=data.name, kind="domain", tasks=tuple(tasks))


def brought(data: Dataset, kind: str) -> Scenario:
    """Return the tasks that the data bring, in their order; raises InputError without any."""
    if not data.has_tasks:
        how = "return a list of (train, test), or name feature files as 'sites/{task}.npz'"
        raise InputError(f"{data.name} brings no tasks: {how}")
    given = assign_tasks({"train": data.train, "test": data.test}, None)
    return Scenario.of_examples(data.name, given, kind)
