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

from figures.defaults import defaults
from figures.options import Options
from figures.page import Page
from figures.sources import read_source, select
from figures.tables import StudyTables, plain
from figures.user_axes import UserAxes
from probe.errors import InputError
from probe.metrics.murata import RETRAIN


class _Options(TypedDict, total=False):
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
        self.__name__ = self.kind = kind
        parts = (import_module(f"figures.kinds.{kind}"), Drawing.__call__, Options)
        self.__doc__ = "\n\n".join(cleandoc(part.__doc__ or "") for part in parts)

    @overload
    def __call__(
        self, source: object, ax: None = None, **options: Unpack[_Options]
    ) -> Figure: ...

    @overload
    def __call__(
        self, source: object, ax: Axes, **options: Unpack[_Options]
    ) -> Axes: ...

    def __call__(
        self, source: object, ax: Axes | None = None, **options: Any
    ) -> Figure | Axes:
        """Draw the figure of a source, or one of its panels into a user's axes.

        Args:
            source: A run directory, a DataFrame of measurements, or an analysis.
            ax: The axes for one panel, None = a new figure.
            options: The options of `figures.options.Options`.

        Returns:
            The figure, or the axes if there are any.

        Raises:
            InputError: There is nothing to draw.
        """
        settings = Options(**{**options, "labels": options.get("labels") or {}})
        if ax is None and settings.panel is not None:
            raise InputError(
                "`panel` chooses what is drawn into your axes: give `ax`, too"
            )
        if ax is not None and (settings.width or settings.font_size or settings.font):
            raise InputError(
                "with ax, width, font_size and font belong to your own figure: set "
                "them there, by figsize and matplotlib's rcParams"
            )
        figure, _ = draw_kinds([self.kind], source, settings, ax)[self.kind]
        return figure if ax is None else ax


def draw_kinds(
    kinds: Sequence[str], source: object, options: Options, ax: Axes | None = None
) -> dict[str, tuple[Figure, str]]:
    """Return figures and their captions, by kind.

    Args:
        kinds: The kinds of figures; () for those of `figures.defaults`.
        source: The source, see `read_source`.
        options: The options of all figures.
        ax: The axes of a user's figure to draw into.

    Raises:
        InputError: There is nothing to draw, or the source lacks a requested name.
    """
    # By the names that learners have in tables.
    learners = options.learners and [plain(name) for name in options.learners]
    labels = {plain(name): label for name, label in options.labels.items()}
    options = replace(options, learners=learners, labels=labels)
    _check_formulas(labels.values())
    tables = read_source(source)
    selected = select(tables, options)
    figures: dict[str, tuple[Figure, str]] = {}
    for kind in kinds or defaults(selected):
        if drawn := _draw(kind, tables, selected, options, ax):
            figures[kind] = drawn
        elif kinds:
            raise _nothing(kind, selected, options)
    return figures


def _draw(
    kind: str,
    tables: StudyTables,
    selected: StudyTables,
    options: Options,
    ax: Axes | None,
) -> tuple[Figure, str] | None:
    """Return a figure of the selected tables and its caption; None if there is nothing to draw."""
    module = import_module(f"figures.kinds.{kind}")
    if _lacks_retraining(module, options):
        return None
    # In a sweep, where spare appearances would repeat, there is no figure to agree
    # with.
    names = () if tables.crowded else {*module.TABLES} - {"learners"}
    learners = list(
        {learner for name in names for learner in getattr(tables, name)["learner"]}
    )
    page = Page(
        options=options,
        tables=selected,
        all_learners=learners,
        question=module.QUESTION,
    )
    if ax is not None:
        page = UserAxes(
            options=options, tables=selected, all_learners=learners, axes=ax, kind=kind
        )
    with page.style():
        figure = module.draw(selected, page)
    return (figure, page.caption) if figure else None


def _lacks_retraining(module: ModuleType, options: Options) -> bool:
    return "summary" in module.TABLES and RETRAIN not in (
        options.readouts or (RETRAIN,)
    )


def _check_formulas(labels: Iterable[str]) -> None:
    """Raise InputError for a label that no file can hold, or whose formula cannot be set."""
    for label in labels:
        if label.encode(errors="replace").decode() != label:
            raise InputError(
                f"the label {label!r} cannot be printed: use other characters"
            )
        try:
            MathTextParser("path").parse(label if is_math_text(label) else "")
        except ValueError:
            raise InputError(
                f"the label {label!r} holds no valid formula: write \\$ for a dollar "
                "sign"
            ) from None


def _nothing(kind: str, tables: StudyTables, options: Options) -> InputError:
    """Return the error for nothing to draw: a table is missing, or holds too little."""
    module = import_module(f"figures.kinds.{kind}")
    if _lacks_retraining(module, options):
        return InputError(
            f"figures.{kind} draws only the readout {RETRAIN}: ask for it, too"
        )
    if tables.crowded:
        return InputError(
            f"figures.{kind} has more learners than colors and markers can tell "
            f"apart: name those to draw by learners=[...]"
        )
    if missing := [name for name in module.TABLES if getattr(tables, name).empty]:
        return InputError(
            f"figures.{kind} draws {', '.join(module.TABLES)}, and this source has no "
            f"{' and no '.join(missing)}: give the directory of a run with "
            f"{module.NEEDS}"
        )
    return InputError(
        f"there is nothing to draw in figures.{kind}: it needs {module.NEEDS}"
    )
