"""One HTML file of a run's report, which asks nothing of a network and works without its script."""

import base64
import hashlib
import json
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from figures.report.answer import answers
from figures.report.sections import label, sections
from figures.report.views import Table
from probe.errors import InputError
from probe.files import replacing
from probe.tables.folder import Tables, read_tables


def write_report(directory: Path, path: Path) -> Path:
    """Write the report of a run directory, or of a saved result, to a file; return its path.

    Raises InputError for tables that are missing or cannot be read, NotWritten if it cannot be
    written.
    """
    page = report(read_tables(directory), directory.resolve().name, _made(directory))
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")
    return path


def report(tables: Tables, title: str, made: Table | None) -> str:
    """Return the page of tables; made: how they were made."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    asked = sections(tables)
    learners = list(dict.fromkeys(one.learner for s in asked for one in s.shown if one.learner))
    readouts = list(dict.fromkeys(one.readout for s in asked for one in s.shown if one.readout))
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            answers=answers(tables),
            sections=asked,
            learners=learners,
            readouts=readouts,
            label=label,
            about=_about(tables),
            made=made,
            version=version("forgetting-probe"),
            data=_json(tables),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
        )
    )


def _environment() -> jinja2.Environment:
    here = jinja2.PackageLoader("figures.report", ".")
    return jinja2.Environment(
        loader=here,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _file(name: str) -> str:
    return files("figures.report").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows this style and this script alone."""
    hashes = (
        base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() for own in (style, script)
    )
    return "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes)


def _json(tables: Tables) -> Markup:
    """Return layers and statements as JSON that ends no element of HTML."""
    kept = {
        name: [
            {k: None if v != v else v for k, v in vars(row).items()} for row in tables.get(name, ())
        ]
        for name in ("layers", "statements", "starts")
    }
    text = json.dumps(kept, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _about(tables: Tables) -> list[str]:
    """Return what the page is about: data, network, numbers of runs."""
    rows = tables["rows"]
    orders, seeds = ({getattr(row, name) for row in rows} - {""} for name in ("order", "seed"))
    counts = ((len(orders), "task order"), (len(seeds), "seed"))
    return [
        f"{rows[0].network} on {rows[0].scenario}",
        *(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts),
    ]


def _made(directory: Path) -> Table | None:
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
    return Table(columns=["setting", "value"], lines=lines, numeric=False)
