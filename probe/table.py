"""Tidy tables: the rows that a study writes and that figures read, in and out of CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from operator import attrgetter, index
from pathlib import Path
from typing import Any, TextIO, TypeVar

from probe.errors import InputError


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
    """What learning a task cost in one run, see `probe.resources.Cost`; step: its place, from 1."""

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
Reader = Callable[[str], Any]
Writer = Callable[[Any], Any]


def write_table(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Write rows of one kind as CSV that reads back bit for bit, lines ending with a line feed.

    Raises InputError for a cell that would not: it is not of its column's type, or no Unicode.
    """
    names = [field.name for field in fields(kind)]
    writers = [_WRITERS[str(field.type)] for field in fields(kind)]
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


def read_table(path: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """Read a CSV that `write_table` wrote; raises InputError naming the file, line and column."""
    readers = {field.name: _READERS[str(field.type)] for field in fields(kind)}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            if next(reader, []) != list(readers):
                raise InputError(f"{path}: expected the columns {','.join(readers)}")
            return [
                kind(**_cells(f"{path}, line {reader.line_num}", line, readers)) for line in reader
            ]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run the study first") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None


def _cells(where: str, line: list[str], readers: dict[str, Reader]) -> dict[str, Any]:
    if len(line) != len(readers):
        raise InputError(f"{where} has {len(line)} cells, expected {len(readers)}")
    values = {}
    for (name, read), cell in zip(readers.items(), line, strict=True):
        try:
            values[name] = read(cell)
        except ValueError:
            raise InputError(f"{where}: {cell!r} cannot be the value of {name}") from None
    return values


@dataclass(frozen=True)
class _Lines:
    """Lets lines end with a line feed alone.

    csv quotes a cell that holds what its own lines end with: it has to be both, or a carriage
    return would not read back.
    """

    file: TextIO

    def write(self, line: str) -> None:
        self.file.write(line[:-2] + "\n")


def _text(value: object) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST:
        return value
    raise InputError(f"a table's column of texts cannot hold {str(value)[:40]!r}")


def _whole(value: Any) -> int:
    try:
        return int(index(value))
    except TypeError:
        raise InputError(f"a table's column of whole numbers cannot hold {value!r}") from None


def _number(value: Any) -> float | None:
    try:
        return None if math.isnan(value) else float(value)
    except (TypeError, OverflowError):
        raise InputError(f"a table's column of numbers cannot hold {value!r}") from None


_LONGEST = csv.field_size_limit()  # characters in a cell that csv reads

_WRITERS: dict[str, Writer] = {
    "str": _text,
    "int": _whole,
    "int | None": lambda value: None if value is None else _whole(value),
    "float": _number,
}
_READERS: dict[str, Reader] = {
    "str": str,
    "int": int,
    "int | None": lambda cell: int(cell) if cell else None,
    "float": lambda cell: float(cell) if cell else math.nan,
}
