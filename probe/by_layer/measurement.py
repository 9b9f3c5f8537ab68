"""Measurements: the predictions of one readout of one layer of one network.

Only predictions are kept, never a score: confusion counts, R, A[l, t, j], PRA, F1 and
intervals are functions of predictions and labels, so a new metric needs no new run.
`probe.by_layer.store` keeps the measurements of a job in files that NumPy can read
without this package.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.arrays import Array, Arrays, Ints
from probe.immutable import immutable
from probe.metrics.task_predictions import TestExamples
from probe.stored_names import OUTPUT, ReadoutName, is_similarity
from probe.tables.schemas import LARGEST
from probe.training.history import History

if TYPE_CHECKING:
    from probe.batch import Named

HALF = "half"
"""The name of a retraining's predictions after half of its epochs, beside those of its head."""

# The names of tensors in a checkpoint, beside the learner's state.
_COST = "cost"
_SECONDS = "seconds"
_STUCK = "stuck"

_SHARES = ("dead", "dormant", "control")  # values of 0 to 1


@dataclass(frozen=True)
class Key:
    """The key of a measurement within its job; keys are sorted as they are stored.

    Attributes:
        tasks_seen: The number of tasks learned.
        feature: Name of the feature; empty for the output of the network itself.
        readout: The readout with its variant; empty for the output.
        settings: A digest of the settings that determine the result. It is empty only
            where the job's fingerprint holds them all.
    """

    tasks_seen: int
    feature: str = ""
    readout: ReadoutName = OUTPUT
    settings: str = ""

    @classmethod
    def parse(
        cls, tasks_seen: int, feature: str, readout: str, settings: str = ""
    ) -> "Key":
        """Return the key of stored columns."""
        return cls(tasks_seen, feature, ReadoutName.parse(readout), settings)

    @property
    def stored(self) -> tuple[int, str, str, str]:
        """The columns that store the key, see `COLUMNS`."""
        return self.tasks_seen, self.feature, str(self.readout), self.settings

    def __lt__(self, other: "Key") -> bool:
        return self.stored < other.stored

    def __str__(self) -> str:
        readout = str(self.readout)
        if self.feature:
            readout = f"{readout} of {self.feature}"
        return f"{readout or 'output'} after {self.tasks_seen}"


COLUMNS = ("tasks_seen", "feature", "readout", "settings")
"""The names of the columns that store keys."""


@dataclass(frozen=True)
class Cost:
    """The costs of one task for a learner, measured while it was learned.

    Attributes:
        parameter_bytes: Bytes of the model's parameters.
        carried_bytes: Bytes that the learner carried into the task besides the model,
            such as importances and anchors.
        stored_bytes: Bytes of samples of earlier tasks, stored while the task was
            learned.
        train_bytes: Bytes of the task's training data.
        ops_one_pass: Multiply-adds of one forward and backward pass of the model over
            that data.
        ops: Total multiply-adds spent to learn the task.
        kept_bytes: Bytes of the model, its buffers and everything carried and stored
            for later tasks, once the task is learned.
    """

    parameter_bytes: int
    carried_bytes: int
    stored_bytes: int
    train_bytes: int
    ops_one_pass: int
    ops: int
    kept_bytes: int


@immutable
class TrainingCost:
    """The resources spent on learning a task.

    Attributes:
        cost: Bytes kept and operations counted, see `Cost`.
        seconds: Processor time or, on a GPU, wall-clock time, see
            `probe.tables.schemas`.
        stuck: Whether the loss never left its first value, see
            `probe.training.history.never_left`.
    """

    cost: Cost
    seconds: float
    stuck: bool = False

    def to_state(self) -> "Named":
        """Return the cost as tensors for a checkpoint; `of_state` is the inverse."""
        import torch

        seconds = torch.tensor(self.seconds, dtype=torch.float64, device="cpu")
        stuck = {_STUCK: torch.tensor(self.stuck, device="cpu")} if self.stuck else {}
        return {
            _COST: torch.tensor(astuple(self.cost), device="cpu"),
            _SECONDS: seconds,
            **stuck,
        }

    @classmethod
    def of_state(cls, state: "Named") -> "TrainingCost":
        """Take the cost out of a checkpoint's tensors; raises KeyError if it is not there."""
        return cls(
            cost=Cost(*state.pop(_COST).tolist()),
            seconds=float(state.pop(_SECONDS).double()),
            stuck=state.pop(_STUCK, None) is not None,
        )


