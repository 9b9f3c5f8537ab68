"""Tidy tables: the kinds of rows that a study writes and that figures read.

A kind of row is a dataclass whose annotations, which pydantic checks, say what each column can
hold, see `probe.tables.table_file`.
"""

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, WrapValidator

CONTROLS = UNTRAINED, OFFLINE = "untrained", "offline"
"""The learners downstream of whose features are floor and ceiling; they have no order."""

AnyRow = TypeVar("AnyRow")

MOST = 100_000
"""The largest number of tasks, task position, depth or seed, and the most seeds."""

LARGEST = 1e15
"""The largest number that is not whole, either way: beyond it figures have no axis."""

Metric = Literal["accuracy", "pra", "f1"]
"""The metrics that a row can have."""


def _number_or_nan(cell: Any, within_bounds: Callable[[Any], float]) -> float:
    """Return NaN for an empty cell and for NaN itself, which lies within no bounds."""
    # Only NaN differs from itself.
    return math.nan if cell == "" or cell != cell else within_bounds(cell)


_EMPTY_IS_NONE = BeforeValidator(lambda cell: None if cell == "" else cell)

Text = Annotated[str, Field(max_length=csv.field_size_limit())]
From0 = Annotated[int, Field(ge=0, le=MOST)]
From1 = Annotated[int, Field(ge=1, le=MOST)]
Amount = Annotated[int, Field(ge=0, lt=2**63)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST), WrapValidator(_number_or_nan)]
Positive = Annotated[float, Field(ge=0, le=LARGEST), WrapValidator(_number_or_nan)]
From1OrNone = Annotated[From1 | None, _EMPTY_IS_NONE]
AmountOrNone = Annotated[Amount | None, _EMPTY_IS_NONE]


@dataclass(frozen=True, kw_only=True)
class MeasurementRow:
    """One measurement of one run; cells that do not apply are None or empty. Fractions in [0, 1].

    Metrics: `accuracy` (a cell of R: tasks_seen, head, task_position, task; with a feature and
    readout a cell of that feature's matrix A), `pra` (feature, depth, readout, tasks_seen: of all
    tasks), `f1` (feature, depth, readout, tasks_seen, task_position, task). `tasks_seen` = tasks
    learned so far; `head` = the outputs that compete: `single` (all classes seen so far), `multi`
    (those of the task), `all`; `task_position` = position of the task in the executed order, from
    1; `depth` of a feature from 1 to L; `readout` = trained downstream of the feature, as `retrain`
    and `linear`; empty at the output, but for readouts of each task, for which it is multi-head.
    Cells of A have no `head`. The learners `offline` and `untrained` have no order: their features
    give ceiling and floor.
    """

    scenario: str
    network: str
    learner: str
    order: str
    seed: From0
    tasks_seen: From0
    head: str = ""
    feature: str = ""
    depth: From1OrNone = None
    metric: Metric
    task_position: From1OrNone = None
    task: str = ""
    value: Number
    readout: str = ""


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """Mean and sample standard deviation over seeds (orders averaged within a seed first).

    `task_position` is None for `pra`; `std` is NaN for a single seed.
    """

    learner: str
    feature: str
    depth: From1
    metric: Metric
    task_position: From1OrNone
    mean: Number
    std: Positive
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of one paper for one learner: mean and sample standard deviation over seeds.

    Attributes:
        head: As in `MeasurementRow`; empty if it makes no difference.
        std: NaN for a single seed.
        feature: The feature whose matrix A it is computed from, empty for R.
        readout: The readout of that matrix, empty for R.
    """

    learner: str
    paper: str
    metric: str
    head: str
    mean: Number
    std: Positive
    seeds: From1
    feature: str = ""
    readout: str = ""


@dataclass(frozen=True, kw_only=True)
class _OfLayer:
    """The layer of a row: a feature of a learner's network, and a readout downstream of it."""

    learner: str
    readout: str
    feature: str
    depth: From1


@dataclass(frozen=True, kw_only=True)
class LayerRow(_OfLayer):
    """A quantity of a layer for one learner and readout, with its 95 % interval.

    All are fractions, or differences of fractions.

    Attributes:
        task_position: Position of the task in the executed order, from 1; None = all tasks.
        quantity: See `probe.analysis.layers.quantities`.
        value: The value, NaN if the quantity is not identifiable.
        low: Lower end of the interval, also NaN for a single seed.
        high: Upper end of the interval, also NaN for a single seed.
        seeds: The number of seeds.
    """

    task_position: From1OrNone
    quantity: str
    value: Number
    low: Number
    high: Number
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class ControlRow(LayerRow):
    """A quantity that is an accuracy after all tasks minus that of a control.

    `quantity` is `exclusion_difference` or `selectivity`, see `probe.results.controls`; `accuracy`
    and `control` are the two accuracies.
    """

    accuracy: Number
    control: Number


