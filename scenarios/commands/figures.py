"""`probe figures`: the figures of a study, from its tables only.

They can be drawn on another machine from a copy of the tables, or again in another
style.
"""

from pathlib import Path

from figures.build import build, build_asked
from figures.options import ON_REQUEST, Options
from probe.errors import InputError
from probe.results.run_directory import older_tables, read_plan, remarks, survey
from probe.tables.folder import read_tables
from scenarios.commands.screen.results import note_lines
from scenarios.commands.screen.terminal import show_line
from scenarios.options import FigureOptions, names


def draw_figures(directory: Path) -> None:
    """Draw every figure; print the paths, the notes, and remarks on the results.

    Args:
        directory: A run directory, or a folder with only tables.

    Raises:
        InputError: Tables are missing or unreadable.
    """
    # Before anything is drawn: unreadable notes and descriptions are refused first.
    notes = note_lines(read_tables(directory)["notes"])
    comments = list[str]()
    if (directory / "study.json").is_file():
        states = survey(read_plan(directory), directory)
        older = older_tables(directory, states)
        # Remarks on the results do not apply to tables of older results.
        comments = [older] if older else list(remarks(directory, states))
    figures = map(str, build(directory))
    for line in (*figures, *notes, *comments):
        show_line(line)


def draw_requested(directory: Path, flags: FigureOptions) -> None:
    """Draw the requested figures and print the paths of their files.

    Args:
        directory: The run directory.
        flags: The flags of `probe figures`.

    Raises:
        InputError: The request cannot be met; nothing is written.
    """
    options = Options(
        learners=_entries(flags.learners),
        labels=dict(map(_name_and_label, flags.label or ())),
        readouts=_entries(flags.readouts),
        width=flags.width,
        font_size=flags.font_size,
        font=flags.font or "",
    )
    for path in build_asked(
        directory,
        options,
        _entries(flags.only) or (),
        _entries(flags.format) or ON_REQUEST[:1],
        flags.out,
    ):
        show_line(str(path))


def _entries(text: str | None) -> list[str] | None:
    """Return the entries of a comma-separated flag, None if it was not typed."""
    return None if text is None else names(text)


def _name_and_label(text: str) -> tuple[str, str]:
    """Return the learner of a label and its printed name.

    >>> _name_and_label("er=Replay (ours)")
    ('er', 'Replay (ours)')
    """
    learner, _, label = text.partition("=")
    if not learner.strip() or not label.strip():
        raise InputError(f"a label is LEARNER=NAME, such as er='Replay', got {text!r}")
    return learner.strip(), label.strip()
