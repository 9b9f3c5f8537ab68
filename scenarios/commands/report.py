"""`probe report` and `probe compare`: the page of a run, and what differs between two of them."""

from pathlib import Path

from rich.console import Console

from probe.tables.folder import read_tables
from probe.tables.statement_text import points
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

    learners: to show, with commas between. Raises InputError for tables that are missing or cannot
    be read, and for unknown learners.
    """
    from figures.report.page import PAGE, write_report

    path = out or directories[0] / PAGE
    print(printable(str(write_report(directories, path, names(learners) if learners else None))))


def show_compared(first: Path, second: Path, most: float | None) -> bool:
    """Print what the layers of a second run forget more or less than those of a first.

    most: the limit of what a layer may forget in the second run, a fraction, None for none.
    Returns whether no layer forgets more, by its value; prints those that do. Raises InputError
    for tables that are missing or cannot be read.
    """
    from probe.tables.compared import compared_sheet
    from scenarios.commands.screen.sheets import show_sheet

    console = Console()
    before, after = read_tables(first), read_tables(second)
    show_sheet(console, compared_sheet(first.name, before, second.name, after))
    if most is None:
        return True
    stated = after.get("statements", ())
    above = [row for row in stated if row.statement == "forgets" and row.value > most]
    for row in above:
        show_line(
            console,
            f"{row.learner}, {row.readout}, {row.feature}: forgets {points(row.value)} points "
            f"[{points(row.low)}, {points(row.high)}], more than {points(most)}",
        )
    return not above
