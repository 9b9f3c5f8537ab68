"""Figures from Python: `figures.depth(source)`, and `result.plot.depth()` of an analysis.

A source is a run directory, a DataFrame of measurements, or an analysis. Unless others
are requested, a study has the figures of one of two lists, see `defaults`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

from figures.kinds import MODULES
from figures.options import Options
from figures.page import Page
from figures.tables import OPTIONAL, StudyTables, plain
from figures.user_axes import UserAxes
from probe.errors import InputError, check_known
from probe.metrics.murata import RETRAIN
from probe.tables.folder import read_tables
from probe.tables.schemas import CONTROLS, Tables
from probe.tables.summary import summarize
from probe.tables.table_file import checked, new_table, where

_OF_LAYERS = ("answer", "causes", "layers", "depth", "time")
_FEW_LEARNERS = 4  # up to which a matrix shows every number
_FEW_TASKS = 10


class _Options(TypedDict, total=False):
    learners: Sequence[str] | None
    labels: Mapping[str, str] | None
    colors: Mapping[str, str] | None
    cmap: str
    title: bool
    readouts: Sequence[str] | None
    panel: int | str | None
    width: float | None
    font_size: float | None
    font: str


class Drawing:
    """A kind of figure as a function."""

    def __init__(self, kind: str) -> None:
        self.__name__ = self.kind = kind
        module = import_module(f"figures.kinds.{MODULES[kind]}")
        parts = (module, Drawing.__call__, Options)
        self.__doc__ = "\n\n".join(
            cleandoc(described.__doc__ or "") for described in parts
        )

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
        settings = Options(**{k: v for k, v in options.items() if v is not None})
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
        kinds: The kinds of figures; () for those of `defaults`.
        source: The source, see `read_source`.
        options: The options of all figures.
        ax: The axes of a user's figure to draw into.

    Raises:
        InputError: There is nothing to draw, or the source lacks a requested name.
    """
    # Names are requested as the user writes them; tables have them escaped.
    learners = options.learners and [plain(name) for name in options.learners]
    labels = {plain(name): label for name, label in options.labels.items()}
    colors = {plain(name): color for name, color in options.colors.items()}
    options = replace(options, learners=learners, labels=labels, colors=colors)
    _check_labels(labels.values())
    _check_colors(colors.values(), options.cmap)
    tables = read_source(source)
    selected = select(tables, options)
    figures: dict[str, tuple[Figure, str]] = {}
    for kind in kinds or defaults(selected):
        drawn = _draw(kind, tables, selected, options, ax)
        if drawn:
            figures[kind] = drawn
        elif kinds:
            raise _nothing(kind, selected, options)
    return figures


def defaults(tables: StudyTables) -> list[str]:
    """Return the names of the figures that are drawn for a study, the most telling first.

    If layers were measured: which change accounts for what was forgotten, which layers
    lack accuracy on which task, what retraining reaches,
    when accuracy was lost, the output. Otherwise the output and, but for Kemker's
    studies, forgetting against intransigence.

    The output has one figure: `matrix` for few learners and tasks, `sessions` for many
    of either, and for Kemker's studies. A named figure may have nothing to draw.
    """
    has_layers = any(
        table["feature"].nunique() > 1 for table in (tables.summary, tables.layers)
    )
    is_kemkers = not has_layers and len(tables.metric("kemker", "omega_all")) > 0
    output = "matrix"
    if len(tables.matrices) > 1 and not tables.crowded:
        has_many_tasks = max(R.tasks for R in tables.matrices.values()) > _FEW_TASKS
        is_large = is_kemkers or has_many_tasks or len(tables.matrices) > _FEW_LEARNERS
        if is_large and len(tables.metric("kemker", "alpha_all[2]")):
            output = "sessions"
    if has_layers:
        return [*_OF_LAYERS, output]
    return [output] if is_kemkers else [output, "tradeoff"]


def read_source(source: object) -> StudyTables:
    """Return the tables of a source; measurements give only themselves and a summary.

    Args:
        source: A run directory (str or Path), a DataFrame of measurements, or an object
            with `tables()`, such as an analysis.

    Raises:
        InputError: The source is something else, or a table is missing or cannot be
            read.
    """
    if isinstance(source, StudyTables):
        return source
    if isinstance(source, str | Path):
        folder = Path(source)
        # A folder of a result in memory has no summary.csv.
        in_memory = not (folder / "summary.csv").exists()
        if in_memory and (folder / "measurements.csv").exists():
            return _with_summary(**read_tables(folder))
        return StudyTables.read(folder)
    if callable(tables := getattr(source, "tables", None)):
        return _with_summary(**tables())
    return _with_summary(source)


