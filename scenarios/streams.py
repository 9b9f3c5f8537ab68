"""Streams: data sets divided into the tasks of a scenario.

The tasks divide a data set by classes (Murata et al. 2020, Kemker et al. 2018), by
transformed inputs (Kemker et al. 2018, van de Ven et al. 2022), by data set (Kemker et
al. 2018), or by the tasks that it has.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from probe.batch import Transform
from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.tasked_examples import assign_tasks, check_tasks
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def split_by_class(data: Dataset, classes_per_task: int = 2) -> Scenario:
    """Divide a data set into tasks of consecutive, disjoint classes (Murata 2020, section 3).

    Args:
        data: A data set of K classes.
        classes_per_task: The number of classes per task, C, a divisor of K; there are T
            = K / C tasks.

    Returns:
        The tasks, in the order of their classes.

    Raises:
        InputError: C does not divide K.
    """
    if data.classes % classes_per_task:
        raise InputError(
            f"{data.name} cannot be cut into "
            f"tasks of {classes_per_task}: choose a divisor of {data.classes}, "
            "its number of classes"
        )
    starts = range(0, data.classes, classes_per_task)
    groups = [range(start, start + classes_per_task) for start in starts]
    return group_classes(data, "class-incremental", groups)


def incremental(data: Dataset, base: int | None = None) -> Scenario:
    """Divide K classes into a base session and sessions of one class each.

    This is the incremental-class stream of Kemker 2018.

    Args:
        data: A data set of K classes.
        base: The number of classes of the base session; None = K // 2 (Kemker 2018:
            "half of the classes" of 10, 100 and 200).

    Returns:
        The base session and the later ones.

    Raises:
        InputError: The base session has no classes, or all of them.
    """
    base = data.classes // 2 if base is None else base
    if not 1 <= base < data.classes:
        raise InputError(
            f"a base session of {base} of the {data.classes} classes of {data.name} "
            f"leaves one session empty: choose 1 to {data.classes - 1}"
        )
    groups = [list(range(base)), *([label] for label in range(base, data.classes))]
    return group_classes(data, "incremental", groups)


def group_classes(
    data: Dataset, kind: str, groups: Sequence[Sequence[int]] | None
) -> Scenario:
    """Return a scenario with one task for each group of classes, in the order of the data.

    Args:
        data: The data set.
        kind: The kind of the scenario.
        groups: The classes of each task, None = the tasks of the data set.

    Returns:
        The scenario.

    Raises:
        InputError: A class is in no group, or in two.
    """
    if groups is not None:
        check_tasks(groups, data.classes)
    examples = assign_tasks({"train": data.train, "test": data.test}, groups)
    return Scenario.of_examples(data.name, examples, kind)


def dataset_tasks(data: Dataset, kind: str) -> Scenario:
    """Return the tasks of a data set, in their order.

    Args:
        data: The data set.
        kind: The kind of the scenario.

    Returns:
        The scenario.

    Raises:
        InputError: The data set has no tasks.
    """
    if not data.has_tasks:
        raise InputError(
            f"{data.name} has no tasks: "
            "return a list of (train, test), or name feature files as 'sites/{task}.npz'"
        )
    return group_classes(data, kind, None)


def rotated(data: Dataset, angles: Sequence[float]) -> Scenario:
    """Return one task per angle, with all images rotated counterclockwise.

    Images are interpolated bilinearly, with zeros outside; at 0 degrees they are
    unchanged. Tasks are named by their angles.

    Args:
        data: The data set.
        angles: The angles in degrees.

    Returns:
        The tasks.

    Raises:
        InputError: The data are not images.
    """
    x = data.train.x
    if not isinstance(x, Tensor) or x.ndim != 4 or not x.is_floating_point():
        raise InputError(
            f"{data.name} has no float images (N, C, H, W): choose another shift"
        )
    rotations = [(f"{angle:g}°", partial(rotate, angle=angle)) for angle in angles]
    return _with_transforms(data, "domain-incremental", rotations)


def rotate(x: Tensor, angle: float) -> Tensor:
    """Return images rotated counterclockwise.

    Args:
        x: The images, (N, C, H, W).
        angle: The angle in degrees.

    Returns:
        The rotated images.

    >>> image = torch.tensor([[[[0.0, 1.0], [0.0, 0.0]]]])
    >>> rotate(image, 90).round().tolist()
    [[[[1.0, 0.0], [0.0, 0.0]]]]
    """
    if not angle % 360:
        return x
    sine = math.sin(math.radians(angle))
    cosine = math.cos(math.radians(angle))
    ratio = x.shape[2] / x.shape[3]  # as both axes of the grid go from -1 to 1
    # The matrix that gives each place of the result its place in the image.
    rows = [[cosine, -sine * ratio, 0], [sine / ratio, cosine, 0]]
    theta = torch.tensor([rows], dtype=x.dtype, device=x.device)
    grid = functional.affine_grid(theta, [1, *x.shape[1:]], align_corners=False)
    grids = grid.expand(len(x), -1, -1, -1)
    return functional.grid_sample(x, grids, align_corners=False)


def relabeled(data: Dataset, size: int) -> Scenario:
    """Return tasks of C consecutive classes each, all labeled 0 to C - 1, the class modulo C.

    This is the domain-incremental form of a split data set (van de Ven 2022). Tasks are
    named by their classes in the data.

    Args:
        data: The data set.
        size: The number of classes per task, C, a divisor of K.

    Returns:
        The tasks.

    Raises:
        InputError: C does not divide K.
    """
    tasks = []
    for task in split_by_class(data, size).tasks:
        train = replace(task.train, y=task.train.y % size)
        test = replace(task.test, y=task.test.y % size)
        tasks.append(replace(task, classes=tuple(range(size)), train=train, test=test))
    return Scenario(name=data.name, kind="domain-incremental", tasks=tuple(tasks))


def permuted(data: Dataset, sessions: int = 10, seed: int = 0) -> Scenario:
    """Return sessions of the same classes, each with a fixed permutation of the inputs.

    Session 1 has the inputs as they are; in session t > 1 the elements of each input,
    all channels together, are in the order `permutation(D, t, seed)`, in training and
    test data alike (Kemker 2018). Sessions are named 1 .. T, and each but the first is
    a copy of the data in memory.

    Args:
        data: The data set, with inputs of D elements.
        sessions: The number of sessions, T, 2 or more.
        seed: The seed of the permutations.

    Returns:
        The sessions.

    Raises:
        InputError: The inputs have a single element.
    """
    size = data.train.x[0].numel()
    if size < 2:
        raise InputError(
            f"inputs of {data.name} have {size} element: choose data with two or more"
        )

    def permute(x: Tensor, session: int) -> Tensor:
        if session == 1:
            return x
        order = permutation(size, session, seed).to(data.train.y.device)
        return x.flatten(1).index_select(1, order).view_as(x)

    permutations = [
        (str(t), partial(permute, session=t)) for t in range(1, sessions + 1)
    ]
    return _with_transforms(data, "permutation", permutations)


def permutation(size: int, session: int, seed: int) -> Tensor:
    """Return the order (D,) of the input elements in a session after the first.

    Element i of the session is element order[i] of the data, on every machine and for
    any number of sessions.

    Args:
        size: The number of elements, D.
        session: The number of the session, 2 or more.
        seed: The seed of the permutations.

    Returns:
        The order.

    >>> sorted(permutation(4, session=2, seed=0).tolist())
    [0, 1, 2, 3]
    """
    return torch.randperm(size, generator=stream(seed, "permutation", session))


def _with_transforms(
    data: Dataset,
    kind: str,
    transforms: Sequence[tuple[str, Transform]],
) -> Scenario:
    """Return the scenario with a task of all classes for each name and transform of inputs."""
    classes = tuple(range(data.classes))
    tasks = []
    for index, (name, transform) in enumerate(transforms, 1):
        train = _with_inputs(data.train, transform)
        test = _with_inputs(data.test, transform)
        tasks.append(
            Task(index=index, name=name, classes=classes, train=train, test=test)
        )
    return Scenario(name=data.name, kind=kind, tasks=tuple(tasks))


def _with_inputs(split: Examples, transform: Transform) -> Examples:
    """Return the examples with other inputs; the same object if these are unchanged."""
    x = transform(split.x)
    return split if x is split.x else Examples(x, split.y)


def multimodal(first: Dataset, second: Dataset) -> Scenario:
    """Return two tasks, one data set each, with vectors of the same width and disjoint classes.

    Inputs are flattened and padded with zeros to the larger width D (Kemker 2018:
    AudioSet's 1,280 become 2,048 like CUB-200's). The number of classes of the first
    data set is added to the labels of the second. Tasks are named after their data
    sets.

    Args:
        first: The first data set.
        second: The second data set.

    Returns:
        The two tasks.

    Raises:
        InputError: Both data sets have the same name.
    """
    if first.name == second.name:
        raise InputError(
            f"both data sets are named {first.name}: choose two, or rename a file"
        )
    width = max(data.train.x[0].numel() for data in (first, second))
    start = 0  # the label of the first class of a data set
    tasks = []
    for index, data in enumerate((first, second), 1):
        task = Task(
            index=index,
            name=data.name,
            classes=tuple(range(start, start + data.classes)),
            train=_pad(data.train, width, start),
            test=_pad(data.test, width, start),
        )
        tasks.append(task)
        start += data.classes
    name = f"{first.name} and {second.name}"
    return Scenario(name=name, kind="multimodal", tasks=tuple(tasks))


def _pad(examples: Examples, width: int, start: int) -> Examples:
    """Return inputs (N, ...) as (N, width), padded with zeros, and labels raised by `start`."""
    x = examples.x.flatten(1)
    if x.shape[1] < width:
        x = functional.pad(x, (0, width - x.shape[1]))
    return Examples(x, examples.y + start)