@immutable(eq=False)
class Measurement:
    """One measurement: predictions by head, the resources spent on it, and notes.

    Attributes:
        test: The test examples.
        predicted: The class predicted for each test example, (N,), by head. A readout
            over all classes has only the head `single`, a readout within each task only
            `multi`. The output of a task-aware learner has only `multi`, the output of
            others all three heads. Diagnostics have no predictions. A retraining has
            `half`, too, after half of its epochs. Rewound networks are named by the
            blocks put back, see `probe.stored_names`, and have K for examples that were not
            tested.
        loss: The cross-entropy of each test example in nats, (N,) float16, by head: of
            a network's own output under its main head, and of rewound networks;
            infinite for a label that does not compete.
        cost: The cost of the last task, None where no task was learned for the
            measurement.
        history: The history of the retraining, None where nothing was retrained.
        values: Diagnostics by name; of rewound networks the relations of units, see
            `probe.rewinding.correspondence`; `control` is a readout's accuracy on
            permuted training labels, if it was also fitted to them.
        notes: Sentences that a reader of the predictions must know.
        seconds: The time that the measurement took, used to estimate the time left.
        code: A hash of the code that made it.
    """

    test: TestExamples
    predicted: Arrays = field(default_factory=dict)
    loss: Arrays = field(default_factory=dict)
    cost: TrainingCost | None = None
    history: History | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    code: str = ""


Measurements = dict[Key, Measurement]
"""The measurements of one job by their keys."""

Measured = Iterator[tuple[Key, Measurement]]
"""Measurements as they are made, each with its key."""


def to_arrays(measurements: Measurements) -> Arrays:
    """Return the M measurements of one job as arrays by name; `from_arrays` is the inverse.

    Returns:
        `label` and `task` (N,) describe the test examples, tasks in base order from 0.
        `tasks_seen`, `feature`, `readout`, `settings`, `code` and `details` (M,)
        describe the measurements, `details` as JSON. `predicted` (P, N) holds
        predictions in the smallest unsigned integers, and `measurement` and `head` (P,)
        identify its rows. `loss` (Q, N) float16 holds losses, and `loss_of` and
        `loss_head` (Q,) identify its rows.
    """
    values = list(measurements.values())
    test = values[0].test
    N = len(test.labels)
    tasks_seen, *texts = zip(*(key.stored for key in measurements), strict=True)
    predicted = [(i, m.predicted) for i, m in enumerate(values)]
    losses = [(i, m.loss) for i, m in enumerate(values)]
    measurement, head, predictions = _flat_rows(predicted)
    loss_of, loss_head, loss = _flat_rows(losses)
    most = max((int(row.max(initial=0)) for row in predictions), default=0)
    return {
        "label": _smallest(test.labels),
        "task": _smallest(test.tasks),
        "tasks_seen": np.array(tasks_seen, dtype=np.int32),
        **{n: np.array(c) for n, c in zip(COLUMNS[1:], texts, strict=True)},
        "code": np.array([m.code for m in values]),
        "details": np.array([_details(m) for m in values]),
        "measurement": measurement,
        "head": head,
        "predicted": _by_example(predictions, np.min_scalar_type(most), N),
        "loss_of": loss_of,
        "loss_head": loss_head,
        "loss": _by_example(loss, np.dtype(np.float16), N),
    }


def _flat_rows(
    rows_of: Iterable[tuple[int, Arrays]],
) -> tuple[Ints, Array, list[Array]]:
    """Return the number of the measurement of each row, its head, and the row itself."""
    numbers: list[int] = []
    heads: list[str] = []
    rows: list[Array] = []
    for number, row_of_head in rows_of:
        for head, row in row_of_head.items():
            numbers.append(number)
            heads.append(head)
            rows.append(row)
    return np.array(numbers, np.int32), np.array(heads, np.str_), rows


