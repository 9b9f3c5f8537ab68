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
            if (row.feature, row.task_position, row.readout)
            == (axes.get_title(), None, "retrain@4")
        }
        lines = {"offline": "ceiling", "untrained": "floor"}
        for drawn in axes.containers:
            color = drawn.lines[0].get_color()
            (name,) = (n for n in (*names, *lines) if seen.color(n) == color)
            x, y = seen.points(drawn).T
            assert np.round(x).tolist() == [0, 2]
            at = ("er", lines[name]) if name in lines else (name, "accuracy")
            assert y[1] == pytest.approx(own.pop(at))
        assert not {quantity for _, quantity in own} & {"accuracy"}
    with pytest.raises(InputError, match="retrained for two multiples"):
        figures.budget(Tables(layers=invented.layers(names, papers.FEATURES)))
