"""A result that holds tables, which can be read, shown, drawn and saved."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.arguments import checked
from probe.errors import InputError, check_known
from probe.tables.folder import Saved, write_folder
from probe.tables.schemas import SCHEMAS, Tables
from probe.tables.sheets import Sheet, as_html

if TYPE_CHECKING:
    import pandas as pd


class ResultBase(ABC):
    """A result in memory, with the same tables as the run directory of a study."""

    @abstractmethod
    def measurements(self) -> "pd.DataFrame":
        """Return all measurements, a row for each, as in measurements.csv."""

    @abstractmethod
    def sheets(self) -> list[Sheet]:
        """Return the tables that are printed."""

    @abstractmethod
    def remarks(self) -> Sequence[str]:
        """Return the notes that are printed above the tables."""

    @abstractmethod
    def saved(self) -> Saved:
        """Return the content of the folder that `save` writes."""

    def tables(self) -> Tables:
        """Return all tables, by their names in a run directory."""
        from probe.tables.summary import summarize
        from probe.tables.table_file import all_tables

        measurements = self.measurements()
        return all_tables(measurements=measurements, summary=summarize(measurements))

    @checked
    def to_pandas(self, table: str = "measurements") -> "pd.DataFrame":
        """Return a table as a pandas DataFrame; its columns are those of `probe.tables.schemas`.

        Args:
            table: Name of the table, as of its file in a run directory.

        Raises:
            InputError: There is no table of that name.
        """
        check_known("table", table, SCHEMAS)
        return self.tables()[table]

    @checked
    def save(self, folder: str | Path) -> None:
        """Write the result into a folder, from which `probe.load` reads it back exactly.

        The folder is written completely or not at all, and holds no code and no
        pickles.

        Args:
            folder: Path of the folder; an earlier result in it is replaced.

        Raises:
            InputError: The folder holds anything but a result.
            NotWritten: The folder cannot be written.
        """
        write_folder(Path(folder), self.saved())

    @property
    def plot(self) -> Any:
        """The figures of this result, a method for each kind, such as `plot.depth(ax=None)`.

        Raises:
            InputError: A module of the user's is named `figures`, too.
        """
        # Imported when a figure is drawn, as `figures` imports `probe`.
        try:
            from figures.build import Plot
        except ImportError as error:
            where = sys.modules.get("figures", error)
            raise InputError(
                f"{where} hides the package `figures` of forgetting-probe: rename it"
            ) from error
        return Plot(self)

    def _repr_html_(self) -> str:
        return as_html(self.sheets(), self.remarks())
