"""The schemas of all tables: the columns of each, and the values that a column can hold.

A table is a pandas DataFrame; texts are `string`, numbers `float64` with NaN for
missing ones, whole numbers `int64`, or `Int64` with `<NA>` where one may be absent.
Accuracies, F1 and what is derived from them are fractions.

Columns of several tables: `learner`, `order` (of its tasks) and `seed` name a run;
`tasks_seen` is the number of tasks learned so far; `feature` and `depth` (from 1) name
a layer, `readout` the readout downstream of it, such as `retrain` or `linear`;
`task_position` is the position of the task in the executed order, from 1, absent for
all tasks; `mean` and `std` are mean and sample standard deviation over seeds (orders
averaged within a seed first), `std` NaN for a single seed; `low` and `high` are the
ends of the 95 % interval of `value`; `seeds` is the number of seeds. `scope` is
`training` if the interval is over three trainings or more, else `network`: these
networks, over test examples and, where seeds only retrain, over retrainings.

- `measurements`: one measurement of one run in each row. metric: `accuracy` (a cell of
  R: tasks_seen, head, task_position, task; with a feature and readout a cell of that
  feature's matrix A), `pra` (feature, depth, readout, tasks_seen: of all tasks), `f1`
  (the same with task_position and task). head: the outputs that compete, `single` (all
  classes seen so far), `multi` (those of the task) or `all`; cells of A have none.
  readout: empty at the output, except for readouts of each task, for which the output
  is multi-head. The learners `offline` and `untrained` have no order: their features
  give ceiling and floor.
- `summary`: mean PRA and F1.
- `metrics`: one metric of one paper for one learner. head: empty if it makes no
  difference. feature, readout: those of the matrix A that the metric is computed from,
  empty for R.
- `layers`: a quantity of a layer, see `probe.analysis.quantities`; NaN = not
  identifiable.
- `causes`: whose change cost what the network forgot of a task, see
  `probe.rewinding.hybrids`. score: `accuracy`, or `loss` in nats, minus it. feature:
  the block that ends at it, absent for the quantities of the whole network. quantity:
  `forgotten` = `competition` + `lost`, and of each block `attributed`, whose sum is
  `lost`, `restored`, `broken` and `net`. sampling_error: the standard error of
  `attributed` where only some orders of the blocks were drawn. verdict: on the change
  of a block, one of `CAUSE_VERDICTS`, in the rows of `attributed`. From three seeds on
  there are rows of both scopes.
- `controls`: an accuracy after all tasks minus that of a control. quantity:
  `exclusion_difference` or `selectivity`, see `probe.results.controls`. accuracy,
  control: the two accuracies.
- `statements`: a statement on a layer with the interval that decides it. statement:
  `below_ceiling`, `forgets`, `learns_less` than offline training, or `loses_plasticity`
  task by task. verdict: `yes` if the 95 % interval is above the margin, `no` if below,
  `open` if it contains the margin; `not converged`, `still moving`, `near chance`, `no
  ceiling`, `unchanged` and `equal seeds` if nothing can be stated. value: the quantity
  in `probe.analysis.statements.STATEMENTS`, over all tasks.
- `statement_seeds`: the value of one seed in the mean of a statement.
- `first_layer`: the range of the first layer of which a statement is true.
  first_possible: the first layer by depth that is not excluded, empty if all are.
  first_confirmed: the first layer by which the statement is confirmed from there to the
  output, empty if there is none, see `probe.analysis.statements.first_layer`.
  seeds_needed: about how many seeds would narrow the range; absent if it is one layer
  or two neighbors, where more seeds would not help, and for the scope `network`.
- `retraining`: an epoch of a retraining, from 1; epoch 0 is the first batch before any
  step, which has only a loss. See `probe.training.history.History`.
- `diagnostics`: a number on a feature of one network on the test data, without any
  readout. metric: `units` (channels, or single numbers where there are none), `dead`
  (the share of them that never changes), `dormant` (the share whose mean magnitude is
  next to nothing, see `probe.analysis.units`), `width` (D, the numbers examined per
  example, after pooling), `rank` (effective rank of these, from 1 to D), `cka.PEER`
  (debiased linear CKA to the same feature of another network: `step-1` right after the
  first task, `untrained`, `offline`). Tables from before `width` count pooled numbers
  as units.
- `learners`: the settings of a learner. kind: its kind. per_class, total: its budget of
  exemplars, at most one of the two. sampling: its sampling strategy, empty for a
  learner without exemplars.
- `costs`: the costs of learning the task at position tasks_seen in one run, in bytes
  and multiply-adds, see `probe.by_layer.measurement.Cost`.
- `times`: the seconds to learn this task, processor time on a CPU, where one thread
  trains, and wall-clock time elsewhere.
- `notes`: a sentence on a readout of a feature or, with both empty, on the learner
  itself.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from probe.analysis.statements import QUANTITIES, STATEMENTS, WITHHELD

if TYPE_CHECKING:
    import pandas as pd

SCOPES = NETWORK, TRAINING = "network", "training"
"""Whom an interval speaks of: these networks, over test examples; or, from three
trainings on, this way of training, over seeds and test examples."""

OPEN = "open"
"""The verdict that is none; it is read as `CANNOT_TELL`."""

CANNOT_TELL = "cannot tell"

CAUSE_VERDICTS: Mapping[str, str] = {
    "costs": "accounts for, harm and repair are all shown",
    "repairs": "repair is shown, harm is ruled out",
    "breaks": "harm is shown, repair is ruled out",
    "harms": "harm or repair is shown, but not all three",
    "helps": "its change serves the old tasks, and undoing it hurts",
    "together": "it does something only together with other layers",
    "depends": "the three disagree: it depends on the other layers",
    "none": "its change does nothing",
    OPEN: "neither harm nor repair is shown, whatever it accounts for",
}
"""The verdicts on the change of a layer, with their meanings, see `probe.rewinding.verdicts`."""

CONTROLS = UNTRAINED, OFFLINE = "untrained", "offline"
"""The learners whose features give floor and ceiling; they have no order."""

LARGEST = 1e15
"""The largest magnitude of a number that is not whole; figures have no axis for larger ones."""


class Column(NamedTuple):
    """The values of a column: their pandas dtype, and bounds or choices."""

    dtype: str
    least: float = 0
    most: float = LARGEST
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = "a number" if self.dtype == NUMBER.dtype else "a whole number"
        return f"{kind} from {self.least:g} to {self.most:g}"


Schema = Mapping[str, Column]
"""The columns of a table, by name."""

# Not pyarrow's strings, which hold fewer texts.
TEXT = Column("string[python]")
NUMBER = Column("float64", -LARGEST)
_POSITIVE = Column("float64")
# Tasks, positions, depths, seeds: 100,000 at most.
_FROM_0, _FROM_1 = (Column("int64", least, 100_000) for least in (0, 1))
_FROM_1_OR_NONE = Column("Int64", 1, 100_000)
_AMOUNT, _AMOUNT_OR_NONE = (Column(dtype, 0, 2**63 - 1) for dtype in ("int64", "Int64"))
_METRIC = TEXT._replace(choices=("accuracy", "pra", "f1"))
_NAME = TEXT._replace(choices=(*QUANTITIES, "chance"))
_STATEMENT = TEXT._replace(choices=tuple(STATEMENTS))
_VERDICT = TEXT._replace(choices=("yes", "no", OPEN, *WITHHELD))
_SCORE = TEXT._replace(choices=("accuracy", "loss"))
_OF_BLOCK = ("attributed", "restored", "broken", "net")
_CAUSE = TEXT._replace(choices=("forgotten", "competition", "lost", *_OF_BLOCK))
_CAUSE_VERDICT = TEXT._replace(choices=("", *CAUSE_VERDICTS))
_SCOPE = TEXT._replace(choices=SCOPES)
_CONTROL = TEXT._replace(choices=("exclusion_difference", "selectivity"))

_RUN = {"learner": TEXT, "order": TEXT, "seed": _FROM_0}
_STEP = {**_RUN, "tasks_seen": _FROM_0}
_LAYER = {"learner": TEXT, "readout": TEXT, "feature": TEXT, "depth": _FROM_1}
_STATED = {**_LAYER, "statement": _STATEMENT}
_MEAN = {"mean": NUMBER, "std": _POSITIVE, "seeds": _FROM_1}
_INTERVAL = {"value": NUMBER, "low": NUMBER, "high": NUMBER, "seeds": _FROM_1}
_QUANTITY = {**_LAYER, "task_position": _FROM_1_OR_NONE, "quantity": _NAME, **_INTERVAL}
_BYTES = ("parameter_bytes", "carried_bytes", "stored_bytes", "train_bytes")

SCHEMAS: Mapping[str, Schema] = {
    "measurements": {
        "scenario": TEXT,
        "network": TEXT,
        **_STEP,
        "head": TEXT,
        "feature": TEXT,
        "depth": _FROM_1_OR_NONE,
        "metric": _METRIC,
        "task_position": _FROM_1_OR_NONE,
        "task": TEXT,
        "value": NUMBER,
        "readout": TEXT,
    },
    "layers": {**_QUANTITY, "scope": _SCOPE},
    "statements": {
        **_STATED,
        "verdict": _VERDICT,
        "margin": NUMBER,
        **_INTERVAL,
        "scope": _SCOPE,
    },
    "statement_seeds": {**_STATED, "seed": _FROM_0, "value": NUMBER},
    "first_layer": {
        "learner": TEXT,
        "readout": TEXT,
        "statement": _STATEMENT,
        **dict.fromkeys(("first_possible", "first_confirmed"), TEXT),
        "seeds": _FROM_1,
        "seeds_needed": _FROM_1_OR_NONE,
    },
    "notes": {
        **_RUN,
        "feature": TEXT,
        "note": TEXT,
        "tasks_seen": _FROM_0,
        "readout": TEXT,
    },
    "summary": {
        "learner": TEXT,
        "feature": TEXT,
        "depth": _FROM_1,
        "metric": _METRIC,
        "task_position": _FROM_1_OR_NONE,
        **_MEAN,
    },
    "metrics": {
        **dict.fromkeys(("learner", "paper", "metric", "head"), TEXT),
        **_MEAN,
        "feature": TEXT,
        "readout": TEXT,
    },
    "learners": {
        "learner": TEXT,
        "kind": TEXT,
        "per_class": _AMOUNT_OR_NONE,
        "total": _AMOUNT_OR_NONE,
        "sampling": TEXT,
    },
    "costs": {
        **_STEP,
        **dict.fromkeys((*_BYTES, "ops_one_pass", "ops", "kept_bytes"), _AMOUNT),
    },
    "times": {**_STEP, "seconds": _POSITIVE},
    "retraining": {
        **_STEP,
        "feature": TEXT,
        "readout": TEXT,
        "epoch": _FROM_0,
        "loss": _POSITIVE,
        "accuracy": _POSITIVE,
    },
    "diagnostics": {
        **_STEP,
        "feature": TEXT,
        "depth": _FROM_1,
        "metric": TEXT,
        "value": NUMBER,
    },
    "causes": {
        "learner": TEXT,
        "score": _SCORE,
        "feature": TEXT,
        "depth": _FROM_1_OR_NONE,
        "task_position": _FROM_1_OR_NONE,
        "quantity": _CAUSE,
        **_INTERVAL,
        "sampling_error": NUMBER,
        "verdict": _CAUSE_VERDICT,
        "scope": _SCOPE,
    },
    "controls": {
        **_QUANTITY,
        "quantity": _CONTROL,
        "accuracy": NUMBER,
        "control": NUMBER,
    },
}
"""The columns of each table, by the name of the table, which is also the name of its file."""

Tables = Mapping[str, "pd.DataFrame"]
"""All tables of a study or a result, by name; some may have no rows."""

Row = dict[str, Any]
"""The cells of a row of a table, by column."""
