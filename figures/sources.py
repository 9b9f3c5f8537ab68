"""What figures can be drawn from: a run directory, rows, a DataFrame, or an analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from figures.options import Options
from figures.tables import LEVELS, Tables
from probe.errors import InputError, unknown
from probe.tables.rows import LayerRow, LearnerRow, Row, StartRow
from probe.tables.summary import summarize
from probe.tables.table_file import read_table

WANTED = "a run directory, rows, a pandas DataFrame of rows, or an analysis with rows()"
"""What a source can be, in words."""


def tables_of(source: object) -> Tables:
    """Return the tables of a source.

    source: a run directory (str or Path); a sequence of `probe.tables.rows.Row`; a DataFrame with
    their columns; or anything with `rows()`, and perhaps `layers()` and `starts()`. Of rows alone
    the summary is what `probe.tables.summary` makes of them, and other tables are empty. Raises
    InputError for anything else, and for tables that are missing or cannot be read.
    """
    if isinstance(source, Tables):
        return source
    if isinstance(source, str | Path):
        return _read(Path(source))
    if callable(getattr(source, "rows", None)):
        return _made(_called(source, "rows"), _called(source, "layers"), _called(source, "starts"))
    if type(source).__module__.partition(".")[0] == "pandas":
        # pandas is optional: only who has a DataFrame needs it.
        from probe.tables.frames import (
            rows_of_frame,
        )

        return _made(rows_of_frame(source, Row))
    if isinstance(source, Iterable):
        return _made(source)
    raise _no_source(source)


def chosen(tables: Tables, options: Options) -> Tables:
    """Return the learners and readouts of tables that were asked for, in the order asked for.

    What learners are compared with stays. Raises InputError for a learner or readout that no table
    has, also for one that is to have another name in print.
    """
    parts = {part.name: getattr(tables, part.name) for part in fields(tables)}
    learners = {row.learner for rows in parts.values() for row in rows}
    for name in (*(options.learners or ()), *options.labels):
        if name not in learners:
            raise unknown("learner of these tables", name, learners)
    if options.learners is not None:
        rank = {name: k for k, name in enumerate((*options.learners, *LEVELS))}
        parts = {part: _ranked(rows, rank) for part, rows in parts.items()}
    if options.readouts is not None:
        parts |= _of_readouts(parts, options.readouts)
    return Tables(**parts)


def _ranked(rows: Iterable[Any], rank: dict[str, int]) -> list[Any]:
    """Return the rows of learners that have a rank, in this order."""
    return sorted((row for row in rows if row.learner in rank), key=lambda row: rank[row.learner])


def _of_readouts(parts: dict[str, Any], readouts: Sequence[str]) -> dict[str, list[Any]]:
    """Return the rows of these readouts; what lies behind the output has none."""
    of_readouts = {part: parts[part] for part in ("rows", "layers", "starts")}
    known = {row.readout for rows in of_readouts.values() for row in rows} - {""}
    for name in readouts:
        if name not in known:
            raise unknown("readout of these tables", name, known)
    wanted = {"", *readouts}
    return {
        part: [row for row in rows if row.readout in wanted] for part, rows in of_readouts.items()
    }


def _read(directory: Path) -> Tables:
    """Read the tables of a run directory, or of a folder that has rows.csv alone."""
    if (directory / "summary.csv").exists() or not (directory / "rows.csv").exists():
        return Tables.read(directory)
    layers, starts = directory / "layers.csv", directory / "starts.csv"
    return _made(
        read_table(directory / "rows.csv", Row),
        read_table(layers, LayerRow) if layers.exists() else (),
        read_table(starts, StartRow) if starts.exists() else (),
    )


def _made(
    rows: Iterable[Any], layers: Sequence[LayerRow] = (), starts: Sequence[StartRow] = ()
) -> Tables:
    """Return the tables that follow from rows."""
    table = list(rows)
    if not table or not all(isinstance(row, Row) for row in table):
        raise _no_source(next((row for row in table if not isinstance(row, Row)), table))
    names = dict.fromkeys(row.learner for row in table)
    return Tables.of(
        rows=table,
        summary=summarize(table),
        learners=[
            LearnerRow(learner=name, kind=name, per_class=None, total=None, sampling="")
            for name in names
        ],
        layers=layers,
        starts=starts,
    )


def _called(source: object, name: str) -> Any:
    """Return what a method of a source gives, nothing if it has none."""
    method = getattr(source, name, None)
    return method() if callable(method) else ()


def _no_source(source: object) -> InputError:
    got = "nothing" if source in ([], ()) else type(source).__name__
    return InputError(f"figures are drawn from {WANTED}, got {got}")
