"""Figures from Python: of what they are drawn, who is drawn, and where."""

import inspect
import operator
from functools import partial
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import figures
from figures.build import Plot
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import draw_kinds, figure_of
from probe.errors import InputError
from tests.figures import papers, seen

TABLES = {name: figure_of(name).TABLES for name in KINDS}


def axes(name=""):
    """Return axes of a user's figure; polar ones for a spider."""
    projection = "polar" if name == "spider" else None
    return Figure(layout="constrained").subplots(subplot_kw={"projection": projection})


def pixels(figure):
    figure.canvas.draw()
    return bytes(figure.canvas.buffer_rgba())


def looks(figure):
    """Return color and marker of each name in the legend."""
    lines = figure.legends[0].get_lines()
    marked = [line for line in lines if line.get_marker() not in (None, "None", "")]
    found = dict(zip(seen.legend(figure), marked, strict=False))
    return {
        name: (to_hex(line.get_color()), line.get_marker())
        for name, line in found.items()
    }


def test_every_source_gives_the_same_picture(study_folder, tmp_path):
    tables = papers.tables()
    analysis = SimpleNamespace(tables=lambda: vars(tables))
    expected = pixels(papers.figure("depth"))
    for figure in (
        figures.depth(str(study_folder)),
        figures.depth(analysis),
        Plot(analysis).depth(),
    ):
        assert pixels(figure) == expected
    (tmp_path / "measurements.csv").write_bytes(
        (study_folder / "measurements.csv").read_bytes()
    )
    drawn = partial(figures.bias, learners=["ewc"])
    expected = pixels(drawn(tables))
    for source in (study_folder, tmp_path, papers.rows(), papers.rows().astype(object)):
        assert pixels(drawn(source)) == expected
    assert pixels(drawn(papers.rows().query("seed == 0"))) != expected


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (3, "int"),
        (papers.rows()[:0], "no rows"),
        ("no-such-folder", "no-such-folder"),
        (SimpleNamespace(tables=lambda: {"measurements": [1]}), "list"),
    ],
)
def test_what_is_no_source_is_refused(source, value):
    with pytest.raises(InputError, match=value):
        figures.depth(source)


@pytest.mark.parametrize(
    "name", [k for k in KINDS if not {"measurements", "summary"} & {*TABLES[k]}]
)
def test_a_table_that_rows_do_not_have_is_named(name):
    with pytest.raises(
        InputError, match=rf"figures.{name} draws .*no ({'|'.join(TABLES[name])})"
    ):
        getattr(figures, name)(papers.rows())


@pytest.mark.parametrize("name", ["depth", "tradeoff", "spider"])
def test_who_is_selected_and_renamed_keeps_color_and_marker(name):
    before = looks(papers.figure(name))
    draw = getattr(figures, name)
    labels = {"yours": "Ours"}
    some = looks(draw(papers.tables(), learners=["yours", "ewc"], labels=labels))
    assert list(some)[:2] == ["Ours", "EWC"]
    assert (some["Ours"], some["EWC"]) == (before["yours"], before["EWC"])
    # The other spare appearance would be that of the first name in the alphabet.
    assert before["yours"] != before["mine"]


def test_a_name_with_a_dollar_sign_is_found_under_it():
    rows = papers.rows().query("learner == 'ewc'").assign(learner="a$b")
    figure = figures.matrix(
        rows,
        learners=["a$b"],
        labels={"a$b": r"$\alpha$"},
    )
    assert seen.titles(figure)[0] == r"$\alpha$"
    figure, caption = draw_kinds(["matrix"], rows, Options())["matrix"]
    assert seen.titles(figure)[0] == r"a\$b"
    assert "Method: a$b." in caption


def test_a_color_is_the_users_and_a_title_is_left_out():
    plain = figures.depth(papers.tables())
    figure = figures.depth(papers.tables(), colors={"ewc": "#123456"}, title=False)
    before = looks(plain)
    after = looks(figure)
    assert "#123456" in str(after.pop("EWC"))
    assert after.items() <= before.items()
    assert figure.get_figheight() < plain.get_figheight()


