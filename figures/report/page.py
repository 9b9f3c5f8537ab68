"""One HTML file of a run's report, which asks nothing of a network and works without its script."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from figures.report.answer import answers
from figures.report.sections import label, sections
from probe.errors import InputError, unknown
from probe.files import replacing
from probe.tables.compared import compared_sheet, differences
from probe.tables.folder import Tables, read_tables
from probe.tables.rows import CONTROLS
from probe.tables.sheets import Sheet

PAGE = "report.html"
"""The file in a run directory."""

_MOST = 12  # learners that are shown unless others are asked for


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
    runs: Mapping[str, Tables], made: Mapping[str, Sheet], learners: Sequence[str] | None = None
) -> str:
    """Return the page of the tables of runs, by name; made: how they were made."""
    every = [row.learner for tables in runs.values() for row in tables["rows"]]
    known = [name for name in dict.fromkeys(every) if name not in CONTROLS]
    for name in learners or ():
        if name not in known:
            raise unknown("learner of these tables", name, known)
    kept = {*(learners or known[:_MOST]), *CONTROLS}
    runs = {
        run: {name: [row for row in rows if row.learner in kept] for name, rows in tables.items()}
        for run, tables in runs.items()
    }
    style, script = (_file(name) for name in ("page.css", "page.js"))
    asked = sections(runs)
    shown = [one for section in asked for one in section.shown]
    names = ("run", "learner", "readout")
    return _template().render(
        title=", ".join(runs),
        about=_about(next(iter(runs.values())), len(known)),
        answers={name: answers(tables) for name, tables in runs.items()},
        compared=_compared(runs),
        sections=asked,
        choices={n: list(filter(None, dict.fromkeys(getattr(o, n) for o in shown))) for n in names},
        label=label,
        made=made,
        version=version("forgetting-probe"),
        data=_json(runs),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )


def _template() -> jinja2.Template:
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("figures.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return found.get_template("page.html")


def _file(name: str) -> str:
    return files("figures.report").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows this style and this script alone."""
    hashes = (
        base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() for own in (style, script)
    )
    return "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes)


def _json(runs: Mapping[str, Tables]) -> Markup:
    """Return layers and statements by run, as JSON that ends no element of HTML."""
    names = ("layers", "statements", "starts")
    kept = {
        run: {name: [*map(_known, t.get(name, ()))] for name in names} for run, t in runs.items()
    }
    text = json.dumps(kept, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _known(row: Any) -> dict[str, Any]:
    # JSON has no NaN, which alone differs from itself.
    return {name: value if value == value else None for name, value in vars(row).items()}


def _compared(runs: Mapping[str, Tables]) -> list[Sheet]:
    """Return what each run but the first states more or less of its layers than the first."""
    (first, before), *others = runs.items()
    return [compared_sheet(first, name, differences(before, tables)) for name, tables in others]


def _about(tables: Tables, learners: int) -> list[str]:
    """Return what the page is about: data, network, numbers of runs, and of learners if not all."""
    rows = tables["rows"]
    orders, seeds = ({getattr(row, name) for row in rows} - {""} for name in ("order", "seed"))
    counts = ((len(orders), "task order"), (len(seeds), "seed"))
    shown = len({row.learner for row in rows} - {*CONTROLS})
    return [
        f"{rows[0].network} on {rows[0].scenario}",
        *(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts),
        *([f"{shown} of {learners} learners, --learners shows others"] if shown < learners else []),
    ]


def _made(directory: Path) -> Sheet | None:
    """Return how a run directory was made, from the plan in study.json; None without one."""
    try:
        plan = json.loads((directory / "study.json").read_bytes())["plan"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise InputError(f"{directory / 'study.json'} is damaged: run the study again") from None
    lines = [
        (name, value if isinstance(value, str) else json.dumps(value))
        for name, value in plan.items()
    ]
    return Sheet(title="", columns=["setting", "value"], lines=lines)
