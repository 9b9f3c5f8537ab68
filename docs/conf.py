"""The site: `make docs` builds it without a network, runs what it shows, and fails on a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version as version_of
from inspect import getdoc, signature
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.docutils import SphinxDirective

from figures.kinds import KINDS, MODULES
from probe.metrics.registry import Metric, registered

project = "forgetting-probe"
author = "the authors of forgetting-probe"
version = release = version_of("forgetting-probe")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*", "auto_gallery/*.py", "auto_gallery/*.ipynb"]
# Pages of scripts that are gone.
HERE = Path(__file__).parent
exclude_patterns += [
    f"auto_gallery/{page.name}"
    for page in HERE.glob("auto_gallery/plot_*.rst")
    if not (HERE / "gallery" / f"{page.stem}.py").exists()
]
default_role = "py:obj"  # a link where the name is on the API page, else code

html_theme = "furo"
html_title = f"forgetting-probe {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# A notebook and a script run again when their text has changed.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # they would come from a network

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "min_reported_time": 0,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

# Docstrings are plain text in Google style with `names` and doctests: nothing else is
# markup.
_NAMES_AND_TESTS = re.compile(r"(`+[^`]+`+|^ *>>>(?:.*\n?)+?(?=\n|\Z))", re.MULTILINE)
_MARKUP = re.compile(
    r"(?<=[\w*])_(?:\{([^}]*)\}|([a-zA-Z0-9]{1,2}\b))|[*|]|(?<=\w)_(?!\w)"
)


def as_rst(text: str, *, formulas: bool = False) -> str:
    """Return a docstring as reStructuredText; formulas: whether `_` lowers what follows."""

    def written(found: re.Match[str]) -> str:
        if formulas and (lowered := found[1] or found[2]):
            return rf"\ :sub:`{lowered}`\ "
        return re.sub(r"[*|]|_(?!\w)", r"\\\g<0>", found[0])

    parts = _NAMES_AND_TESTS.split(text.replace("sum_", "Σ_") if formulas else text)
    parts[::2] = [_MARKUP.sub(written, part) for part in parts[::2]]
    return str(GoogleDocstring("".join(parts), Config(napoleon_use_ivar=True)))


def directive(head: str, text: str) -> str:
    """Return a directive with its content."""
    return f"\n.. {head}\n\n{indent(text, '   ')}\n"


PAPERS = {
    "gem": "Lopez-Paz and Ranzato 2017",
    "diaz_rodriguez": "Diaz-Rodriguez et al. 2018",
    "chaudhry": "Chaudhry et al. 2018",
    "kemker": "Kemker et al. 2018",
    "deep_shallow": "Deep and shallow forgetting",
    "hayes": "Hayes et al. 2018",
    "icarl": "Rebuffi et al. 2017",
    "murata": "Murata et al. 2020",
    "serra": "Serra et al. 2018",
    "zscl": "Zheng et al. 2023",
}


class Metrics(SphinxDirective):
    """Every registered metric: a table of all, then the docstring of each, by paper."""

    def run(self) -> list[nodes.Node]:
        """Return the table and the entries."""
        self.env.note_reread()  # docstrings may have changed
        found = registered()
        rows = (["Metric", "Definition", "Range", "Better"], *map(self.row, found))
        cells = "".join("* - " + "\n  - ".join(row) + "\n" for row in rows)
        head = "list-table::\n   :header-rows: 1\n   :widths: 22 58 10 10"
        return self.parse_text_to_nodes(
            directive(head, cells) + "".join(self.entries(found))
        )

    @staticmethod
    def row(metric: Metric) -> list[str]:
        """Return the cells of a metric, as its docstring has them."""
        text = getdoc(metric.function) or ""
        bounds = re.search(r"[Ii]n\s+(\[-?\d+, \d+\])", text)
        better = re.search(r"(higher|lower)\s+is\s+better", text)
        return [
            f":py:func:`{metric.public} <probe.metrics.{metric.public}>`",
            as_rst(text.split("\n\n")[0].replace("\n", " "), formulas=True),
            bounds[1] if bounds else "at least 0",
            better[1] if better else "",
        ]

    @staticmethod
    def entries(found: tuple[Metric, ...]) -> Iterator[str]:
        """Yield the docstrings of each paper's module and of its functions."""
        for paper, metrics in groupby(found, lambda metric: metric.paper):
            yield f"\n.. rubric:: {PAPERS.get(paper, paper)}\n   :heading-level: 3\n\n"
            yield ".. py:currentmodule:: probe.metrics\n\n"
            about = import_module(f"probe.metrics.{paper}")
            yield as_rst(getdoc(about) or "", formulas=True) + "\n"
            for metric in metrics:
                text = as_rst(getdoc(metric.function) or "", formulas=True)
                called = f"{metric.public}{signature(metric.function)}"
                yield directive(f"py:function:: {called}", text)


class Figures(SphinxDirective):
    """Every function of `figures`, with the docstring of its module."""

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        self.env.note_reread()
        modules = {k: import_module(f"figures.kinds.{MODULES[k]}") for k in KINDS}
        texts = {kind: getdoc(module) for kind, module in modules.items()}
        heads = {
            kind: f"py:function:: {kind}(source, ax=None, **asked)" for kind in KINDS
        }
        entries = (
            directive(heads[kind], as_rst(text or "")) for kind, text in texts.items()
        )
        return self.parse_text_to_nodes(
            ".. py:currentmodule:: figures\n" + "".join(entries)
        )


def docstring_as_rst(*given: Any) -> None:
    """Change the lines of a docstring for autodoc."""
    lines = given[-1]
    lines[:] = as_rst("\n".join(lines)).split("\n")


def without_moved(*given: Any) -> tuple[str | None, str | None]:
    """Return a signature without the keywords that are there to be refused."""
    arguments, returned = given[-2:]
    return arguments and re.sub(r", \*\*moved: [\w.~]+", "", arguments), returned


def setup(app: Sphinx) -> None:
    """Register the directives of the pages `metrics` and `api`."""
    app.add_directive("every-metric", Metrics)
    app.add_directive("every-figure", Figures)
    app.connect("autodoc-process-docstring", docstring_as_rst)
    app.connect("autodoc-process-signature", without_moved)
