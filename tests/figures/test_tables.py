"""What figures read from a run directory: one head of several, and names as they are."""

import pandas as pd
import pytest
from matplotlib.cbook import is_math_text

from figures.tables import StudyTables
from tests.figures import invented
from tests.figures.invented import write

ROWS = invented.rows(
    ["finetune", "er", "offline"],
    ["output"],
    tasks=2,
    orders=1,
    head="multi",
)
METRICS = invented.metrics(
    ["er"],
    tasks=2,
    head="multi",
)


def test_the_cells_of_r_are_read_and_of_several_heads_the_first(tmp_path):
    of_head, of_metrics = ROWS[ROWS["head"] != ""], METRICS[METRICS["head"] != ""]
    single_rows = of_head.assign(head="single", value=1 - of_head["value"])
    single_metrics = of_metrics.assign(head="single", mean=0.0)
    # Of a feature's own matrix the cells are read, and its metrics are not.
    layer = {"feature": "conv1", "readout": "linear"}
    A = ROWS[ROWS["metric"] == "accuracy"].assign(
        value=0.0,
        depth=1,
        **layer,
    )
    first = read(
        tmp_path,
        [A, ROWS, single_rows],
        [METRICS.assign(**layer), METRICS, single_metrics],
    )
    same(first.measurements, pd.concat([A, ROWS[ROWS["metric"] != "f1"]]))
    same(first.metrics, METRICS)
    turned = read(tmp_path, [single_rows, ROWS], [single_metrics, METRICS])
    same(turned.measurements, pd.concat([single_rows, ROWS[ROWS["metric"] == "pra"]]))
    # Those for which the head makes no difference are there all the same.
    same(turned.metrics, pd.concat([single_metrics, METRICS[METRICS["head"] == ""]]))


def read(folder, rows, metrics):
    return StudyTables.read(write(folder, pd.concat(rows), pd.concat(metrics)))


def same(table, expected):
    pd.testing.assert_frame_equal(
        *(t.reset_index(drop=True) for t in (table, expected))
    )


@pytest.mark.parametrize("name", [r"$\frac{$", r"\$x$"])
def test_a_name_is_drawn_as_it_is_and_not_as_a_formula(name, tmp_path):
    rows = ROWS[ROWS["learner"] == "er"].assign(learner=name)
    layers = invented.layers(["er"], [name, "output"], tasks=2)
    tables = StudyTables.read(write(tmp_path, rows, METRICS, layers=layers))
    (learner,) = tables.matrices
    first, _ = tables.layers["feature"].unique()
    for text in (learner, first):
        assert not is_math_text(text)
        assert text.replace(r"\$", "$") == name
