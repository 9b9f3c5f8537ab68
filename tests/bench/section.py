"""A section of the benchmark: a table whose rows are printed as they are measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Row = tuple[Sequence[str], object]
"""The cells of a line, of which the first names it, and the numbers behind it for the file."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A title, the names of the columns, and rows that are measured when they are asked for."""

    title: str
    columns: Sequence[str]
    rows: Iterator[Row]

    def line(self, cells: Sequence[str]) -> str:
        """Return cells under each other: the first in 40 characters, the others as their names."""
        widths = [40, *(max(13, len(name) + 2) for name in self.columns[1:])]
        return "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
