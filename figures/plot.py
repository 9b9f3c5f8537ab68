"""The figures of a result: `result.plot.depth()`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.build import build
from figures.kinds import KINDS
from figures.plotting import Drawing


class Plot:
    """Figures of a source, a method for each; `source` as for `Drawing`."""

    def __init__(self, source: object) -> None:
        """source: see `figures.convert.tables_of`."""
        self._source = source

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in KINDS:
            raise AttributeError(f"there is no figure {name!r}: there are {', '.join(KINDS)}")
        drawing = Drawing(name)

        def draw(ax: Axes | None = None, **asked: Any) -> Figure | Axes:
            return drawing(self._source, ax, **asked)

        draw.__name__, draw.__doc__ = name, drawing.__doc__
        return draw

    def write(self, run_directory: Path) -> None:
        """Draw every figure of a run directory whose tables have changed into its folder."""
        build(run_directory, changed_only=True)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *KINDS})

    def __repr__(self) -> str:
        return f"Plot: {', '.join(f'.{name}()' for name in KINDS)}"
