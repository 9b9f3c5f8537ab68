"""`probe figures`: draw a study again, from its tables alone.

Figures depend on nothing but the tables beside them. So they can be drawn on another machine, from
a copy of the tables, or again after a change of style.
"""

from __future__ import annotations

from pathlib import Path

from figures.build import build, build_asked
from figures.options import ON_REQUEST, Options
from probe.errors import InputError
from scenarios.commands.screen.results import note_lines
from scenarios.commands.screen.terminal import printable
from scenarios.options import FigureOptions, names
from probe.results.run_directory import older_tables, read_plan, remarks, survey


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
        states = survey(read_plan(directory), directory)
        older = older_tables(directory, states)
        # What the results are like says nothing of tables that were not made of them.
        for remark in [older] if older else remarks(directory, states):
            print(printable(remark))


def draw_asked(directory: Path, asked: FigureOptions) -> None:
    """Draw the figures that are asked for and print the paths of their files.

    Raises InputError, before anything is written, for what cannot be drawn so.
    """
    options = Options(
        learners=names(asked.learners) if asked.learners is not None else None,
        labels=dict(map(_labelled, asked.label or ())),
        readouts=names(asked.readouts) if asked.readouts is not None else None,
        width=asked.width,
        font_size=asked.font_size,
        font=asked.font or "",
    )
    kinds = names(asked.only) if asked.only is not None else ()
    formats = names(asked.format) if asked.format is not None else ON_REQUEST[:1]
    for path in build_asked(directory, options, kinds, formats, asked.out):
        print(printable(str(path)))


def _labelled(text: str) -> tuple[str, str]:
    """Return the learner and the name in print of a label.

    >>> _labelled("er=Replay (ours)")
    ('er', 'Replay (ours)')
    """
    learner, _, label = text.partition("=")
    if not learner.strip() or not label.strip():
        raise InputError(f"a label is LEARNER=NAME, as er='Replay (ours)', got {text!r}")
    return learner.strip(), label.strip()
