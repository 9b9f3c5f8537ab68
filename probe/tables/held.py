"""What can be done with every result that holds rows: read, show, draw and save its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import unknown
from probe.tables.dataset import to_dataset
from probe.tables.folder import KINDS, Saved, Tables, write_folder
from probe.tables.frames import to_frame
from probe.tables.rows import Row
from probe.tables.sheets import Sheet, as_html
from probe.tables.summary import summarize

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Held(ABC):
    """A result that is in memory, and whose tables are those of a study's run directory."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """Return all measurements, a row for each, as in rows.csv."""

    @abstractmethod
    def sheets(self) -> list[Sheet]:
        """Return what is printed."""

    @abstractmethod
    def remarks(self) -> Sequence[str]:
        """Return what is printed below: the notes."""

    @abstractmethod
    def saved(self) -> Saved:
        """Return what a folder has to hold for it."""

    def tables(self) -> Tables:
        """Return all tables by name, as they are named in a run directory."""
        rows = self.rows()
        return {"rows": rows, "summary": summarize(rows)}

    def to_pandas(self, table: str = "rows") -> pd.DataFrame:
        """Return a table as a pandas DataFrame, see `probe.tables.frames`.

        Raises InputError for a table that there is not, and without pandas.
        """
        if table not in KINDS:
            raise unknown("table", table, KINDS)
        return to_frame(self.tables().get(table, ()), KINDS[table])

    def to_xarray(self) -> xr.Dataset:
        """Return all measurements as an xarray Dataset, see `probe.tables.dataset`.

        Raises InputError without xarray.
        """
        return to_dataset(self.rows())

    def save(self, folder: str | Path) -> None:
        """Write it into a folder, from which `probe.load` reads it back exactly.

        The folder is there as a whole or not at all, holds no code and nothing pickled; an earlier
        result in it is replaced. Raises InputError for a folder that holds something else, and
        NotWritten if it cannot be written.
        """
        write_folder(Path(folder), self.saved())

    @property
    def plot(self) -> Any:
        """What draws it, a method for each kind of figure, as `plot.depth(ax=None)`.

        Raises InputError where the figures are not installed.
        """
        # The only arrow up: what is drawn is asked for here, and nowhere before.
        from figures.plotting import Plot

        return Plot(self)

    def _repr_html_(self) -> str:
        return as_html(self.sheets(), self.remarks())
