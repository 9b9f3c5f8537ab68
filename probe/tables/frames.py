"""Rows as a pandas DataFrame, and back."""

from collections.abc import Iterable
from typing import Any, get_args, get_type_hints

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from probe.errors import InputError
from probe.tables.rows import AnyRow, MeasurementRow
from probe.tables.table_file import needed, wrong_cell


def to_frame(rows: Iterable[AnyRow], kind: type[Any] = MeasurementRow) -> pd.DataFrame:
    """Return rows of one kind as a DataFrame: a line for each, a column for each field.

    Texts are `string`, numbers `float64` with NaN as in the rows, whole numbers `int64`, or `Int64`
    with `<NA>` for None. kind: of the rows, if there are none. `rows_of_frame` is the inverse, bit
    for bit. Raises InputError for rows that hold something else than their columns can.
    """
    table = list(rows)
    dtypes = _dtypes(type(table[0]) if table else kind)
    try:
        return pd.DataFrame(map(vars, table), columns=list(dtypes), dtype=object).astype(dtypes)
    except (TypeError, ValueError) as error:
        raise InputError(f"the rows hold a value that its column cannot: {error}") from None


def rows_of_frame(frame: pd.DataFrame, kind: type[AnyRow] = MeasurementRow) -> list[AnyRow]:  # type: ignore[assignment]
    """Return the rows that a DataFrame holds, line by line; the inverse of `to_frame`.

    The frame may have been filtered, sorted, given further columns, and passed through a CSV, which
    turns the text "0" into a number and an empty one into a gap. Read with
    `read_csv(path, dtype=str, keep_default_na=False)` it keeps every text and every bit of a
    number; otherwise "1.0" becomes "1", and "NA" empty. Raises InputError for anything but a
    DataFrame, for missing or repeated columns, and for a cell that its column cannot hold.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    if lacking := [name for name in needed(kind) if name not in frame.columns]:
        raise InputError(
            f"the DataFrame lacks the columns {', '.join(lacking)} of {kind.__name__}: take one "
            f"that `to_pandas` gave"
        )
    there = {name: of for name, of in _dtypes(kind).items() if name in frame.columns}
    if doubled := [name for name in there if frame[name].ndim != 1]:
        raise InputError(f"the DataFrame has the column {doubled[0]} twice: drop one of them")
    texts = [[_text(cell, of) for cell in frame[name].tolist()] for name, of in there.items()]
    lines = (dict(zip(there, cells, strict=True)) for cells in zip(*texts, strict=True))
    rows: list[AnyRow] = []
    try:
        rows.extend(map(TypeAdapter(kind).validate_python, lines))
    except ValidationError as error:
        raise InputError(f"row {len(rows)} of the DataFrame: {wrong_cell(error)}") from None
    return rows


def _text(cell: Any, dtype: str) -> str:
    """Return a cell as it is written to a file; dtype: of its column.

    >>> [_text(cell, "Int64") for cell in (2.0, 0.0, True, None, float("nan"), "a")]
    ['2', '0', 'True', '', '', 'a']
    >>> _text(-0.0, "float64")
    '-0.0'
    """
    if isinstance(cell, str):
        return cell
    # NA cannot even be compared; NaN and NaT differ from themselves.
    if cell is None or cell is pd.NA or cell != cell:
        return ""
    # In a column with gaps, a CSV turns whole numbers into floats.
    whole = isinstance(cell, float) and cell.is_integer() and dtype != "float64"
    return str(int(cell) if whole else cell)


def _dtypes(kind: type) -> dict[str, str]:
    """Return the pandas dtype of each column."""
    return {name: _dtype(of) for name, of in get_type_hints(kind).items()}


def _dtype(of: Any) -> str:
    if of in (float, int):
        return f"{of.__name__}64"
    # Not pyarrow's strings: they hold fewer texts.
    return "Int64" if int in get_args(of) else "string[python]"
