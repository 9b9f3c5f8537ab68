"""`probe figures`: draw a study again, from its tables alone.

Figures depend on nothing but the tables beside them. So they can be drawn on another machine, from
a copy of the tables, or again after a change of style.
"""

from __future__ import annotations

from pathlib import Path

from figures.build import build
from scenarios.commands.screen.results import note_lines
from scenarios.commands.screen.terminal import printable
from scenarios.study.run_directory import older_tables, read_setup, remarks, survey


def draw_figures(directory: Path) -> None:
    """Draw every figure and print its path, the notes, and what a reader must know of the results.

    directory: of a run, or a folder of tables alone, without its study, which is drawn as well:
    nothing more is known of it. Raises InputError without tables, and for tables that cannot be
    read.
    """
    # Before anything is drawn, as what is wrong with a table is said before.
    notes = note_lines(directory)
    for line in (*(printable(str(path)) for path in build(directory)), *notes):
        print(line)
    # Tables may have been copied without it.
    if (directory / "study.json").is_file():
        states = survey(read_setup(directory), directory)
        older = older_tables(directory, states)
        # What the results are like says nothing of tables that were not made of them.
        for remark in [older] if older else remarks(directory, states):
            print(printable(remark))
