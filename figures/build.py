"""Figures of a run directory, drawn from its tables.

The tables are read once, and each figure is drawn by a module of `figures.kinds`.
`drawn.json` keeps the hashes of the tables: the figures are redrawn only if these
change.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.kinds import KINDS
from figures.options import FORMATS, ON_REQUEST, Options
from probe.arguments import checked
from probe.errors import InputError, check_known
from probe.files import discard, sha256, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = 9
"""Version of the drawing: one more whenever the same tables give another picture."""

RECORD = "drawn.json"
"""File beside the figures with the tables that they were drawn from."""


def build(run_directory: Path, changed_only: bool = False) -> list[Path]:
    """Draw the tables of a run directory into its folder `figures`; return the figures' paths.

    The figures of `figures.plotting.defaults` are written as .png and .svg, each file complete
    or not at all; the same tables give the same bytes. Beside each figure, NAME.txt
    holds a caption with the data that were measured. A figure with nothing to draw is
    left out, and older figures of other names are removed. If there are more
    user-defined learners than spare appearances, as in a sweep, figures whose legend
    tells learners apart are left out, too.

    Args:
        run_directory: The run directory of a study.
        changed_only: Whether to keep the figures if all of them are there, drawn from
            the same tables.

    Raises:
        InputError: A table is missing or cannot be read; nothing is written then.
    """
    folder = run_directory / "figures"
    # Hashed before the tables are read: one that is replaced meanwhile has another hash,
    # and is drawn again the next time.
    hashes = _table_hashes(run_directory)
    files = _recorded_files(folder, hashes) if changed_only else None
    if files is None:
        # matplotlib takes half a second to import: only where something is drawn.
        from figures.plotting import draw_kinds
        from figures.tables import StudyTables

        figures = draw_kinds((), StudyTables.read(run_directory), Options())
        # Removed first: a run that is stopped while figures are replaced must not leave a
        # record of earlier ones.
        discard(folder / RECORD)
        for name in set(KINDS) - set(figures):
            for suffix in (*FORMATS, "txt"):
                discard(folder / f"{name}.{suffix}")
        files = [path.name for path in _write(folder, figures, FORMATS, "")]
        if files:
            record = json.dumps({"from": hashes, "files": files}, indent=1)
            write_text(folder / RECORD, record + "\n")
    return [folder / file for file in files if not file.endswith(".txt")]


def build_asked(
    run_directory: Path,
    options: Options,
    kinds: Sequence[str] = (),
    formats: Sequence[str] = ON_REQUEST[:1],
    folder: Path | None = None,
) -> list[Path]:
    """Draw figures on request; return the files' paths.

    Args:
        run_directory: The run directory of a study.
        options: The options of all figures.
        kinds: The names of the figures; () for those of `figures.plotting.defaults`.
        formats: The file formats, such as pdf.
        folder: The folder for NAME.FORMAT and the caption, NAME.txt; None = the folder
            `asked` beside the figures of `build`.

    Raises:
        InputError: A kind, format, learner or readout is unknown, a table cannot be
            read, a kind has nothing to draw, or the folder is one of `build`; nothing
            is written then.
    """
    from figures.plotting import draw_kinds

    folder = folder or run_directory / "figures" / "asked"
    for what, names, existing in (
        ("figure", kinds, KINDS),
        ("format", formats, ON_REQUEST),
    ):
        for name in names:
            check_known(what, name, existing)
    if (folder / RECORD).exists():
        raise InputError(
            f"{folder} is where runs draw and remove their figures: choose another "
            "--out"
        )
    # All are drawn before the first is written.
    figures = draw_kinds(list(dict.fromkeys(kinds)), run_directory, options)
    if not figures:
        raise InputError(
            "there is nothing to draw in these tables: run the study first"
        )
    return _write(folder, figures, list(dict.fromkeys(formats)), options.font)


class Plot:
    """Figures of a source, see `figures.plotting`: methods such as `result.plot.depth()`."""

    def __init__(self, source: object) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the function that draws a kind of figure of the source."""
        if name not in KINDS:
            raise AttributeError(
                f"there is no figure {name!r}: there are {', '.join(KINDS)}"
            )
        from figures.plotting import Drawing

        drawing = Drawing(name)
        draw = partial(drawing, self._source)
        return update_wrapper(
            draw,
            drawing,
            assigned=("__name__", "__doc__"),
            updated=(),
        )

    @checked
    def write(self, run_directory: Path) -> None:
        """Draw the default figures into a run directory where its tables have changed."""
        build(run_directory, changed_only=True)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *KINDS})

    def __repr__(self) -> str:
        return f"Plot: {', '.join(f'.{name}()' for name in KINDS)}"


def _write(
    folder: Path,
    figures: "Mapping[str, tuple[Figure, str]]",
    formats: Sequence[str],
    font: str,
) -> list[Path]:
    """Write figures and their captions; return the paths."""
    from figures import style

    paths = []
    for name, (figure, caption) in figures.items():
        paths += style.save(figure, folder, name, formats, font)
        caption_file = folder / f"{name}.txt"
        write_text(caption_file, caption + "\n")
        paths.append(caption_file)
    return paths


def _table_hashes(run_directory: Path) -> dict[str, Any]:
    """Return the version of the drawing, and the hash of each table, None for a missing one."""
    from figures.tables import StudyTables
    from probe.tables.table_file import table_file

    hashes: dict[str, Any] = {"version": VERSION}
    for field in fields(StudyTables):
        hashes[field.name] = None
        with suppress(OSError):
            hashes[field.name] = sha256(
                table_file(run_directory, field.name).read_bytes()
            )
    return hashes


def _recorded_files(folder: Path, hashes: object) -> list[str] | None:
    """Return the files that were drawn from these tables, None if any of them is missing."""
    # It raises if there is no record, or it was cut off.
    with suppress(OSError, ValueError, RecursionError):
        match json.loads((folder / RECORD).read_bytes()):
            case {"from": recorded, "files": list(files)} if recorded == hashes:
                if all((folder / file).is_file() for file in files):
                    return files
    return None