def luminance(color):
    """Return the relative luminance of WCAG 2.1."""
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("kind", ["layers", "matrix"])
@pytest.mark.parametrize("cmap", ["", "Blues", "viridis"])
def test_numbers_stand_out_from_the_cells_of_any_colormap(kind, cmap):
    figure = getattr(figures, kind)(papers.tables(), learners=["ewc"], cmap=cmap)
    figure.canvas.draw()
    panel = next(axes for axes in figure.axes if axes.texts)
    mesh = panel.collections[0]
    corners = mesh.get_coordinates()
    assert not cmap or mesh.cmap(7)[:3] == matplotlib.colormaps[cmap](1.0)[:3]
    colors = mesh.get_facecolor().reshape(*np.subtract(corners.shape[:2], 1), 4)
    for text in panel.texts:
        x, y = text.get_position()
        cell = colors[
            np.searchsorted(corners[:, 0, 1], y) - 1,
            np.searchsorted(corners[0, :, 0], x) - 1,
        ]
        light, dark = sorted(map(luminance, (cell, to_rgb(text.get_color()))))[::-1]
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"learners": ["ewcc"]}, "'ewcc'"),
        ({"learners": []}, "learners"),
        ({"labels": {"nobody": "x"}}, "'nobody'"),
        ({"colors": {"nobody": "black"}}, "'nobody'"),
        ({"colors": {"ewc": "blackish"}}, "'blackish'"),
        ({"cmap": "grayish"}, "'grayish'"),
        ({"labels": {"ewc": r"$\nosuchsymbol$"}}, "nosuchsymbol"),
        ({"labels": {"ewc": "\udcff"}}, "udcff"),
        ({"readouts": ["none"]}, "'none'"),
        ({"readouts": ["linear"]}, "only the readout retrain"),
        ({"width": 0.5}, "width.* 0.5"),
        ({"font": "No Such Font"}, "'No Such Font'"),
        ({"panel": 1}, "panel"),
    ],
)
def test_impossible_options_are_refused(options, value):
    with pytest.raises(InputError, match=value):
        figures.depth(papers.tables(), **options)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_drawn_into_axes_of_a_users_figure(name):
    """One of several panels has to be chosen: without a choice nothing is drawn."""
    ax, draw = axes(name), getattr(figures, name)
    before, settings = len(ax.get_children()), dict(matplotlib.rcParams)
    try:
        drawn = draw(papers.tables(), ax)
    except InputError:
        assert len(ax.get_children()) == before
        drawn = draw(papers.tables(), ax, panel=1)
    assert drawn is ax
    assert dict(matplotlib.rcParams) == settings
    assert len(ax.get_children()) > before
    assert ax.get_legend() is not None or ax.figure.axes[1:]
    assert seen.text_faults(ax.figure) == []


def test_a_panel_can_be_chosen_by_its_title():
    chosen = figures.time(papers.tables(), axes(), panel="EWC")
    assert chosen.get_title() == "EWC"
    expected = papers.figure("time").axes[4].containers
    heights = [seen.heights(drawn) for drawn in chosen.containers]
    assert heights == [seen.heights(drawn) for drawn in expected]
    # A single one needs no choice.
    assert figures.matrix(papers.tables(), axes(), learners=["ewc"]).has_data()


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("time", {}, r"5 panels \(1: Finetune, 2: "),
        ("time", {"panel": "Task 9"}, "'Task 9'"),
        ("spider", {}, "polar axes"),
        *(
            ("depth", {name: v}, name)
            for name, v in (("width", 3), ("font_size", 8), ("font", "a"))
        ),
    ],
)
def test_what_does_not_fit_the_axes_is_refused(name, options, value):
    with pytest.raises(InputError, match=value):
        getattr(figures, name)(papers.tables(), axes(), **options)


def test_all_kinds_are_there_with_their_help_and_nothing_else_is():
    plot = Plot(papers.tables())
    assert set(KINDS) <= set(dir(figures)) & set(dir(plot))
    for name in KINDS:
        assert "ax" in inspect.signature(getattr(figures, name)).parameters
        assert "learners:" in getattr(plot, name).__doc__
        assert f".{name}()" in repr(plot)
    for where in (figures, plot):
        with pytest.raises(AttributeError, match="dept"):
            operator.attrgetter("dept")(where)
