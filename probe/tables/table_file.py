"""Tables in and out of CSV; every cell is checked when it is written and again when it is read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter, getitem
from pathlib import Path
from types import GenericAlias
from typing import Any, TextIO, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from probe.errors import InputError
from probe.tables.cells import Text
from probe.tables.rows import AnyRow
from probe.validation import expected, problems, shown

_MOST_KNOWN = 100_000  # texts; where more differ, remembering them costs more than it saves

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
    known = list(checked_texts(kind).values())
    # What a table of an earlier version lacks is at its default.
    later = defaults(kind)
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
    except WrongCell as error:
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
    needed = [column for column in columns if column not in defaults(kind)]
    if list(found) != columns[: len(found)] or not set(needed) <= set(found):
        raise InputError(f"{path}: expected the columns {','.join(columns)}")
    return list(found)


def defaults(kind: type) -> dict[str, Any]:
    """Return what the columns of a kind of row that came later hold where they are lacking."""
    return {each.name: each.default for each in fields(kind) if each.default is not MISSING}


def checked_texts(kind: type) -> dict[str, Mapping[str, Any]]:
    """Return what the texts of cells stand for, by column: a look-up raises WrongCell if nothing.

    kind: of row. A text stands for what it does in a file that `write_table` wrote.
    """
    return {column: _Known(column, of) for column, of in _types(kind).items()}


class WrongCell(Exception):
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
            raise WrongCell(_problem(self._column, next(problems(error)))) from None
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
