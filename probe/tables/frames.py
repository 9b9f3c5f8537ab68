"""Rows as a pandas DataFrame and back; pandas is imported only here, and only when it is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from probe.errors import InputError
from probe.tables.rows import AnyRow, Row
from probe.tables.table_file import WrongCell, checked_texts, defaults

if TYPE_CHECKING:
    import pandas as pd


def to_frame(rows: Iterable[AnyRow], kind: type[Any] = Row) -> pd.DataFrame:
    """Return rows of one kind as a DataFrame: a line for each, a column for each field.

    Texts are `string`, numbers `float64` with NaN as in the rows, whole numbers `int64`, or `Int64`
    where a cell can be None, which is `<NA>`. kind: of the rows, needed where there may be none.
    Raises InputError without pandas. `rows_of_frame` is the inverse, bit for bit.
    """
    pandas = _pandas()
    table = list(rows)
    columns = {
        column: pandas.Series([getattr(row, column) for row in table], dtype=dtype)
        for column, dtype in _dtypes(type(table[0]) if table else kind).items()
    }
    return pandas.DataFrame(columns)


def rows_of_frame(frame: pd.DataFrame, kind: type[AnyRow] = Row) -> list[AnyRow]:  # type: ignore[assignment]
    """Return the rows that a DataFrame holds, line by line; the inverse of `to_frame`.

    The frame may have been filtered, sorted and given further columns, and have gone through a CSV:
    there the text "0" has become a number, and an empty one a gap. All texts survive, and all bits
    of numbers, where it was read by `read_csv(path, dtype=str, keep_default_na=False)`; otherwise
    "1.0" is "1" and "NA" is empty. Raises InputError for what is no DataFrame, for
    one that lacks columns, and for a cell that its column cannot hold.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "to_dict"):
        raise InputError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    known, optional, dtypes = checked_texts(kind), defaults(kind), _dtypes(kind)
    lacking = [name for name in known if name not in frame.columns and name not in optional]
    if lacking:
        raise InputError(
            f"the DataFrame lacks the columns {', '.join(lacking)} of {kind.__name__}: take one "
            f"that `to_pandas` gave"
        )
    there = [name for name in known if name in frame.columns]
    if doubled := [name for name in there if frame[name].ndim != 1]:
        raise InputError(f"the DataFrame has the column {doubled[0]} twice: drop one of them")
    found: list[AnyRow] = []
    try:
        for cells in zip(*(_texts(frame, name, dtypes[name]) for name in there), strict=True):
            checked = {name: known[name][cell] for name, cell in zip(there, cells, strict=True)}
            found.append(kind(**checked))
    except WrongCell as error:
        raise InputError(f"row {len(found)} of the DataFrame: {error}") from None
    return found


def _texts(frame: pd.DataFrame, column: str, dtype: str) -> list[str]:
    return [_text(cell, number=dtype == "float64") for cell in frame[column].tolist()]


def _text(cell: object, number: bool) -> str:
    """Return a cell as a file has it; number: whether its column is of numbers that need no whole.

    >>> [_text(cell, number=False) for cell in (2.0, 0.0, True, None, float("nan"), "a")]
    ['2', '0', 'True', '', '', 'a']
    >>> _text(-0.0, number=True)
    '-0.0'
    """
    if isinstance(cell, str):
        return cell
    # pandas' own NA cannot even be compared.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    # In a column with gaps, pandas makes 1.0 of a whole number in a CSV.
    return str(int(cell)) if cell.is_integer() and not number else repr(cell)


def _dtypes(kind: type) -> dict[str, str]:
    """Return what pandas calls the type of each column."""
    types = get_type_hints(kind)
    return {each.name: _dtype(types[each.name]) for each in fields(kind)}


def _dtype(of: Any) -> str:
    """Return it for one annotation, whatever else that says."""
    if of is float:
        return "float64"
    if of is int:
        return "int64"
    # By pandas' own storage: pyarrow's holds fewer texts.
    return "Int64" if int in get_args(of) else "string[python]"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise InputError("a DataFrame needs pandas, which is absent: pip install pandas") from None
    return pandas
