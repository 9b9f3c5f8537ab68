"""Tidy tables: the rows that a study writes and that figures read, in and out of CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from io import TextIOWrapper
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any, TextIO, TypeVar

from probe.errors import InputError
from probe.tables.cells import Known, column


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement of one run; cells that do not apply are None or empty. Fractions in [0, 1].

    Measures: `accuracy` (a cell of R: step, head, place, task), `pra` (feature, depth), `f1`
    (feature, depth, place, task). `step` = tasks learned so far; `head` = the outputs that compete:
    `single` (all classes seen so far), `multi` (those of the task), `all`; `place` = place of the
    task in the executed order, from 1; `depth` of a feature from 1 to L; `order` is empty for
    `offline`.
    """

    scenario: str
    network: str
    learner: str
    order: str
    seed: int
    step: int | None = None
    head: str = ""
    feature: str = ""
    depth: int | None = None
    measure: str
    place: int | None = None
    task: str = ""
    value: float


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """Mean and sample standard deviation over seeds (orders averaged within a seed first).

    `place` is None for `pra`; `std` is NaN for a single seed.
    """

    learner: str
    feature: str
    depth: int
    measure: str
    place: int | None
    mean: float
    std: float
    seeds: int


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of one paper for one learner: mean and sample standard deviation over seeds.

    `head` as in `Row`; empty where it makes no difference.
    """

    learner: str
    paper: str
    metric: str
    head: str
    mean: float
    std: float
    seeds: int


@dataclass(frozen=True, kw_only=True)
class LearnerRow:
    """What a learner of a study is: its kind, and the exemplars that it stores.

    per_class, total: its budget in examples, of which one is given; both None and `sampling` empty
    for a learner that stores none.
    """

    learner: str
    kind: str
    per_class: int | None
    total: int | None
    sampling: str


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """What learning a task cost in one run, see `Cost`; step: its place, from 1."""

    learner: str
    order: str
    seed: int
    step: int
    parameter_bytes: int
    carried_bytes: int
    stored_bytes: int
    train_bytes: int
    ops_one_pass: int
    ops: int
    kept_bytes: int


@dataclass(frozen=True, kw_only=True)
class TimeRow:
    """How long a task took to learn in one run; step: its place, from 1.

    seconds: of the processor on a CPU, where one thread works; of the clock elsewhere.
    """

    learner: str
    order: str
    seed: int
    step: int
    seconds: float


AnyRow = TypeVar("AnyRow", Row, SummaryRow, MetricRow, LearnerRow, CostRow, TimeRow)

Cells = Mapping[str, Any]
"""A line of a table: what its cells hold, by column."""


def write_table(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Write rows of one kind as CSV that reads back bit for bit, lines ending with a line feed.

    Raises InputError for a cell that would not: it is not of its column's type or in its range (see
    `probe.tables.cells`), or no Unicode.
    """
    names = [field.name for field in fields(kind)]
    writers = [column(field.name, str(field.type)).write for field in fields(kind)]
    cells = attrgetter(*names)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(_Lines(file), lineterminator="\r\n")
            writer.writerow(names)
            writer.writerows(
                [write(cell) for write, cell in zip(writers, cells(row), strict=True)]
                for row in rows
            )
    except UnicodeEncodeError as error:
        raise InputError(f"{path} cannot hold {error.object[:40]!r}: it is not Unicode") from None


def read_table(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a CSV that `write_table` wrote; raises InputError naming the file, line and column.

    It does so for every cell that `write_table` refuses. wanted: whether the cells of a line become
    a row, of which a large table has too many to make them for nothing.
    """
    names = {field.name: str(field.type) for field in fields(kind)}
    known = {name: Known(column(name, of)) for name, of in names.items()}
    try:
        with path.open("rb") as file, TextIOWrapper(file, encoding="utf-8", newline="") as text:
            reader = csv.reader(text)
            if next(reader, []) != list(names):
                raise InputError(f"{path}: expected the columns {','.join(names)}")
            each = (_cells(path, reader.line_num, line, known) for line in reader)
            return [kind(**cells) for cells in each if wanted(cells)]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run the study first") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None


def _cells(path: Path, number: int, line: list[str], known: Mapping[str, Known]) -> dict[str, Any]:
    if len(line) != len(known):
        raise InputError(f"{path}, line {number} has {len(line)} cells, expected {len(known)}")
    try:
        return dict(zip(known, map(getitem, known.values(), line), strict=True))
    except InputError as error:
        raise InputError(
            f"{path}, line {number}: {error}: write the tables again with `probe run`"
        ) from None


@dataclass(frozen=True)
class _Lines:
    """Lets lines end with a line feed alone.

    csv quotes a cell that holds what its own lines end with: it has to be both, or a carriage
    return would not read back.
    """

    file: TextIO

    def write(self, line: str) -> None:
        self.file.write(line[:-2] + "\n")
