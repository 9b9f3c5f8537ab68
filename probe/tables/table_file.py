"""CSV tables; every cell is checked when it is written and again when it is read."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from pathlib import Path
from sys import intern
from types import GenericAlias
from typing import Any, TextIO, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from probe.errors import InputError, unreadable
from probe.tables.rows import AnyRow, Text
from probe.validation import expected, problems, shown

Cells = Mapping[str, Any]
"""The checked cells of one line, by column."""


def write_table(path: Path, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
    """Write rows of one kind as CSV that reads back bit for bit; lines end with a line feed.

    rows may be a generator: a large table is never in memory as a whole. None and NaN become empty
    cells, NumPy scalars plain numbers. Raises InputError for a cell that would not read back: of
    another type than its column, out of range, or not valid Unicode.
    """
    hints = get_type_hints(kind, include_extras=True)
    types: Any = GenericAlias(tuple, tuple(Text if of is str else of for of in hints.values()))
    # Checking a line as one tuple takes a third of the time of checking cell by cell. It is strict:
    # in a file "3" is a number, in a row it is a mistake.
    check, cells = TypeAdapter(types).validate_python, attrgetter(*hints)

    def checked(row: AnyRow) -> list[Any]:
        try:
            line = check(cells(row), strict=True)
        except ValidationError:
            # NumPy scalars are rare; looking for them in every row would take longer.
            plain = (each.item() if isinstance(each, np.generic) else each for each in cells(row))
            line = check(tuple(plain), strict=True)
        return [None if cell != cell else cell for cell in line]

    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(_LineFeeds(file), lineterminator="\r\n")
            writer.writerow(hints)
            writer.writerows(map(checked, rows))
    except ValidationError as error:
        raise InputError(f"{path} cannot be written: {wrong_cell(error, list(hints))}") from None


def read_table(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a CSV that `write_table` wrote; keep the rows whose checked cells are wanted.

    Columns with a default may be missing at the end, as in tables of earlier versions. Lines may
    end as on any system. Raises InputError, with file, line and column, for every cell that
    `write_table` refuses, also in lines that are not wanted.
    """
    check, rows = TypeAdapter(kind).validate_python, []
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
                # Most texts recur in every line; interned, each is in memory once.
                row = check(dict(zip(columns, map(intern, line), strict=True)))
                if wanted(vars(row)):
                    rows.append(row)
    except ValidationError as error:
        at = f"{path}, line {reader.line_num}: {wrong_cell(error)}"
        raise InputError(f"{at}: write the tables again with `probe run`") from None
    except OSError as error:
        raise unreadable(path, error, "run the study first") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None
    return rows


def wrong_cell(error: ValidationError, columns: Sequence[str] = ()) -> str:
    """Return a sentence on the first wrong cell; columns: if they were checked by position."""
    detail = next(problems(error))
    at = detail["loc"][0]
    column = columns[at] if isinstance(at, int) else at
    return f"{shown(detail['input'])} cannot be the value of {column}, {expected(detail)}"


def needed(kind: type) -> list[str]:
    """Return the columns that a table of this kind of row must have: those without a default."""
    return [each.name for each in fields(kind) if each.default is MISSING]


def _columns(path: Path, kind: type, header: Sequence[str]) -> Sequence[str]:
    """Check the columns of a table and return them."""
    columns = [each.name for each in fields(kind)]
    if list(header) != columns[: len(header)] or not set(needed(kind)) <= set(header):
        raise InputError(f"{path}: expected the columns {','.join(columns)}")
    return header


@dataclass(frozen=True)
class _LineFeeds:
    """A file in which lines end with a line feed alone.

    csv quotes cells that hold a character of its own line ending: that must have both, or a
    carriage return in a cell would not read back.
    """

    file: TextIO

    def write(self, line: str) -> None:
        self.file.write(line[:-2] + "\n")
