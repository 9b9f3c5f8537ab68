"""Tables from the source of a figure: a run directory, rows, a DataFrame, or an analysis."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from figures.options import Options
from figures.tables import OPTIONAL, StudyTables
from probe.errors import InputError, unknown
from probe.tables.folder import read_tables
from probe.tables.rows import CONTROLS, LearnerRow, MeasurementRow
from probe.tables.summary import summarize


def read_source(source: object) -> StudyTables:
    """Return the tables of a source. Only rows give a summary, and leave other tables empty.

    Args:
        source: A run directory (str or Path), a sequence of `probe.tables.rows.MeasurementRow`, a
            DataFrame with their columns, or anything with `tables()`, as an analysis.

    Raises:
        InputError: It is something else, or a table is missing or cannot be read.
    """
    if isinstance(source, StudyTables):
        return source
    if isinstance(source, str | Path):
        folder = Path(source)
        # A folder of a result in memory has no summary.csv.
        if (folder / "summary.csv").exists() or not (folder / "measurements.csv").exists():
            return StudyTables.read(folder)
        return _with_summary(**read_tables(folder))
    if callable(tables := getattr(source, "tables", None)):
        return _with_summary(**tables())
    if type(source).__module__.partition(".")[0] == "pandas":
        # Only a DataFrame needs the import.
        from probe.tables.frames import rows_of_frame

        return _with_summary(rows_of_frame(source, MeasurementRow))
    if isinstance(source, Iterable):
        return _with_summary(source)
    raise _no_source(source)


def select(tables: StudyTables, options: Options) -> StudyTables:
    """Select the rows of the requested learners and readouts, in the requested order.

    The controls are always kept.

    Args:
        tables: The tables of a study.
        options: What is requested.

    Returns:
        The selected rows.

    Raises:
        InputError: No table has a requested learner or readout, or a learner with a label.
    """
    rows_of = {field.name: getattr(tables, field.name) for field in fields(tables)}
    learners = {row.learner for rows in rows_of.values() for row in rows}
    for name in (*(options.learners or ()), *options.labels):
        if name not in learners:
            raise unknown("learner of these tables", name, learners)
    if options.learners is not None:
        rank = {name: k for k, name in enumerate((*options.learners, *CONTROLS))}
        for table, rows in rows_of.items():
            selected = [row for row in rows if row.learner in rank]
            rows_of[table] = sorted(selected, key=lambda row: rank[row.learner])
    if options.readouts is not None:
        with_readouts = ("measurements", "layers", "statements", "first_layer", "notes")
        readouts = {row.readout for table in with_readouts for row in rows_of[table]} - {""}
        for name in options.readouts:
            if name not in readouts:
                raise unknown("readout of these tables", name, readouts)
        for table in with_readouts:
            rows_of[table] = [r for r in rows_of[table] if r.readout in ("", *options.readouts)]
    return StudyTables(**rows_of)


def _with_summary(measurements: Iterable[Any], **tables: Iterable[Any]) -> StudyTables:
    """Return the tables that follow from measurements, and the optional ones as they are."""
    rows = list(measurements)
    if not rows or not all(isinstance(row, MeasurementRow) for row in rows):
        raise _no_source(next((row for row in rows if not isinstance(row, MeasurementRow)), rows))
    learners = [
        LearnerRow(learner=name, kind=name, per_class=None, total=None, sampling="")
        for name in dict.fromkeys(row.learner for row in rows)
    ]
    optional = {name: tables[name] for name in OPTIONAL if name in tables}
    return StudyTables.of(rows, summary=summarize(rows), learners=learners, **optional)


def _no_source(source: object) -> InputError:
    name = "nothing" if source in ([], ()) else type(source).__name__
    return InputError(
        "figures are drawn from a run directory, rows, a pandas DataFrame of rows, or an analysis "
        f"with tables(), got {name}"
    )
