"""Tidy tables: the rows that a study writes and that figures read, in and out of CSV.

A kind of row is a dataclass whose annotations say what each column can hold; every cell is checked
against them when a table is written and again when it is read.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter, getitem
from pathlib import Path
from types import GenericAlias
from typing import Any, TextIO, TypeVar, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from probe.errors import InputError
from probe.tables.cells import (
    Amount,
    AmountOrNone,
    From0,
    From0OrNone,
    From1,
    From1OrNone,
    Measure,
    Number,
    Positive,
    Text,
)
from probe.validation import expected, problems, shown

_MOST_KNOWN = 100_000  # texts; where more differ, remembering them costs more than it saves


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement of one run; cells that do not apply are None or empty. Fractions in [0, 1].

    Measures: `accuracy` (a cell of R: step, head, place, task; with a feature and readout a cell of
    that feature's own matrix A), `pra` (feature, depth, readout, step: of all tasks), `f1`
    (feature, depth, readout, step, place, task). `step` = tasks learned so far, empty only in
    tables of earlier versions, which had the last step alone; `head` = the outputs that compete:
    `single` (all classes seen so far), `multi` (those of the task), `all`; `place` = place of the
    task in the executed order, from 1; `depth` of a feature from 1 to L; `readout` = what was
    trained behind the feature, as `retrain` and `linear`; empty at the output. The learners
    `offline` and `untrained` have no order: behind their features are ceiling and floor.
    """

    scenario: str
    network: str
    learner: str
    order: str
    seed: From0
    step: From0OrNone = None
    head: str = ""
    feature: str = ""
    depth: From1OrNone = None
    measure: Measure
    place: From1OrNone = None
    task: str = ""
    value: Number
    readout: str = ""


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """Mean and sample standard deviation over seeds (orders averaged within a seed first).

    `place` is None for `pra`; `std` is NaN for a single seed.
    """

    learner: str
    feature: str
    depth: From1
    measure: Measure
    place: From1OrNone
    mean: Number
    std: Positive
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of one paper for one learner: mean and sample standard deviation over seeds.

    `head` as in `Row`; empty where it makes no difference; feature, readout: of whose matrix A it
    is, empty for R. `std` is NaN for a single seed.
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
class LayerRow:
    """What a layer kept of a task, for one learner and readout: a quantity with its 95 % interval.

    quantity: see `probe.analysis.layers.quantities`; place: of the task in the executed order, from
    1; None = all tasks. value, low and high are NaN where a quantity is not identifiable; low and
    high alone for a single seed. Fractions, or differences of fractions.
    """

    learner: str
    readout: str
    feature: str
    depth: From1
    place: From1OrNone
    quantity: str
    value: Number
    low: Number
    high: Number
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class StartRow:
    """Where in depth a learner's forgetting starts, for one readout.

    feature: the first by depth that lacks more than `margin` against the ceiling, with its
    simultaneous 95 % interval; earliest: the first that may; both empty for none. value, low, high:
    what the starting feature lacks, NaN without one.
    """

    learner: str
    readout: str
    feature: str
    earliest: str
    margin: Number
    value: Number
    low: Number
    high: Number
    seeds: From1


@dataclass(frozen=True, kw_only=True)
class RetrainingRow:
    """An epoch of one retraining behind a feature, see `probe.training.history.History`.

    epoch: from 1; 0 is the first batch before any step, which has a loss alone.
    """

    learner: str
    order: str
    seed: From0
    step: From0
    feature: str
    readout: str
    epoch: From0
    loss: Positive
    accuracy: Positive


@dataclass(frozen=True, kw_only=True)
class DiagnosticRow:
    """What a feature of one network looks like on the test data, without any readout.

    measure: `units` (D, how many numbers of an example were looked at), `dead` (share of them that
    never change), `rank` (effective rank, from 1 to D), `cka.PEER` (debiased linear CKA to the same
    feature of another network: `step-1` right after the first task, `untrained`, `offline`).
    """

    learner: str
    order: str
    seed: From0
    step: From0
    feature: str
    depth: From1
    measure: str
    value: Number


@dataclass(frozen=True, kw_only=True)
class LearnerRow:
    """What a learner of a study is: its kind, and the exemplars that it stores.

    per_class, total: its budget in examples, of which one is given; both None and `sampling` empty
    for a learner that stores none.
    """

    learner: str
    kind: str
    per_class: AmountOrNone
    total: AmountOrNone
    sampling: str


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """What learning a task cost in one run, in bytes and multiply-adds.

    step: the task's position in the executed order, from 1; all else as in
    `probe.training.costs.Cost`.
    """

    learner: str
    order: str
    seed: From0
    step: From0
    parameter_bytes: Amount
    carried_bytes: Amount
    stored_bytes: Amount
    train_bytes: Amount
    ops_one_pass: Amount
    ops: Amount
    kept_bytes: Amount


@dataclass(frozen=True, kw_only=True)
class TimeRow:
    """How long a task took to learn in one run.

    step: the task's position in the executed order, from 1; seconds: of the processor on a CPU,
    where one thread works; of the clock elsewhere.
    """

    learner: str
    order: str
    seed: From0
    step: From0
    seconds: Positive


