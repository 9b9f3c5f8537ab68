"""Marks of the figure of the retraining's budget."""

from __future__ import annotations

import numpy as np
import pytest

import figures
from figures.tables import Tables
from probe.errors import InputError
from tests.figures import invented, papers, seen


def test_budget_has_a_panel_for_each_feature_but_the_output_and_its_levels():
    names = ["er", "finetune"]
    rows = invented.layers(names, papers.FEATURES, readouts=("retrain@4", "linear", "retrain"))
    figure = figures.budget(Tables(layers=rows))
    assert seen.titles(figure) == ["conv1", "conv2"]
    for axes in figure.axes:
        assert seen.tick_names(axes) == ["1", "4"]
        own = {
            (row.learner, row.quantity): 100 * row.value
            for row in rows
            if (row.feature, row.place, row.readout) == (axes.get_title(), None, "retrain@4")
        }
        for name, drawn in zip(names, axes.containers, strict=True):
            x, y = seen.points(drawn).T
            assert np.round(x).tolist() == [0, 2]
            assert y[1] == pytest.approx(own[name, "accuracy"])
        drawn_levels = {line.get_label(): line.get_ydata()[1] for line in axes.lines}
        for quantity, label in (("floor", "Floor (untrained)"), ("ceiling", "Ceiling (offline)")):
            assert drawn_levels[label] == pytest.approx(own["er", quantity])
    with pytest.raises(InputError, match="retrained for two multiples"):
        figures.budget(Tables(layers=invented.layers(names, papers.FEATURES)))
