"""`probe figures`: draw a study again, from its tables alone."""

from __future__ import annotations

from pathlib import Path

from figures.build import build
from scenarios.commands.terminal import printable
from scenarios.study.run_directory import read_setup, remarks, survey


def draw_figures(directory: Path) -> None:
    """Draw every figure and print its path, and what a reader must know of the results.

    A folder of tables alone, without its study, is drawn as well: nothing more is known of it.
    """
    for path in build(directory):
        print(printable(str(path)))
    if (directory / "study.json").is_file():
        for remark in remarks(directory, survey(read_setup(directory), directory)):
            print(printable(remark))
