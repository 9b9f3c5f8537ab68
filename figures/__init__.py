"""Figures, which draw the tables of a study and compute nothing.

`figures.depth(source)` draws one figure of a run directory, of measurements or of an
analysis; there is such a function for every module of `figures.kinds`, see
`figures.plotting.Drawing`. Modules are imported when first used: `import figures` does
not load matplotlib.
"""

from typing import TYPE_CHECKING

from figures.kinds import KINDS

if TYPE_CHECKING:
    from figures.plotting import Drawing


def __getattr__(name: str) -> "Drawing":
    if name not in KINDS:
        raise AttributeError(f"module 'figures' has no attribute {name!r}")
    from figures.plotting import Drawing

    return Drawing(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *KINDS})