@dataclass(frozen=True, kw_only=True)
class _OfStatement(_OfLayer):
    """The statement of a row, on a layer."""

    statement: str

    @property
    def key(self) -> tuple[str, ...]:
        """Learner, readout, feature and statement."""
        return self.learner, self.readout, self.feature, self.statement


@dataclass(frozen=True, kw_only=True)
class StatementRow(_OfStatement):
    """A statement on a layer for one learner and readout, with the interval that decides it.

    Attributes:
        statement: `below_ceiling`, `forgets`, `learns_less` than offline training, or
            `loses_plasticity` task by task.
        verdict: `yes` if the 95 % interval is above the margin, `no` if below, `open` if it
            contains the margin; `few seeds`, `not converged`, `near chance` and `no ceiling` if
            nothing can be stated.
        margin: The margin.
        value: The quantity in `probe.analysis.statements.STATEMENTS`, over all tasks.
        low: Lower end of the interval.
        high: Upper end of the interval.
        seeds: The number of seeds.
    """

    verdict: str
    margin: Number
    value: Number
    low: Number
    high: Number
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class StatementSeedRow(_OfStatement):
    """The value of one seed in the mean of a statement on a layer."""

    seed: From0
    value: Number


@dataclass(frozen=True, kw_only=True)
class FirstLayerRow:
    """The range of the first layer of which a statement is true, for one learner and readout.

    Attributes:
        first_possible: The first layer by depth that is not excluded; empty if all are.
        first_confirmed: The first layer by which the statement is confirmed from there to the
            output; empty if there is none, see `probe.analysis.statements.first_layer`.
        seeds_needed: About how many seeds would narrow the range; None if it is one layer or two
            neighbors, and where more seeds would not help.
    """

    learner: str
    readout: str
    statement: str
    first_possible: str
    first_confirmed: str
    seeds: From1
    seeds_needed: From1OrNone


@dataclass(frozen=True, kw_only=True)
class _OfStep:
    """The network of a row: that of one run after `tasks_seen` tasks."""

    learner: str
    order: str
    seed: From0
    tasks_seen: From0


@dataclass(frozen=True, kw_only=True)
class RetrainingRow(_OfStep):
    """An epoch of one retraining downstream of a feature, see `probe.training.history.History`.

    Epochs count from 1; epoch 0 is the first batch before any step, which has only a loss.
    """

    feature: str
    readout: str
    epoch: From0
    loss: Positive
    accuracy: Positive


@dataclass(frozen=True, kw_only=True)
class DiagnosticRow(_OfStep):
    """A diagnostic of a feature of one network on the test data, without any readout.

    metric: `units` (D, how many numbers of an example were looked at), `dead` (share of them that
    never change), `rank` (effective rank, from 1 to D), `cka.PEER` (debiased linear CKA to the same
    feature of another network: `step-1` right after the first task, `untrained`, `offline`).
    """

    feature: str
    depth: From1
    metric: str
    value: Number


@dataclass(frozen=True, kw_only=True)
class LearnerRow:
    """A learner of a study: its kind, and the exemplars that it stores.

    Attributes:
        learner: Its name.
        kind: Its kind.
        per_class: Its budget in examples per class; at most one of the two budgets is set.
        total: Its budget in examples in total.
        sampling: Its sampling strategy, empty for a learner that stores no exemplars.
    """

    learner: str
    kind: str
    per_class: AmountOrNone
    total: AmountOrNone
    sampling: str


@dataclass(frozen=True, kw_only=True)
class CostRow(_OfStep):
    """The cost of learning a task in one run, in bytes and multiply-adds.

    `tasks_seen` is the task's position in the executed order, from 1; the other columns are those
    of `probe.training.costs.Cost`.
    """

    parameter_bytes: Amount
    carried_bytes: Amount
    stored_bytes: Amount
    train_bytes: Amount
    ops_one_pass: Amount
    ops: Amount
    kept_bytes: Amount


@dataclass(frozen=True, kw_only=True)
class TimeRow(_OfStep):
    """The time to learn a task in one run.

    `tasks_seen` is the task's position in the executed order, from 1; `seconds` is processor time
    on a CPU, where one thread trains, and wall-clock time elsewhere.
    """

    seconds: Positive


@dataclass(frozen=True, kw_only=True)
class NoteRow:
    """A note on the measurements of one run, a sentence.

    It concerns a readout of a feature or, with both empty, the learner itself, after `tasks_seen`
    tasks.
    """

    learner: str
    order: str
    seed: From0
    feature: str
    note: str
    tasks_seen: From0
    readout: str = ""


def grouped(rows: Iterable[AnyRow], *names: str) -> dict[Any, list[AnyRow]]:
    """Return rows by the value of a column, or the values of several, in order of appearance."""
    key, groups = attrgetter(*names), dict[Any, list[AnyRow]]()
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
