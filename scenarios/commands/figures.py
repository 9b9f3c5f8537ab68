"""`probe figures`: draw a study again, from its tables alone.

Figures depend on nothing but the tables beside them. So they can be drawn on another machine, from
a copy of the tables, or again after a change of style.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures.build import build, build_asked
from figures.options import ON_REQUEST, Options
from probe.errors import InputError
from scenarios.commands.results import note_lines
from scenarios.commands.terminal import printable
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


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The flags of `probe figures` as they were typed; None = not given."""

    only: str | None = None
    formats: str | None = None
    width: float | None = None
    font_size: float | None = None
    font: str | None = None
    learners: str | None = None
    labels: Sequence[str] | None = None
    readouts: str | None = None
    out: Path | None = None

    def options(self) -> Options:
        """Return how figures are drawn; raises InputError for what they cannot be."""
        return Options(
            learners=_names(self.learners),
            labels=dict(map(_labelled, self.labels or ())),
            readouts=_names(self.readouts),
            width=self.width,
            font_size=self.font_size,
            font=self.font or "",
        )


def draw_asked(directory: Path, asked: Asked) -> None:
    """Draw the figures that are asked for and print the paths of their files.

    Raises InputError, before anything is written, for what cannot be drawn so.
    """
    kinds, formats = _names(asked.only) or (), _names(asked.formats) or ON_REQUEST[:1]
    for path in build_asked(directory, asked.options(), kinds, formats, asked.out):
        print(printable(str(path)))


def _names(text: str | None) -> list[str] | None:
    """Return what stands between commas, None where nothing was given.

    >>> _names("er, si"), _names(None)
    (['er', 'si'], None)
    """
    return None if text is None else [name.strip() for name in text.split(",")]


def _labelled(text: str) -> tuple[str, str]:
    """Return the learner and the name in print of a label.

    >>> _labelled("er=Replay (ours)")
    ('er', 'Replay (ours)')
    """
    learner, _, label = text.partition("=")
    if not learner.strip() or not label.strip():
        raise InputError(f"a label is LEARNER=NAME, as er='Replay (ours)', got {text!r}")
    return learner.strip(), label.strip()
