"""Tables from the source of a figure: a run directory, rows, a DataFrame, or an analysis."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from figures.options import Options
from figures.tables import CONTROLS, OPTIONAL, Tables
from probe.errors import InputError, unknown
from probe.tables.folder import read_tables
from probe.tables.rows import LearnerRow, MeasurementRow
from probe.tables.summary import summarize
from probe.tables.table_file import table_file


def tables_of(source: object) -> Tables:
    """Return the tables of a source.

    source: a run directory (str or Path); a sequence of `probe.tables.rows.MeasurementRow`; a
    DataFrame with their columns; or anything with `tables()`, as an analysis. Rows alone give a
    summary by `probe.tables.summary`, and leave other tables empty. Raises InputError for anything
    else, and for tables that are missing or cannot be read.
    """
    if isinstance(source, Tables):
        return source
    if isinstance(source, str | Path):
        directory = Path(source)
        # A folder of a result in memory has only measurements.csv.
        summary, measurements = (table_file(directory, n) for n in ("summary", "measurements"))
        if summary.exists() or not measurements.exists():
            return Tables.read(directory)
        return _made(**read_tables(directory))
    if callable(tables := getattr(source, "tables", None)):
        return _made(**tables())
    if type(source).__module__.partition(".")[0] == "pandas":
        # Only a DataFrame needs the import.
        from probe.tables.frames import rows_of_frame

        return _made(rows_of_frame(source, MeasurementRow))
    if isinstance(source, Iterable):
        return _made(source)
    raise _no_source(source)


def chosen(tables: Tables, options: Options) -> Tables:
    """Return the learners and readouts of tables that were asked for, in the order asked for.

    The controls stay. Raises InputError for a learner or readout that no table has, also for one
    that is to have another name in print.
    """
    parts = {part.name: getattr(tables, part.name) for part in fields(tables)}
    learners = {row.learner for rows in parts.values() for row in rows}
    for name in (*(options.learners or ()), *options.labels):
        if name not in learners:
            raise unknown("learner of these tables", name, learners)
    if options.learners is None and options.readouts is None:
        return tables
    if options.learners is not None:
        rank = {name: k for k, name in enumerate((*options.learners, *CONTROLS))}
        for part, rows in parts.items():
            ranked = [row for row in rows if row.learner in rank]
            parts[part] = sorted(ranked, key=lambda row: rank[row.learner])
    if options.readouts is not None:
        of_layers = ("measurements", "layers", "statements", "first_layer", "notes")
        of_readouts = {part: parts[part] for part in of_layers}
        known = {row.readout for rows in of_readouts.values() for row in rows} - {""}
        for name in options.readouts:
            if name not in known:
                raise unknown("readout of these tables", name, known)
        wanted = {"", *options.readouts}
        for part, rows in of_readouts.items():
            parts[part] = [row for row in rows if row.readout in wanted]
    return Tables(**parts)


def _made(rows: Iterable[Any], **given: Iterable[Any]) -> Tables:
    """Return the tables that follow from rows, and those given that not every source has."""
    table = list(rows)
    if not table or not all(isinstance(row, MeasurementRow) for row in table):
        raise _no_source(next((row for row in table if not isinstance(row, MeasurementRow)), table))
    learners = [
        LearnerRow(learner=name, kind=name, per_class=None, total=None, sampling="")
        for name in dict.fromkeys(row.learner for row in table)
    ]
    others = {name: given[name] for name in OPTIONAL if name in given}
    return Tables.of(table, summary=summarize(table), learners=learners, **others)


def _no_source(source: object) -> InputError:
    got = "nothing" if source in ([], ()) else type(source).__name__
    return InputError(
        "figures are drawn from a run directory, rows, a pandas DataFrame of rows, or an analysis "
        f"with tables(), got {got}"
    )