def _with_summary(measurements: Any, **tables: pd.DataFrame) -> StudyTables:
    """Return measurements, the tables that follow from them, and the optional tables given.

    Raises InputError for anything but a DataFrame with rows.
    """
    got = ""
    if not isinstance(measurements, pd.DataFrame):
        got = type(measurements).__name__
    elif measurements.empty:
        got = "no rows"
    if got:
        raise InputError(
            "figures are drawn from a run directory, a DataFrame of measurements, or "
            f"an analysis with tables(), got {got}"
        )
    rows = checked(
        measurements,
        "measurements",
        lambda index: f"row {index} of the DataFrame",
    )
    learners = ({"learner": k, "kind": k} for k in rows["learner"].unique())
    return StudyTables.of(
        measurements=rows,
        summary=summarize(rows),
        learners=new_table("learners", learners),
        **{name: tables[name] for name in OPTIONAL if name in tables},
    )


def select(tables: StudyTables, options: Options) -> StudyTables:
    """Select the rows of the requested learners and readouts, in the requested order.

    The controls are always kept.

    Args:
        tables: The tables of a study.
        options: The requested options.

    Returns:
        The selected rows.

    Raises:
        InputError: A learner or readout that is requested or has a label is in no
            table.
    """
    rows_of = {field.name: getattr(tables, field.name) for field in fields(tables)}
    named = (*(options.learners or ()), *options.labels, *options.colors)
    _check_names("learner", named, rows_of)
    if options.learners is not None:
        names = dict.fromkeys((*options.learners, *CONTROLS))
        for table, rows in rows_of.items():
            rows_of[table] = pd.concat([where(rows, learner=name) for name in names])
    if options.readouts is not None:
        with_readouts = {k: rows for k, rows in rows_of.items() if "readout" in rows}
        _check_names("readout", options.readouts, with_readouts)
        for table, rows in with_readouts.items():
            rows_of[table] = where(rows, readout=["", *options.readouts])
    return StudyTables(**rows_of)


def _check_names(column: str, names: Iterable[str], tables: Tables) -> None:
    """Raise InputError for a name that is in this column of no table."""
    existing = set(pd.concat(table[column] for table in tables.values())) - {""}
    for name in names:
        check_known(column, name, existing, "in these tables")


def _draw(
    kind: str,
    tables: StudyTables,
    selected: StudyTables,
    options: Options,
    ax: Axes | None,
) -> tuple[Figure, str] | None:
    """Return a figure of the selected tables and its caption; None if there is nothing to draw."""
    module = figure_of(kind)
    if _lacks_retraining(module, options):
        return None
    # All learners of the tables, drawn or not, so that a learner has the same appearance in
    # all figures. In a sweep appearances repeat: there is no figure to agree with.
    learners = set[str]()
    if not tables.crowded:
        for name in {*module.TABLES} - {"learners"}:
            learners.update(getattr(tables, name)["learner"])
    about = {
        "options": options,
        "tables": selected,
        "all_learners": [*learners],
        "question": module.QUESTION,
    }
    page = Page(**about)
    if ax is not None:
        page = UserAxes(**about, axes=ax, kind=kind)
    with page.style():
        figure = module.draw(selected, page)
    return (figure, page.caption) if figure else None


def figure_of(kind: str) -> Any:
    """Return the module of a figure, or the `Kind` of its name in a module of two."""
    module = import_module(f"figures.kinds.{MODULES[kind]}")
    return getattr(module, kind, module)


def _lacks_retraining(module: Any, options: Options) -> bool:
    """Return whether a figure draws only the readout `retrain`, and others were requested."""
    readouts = options.readouts or (RETRAIN,)
    return "summary" in module.TABLES and RETRAIN not in readouts


def _check_colors(colors: Iterable[str], cmap: str) -> None:
    """Raise InputError for a color or a colormap that matplotlib does not know."""
    if cmap:
        check_known("colormap", cmap, colormaps, "in matplotlib")
    for color in colors:
        if not is_color_like(color):
            raise InputError(
                f"{color!r} is no color: give a name such as 'black', or '#D55E00'"
            )


def _check_labels(labels: Iterable[str]) -> None:
    """Raise InputError for a label that UTF-8 cannot encode, or with an invalid formula."""
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
    """Return the error for a figure without anything to draw, with the reason."""
    module = figure_of(kind)
    if _lacks_retraining(module, options):
        return InputError(
            f"figures.{kind} draws only the readout {RETRAIN}: ask for it, too"
        )
    if tables.crowded:
        return InputError(
            f"figures.{kind} has more methods than colors and markers can tell "
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
