"""Reading of tables from the source of a figure: a run directory, a DataFrame, or an analysis."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from figures.options import Options
from figures.tables import OPTIONAL, StudyTables
from probe.errors import InputError, unknown
from probe.tables.folder import read_tables
from probe.tables.schemas import CONTROLS
from probe.tables.summary import summarize
from probe.tables.table_file import checked, new_table, where


def read_source(source: object) -> StudyTables:
    """Return the tables of a source; measurements give only themselves and a summary.

    Args:
        source: A run directory (str or Path), a DataFrame of measurements, or an object
            with `tables()`, such as an analysis.

    Raises:
        InputError: The source is something else, or a table is missing or cannot be
            read.
    """
    if isinstance(source, StudyTables):
        return source
    if isinstance(source, str | Path):
        folder = Path(source)
        # A folder of a result in memory has no summary.csv.
        if (folder / "summary.csv").exists() or not (
            folder / "measurements.csv"
        ).exists():
            return StudyTables.read(folder)
        return _with_summary(**read_tables(folder))
    if callable(tables := getattr(source, "tables", None)):
        return _with_summary(**tables())
    return _with_summary(source)


def select(tables: StudyTables, options: Options) -> StudyTables:
    """Select the rows of the requested learners and readouts, in the requested order.

    The controls are always kept.

    Args:
        tables: The tables of a study.
        options: The requested options.

    Returns:
        The selected rows.

    Raises:
        InputError: A learner or readout that is requested or has a label is in no
            table.
    """
    rows_of = {field.name: getattr(tables, field.name) for field in fields(tables)}
    learners = {
        name for table in rows_of.values() for name in table["learner"].unique()
    }
    for name in (*(options.learners or ()), *options.labels):
        if name not in learners:
            raise unknown("learner", name, learners, "in these tables")
    if options.learners is not None:
        names = dict.fromkeys((*options.learners, *CONTROLS))
        for name, table in rows_of.items():
            rows_of[name] = pd.concat(
                [where(table, learner=learner) for learner in names]
            )
    if options.readouts is not None:
        with_readouts = ("measurements", "layers", "statements", "first_layer", "notes")
        readouts = {
            readout for name in with_readouts for readout in rows_of[name]["readout"]
        }
        for name in options.readouts:
            if name not in readouts - {""}:
                raise unknown("readout", name, readouts - {""}, "in these tables")
        for name in with_readouts:
            rows_of[name] = where(rows_of[name], readout=["", *options.readouts])
    return StudyTables(**rows_of)


def _with_summary(measurements: Any, **tables: pd.DataFrame) -> StudyTables:
    """Return the tables that follow from measurements, with the optional tables as they are."""
    if not isinstance(measurements, pd.DataFrame) or measurements.empty:
        name = type(measurements).__name__
        raise InputError(
            "figures are drawn from a run directory, a DataFrame of measurements, or "
            "an analysis with tables(), got "
            f"{'no rows' if isinstance(measurements, pd.DataFrame) else name}"
        )
    rows = checked(
        measurements, "measurements", lambda index: f"row {index} of the DataFrame"
    )
    learners = new_table(
        "learners", ({"learner": k, "kind": k} for k in rows["learner"].unique())
    )
    optional = {name: tables[name] for name in OPTIONAL if name in tables}
    return StudyTables.of(
        measurements=rows, summary=summarize(rows), learners=learners, **optional
    )
