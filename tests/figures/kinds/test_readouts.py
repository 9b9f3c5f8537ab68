"""Marks of the figures that compare readouts and their budgets, and that do without any."""

import numpy as np
import pytest

import figures
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers, seen

LAYERS = papers.tables().layers.query("learner in ('ewc', 'mine')")
BY = invented.rows_by(LAYERS, "learner", "readout", "quantity", "task_position")


def test_readouts_have_a_line_each_between_their_own_floor_and_ceiling():
    figure = figures.readouts(StudyTables(layers=LAYERS))
    assert seen.titles(figure) == ["mine", "EWC"]
    # Those of other budgets are in another figure.
    assert seen.legend(figure)[:2] == ["linear", "retrain"]
    for learner, axes in zip(("mine", "ewc"), figure.axes, strict=True):
        assert seen.tick_names(axes) == papers.FEATURES
        for readout, drawn in zip(("retrain", "linear"), axes.containers, strict=True):
            color = drawn.lines[0].get_color()
            controls = {x.get_linestyle(): x for x in axes.lines if x.get_color() == color}
            for quantity, line in (
                ("accuracy", drawn),
                *zip(("ceiling", "floor"), map(controls.get, ("--", ":")), strict=True),
            ):
                rows = BY[learner, readout, quantity, None]
                assert seen.heights(line) == pytest.approx([100 * r.value for r in rows])
    with pytest.raises(InputError, match=r"figures\.readouts"):
        figures.readouts(StudyTables(layers=LAYERS.query("readout != 'linear'")))


@pytest.mark.parametrize(
    ("kind", "readouts", "ticks"),
    [
        ("budget", ("retrain", "retrain@4"), ["1", "4"]),
        ("repair", ("linear:1", "linear:20", "linear"), ["1", "20", "all"]),
    ],
)
def test_amounts_have_a_panel_for_each_feature_but_the_output_and_its_levels(kind, readouts, ticks):
    names = ["er", "finetune"]
    rows = invented.layers(names, papers.FEATURES, readouts=(*readouts[::-1], "ncm"))
    columns = ("learner", "feature", "readout", "quantity", "task_position")
    by = invented.rows_by(rows, *columns)
    draw = getattr(figures, kind)
    figure = draw(StudyTables(layers=rows))
    assert seen.titles(figure) == ["conv1", "conv2"]
    drawn_as = {name: (name, "accuracy") for name in names}
    drawn_as |= {"offline": ("er", "ceiling"), "untrained": ("er", "floor")}
    for axes in figure.axes:
        assert seen.tick_names(axes) == ticks
        lines = {drawn.lines[0].get_color(): seen.points(drawn) for drawn in axes.containers}
        for name, (learner, quantity) in drawn_as.items():
            x, y = lines.pop(seen.color(name)).T
            assert np.round(x).tolist() == list(range(len(ticks)))
            cells = [by[learner, axes.get_title(), k, quantity, None] for k in readouts]
            assert y == pytest.approx([100 * row.value for (row,) in cells])
        assert not lines
    with pytest.raises(InputError, match=rf"figures\.{kind}"):
        draw(StudyTables(layers=invented.layers(names, papers.FEATURES)))


def test_diagnostics_are_means_over_seeds_with_both_controls():
    rows = invented.diagnostics(["ewc"], papers.FEATURES)
    by = invented.rows_by(rows, "learner", "feature", "metric")
    figure = figures.diagnostics(StudyTables(diagnostics=rows))
    expected = {"Dead units (%)": ("dead", 100), "Rank (% of values)": ("rank", 100 / 8)}
    expected |= {"CKA to untrained": ("cka.untrained", 1), "CKA to offline": ("cka.offline", 1)}
    assert seen.titles(figure) == list(expected)
    names = ["ewc", "offline", "untrained"]
    assert sorted(seen.legend(figure)) == ["EWC", "Offline", "Untrained"]
    for axes, (measure, scale) in zip(figure.axes, expected.values(), strict=True):
        assert seen.tick_names(axes) == papers.FEATURES
        for name, drawn in zip(names, axes.containers, strict=True):
            own = [by[name, feature, measure] for feature in papers.FEATURES]
            means = [scale * np.mean([row.value for row in each]) for each in own]
            assert seen.heights(drawn) == pytest.approx(means)
            assert drawn.lines[0].get_color() == seen.color(name)
    with pytest.raises(InputError, match=r"figures\.diagnostics"):
        figures.diagnostics(StudyTables(diagnostics=invented.diagnostics(["ewc"], ["output"])))
