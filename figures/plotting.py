"""Figures from Python: `figures.depth(source)`, and `result.plot.depth()` of an analysis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from inspect import cleandoc
from types import ModuleType
from typing import Any, TypedDict, Unpack, overload

from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

from figures.convert import chosen, tables_of
from figures.defaults import MOST, defaults
from figures.options import Options
from figures.pages.beside import GivenAxes
from figures.pages.page import Page
from figures.tables import Tables, plain
from probe.errors import InputError
from probe.metrics.murata import RETRAIN


class NothingToDraw(InputError):
    """Tables without the rows, or without enough of them, that a kind of figure draws."""


class _Asked(TypedDict, total=False):
    learners: Sequence[str] | None
    labels: Mapping[str, str] | None
    readouts: Sequence[str] | None
    panel: int | str | None
    width: float | None
    font_size: float | None
    font: str


class Drawing:
    """A kind of figure as a function."""

    def __init__(self, kind: str) -> None:
        """kind: one of `figures.kinds.KINDS`."""
        self.__name__ = self.kind = kind
        self.__doc__ = _doc(kind)

    @overload
    def __call__(self, source: object, ax: None = None, **asked: Unpack[_Asked]) -> Figure: ...

    @overload
    def __call__(self, source: object, ax: Axes, **asked: Unpack[_Asked]) -> Axes: ...

    def __call__(self, source: object, ax: Axes | None = None, **asked: Any) -> Figure | Axes:
        """Draw the figure of a source, or one panel of it into given axes.

        source: a run directory, a list of `probe.tables.rows.MeasurementRow`, a DataFrame of them,
        or an analysis; asked: see `figures.options.Options`. Returns the figure, or the axes if
        they were given. Raises InputError where there is nothing to draw.
        """
        asked["labels"] = asked.get("labels") or {}
        options = Options(**asked)
        _check_place(options, ax)
        figure, _ = asked_for([self.kind], source, options, ax)[self.kind]
        return figure if ax is None else ax


def asked_for(
    kinds: Sequence[str], source: object, options: Options, ax: Axes | None = None
) -> dict[str, tuple[Figure, str]]:
    """Return figures with options, and their captions, by kind.

    kinds: none = those of `figures.defaults`; source: see `tables_of`; ax: of another figure, into
    which it is drawn. Raises InputError where there is nothing to draw, and for names that the
    source does not have.
    """
    # By the names that learners have in tables.
    learners = options.learners and [plain(name) for name in options.learners]
    labels = {plain(name): label for name, label in options.labels.items()}
    options = replace(options, learners=learners, labels=labels)
    _check_formulas(labels.values())
    tables = tables_of(source)
    drawn = chosen(tables, options)
    found: dict[str, tuple[Figure, str]] = {}
    for kind in kinds or defaults(drawn):
        if not kinds and len(found) == MOST:
            break
        try:
            found[kind] = _drawn(kind, tables, drawn, options, ax)
        except NothingToDraw:
            if kinds:
                raise
    return found


def _drawn(
    kind: str, tables: Tables, drawn: Tables, options: Options, ax: Axes | None
) -> tuple[Figure, str]:
    """Return a figure of the chosen tables, and its caption; raise NothingToDraw."""
    module = _module(kind)
    # In a sweep, where spare appearances would repeat, there is no figure to agree with.
    of = () if tables.crowded else {*module.TABLES} - {"learners"}
    every = list({row.learner for name in of for row in getattr(tables, name)})
    if "summary" in module.TABLES and RETRAIN not in (options.readouts or (RETRAIN,)):
        raise NothingToDraw(f"figures.{kind} draws the readout {RETRAIN} alone: ask for it, too")
    page = Page(options=options, tables=drawn, every=every, question=module.QUESTION)
    if ax is not None:
        page = GivenAxes(options=options, tables=drawn, every=every, axes=ax, kind=kind)
    with page.style():
        figure = module.draw(drawn, page)
    if figure is None:
        raise _nothing(kind, drawn)
    return figure, page.said


def _check_place(options: Options, ax: Axes | None) -> None:
    """Raise InputError for options of a figure of ours alone, or of axes alone."""
    if ax is None:
        if options.panel is not None:
            raise InputError("panel says which one is drawn into given axes: give ax=, too")
    elif options.width or options.font_size or options.font:
        raise InputError(
            "width, font_size and font are those of your own figure where ax is given: set them "
            "there, by figsize and matplotlib's rcParams"
        )


def _check_formulas(labels: Iterable[str]) -> None:
    """Raise InputError for a label that no file can hold, or with a formula that cannot be set."""
    for label in labels:
        if label.encode(errors="replace").decode() != label:
            raise InputError(f"the label {label!r} cannot be printed: use other characters")
        try:
            MathTextParser("path").parse(label if is_math_text(label) else "")
        except ValueError:
            raise InputError(
                f"no formula can be set of the label {label!r}: write \\$ for a dollar sign"
            ) from None


def _nothing(kind: str, tables: Tables) -> NothingToDraw:
    """Return the reason for nothing to draw: a table is missing, or holds too little."""
    needs, drawn = _module(kind).NEEDS, _module(kind).TABLES
    missing = [name for name in drawn if not getattr(tables, name)]
    if tables.crowded:
        return NothingToDraw(
            f"figures.{kind} has more learners than there are colors and markers to tell them "
            f"apart: name those to draw by learners=[...]"
        )
    if missing:
        return NothingToDraw(
            f"figures.{kind} draws {', '.join(drawn)}, and this source has no "
            f"{' and no '.join(missing)}: give the directory of a run with {needs}"
        )
    return NothingToDraw(f"there is nothing to draw in figures.{kind}: it needs {needs}")


def _doc(kind: str) -> str:
    """Return the help of a figure: its content and its options."""
    shown, asked = cleandoc(_module(kind).__doc__ or ""), cleandoc(Options.__doc__ or "")
    return f"{shown}\n\n{cleandoc(Drawing.__call__.__doc__ or '')}\n\n{asked}"


def _module(kind: str) -> ModuleType:
    return import_module(f"figures.kinds.{kind}")
