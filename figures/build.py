"""Figures of a run directory, drawn from its tables.

The tables are read once, each figure is drawn by a module of `figures.kinds`, and `drawn.json`
keeps the hashes of the tables that it was drawn from: it is drawn again only if these change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
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

VERSION = 2
"""Version of the drawing: one more whenever the same tables give another picture."""

RECORD = "drawn.json"
"""File beside the figures with the tables that each was drawn from."""

CAPTIONS = "captions"
"""Key of the record for all captions together; no kind of figure has this name."""


def build(run_directory: Path, changed_only: bool = False) -> list[Path]:
    """Draw the tables of a run directory into its folder `figures`; return the figures' paths.

    Each of `KINDS` as .png and .svg, each file whole or not at all; the same tables give the same
    bytes. A figure with nothing to draw is left out, and an older one of that name is removed: all
    of them in a study of Offline alone. With more user-defined learners than spare appearances, as
    in a sweep, figures in which a legend tells the learners apart are left out, too. Beside each
    figure NAME.txt is a caption, with the data that were measured.

    changed_only: leave a figure as it is if its files are there and were drawn from the same
    tables; its paths are returned with the others. Raises InputError, before anything is written,
    if a table is missing or cannot be read; `times.csv` may be missing.
    """
    folder = run_directory / "figures"
    # Before the tables are read: one that is replaced meanwhile is drawn again the next time.
    sources = _sources(run_directory)
    record = _read_record(folder) if changed_only else {}
    stale = [name for name in KINDS if not _is_drawn(folder, name, record, sources[name])]
    if stale or not _is_captioned(folder, record, sources):
        tables = Tables.read(run_directory)
        figures = draw(tables, stale)
        # A run stopped while files are replaced must not leave a record of earlier ones.
        discard(folder / RECORD)
        for name, figure in figures.items():
            record[name] = {"from": sources[name], "files": _write(folder, name, figure)}
        captions = _write_captions(folder, record, tables)
        record = {name: record[name] for name in KINDS}
        record[CAPTIONS] = {"from": sources[CAPTIONS], "files": captions}
        if folder.is_dir():  # else nothing was drawn
            _write_text(folder / RECORD, json.dumps(record, indent=1))
    return [folder / file for name in KINDS for file in record[name]["files"]]


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


def _write(folder: Path, name: str, figure: Figure | None) -> list[str]:
    """Write a figure, or remove an earlier one of that name; return the names of its files."""
    # matplotlib takes half a second to import: only where something is drawn.
    from figures import style

    if figure is not None:
        return [path.name for path in style.save(figure, folder, name)]
    for file in _files(name):
        discard(folder / file)
    return []


def _is_captioned(folder: Path, record: Mapping[str, Any], sources: Mapping[str, Any]) -> bool:
    """Tell whether every figure has its caption, of tables that have not changed."""
    there = record.get(CAPTIONS)
    drawn = [name for name in KINDS if record.get(name, {}).get("files")]
    known = {"from": sources[CAPTIONS], "files": [f"{name}.txt" for name in drawn]}
    return there == known and all((folder / file).is_file() for file in known["files"])


def _write_captions(folder: Path, record: Mapping[str, Any], tables: Tables) -> list[str]:
    """Write the captions of all figures, remove others; return the names of their files."""
    files = []
    for name in KINDS:
        if record[name]["files"]:
            caption = import_module(f"figures.kinds.{name}").caption(tables)
            files.append(_write_text(folder / f"{name}.txt", caption).name)
        else:
            discard(folder / f"{name}.txt")
    return files


def _write_text(path: Path, text: str) -> Path:
    """Write a text, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    return path


def _sources(run_directory: Path) -> dict[str, dict[str, Any]]:
    """Return what figures, and captions, are made from: our version, and the tables' hashes."""
    names = [field.name for field in fields(Tables)]
    hashes = {name: _hash(run_directory / f"{name}.csv") for name in names}
    # A caption says of all rows which orders and seeds they are.
    drawn = {**KINDS, CAPTIONS: names}
    return {
        kind: {"version": VERSION, **{name: hashes[name] for name in tables}}
        for kind, tables in drawn.items()
    }


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a table, None if there is none: who reads it says what is wrong."""
    with suppress(OSError):
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def _is_drawn(folder: Path, name: str, record: Mapping[str, Any], source: object) -> bool:
    """Tell whether a figure of that source is there, or is known to have nothing to draw.

    source: what it would be drawn from now, as in `_sources`.
    """
    there = record.get(name)
    known = [{"from": source, "files": files} for files in ([], _files(name))]
    return there in known and all((folder / file).is_file() for file in there["files"])


def _files(name: str) -> list[str]:
    """Return the names of a figure's files."""
    return [f"{name}.{kind}" for kind in FORMATS]


def _read_record(folder: Path) -> dict[str, Any]:
    """Return what figures were drawn from; nothing if that is not known."""
    try:
        found = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
