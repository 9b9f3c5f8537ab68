"""Figures of a run directory, drawn from its tables.

The tables are read once, each figure is drawn by a module of `figures.kinds`, and `drawn.json`
keeps the hashes of the tables: the figures are drawn again only if these change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.kinds import KINDS
from figures.options import FORMATS, ON_REQUEST, Options
from figures.tables import Tables
from probe.errors import InputError, unknown
from probe.files import discard, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = 3
"""Version of the drawing: one more whenever the same tables give another picture."""

RECORD = "drawn.json"
"""File beside the figures with the tables that they were drawn from."""


def build(run_directory: Path, changed_only: bool = False) -> list[Path]:
    """Draw the tables of a run directory into its folder `figures`; return the figures' paths.

    Each of `KINDS` as .png and .svg, each file whole or not at all; the same tables give the same
    bytes. A figure with nothing to draw is left out, and an older one of that name is removed: all
    of them in a study of Offline alone. With more user-defined learners than spare appearances, as
    in a sweep, figures in which a legend tells the learners apart are left out, too. Beside each
    figure NAME.txt is a caption, with the data that were measured.

    changed_only: leave the figures as they are if all are there, drawn from the same tables. Raises
    InputError, before anything is written, if a table is missing or cannot be read; `times.csv` may
    be missing.
    """
    folder = run_directory / "figures"
    # Before the tables are read: one that is replaced meanwhile is drawn again the next time.
    source = _source(run_directory)
    files = _drawn(folder, source) if changed_only else None
    if files is None:
        tables = Tables.read(run_directory)
        figures = draw(tables)
        # A run stopped while files are replaced must not leave a record of earlier ones.
        discard(folder / RECORD)
        files = [file for name in KINDS for file in _write(folder, name, figures[name], tables)]
        if files:
            _write_text(folder / RECORD, json.dumps({"from": source, "files": files}, indent=1))
    return [folder / file for file in files if not file.endswith(".txt")]


def build_asked(
    run_directory: Path,
    options: Options,
    kinds: Sequence[str] = (),
    formats: Sequence[str] = ON_REQUEST[:1],
    folder: Path | None = None,
) -> list[Path]:
    """Draw figures on request, with options; return the files' paths.

    kinds: none = all that have something to draw; folder: where NAME.FORMAT and the
    caption, NAME.txt, are written; None = the folder `asked` beside the figures of `build`. Raises
    InputError before anything is written: for an unknown kind, format, learner or readout, a table
    that cannot be read, a kind with nothing to draw, and a folder that `build` has drawn into.
    """
    from figures import style
    from figures.convert import tables_of
    from figures.plotting import all_asked_for, asked_for

    folder = folder or run_directory / "figures" / "asked"
    for what, names, known in (("figure", kinds, KINDS), ("format", formats, ON_REQUEST)):
        for name in names:
            if name not in known:
                raise unknown(what, name, known)
    if (folder / RECORD).exists():
        raise InputError(
            f"{folder} holds the figures that a run draws, and removes: choose another --out"
        )
    tables = tables_of(run_directory)
    # All are drawn before the first is written.
    named = {name: asked_for(name, tables, options) for name in dict.fromkeys(kinds)}
    drawn = named or all_asked_for(tables, options)
    paths = []
    for name, (figure, caption) in drawn.items():
        paths += style.save(figure, folder, name, list(dict.fromkeys(formats)), options.font)
        paths.append(_write_text(folder / f"{name}.txt", caption))
    return paths


def draw(tables: Tables, names: Iterable[str] = KINDS) -> dict[str, Figure | None]:
    """Draw a study's figures of these names; None where there is nothing to draw."""
    return {name: import_module(f"figures.kinds.{name}").draw(tables) for name in names}


def _write(folder: Path, name: str, figure: Figure | None, tables: Tables) -> list[str]:
    """Write a figure and its caption, or remove earlier ones; return the names of the files."""
    # matplotlib takes half a second to import: only where something is drawn.
    from figures import style

    if figure is None:
        for kind in (*FORMATS, "txt"):
            discard(folder / f"{name}.{kind}")
        return []
    paths = style.save(figure, folder, name)
    caption = import_module(f"figures.kinds.{name}").caption(tables)
    return [path.name for path in (*paths, _write_text(folder / f"{name}.txt", caption))]


def _write_text(path: Path, text: str) -> Path:
    """Write a text, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    return path


def _source(run_directory: Path) -> dict[str, Any]:
    """Return what the figures are drawn from: the hash of each table, None for a missing one."""
    names = [field.name for field in fields(Tables)]
    return {"version": VERSION, **{name: _hash(run_directory / f"{name}.csv") for name in names}}


def _hash(path: Path) -> str | None:
    with suppress(OSError):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def _drawn(folder: Path, source: object) -> list[str] | None:
    """Return the files that were drawn from these tables, None if any of them is missing."""
    try:
        match json.loads((folder / RECORD).read_bytes()):
            case {"from": known, "files": list(files)} if known == source:
                return files if all((folder / file).is_file() for file in files) else None
    except (OSError, ValueError):
        pass  # There is none, or it was cut off.
    return None
