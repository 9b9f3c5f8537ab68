"""One HTML file of a run's report, which asks nothing of a network and works without its script."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from figures.labels import counted
from figures.report.answer import Answer, answers
from figures.report.section import Shown, label
from figures.report.sections import sections
from figures.report.views import short
from probe.errors import InputError, unknown
from probe.files import replacing
from probe.tables.compared import compared_sheet
from probe.tables.folder import Tables, read_tables
from probe.tables.rows import CONTROLS
from probe.tables.sheets import Sheet

PAGE = "report.html"
"""The file in a run directory."""

_MOST = 12  # learners that are shown unless others are asked for
_CHOICES = {"run": "run", "learner": "learner", "readout": "readout", "tasks_seen": "tasks learned"}


def write_report(
    directories: Sequence[Path], path: Path, learners: Sequence[str] | None = None
) -> Path:
    """Write the report of run directories, or of saved results, to a file; return its path.

    Several are shown side by side, with the differences of each from the first. learners: to show,
    None = the first twelve. Raises InputError for tables that are missing or cannot be read and for
    unknown learners, NotWritten if it cannot be written.
    """
    runs = {each.resolve().name: read_tables(each) for each in directories}
    if len(runs) < len(directories):
        raise InputError("two of the directories have the same name: rename one of them")
    made = {name: _made(each) for name, each in zip(runs, directories, strict=True)}
    page = report(runs, {name: sheet for name, sheet in made.items() if sheet}, learners)
    write_page(page, path)
    return path


def write_page(page: str, path: Path) -> None:
    """Write a page, whole or not at all; raises NotWritten."""
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


def report(
    runs: Mapping[str, Tables],
    made: Mapping[str, Sheet],
    learners: Sequence[str] | None = None,
    caveats: Sequence[str] = (),
) -> str:
    """Return the page of the tables of runs, by name; made: how; caveats: of all answers."""
    every = [row.learner for tables in runs.values() for row in tables["measurements"]]
    known = [name for name in dict.fromkeys(every) if name not in CONTROLS]
    for name in learners or ():
        if name not in known:
            raise unknown("learner of these tables", name, known)
    kept = {*(learners or known[:_MOST]), *CONTROLS}
    runs = {
        run: {name: [row for row in rows if row.learner in kept] for name, rows in tables.items()}
        for run, tables in runs.items()
    }
    style, script = (file(name) for name in ("page.css", "page.js"))
    asked = sections(runs)
    shown = [one for section in asked for one in (*section.more, *section.shown)]
    answered = {name: answers(tables) for name, tables in runs.items()}
    return template("page.html").render(
        title=", ".join(runs),
        about={name: _about(tables) for name, tables in runs.items()},
        left_out=len(known) - len(kept - {*CONTROLS}),
        answers=answered,
        shared=[*caveats, *_shared([one for each in answered.values() for one in each])],
        compared=_compared(runs),
        sections=asked,
        kinds=_CHOICES,
        choices={kind: _named(kind, shown) for kind in _CHOICES},
        label=label,
        made=made,
        version=version("forgetting-probe"),
        data=_json(runs),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )


def _shared(every: Sequence[Answer]) -> list[str]:
    """Return the caveats of all of several answers, to be told once."""
    first = every[0].caveats if len(every) > 1 else ()
    return [one for one in first if all(one in other.caveats for other in every)]


def _named(kind: str, shown: Sequence[Shown]) -> list[str]:
    """Return the names that views have, between which a reader can choose."""
    names = list(filter(None, dict.fromkeys(getattr(one, kind) for one in shown)))
    # Numbers of tasks, and `all` as the last of them.
    return sorted(names, key=lambda name: name.rjust(9)) if kind == "tasks_seen" else names


def template(name: str) -> jinja2.Template:
    """Return a template of this folder, in which every text is escaped."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("figures.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["short"] = short
    return found.get_template(name)


def file(name: str) -> str:
    """Return a text file of this folder."""
    return files("figures.report").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows this style and this script alone."""
    hashes = (
        base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() for own in (style, script)
    )
    return "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes)


def _json(runs: Mapping[str, Tables]) -> Markup:
    """Return layers and statements by run, as JSON that ends no element of HTML.

    Of each table the columns once, and the values of each row.
    """
    names = ("layers", "statements", "statement_seeds", "first_layer")
    kept = {run: {name: _values(t.get(name, ())) for name in names} for run, t in runs.items()}
    text = json.dumps(kept, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _values(rows: Sequence[Any]) -> dict[str, list[Any]]:
    # JSON has no NaN, which alone differs from itself.
    values = [[each if each == each else None for each in vars(row).values()] for row in rows]
    return {"columns": [*vars(rows[0])] if rows else [], "rows": values}


def _compared(runs: Mapping[str, Tables]) -> list[Sheet]:
    """Return what each run but the first states more or less of its layers than the first."""
    (first, before), *others = runs.items()
    return [compared_sheet(first, before, name, tables) for name, tables in others]


def _about(tables: Tables) -> list[str]:
    """Return what a run is about: data, network, and the numbers of orders and seeds."""
    rows = tables["measurements"]
    orders, seeds = ({getattr(row, name) for row in rows} - {""} for name in ("order", "seed"))
    counts = counted(len(orders), "task order"), counted(len(seeds), "seed")
    # None where every job failed.
    return [*(f"{row.network} on {row.scenario}" for row in rows[:1]), *counts]


def _made(directory: Path) -> Sheet | None:
    """Return how a run directory was made, from the plan in study.json; None without one."""
    try:
        plan = json.loads((directory / "study.json").read_bytes())["plan"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise InputError(f"{directory / 'study.json'} is damaged: run the study again") from None
    return Sheet(title="", columns=["setting", "value"], lines=[*_settings("", plan)])


def _settings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each setting within a value by its dotted name, without those that are not set."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _settings(f"{name}.{key}".lstrip("."), each)
    elif value not in (None, []):
        yield name, value if isinstance(value, str) else json.dumps(value)
