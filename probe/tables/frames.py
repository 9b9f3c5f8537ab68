"""Rows as a pandas DataFrame, and back."""

from collections.abc import Iterable
from typing import Any, get_args, get_type_hints

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from probe.errors import InputError
from probe.tables.rows import AnyRow, MeasurementRow
from probe.tables.table_file import wrong_cell


def to_frame(rows: Iterable[AnyRow], kind: type[Any] = MeasurementRow) -> pd.DataFrame:
    """Return rows of one kind as a DataFrame: a line for each, a column for each field.

    Texts are `string`, numbers `float64` with NaN as in the rows, whole numbers `int64`, or `Int64`
    with `<NA>` for None. `rows_of_frame` is the inverse, bit for bit.

    Args:
        rows: All of the same kind.
        kind: Of the rows, if there are none.
    """
    table = list(rows)
    dtypes = _dtypes(type(table[0]) if table else kind)
    return pd.DataFrame(map(vars, table), columns=list(dtypes), dtype=object).astype(dtypes)


def rows_of_frame(frame: pd.DataFrame, kind: type[AnyRow] = MeasurementRow) -> list[AnyRow]:  # type: ignore[assignment]
    """Read the rows of a DataFrame, line by line; the inverse of `to_frame`.

    The frame may have been filtered and sorted, have further columns, and come from a CSV file,
    which turns the text "0" into a number and an empty text into a gap. `read_csv(path, dtype=str,
    keep_default_na=False)` keeps every text and every bit of a number; otherwise "1.0" becomes "1",
    and "NA" becomes empty.

    Args:
        frame: The DataFrame.
        kind: The class of the rows.

    Returns:
        The rows.

    Raises:
        InputError: It is not a DataFrame, or a column is missing, repeated, or cannot hold one of
            its cells.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    dtypes, counts = _dtypes(kind), frame.columns.value_counts()
    if wrong := [name for name in dtypes if counts.get(name, 0) != 1]:
        raise InputError(
            f"the DataFrame needs each column of {kind.__name__} once, and lacks or repeats "
            f"{', '.join(wrong)}: take one that `to_pandas` gave"
        )
    texts = [[_text(cell, dtypes[name]) for cell in frame[name].tolist()] for name in dtypes]
    lines = (dict(zip(dtypes, cells, strict=True)) for cells in zip(*texts, strict=True))
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
    if pd.isna(cell):
        return ""
    # In a column with gaps, a CSV turns whole numbers into floats.
    is_whole = isinstance(cell, float) and cell.is_integer() and dtype != "float64"
    return str(int(cell) if is_whole else cell)


def _dtypes(kind: type) -> dict[str, str]:
    """Return the pandas dtype of each column; not pyarrow's strings, which hold fewer texts."""
    plain = {str: "string[python]", int: "int64", float: "float64"}
    return {
        name: plain.get(hint, "Int64" if int in get_args(hint) else "string[python]")
        for name, hint in get_type_hints(kind).items()
    }
