"""Tables in memory and as CSV files; every cell is checked when it is written and when it is read.

CSV files hold floats by repr, empty cells for missing values, and line feeds only: a
table reads back bit for bit.
"""

import csv
import gzip
from collections.abc import Callable, Iterable
from os.path import isfile
from pathlib import Path
from sys import intern
from types import SimpleNamespace
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype

from probe.errors import InputError, unreadable
from probe.files import check_hash
from probe.tables.schemas import NUMBER, SCHEMAS, TEXT, Column, Tables
from probe.validation import shown


def new_table(name: str, rows: Iterable[Any] = ()) -> pd.DataFrame:
    """Return a table of rows, empty by default.

    Args:
        name: The name of the table.
        rows: The cells of each row by column, or in the order of the columns, or a
            frame with these columns; texts that are left out are empty, numbers are
            missing.
    """
    schema = SCHEMAS[name]
    frame = pd.DataFrame(rows, columns=list(schema), dtype=object)
    columns = {}
    for column, kind in schema.items():
        # In arrays: each step of a series costs as much as its conversion.
        values = frame[column].array
        if kind.dtype == TEXT.dtype:
            values = values.fillna("")
        columns[column] = pd.array(values, dtype=kind.dtype)
    return pd.DataFrame(columns)


def all_tables(**tables: pd.DataFrame) -> Tables:
    """Return these tables by name, and every other table without rows."""
    return {
        name: tables[name] if name in tables else new_table(name) for name in SCHEMAS
    }


def records(frame: pd.DataFrame) -> list[Any]:
    """Return the rows of a table as named tuples; an absent whole number is None."""
    whole = {
        column: frame[column].astype(object).where(frame[column].notna(), None)
        for column in frame.select_dtypes("Int64")
    }
    return list(frame.assign(**whole).itertuples(index=False, name="Row"))


