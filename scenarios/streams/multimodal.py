"""The multi-modal stream of Kemker 2018: one data set after another of a different kind."""

from torch.nn import functional

from probe.errors import InputError
from probe.examples import Examples
from probe.tasks import Scenario, Task
from scenarios.data.datasets import Dataset


def multimodal(first: Dataset, second: Dataset) -> Scenario:
    """Return two tasks, one data set each, with vectors of the same width and disjoint classes.

    Inputs are flattened and padded with zeros to the larger width D (Kemker 2018: AudioSet's 1,280
    to CUB-200's 2,048). The labels of the second data set are raised by K of the first. Tasks have
    the names of their data sets. Raises InputError for two of the same name.
    """
    if first.name == second.name:
        raise InputError(
            f"both data sets are called {first.name}: name two different ones (a feature file is "
            f"called by its file name)"
        )
    width = max(data.train.x[0].numel() for data in (first, second))
    tasks = tuple(
        Task(
            index=index,
            name=data.name,
            classes=tuple(range(start, start + data.classes)),
            train=_wide(data.train, width, start),
            test=_wide(data.test, width, start),
        )
        for index, data, start in ((1, first, 0), (2, second, first.classes))
    )
    return Scenario(name=f"{first.name} and {second.name}", kind="multimodal", tasks=tasks)


def _wide(examples: Examples, width: int, start: int) -> Examples:
    """Return inputs (N, ...) as (N, width), padded with zeros, and labels raised by `start`."""
    x = examples.x.flatten(1)
    lacking = width - x.shape[1]
    return Examples(functional.pad(x, (0, lacking)) if lacking else x, examples.y + start)
