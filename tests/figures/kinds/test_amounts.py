"""Marks of the figures of budgets and repair, and of the one without a readout."""

import numpy as np
import pytest

import figures
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers, seen


@pytest.mark.parametrize(
    ("kind", "readouts", "ticks"),
    [
        ("budget", ("retrain", "retrain@4"), ["1", "4"]),
        ("repair", ("linear:1", "linear:20", "linear"), ["1", "20", "all"]),
    ],
)
def test_amounts_have_a_panel_for_each_feature_but_the_output_and_its_levels(
    kind, readouts, ticks
):
    names = ["er", "finetune"]
    rows = invented.layers(
        names,
        papers.FEATURES,
        readouts=(*readouts[::-1], "ncm"),
    )
    columns = ("learner", "feature", "readout", "quantity", "task_position")
    by = invented.rows_by(rows, *columns)
    draw = getattr(figures, kind)
    figure = draw(StudyTables(layers=rows))
    assert seen.titles(figure) == ["conv1", "conv2"]
    drawn_as = {name: (name, "accuracy") for name in names}
    drawn_as |= {"offline": ("er", "ceiling"), "untrained": ("er", "floor")}
    for axes in figure.axes:
        assert seen.tick_names(axes) == ticks
        lines = {
            drawn.lines[0].get_color(): seen.points(drawn) for drawn in axes.containers
        }
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
    by = invented.rows_by(
        rows,
        "learner",
        "feature",
        "metric",
    )
    figure = figures.diagnostics(StudyTables(diagnostics=rows))
    expected = {
        "Dead units (%)": ("dead", 100),
        "Rank (% of values)": ("rank", 100 / 8),
    }
    expected |= {
        "CKA to untrained": ("cka.untrained", 1),
        "CKA to joint": ("cka.offline", 1),
    }
    assert seen.titles(figure) == list(expected)
    names = ["ewc", "offline", "untrained"]
    assert sorted(seen.legend(figure)) == ["EWC", "Joint", "Untrained"]
    for axes, (measure, scale) in zip(
        figure.axes,
        expected.values(),
        strict=True,
    ):
        assert seen.tick_names(axes) == papers.FEATURES
        for name, drawn in zip(
            names,
            axes.containers,
            strict=True,
        ):
            own = [by[name, feature, measure] for feature in papers.FEATURES]
            means = [scale * np.mean([row.value for row in each]) for each in own]
            assert seen.heights(drawn) == pytest.approx(means)
            assert drawn.lines[0].get_color() == seen.color(name)
    with pytest.raises(InputError, match=r"figures\.diagnostics"):
        figures.diagnostics(
            StudyTables(diagnostics=invented.diagnostics(["ewc"], ["output"]))
        )
