"""The settings of partial retraining, and its result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from probe.arrays import Floats
from probe.errors import InputError
from probe.immutable import immutable
from probe.metrics.counts import Counts
from probe.metrics.murata import RETRAIN, pra
from probe.metrics.task_predictions import TaskClasses, TaskPredictions
from probe.tables.folder import Saved
from probe.tables.result_base import ResultBase
from probe.tables.schemas import Row
from probe.tables.sheets import Sheet, as_latex, columns_of
from probe.tasked_examples import task_names
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

if TYPE_CHECKING:
    import pandas as pd


@immutable
class RetrainSettings:
    """Settings of the retraining of a model's tails.

    Attributes:
        recipe: The recipe of the training.
        seed: The seed of fresh weights and batches.
        cache: The storage of the features' values (see `cache_plan`); None = the
            defaults.
        multiples: Multiples of the recipe's epochs, ascending. A single training, as
            long as the largest multiple, is tested after each. Several multiples need a
            learning rate that does not depend on the length of the training.
    """

    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    cache: CacheSettings | None = None
    multiples: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        for name, kind in (("recipe", Recipe), ("cache", CacheSettings | None)):
            if not isinstance(value := getattr(self, name), kind):
                what = getattr(kind, "__name__", "CacheSettings")
                raise InputError(
                    f"{name} must be {what}(...), got {type(value).__name__}"
                )
        check_multiples(self.multiples, self.recipe)


def check_multiples(multiples: Sequence[int], recipe: Recipe) -> None:
    """Check that one training can be measured at several multiples of a recipe's epochs.

    Args:
        multiples: The multiples.
        recipe: The recipe.

    Raises:
        InputError: The multiples are invalid, or the learning rate or early stopping
            depends on the length.
    """
    positive = all(type(multiple) is int and multiple > 0 for multiple in multiples)
    if not multiples or not positive or sorted(set(multiples)) != list(multiples):
        raise InputError(
            "the budget must be multiples of the recipe's epochs, ascending, such as "
            f"1, 2, 4; got {', '.join(map(str, multiples)) or 'none'}"
        )
    by_length = recipe.schedule != "constant" or recipe.warmup or recipe.patience
    if len(multiples) > 1 and by_length:
        raise InputError(
            "several budgets are measured in one training, but a schedule, warm-up or "
            "early stopping depends on its length: leave them out, or give a single "
            "budget"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class PartialRetraining(ResultBase):
    """The result of partial retraining: the predictions of each partially retrained model M_i.

    `print` shows it as a table; in its rows the learner is `model`, of order "0".

    Attributes:
        tasks: The classes of each of the T tasks, in executed order.
        measured: The predictions for the test examples, by feature.
        notes: Sentences on the meaning of the counts.
        seed: Seed of the retraining.
        outputs: The features with nothing left to train downstream.
        head: The outputs that compete, `multi` if the model receives the task id.
    """

    KIND: ClassVar[str] = "partial retraining"

    tasks: TaskClasses
    measured: Mapping[str, TaskPredictions]
    notes: tuple[str, ...] = ()
    seed: int = 0
    outputs: tuple[str, ...] = ()
    head: str = "all"

    @property
    def features(self) -> tuple[str, ...]:
        """The L features, in the requested order."""
        return tuple(self.measured)

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts (K, K) of each feature, over all test examples."""
        return {
            feature: predictions.counts
            for feature, predictions in self.measured.items()
        }

    @property
    def pra(self) -> dict[str, float]:
        """Partial Retrain Accuracy of each feature, in [0, 1]; higher is better."""
        return {feature: pra(counts) for feature, counts in self.counts.items()}

    @property
    def task_f1(self) -> Floats:
        """Micro-F1 (L, T) of each feature's M_i on each task, in executed order; in [0, 1].

        If tasks share classes, only the task's own test examples count, see
        `TaskPredictions.f1`.
        """
        return np.array([predictions.f1() for predictions in self.measured.values()])

    def measurements(self) -> "pd.DataFrame":
        """Return all measurements, a row for each, as in measurements.csv."""
        from probe.tables.table_file import new_table

        return new_table(
            "measurements", _rows(self.measured, self.outputs, self.seed, self.head)
        )

    def sheets(self) -> list[Sheet]:
        """Return the result as one table of text."""
        tasks = (f"task {place}" for place in range(1, len(self.tasks) + 1))
        lines = []
        for name, predictions in self.measured.items():
            scores = (pra(predictions.counts), *predictions.f1())
            lines.append((name, *(f"{score:.4f}" for score in scores)))
        return [
            Sheet(
                title="Partial Retrain Accuracy, and F1 of each task",
                columns=("feature", "PRA", *tasks),
                lines=lines,
            )
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return the text above the table: the notes."""
        return self.notes

    def latex(self) -> str:
        r"""Return the result as a LaTeX table; it needs `\usepackage{booktabs}`."""
        return as_latex(self.sheets()[0])

    def saved(self) -> Saved:
        """Return the contents of a folder that saves the result."""
        record = {
            name: value for name, value in vars(self).items() if name != "measured"
        }
        first = next(iter(self.measured.values()))
        return Saved(
            kind=self.KIND,
            tables=self.tables(),
            record={**record, "features": self.features},
            arrays={
                "predicted": np.array([m.predicted for m in self.measured.values()]),
                **{name: getattr(first, name) for name in ("labels", "positions")},
            },
        )

    @classmethod
    def of_saved(cls, saved: Saved) -> Self:
        """Restore a result from `saved`; raises KeyError, ValueError or TypeError otherwise."""
        record = dict(saved.record)
        tasks = record["tasks"] = tuple(map(tuple, record["tasks"]))
        arrays = saved.arrays
        measured = {
            feature: TaskPredictions.of(
                arrays["labels"], row, arrays["positions"], tasks
            )
            for feature, row in zip(
                record.pop("features"), arrays["predicted"], strict=True
            )
        }
        record |= {name: tuple(record[name]) for name in ("notes", "outputs")}
        return cls(**record, measured=measured)

    def __str__(self) -> str:
        lines = columns_of(self.sheets()[0])
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        scores = ", ".join(
            f"{feature} {score:.4f}" for feature, score in self.pra.items()
        )
        many = f"{len(self.tasks)} task{'' if len(self.tasks) == 1 else 's'}"
        return f"PartialRetraining of {many}, seed {self.seed}: PRA {scores}"


def _rows(
    measured: Mapping[str, TaskPredictions],
    outputs: Sequence[str],
    seed: int,
    head: str,
) -> Iterator[Row]:
    """Yield the cells of R, then PRA, accuracies and F1 of each feature, all after the last task.

    measured: the predictions of each feature, by depth, tasks in executed order;
    outputs: the features that are the network's output, whose accuracies are R.
    """
    names = task_names(next(iter(measured.values())).tasks)
    run: dict[str, Any] = {
        "scenario": "own data",
        "network": "own network",
        "learner": "model",
        "order": "0",
        "seed": seed,
        "tasks_seen": len(names),
    }

    def by_task(cell: Row, metric: str, values: Floats) -> Iterator[Row]:
        """Yield a cell with the value (T,) of a metric on each task."""
        cells = zip(names, values.tolist(), strict=True)
        for position, (task, value) in enumerate(cells, 1):
            yield dict(
                cell, metric=metric, task_position=position, task=task, value=value
            )

    for name in outputs[:1]:
        yield from by_task(
            dict(run, head=head), "accuracy", measured[name].accuracies()
        )
    for depth, (name, predictions) in enumerate(measured.items(), 1):
        readout = "" if name in outputs else RETRAIN
        cell = dict(run, feature=name, depth=depth, readout=readout)
        yield dict(cell, metric="pra", value=pra(predictions.counts))
        if name not in outputs:
            yield from by_task(cell, "accuracy", predictions.accuracies())
        yield from by_task(cell, "f1", predictions.f1())