def where(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows that have a value in each named column.

    Args:
        table: The table.
        values: The value in each column, a collection of several, or None for an absent
            number.

    >>> times = new_table("times", [("er", "0", 0, 1, 1.5), ("si", "0", 0, 1, 2.5)])
    >>> where(times, learner="er", tasks_seen=[1, 2])["seconds"].tolist()
    [1.5]
    """
    for column, value in values.items():
        allowed = (
            [value] if value is None or isinstance(value, str | int) else list(value)
        )
        table = table[
            table[column].isna() if value is None else table[column].isin(allowed)
        ]
    return table


def write_table(path: Path, name: str, frame: pd.DataFrame) -> None:
    """Write a table as CSV.

    Args:
        path: The file.
        name: The name of the table.
        frame: The table.

    Raises:
        InputError: A cell would not read back: it is not of the type of its column, out
            of range, or not valid Unicode.
    """
    frame = checked(frame, name, lambda index: f"{path} cannot be written: row {index}")
    cells = frame.astype(object).where(frame.notna(), None)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            # csv quotes a cell with a carriage return only if its own line ending has
            # one.
            lines = SimpleNamespace(write=lambda line: file.write(line[:-2] + "\n"))
            writer = csv.writer(lines, lineterminator="\r\n")
            writer.writerow(frame.columns)
            writer.writerows(cells.itertuples(index=False, name=None))
    except UnicodeEncodeError as error:
        raise InputError(
            f"{path} cannot be written: invalid Unicode ({error})"
        ) from None


def table_file(folder: Path, name: str) -> Path:
    """Return the file of a table.

    Args:
        folder: The folder of the tables.
        name: The table.

    Returns:
        The path of NAME.csv, or of NAME.csv.gz if only that exists.
    """
    path = folder / f"{name}.csv"
    compressed = folder / f"{name}.csv.gz"
    return compressed if isfile(compressed) and not isfile(path) else path


def read_table(path: Path, name: str) -> pd.DataFrame:
    """Read a CSV that `write_table` wrote, also compressed by gzip; lines may end as on any system.

    Args:
        path: The file.
        name: The name of the table.

    Raises:
        InputError: The file cannot be read, differs from the hash recorded in its
            folder, or has a cell that `write_table` refuses; the message names file,
            line and column.
    """
    columns, numbers = list(SCHEMAS[name]), list[int]()
    lines: list[tuple[str, ...]] = []
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        check_hash(path)
        with opened(path, "rt", newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            if next(reader, None) != columns:
                raise InputError(f"{path} must have the columns {','.join(columns)}")
            for cells in reader:
                # Most texts recur in every line; interned, each is in memory once.
                lines.append(tuple(map(intern, cells)))
                numbers.append(reader.line_num)
    except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a table of this study ({error})") from None
    except OSError as error:
        raise unreadable(path, error, "run the study first") from None
    for line, number in zip(lines, numbers, strict=True):
        if len(line) != len(columns):
            raise InputError(
                f"{path}, line {number} has {len(line)} cells, expected {len(columns)}"
            )
    frame = pd.DataFrame(lines, columns=columns, dtype=object)
    return checked(frame, name, lambda index: f"{path}, line {numbers[index]}")


def checked(
    frame: pd.DataFrame, name: str, where: Callable[[int], str]
) -> pd.DataFrame:
    """Return the columns of a table in the dtypes of its schema.

    The frame may have been filtered and sorted, have further columns, and come from a
    CSV file, which turns the text "0" into a number and an empty text into a gap.

    Args:
        frame: The DataFrame.
        name: The name of the table.
        where: Function that names a row by its index, for messages.

    Raises:
        InputError: The frame is not a DataFrame, or a column is missing, repeated, or
            cannot hold one of its cells.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    schema = SCHEMAS[name]
    counts = frame.columns.value_counts()
    if wrong := [column for column in schema if counts.get(column, 0) != 1]:
        raise InputError(
            f"a table of {name} needs each of its columns once, but lacks or repeats "
            f"{', '.join(wrong)}: use a table from `to_pandas`"
        )
    frame = frame.reset_index(drop=True)
    columns = {}
    for column, kind in schema.items():
        cells = frame[column]
        try:
            columns[column] = _convert(cells, kind)
        except (ValueError, TypeError, OverflowError):
            wrong_cells = (
                k for k in range(len(cells)) if not _is_right(cells[k : k + 1], kind)
            )
            index = next(wrong_cells)
            raise InputError(
                f"{where(index)}: {shown(cells[index])} cannot be the value of "
                f"{column}, expected {kind}"
            ) from None
    return pd.DataFrame(columns)


def _convert(cells: pd.Series, kind: Column) -> pd.Series:
    """Return cells in the dtype of their column; raises ValueError or TypeError for a wrong one."""
    values = cells
    if cells.dtype != kind.dtype:
        texts = cells
        # A column of pandas' texts may have gaps.
        if cells.dtype != object or infer_dtype(cells, skipna=False) != "string":
            texts = cells.map(lambda cell: _text(cell, kind)).astype(object)
        values = texts if kind.dtype == TEXT.dtype else texts.where(texts != "", None)
        values = values.astype(kind.dtype)
    if kind.dtype == TEXT.dtype:
        right = values.isin(kind.choices or values)
    else:
        right = values.isna() | values.between(kind.least, kind.most)
    if not right.all():
        raise ValueError(kind)
    return values


def _is_right(cells: pd.Series, kind: Column) -> bool:
    try:
        _convert(cells, kind)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _text(cell: Any, kind: Column) -> str:
    """Return a cell as it is written to a file.

    >>> [_text(cell, TEXT) for cell in (2.0, True, None, float("nan"), "a")]
    ['2', 'True', '', '', 'a']
    >>> _text(-0.0, NUMBER)
    '-0.0'
    """
    if isinstance(cell, str):
        return cell
    if pd.isna(cell):
        return ""
    # In a column with gaps, a CSV turns whole numbers into floats.
    is_whole = (
        isinstance(cell, float) and cell.is_integer() and kind.dtype != NUMBER.dtype
    )
    return str(int(cell) if is_whole else cell)
