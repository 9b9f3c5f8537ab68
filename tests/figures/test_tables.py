"""What figures read from a run directory: one head of several, and names as they are."""

from dataclasses import replace

import pytest
from matplotlib.cbook import is_math_text

from figures.tables import StudyTables
from tests.figures import invented
from tests.figures.invented import write

ROWS = invented.rows(["finetune", "er", "offline"], ["output"], tasks=2, orders=1, head="multi")
METRICS = invented.metrics(["er"], tasks=2, head="multi")


def test_the_cells_of_r_are_read_and_of_several_heads_the_first(tmp_path):
    single_rows = [replace(row, head="single", value=1 - row.value) for row in ROWS if row.head]
    single_metrics = [replace(row, head="single", mean=0.0) for row in METRICS if row.head]
    # Cells of a feature's own matrix, and their metrics, are not read.
    layer = {"feature": "conv1", "readout": "linear"}
    A = [replace(r, value=0.0, depth=1, **layer) for r in ROWS if r.metric == "accuracy"]
    of_A = [replace(row, mean=0.0, **layer) for row in METRICS]
    all_metrics = [*of_A, *METRICS, *single_metrics]
    first = StudyTables.read(write(tmp_path, [*A, *ROWS, *single_rows], all_metrics))
    assert first.measurements == [row for row in ROWS if row.metric != "f1"]
    assert first.metrics == METRICS
    folder = write(tmp_path, [*single_rows, *ROWS], [*single_metrics, *METRICS])
    turned = StudyTables.read(folder)
    assert turned.measurements == [*single_rows, *(row for row in ROWS if row.metric == "pra")]
    # Those for which the head makes no difference are there all the same.
    assert turned.metrics == [*single_metrics, *(row for row in METRICS if not row.head)]


@pytest.mark.parametrize("name", [r"$\frac{$", r"\$x$"])
def test_a_name_is_drawn_as_it_is_and_not_as_a_formula(name, tmp_path):
    rows = [replace(row, learner=name) for row in ROWS if row.learner == "er"]
    layers = invented.layers(["er"], [name, "output"], tasks=2)
    first_layer = invented.first_layer(["er"], name)
    tables = StudyTables.read(write(tmp_path, rows, METRICS, layers, first_layer))
    (learner,) = tables.matrices
    # By its name a first layer is found among the layers.
    (first,) = {row.first_confirmed for row in tables.first_layer}
    assert first in {row.feature for row in tables.layers}
    for text in (learner, first):
        assert not is_math_text(text)
        assert text.replace(r"\$", "$") == name
