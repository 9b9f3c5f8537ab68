"""`probe report` and `probe compare`: the page of a run, and what differs between two of them."""

from pathlib import Path

from rich.console import Console

from scenarios.commands.screen.terminal import printable, show_line
from scenarios.options import names


def build(root: Path) -> None:
    """Draw the figures of a run directory where its tables have changed, and write its page."""
    # Both import what a plan is shown without.
    from figures.build import build as draw
    from figures.report.page import PAGE, write_report

    draw(root, changed_only=True)
    write_report([root], root / PAGE)


def show_report(directories: list[Path], out: Path | None, learners: str | None = None) -> None:
    """Write the page of one or several run directories, and print its path.

    Args:
        directories: Of runs.
        out: The file to write; None for the page in the first directory.
        learners: To show, with commas between; None for the first 12.

    Raises:
        InputError: Tables are missing or cannot be read, or a learner is unknown.
    """
    from figures.report.page import PAGE, write_report

    path = out or directories[0] / PAGE
    print(printable(str(write_report(directories, path, names(learners) if learners else None))))


def show_compared(first: Path, second: Path, most: float | None) -> bool:
    """Print what the layers of a second run forget more or less than those of a first.

    Args:
        first: A run directory.
        second: Another.
        most: The limit of what a layer of the second run may forget, a fraction; None for none.

    Returns:
        Whether no layer forgets more, by its value; those that do are printed.

    Raises:
        InputError: Tables are missing or cannot be read.
    """
    from probe.tables.folder import read_tables
    from probe.tables.statement_text import compared_sheet, points
    from probe.tables.table_file import where
    from scenarios.commands.screen.sheets import show_sheet

    console = Console()
    before, after = read_tables(first), read_tables(second)
    show_sheet(console, compared_sheet(first.name, before, second.name, after))
    if most is None:
        return True
    forgets = where(after["statements"], statement="forgets")
    above = forgets[forgets["value"] > most]
    for row in above.itertuples():
        show_line(
            console,
            f"{row.learner}, {row.readout}, {row.feature}: forgets {points(row.value)} points "
            f"[{points(row.low)}, {points(row.high)}], more than {points(most)}",
        )
    return bool(above.empty)