def keys_of(arrays: Arrays) -> list[Key]:
    """Return the keys of the measurements that are stored as arrays."""
    columns = (arrays[name].tolist() for name in COLUMNS)
    return [Key.parse(*stored) for stored in zip(*columns, strict=True)]


def from_arrays(arrays: Arrays) -> Measurements:
    """Return the measurements in the arrays of `to_arrays`.

    Raises:
        KeyError, ValueError, TypeError, IndexError: The arrays are not from
            `to_arrays`.
    """
    labels, tasks = (arrays[name].astype(np.int64) for name in ("label", "task"))
    test = TestExamples(labels=labels, tasks=tasks)
    predicted = _by_head(arrays, "measurement", "head", "predicted")
    losses = _by_head(arrays, "loss_of", "loss_head", "loss")
    if arrays["predicted"].shape[1:] != labels.shape or tasks.shape != labels.shape:
        raise ValueError("predictions and labels belong to different test examples")
    columns = arrays["code"].tolist(), arrays["details"].tolist()
    return {
        key: Measurement(
            test=test, predicted=p, loss=loss, code=code, **_from_details(details)
        )
        for key, p, loss, code, details in zip(
            keys_of(arrays), predicted, losses, *columns, strict=True
        )
    }


def _by_head(arrays: Arrays, number: str, head: str, rows: str) -> list[Arrays]:
    """Return the rows of each measurement by head, from the three arrays of these names."""
    by_head: list[Arrays] = [{} for _ in arrays["code"]]
    values = np.ascontiguousarray(arrays[rows])
    for i, name, row in zip(arrays[number], arrays[head].tolist(), values, strict=True):
        by_head[i][name] = row
    return by_head


def _by_example(rows: Sequence[Array], dtype: np.dtype[Any], N: int) -> Array:
    """Return rows (M, N) in Fortran order: an example's values recur, and compress well."""
    return np.asfortranarray(np.array(rows, dtype).reshape(-1, N))


def _smallest(values: Ints) -> Array:
    """Return whole numbers from 0 in the smallest unsigned integers that hold them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _details(measurement: Measurement) -> str:
    """Return everything but the predictions as JSON, without empty fields."""
    cost = measurement.cost
    history = measurement.history
    record = {
        "cost": cost and asdict(cost),
        "history": history and asdict(history),
        # JSON has no NaN.
        "values": {
            n: None if math.isnan(x) else x for n, x in measurement.values.items()
        },
        "notes": list(measurement.notes),
        "seconds": measurement.seconds,
    }
    return json.dumps({name: value for name, value in record.items() if value})


def _from_details(text: str) -> dict[str, Any]:
    """Return the fields of a measurement but its predictions, the inverse of `_details`."""
    record = json.loads(text)
    cost = history = None
    if "cost" in record:
        amounts = Cost(**record["cost"].pop("cost"))
        cost = TrainingCost(cost=amounts, **record["cost"])
    if "history" in record:
        epochs = {name: tuple(values) for name, values in record["history"].items()}
        history = History(**epochs)
    values = record.get("values", {})
    seconds = float(record.get("seconds", 0))
    _check_ranges({name: x or 0 for name, x in values.items()}, cost, seconds)
    return {
        "cost": cost,
        "history": history,
        "values": {name: math.nan if x is None else x for name, x in values.items()},
        "notes": tuple(record.get("notes", ())),
        "seconds": seconds,
    }


def _check_ranges(
    values: Mapping[str, float], cost: TrainingCost | None, seconds: float
) -> None:
    """Raise ValueError if a number is out of the range of its table, as in an edited file."""
    numbers = [seconds]
    if cost:
        numbers.append(cost.seconds)
        if not all(0 <= amount < 2**63 for amount in astuple(cost.cost)):
            raise ValueError("a cost is out of the range of its table")
    for name, value in values.items():
        numbers.append(abs(value) if is_similarity(name) else value)
        if name in _SHARES and value > 1:
            raise ValueError(f"the share {name} is above 1")
    if not all(0 <= number <= LARGEST for number in numbers):
        raise ValueError("a number is out of the range of its table")