@dataclass(frozen=True, kw_only=True)
class NoteRow:
    """What has to be known to read what one run measured, a sentence.

    It is behind a feature, with a readout, or, with both empty, of the learner itself; after `step`
    tasks, None in tables of earlier versions.
    """

    learner: str
    order: str
    seed: From0
    feature: str
    note: str
    step: From0OrNone = None
    readout: str = ""


AnyRow = TypeVar(
    "AnyRow",
    Row,
    SummaryRow,
    MetricRow,
    LayerRow,
    StartRow,
    RetrainingRow,
    DiagnosticRow,
    LearnerRow,
    CostRow,
    TimeRow,
    NoteRow,
)

Cells = Mapping[str, Any]
"""A line of a table: what its cells hold, by column."""


def write_table(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Write rows of one kind as CSV that reads back bit for bit, lines ending with a line feed.

    rows may be a generator: they are written as they come, and a large table is never in memory as
    a whole. None and NaN are empty cells; NumPy's scalars are the numbers that they are. Raises
    InputError for a cell that would not read back: it is not of its column's type, not in its
    range, or no Unicode.
    """
    types = _types(kind)
    cells = attrgetter(*types)
    line: Any = GenericAlias(tuple, tuple(types.values()))
    check = TypeAdapter(line).validate_python

    # A line is checked as one tuple, which takes a third of the time of checking cell by cell; and
    # strictly: from a file "3" is a number, in a row it is a mistake.
    def checked(row: AnyRow) -> list[Any]:
        # NumPy's scalars are rare, and looking for them in every row would take longer.
        try:
            line = check(cells(row), strict=True)
        except ValidationError:
            line = check(tuple(map(_plain, cells(row))), strict=True)
        return [None if cell != cell else cell for cell in line]

    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(_LineFeeds(file), lineterminator="\r\n")
            writer.writerow(types)
            writer.writerows(map(checked, rows))
    except ValidationError as error:
        detail = next(problems(error))
        column = list(types)[int(detail["loc"][0])]
        raise InputError(f"{path} cannot be written: {_problem(column, detail)}") from None


def read_table(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a CSV that `write_table` wrote; raises InputError naming the file, line and column.

    It does so for every cell that `write_table` refuses, also in lines that are not wanted. wanted:
    whether the cells of a line, checked, become a row, of which a large table has too many to make
    them for nothing. Lines may end as any system ends them.
    """
    types = _types(kind)
    known = [_Known(column, of) for column, of in types.items()]
    # What a table of an earlier version lacks is at its default.
    later = {each.name: each.default for each in fields(kind) if each.default is not MISSING}
    rows = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            columns = _columns(path, kind, next(reader, []))
            for line in reader:
                if len(line) != len(columns):
                    raise InputError(
                        f"{path}, line {reader.line_num} has {len(line)} cells, expected "
                        f"{len(columns)}"
                    )
                cells = later | dict(zip(columns, map(getitem, known, line), strict=False))
                if wanted(cells):
                    rows.append(kind(**cells))
    except _WrongCell as error:
        raise InputError(
            f"{path}, line {reader.line_num}: {error}: write the tables again with `probe run`"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run the study first") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None
    return rows


def _columns(path: Path, kind: type, found: Sequence[str]) -> list[str]:
    """Return the columns of a table, which may lack the last of those that have a default."""
    columns = [each.name for each in fields(kind)]
    needed = [each.name for each in fields(kind) if each.default is MISSING]
    if list(found) != columns[: len(found)] or not set(needed) <= set(found):
        raise InputError(f"{path}: expected the columns {','.join(columns)}")
    return list(found)


class _WrongCell(Exception):
    """A cell is not what its column can hold; the message says why."""


class _Known(dict[str, Any]):
    """What the texts of a column stand for: checked but once each, as most come again and again."""

    def __init__(self, column: str, of: Any) -> None:
        self._column = column
        self._check = TypeAdapter[Any](of).validate_python

    def __missing__(self, text: str) -> Any:
        try:
            value = self._check(text)
        except ValidationError as error:
            raise _WrongCell(_problem(self._column, next(problems(error)))) from None
        if len(self) < _MOST_KNOWN:
            self[text] = value
        return value


def _plain(value: object) -> object:
    """Return the Python number that a NumPy scalar is."""
    return value.item() if isinstance(value, np.generic) else value


def _types(kind: type) -> dict[str, Any]:
    """Return the type of the cells of each column, as `TypeAdapter` takes it."""
    types = get_type_hints(kind, include_extras=True)
    return {column: Text if of is str else of for column, of in types.items()}


def _problem(column: str, detail: ErrorDetails) -> str:
    return f"{shown(detail['input'])} cannot be the value of {column}, {expected(detail)}"


@dataclass(frozen=True)
class _LineFeeds:
    """Lets lines end with a line feed alone.

    csv quotes a cell that holds what its own lines end with: it has to be both, or a carriage
    return would not read back.
    """

    file: TextIO

    def write(self, line: str) -> None:
        self.file.write(line[:-2] + "\n")
