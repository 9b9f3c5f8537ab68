"""CSV tables; every cell is checked when it is written and again when it is read."""

import csv
import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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

    None and NaN become empty cells, NumPy scalars plain numbers.

    Args:
        path: Of the file.
        kind: Of the rows.
        rows: May be a generator: a large table is never in memory as a whole.

    Raises:
        InputError: A cell would not read back: it is of another type than its column, out of
            range, or not valid Unicode.
    """
    hints = get_type_hints(kind, include_extras=True)
    types: Any = GenericAlias(tuple, tuple(Text if h is str else h for h in hints.values()))
    # Checking a line as one tuple takes a third of the time of checking cell by cell. It is strict:
    # in a file "3" is a number, in a row it is a mistake.
    check, cells = TypeAdapter(types).validate_python, attrgetter(*hints)

    def checked(row: AnyRow) -> list[Any]:
        try:
            line = check(cells(row), strict=True)
        except ValidationError:
            # NumPy scalars are rare; looking for them in every row would take longer.
            plain = (cell.item() if isinstance(cell, np.generic) else cell for cell in cells(row))
            line = check(tuple(plain), strict=True)
        return [None if cell != cell else cell for cell in line]

    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(_LineFeeds(file), lineterminator="\r\n")
            writer.writerow(hints)
            writer.writerows(map(checked, rows))
    except ValidationError as error:
        raise InputError(f"{path} cannot be written: {wrong_cell(error, list(hints))}") from None


def table_file(folder: Path, name: str) -> Path:
    """Return the file of a table.

    Args:
        folder: The folder of the tables.
        name: The table.

    Returns:
        NAME.csv, or NAME.csv.gz where only that exists.
    """
    path, compressed = folder / f"{name}.csv", folder / f"{name}.csv.gz"
    return compressed if compressed.is_file() and not path.exists() else path


def read_table(
    path: Path, kind: type[AnyRow], wanted: Callable[[Cells], bool] = lambda _: True
) -> list[AnyRow]:
    """Read a CSV that `write_table` wrote, also compressed by gzip; lines may end as on any system.

    Args:
        path: Of the file.
        kind: Of the rows.
        wanted: Whether to keep a row of these cells.

    Raises:
        InputError: With file, line and column, for every cell that `write_table` refuses, also in
            lines that are not wanted.
    """
    check, columns, rows = TypeAdapter(kind).validate_python, list(get_type_hints(kind)), []
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            if next(reader, []) != columns:
                raise InputError(f"{path}: expected the columns {','.join(columns)}")
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
    except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None
    except OSError as error:
        raise unreadable(path, error, "run the study first") from None
    return rows


def wrong_cell(error: ValidationError, columns: Sequence[str] = ()) -> str:
    """Describe the first wrong cell in a sentence.

    Args:
        error: The validation error.
        columns: The names of the columns, if cells were checked by position.

    Returns:
        The sentence.
    """
    detail = next(problems(error))
    column = detail["loc"][0]
    column = columns[column] if isinstance(column, int) else column
    return f"{shown(detail['input'])} cannot be the value of {column}, {expected(detail)}"


@dataclass(frozen=True)
class _LineFeeds:
    """A file whose lines end with a line feed only.

    csv quotes cells that hold a character of its own line ending: that must have both, or a
    carriage return in a cell would not read back.
    """

    file: TextIO

    def write(self, line: str) -> None:
        self.file.write(line[:-2] + "\n")
