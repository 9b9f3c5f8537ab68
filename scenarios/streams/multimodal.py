"""The multi-modal stream of Kemker 2018: one data set after another of a different kind."""

from __future__ import annotations

from torch.nn import functional

from probe.errors import InputError
from probe.examples import Examples
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def multimodal(first: Dataset, second: Dataset) -> Scenario:
    """Return two tasks, one data set each, with vectors of the same width and disjoint classes.

    Inputs are flattened, and the narrower ones padded with zeros at their end, to (N, D) with D the
    larger width (Kemker 2018: AudioSet's 1,280 to CUB-200's 2,048). The classes of the second data
    set come after those of the first: their numbers are raised by K of the first. Tasks are named
    after their data sets; the other order is `reordered([1, 0])`. Raises InputError for two of the
    same name.
    """
    if first.name == second.name:
        raise InputError(
            f"both data sets are called {first.name}: name two different ones (a feature file is "
            f"called by its file name)"
        )
    width = max(data.train.x[0].numel() for data in (first, second))
    tasks, start = [], 0
    for index, data in enumerate((first, second), 1):
        task = Task(
            index=index,
            name=data.name,
            classes=tuple(range(start, start + data.classes)),
            train=_wide(data.train, width, start),
            test=_wide(data.test, width, start),
        )
        tasks.append(task)
        start += data.classes
    return Scenario(name=f"{first.name} and {second.name}", kind="multimodal", tasks=tuple(tasks))


def _wide(examples: Examples, width: int, start: int) -> Examples:
    """Return inputs (N, ...) as (N, width), zeros at their end, and labels raised by `start`."""
    x = examples.x.flatten(1)
    # The widest is not copied.
    lacking = width - x.shape[1]
    return Examples(functional.pad(x, (0, lacking)) if lacking else x, examples.y + start)
