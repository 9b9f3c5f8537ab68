"""The report of runs as one HTML file, and its first screen for notebooks.

The file needs no network access and works without its script. Notebooks drop style
sheets, so all style is in the elements there; texts have the notebook's color, and
numbers a color that is legible on their cell, so that light and dark themes both work.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from figures.captions import shortened, study
from figures.maps import BORDERS
from figures.report.questions import sections
from figures.report.views import ChartAxis, Section, label, value_axis
from probe.answers.record import Answer
from probe.answers.study import answers
from probe.answers.text import answers_as_text, cut, headline
from probe.errors import InputError, check_known, printable
from probe.files import content_of, write_text
from probe.tables.compared import compared_sheets
from probe.tables.folder import by_name, read_tables
from probe.tables.layer_text import word_of
from probe.tables.schemas import CAUSE_VERDICTS, CONTROLS, Tables
from probe.tables.sheets import Sheet
from probe.tables.table_file import where
from probe.version import installed_version

PAGE = "report.html"
"""The file in a run directory."""

_KEPT = "\n\u2060"  # characters of our own text, where a line must not break
_MOST = 12  # learners that are shown unless others are asked for


def write_report(
    directories: Sequence[Path], path: Path, learners: Sequence[str] | None = None
) -> Path:
    """Write the report of run directories, or of saved results, to a file; return its path.

    Args:
        directories: The directories; several are shown side by side, with the
            differences of each from the first.
        path: The path of the file.
        learners: The learners to show, None = the first twelve.

    Raises:
        InputError: Tables are missing or cannot be read, or a learner is unknown.
        NotWritten: The file cannot be written.
    """
    folders = by_name(directories)
    runs = {name: read_tables(folder) for name, folder in folders.items()}
    settings = {name: _settings(folder) for name, folder in folders.items()}
    write_text(
        path,
        report(runs, settings, learners),
    )
    return path


def report(
    runs: Mapping[str, Tables],
    settings: Mapping[str, Mapping[str, str]],
    learners: Sequence[str] | None = None,
    caveats: Sequence[str] = (),
) -> str:
    """Return the report of runs as an HTML page.

    Args:
        runs: The tables by the name of the run.
        settings: The settings of each run and its next command, by its name.
        learners: The learners to show, None = the first twelve.
        caveats: The caveats of all answers.

    Raises:
        InputError: A learner is unknown.
    """
    measured = pd.concat(tables["measurements"]["learner"] for tables in runs.values())
    continual = [name for name in measured.unique() if name not in CONTROLS]
    for name in learners or ():
        check_known("method", name, continual, "in these tables")
    shown = [*(learners or continual[:_MOST]), *CONTROLS]
    runs = {run: _of_learners(tables, shown) for run, tables in runs.items()}
    all_sections = sections(runs)
    answered = {
        name: answers(tables, settings.get(name, {}).get("next", ""))
        for name, tables in runs.items()
    }
    style = file("page.css")
    script = file("page.js")
    page = template("page.html").render(
        title=", ".join(runs),
        about={name: study(tables["measurements"]) for name, tables in runs.items()},
        left_out=[name for name in continual if name not in shown],
        answers=answered,
        axis=_axis(chain(*answered.values())),
        caveats=caveats,
        compared=list(_differences(runs)),
        sections=all_sections,
        choices=_choices(all_sections),
        label=label,
        borders=BORDERS,
        made=settings,
        version=installed_version(),
        data=_json(runs),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )
    return printable(page, _KEPT)


def _differences(runs: Mapping[str, Tables]) -> Iterator[Sheet]:
    """Yield the differences of each run from the first."""
    first, *others = runs.items()
    for run in others:
        yield from compared_sheets(*first, *run)


def _of_learners(tables: Tables, learners: Sequence[str]) -> Tables:
    return {name: where(table, learner=learners) for name, table in tables.items()}


def _axis(shown: Iterable[Answer]) -> ChartAxis:
    """Return the axis that all answers share, in points of what was forgotten."""
    ends = [0.0]
    for answer in shown:
        for line in answer.layers:
            if line.cost:
                ends += [100 * line.cost.low, 100 * line.cost.high]
    ticks = [t for t in value_axis(ends).ticks if min(ends) <= t <= max(ends)]
    return ChartAxis(min(ends), max(ends), ticks)


def _choices(shown: Sequence[Section]) -> dict[str, list[str]]:
    """Return the runs, learners and readouts that a reader can choose from."""
    figures = [*chain(*((*section.more, *section.figures) for section in shown))]
    choices = {}
    for name in ("run", "learner", "readout"):
        values = dict.fromkeys(getattr(figure, name) for figure in figures)
        choices[name] = list(filter(None, values))
    return choices


def first_screen(tables: Tables, sheets: str, notes: Sequence[str]) -> str:
    """Return the answers in columns, for a notebook; notes and sheets are folded.

    Args:
        tables: The tables of the result.
        sheets: The sheets as HTML.
        notes: The notes.

    Returns:
        The HTML.
    """
    page = template("notebook.html").render(
        text=answers_as_text(answers(tables)),
        notes=notes,
        sheets=Markup(sheets),
    )
    return printable(page, _KEPT)


def template(name: str) -> jinja2.Template:
    """Return a template of this folder, in which every text is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("figures.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "shortened": shortened,
        "cut": cut,
        "headline": headline,
        "word_of": word_of,
        "verdicts": CAUSE_VERDICTS,
    }
    return environment.get_template(name)


def file(name: str) -> str:
    """Return a text file of this folder."""
    return files("figures.report").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows only this style and this script."""
    hashes = []
    for text in (style, script):
        digest = hashlib.sha256(text.encode()).digest()
        hashes.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    return "default-src 'none'; style-src {}; script-src {}".format(*hashes)


def _json(runs: Mapping[str, Tables]) -> Markup:
    """Return layers, statements and causes by run, as JSON that cannot end an HTML element.

    For each table it has the columns once, and the values of each row.
    """
    names = ("layers", "statements", "statement_seeds", "first_layer", "causes")
    data = {}
    for run, tables in runs.items():
        data[run] = {name: _values(tables[name]) for name in names}
    text = json.dumps(data, separators=(",", ":"))
    return Markup(
        text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    )


def _values(table: pd.DataFrame) -> dict[str, list[Any]]:
    rows = table.astype(object).where(table.notna(), None)
    return {"columns": [*table] if len(table) else [], "rows": rows.to_numpy().tolist()}


def _settings(directory: Path) -> dict[str, str]:
    """Return the settings in the plan in study.json, by dotted name; empty if there is none."""
    try:
        plan = json.loads(content_of(directory / "study.json"))["plan"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{directory / 'study.json'} is damaged: run the study again"
        ) from None
    return dict(_named_settings("", plan))


def _named_settings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each setting within a value by its dotted name, skipping those that are not set."""
    if isinstance(value, dict):
        for key, setting in value.items():
            yield from _named_settings(f"{name}.{key}".lstrip("."), setting)
    elif value not in (None, []):
        yield name, value if isinstance(value, str) else json.dumps(value)
