"""What figures read from a run directory: one head of several, and names as they are."""

from dataclasses import replace

import pytest
from matplotlib.cbook import is_math_text

from figures.tables import Tables
from probe.tables.rows import MeasurementRow
from tests.figures import invented
from tests.figures.invented import write

ROWS = invented.rows(["finetune", "er", "offline"], ["output"], tasks=2, orders=1, head="multi")


def other_head(rows, head):
    """Return rows under another head, by which everything is the other way round."""
    return [
        replace(
            r,
            head=head,
            **({"value": 1 - r.value} if isinstance(r, MeasurementRow) else {"mean": 0.0}),
        )
        for r in rows
        if r.head
    ]


def test_the_cells_of_r_are_read_and_of_several_heads_the_first(tmp_path):
    metrics = invented.metrics(["er"], tasks=2, head="multi")
    of_rows, of_metrics = other_head(ROWS, "single"), other_head(metrics, "single")
    # Cells of a feature's own matrix, and their metrics, are not read.
    own = {"feature": "conv1", "readout": "linear"}
    A = [replace(r, value=0.0, depth=1, **own) for r in ROWS if r.metric == "accuracy"]
    of_A = [replace(row, mean=0.0, **own) for row in metrics]
    first = Tables.read(write(tmp_path, [*A, *ROWS, *of_rows], [*of_A, *metrics, *of_metrics]))
    pra = [row for row in ROWS if row.metric == "pra"]
    assert first.measurements == [row for row in ROWS if row.metric != "f1"]
    assert first.metrics == metrics
    turned = Tables.read(write(tmp_path, [*of_rows, *ROWS], [*of_metrics, *metrics]))
    assert turned.measurements == [*of_rows, *pra]
    # Those for which the head makes no difference are there all the same.
    assert turned.metrics == [*of_metrics, *(row for row in metrics if not row.head)]


@pytest.mark.parametrize("name", [r"$\frac{$", r"\$x$"])
def test_a_name_is_drawn_as_it_is_and_not_as_a_formula(name, tmp_path):
    renamed = [replace(row, learner=name) for row in ROWS if row.learner == "er"]
    metrics = [replace(row, metric=name) for row in invented.metrics(["er"])]
    tables = Tables.read(write(tmp_path, renamed, metrics))
    (learner,) = tables.matrices
    for text in (learner, tables.metrics[0].metric):
        assert not is_math_text(text)
        assert text.replace(r"\$", "$") == name


def test_tables_of_layers_are_read_where_they_are(tmp_path):
    layers = invented.layers(["er"], ["a$b_c$", "output"], tasks=2)
    first_layer = invented.first_layer(["er"], "a$b_c$")
    assert not Tables.read(write(tmp_path, ROWS)).layers
    read = Tables.read(write(tmp_path, ROWS, (), layers, first_layer))
    assert {row.feature for row in read.layers} == {r"a\$b_c\$", "output"}
    # By its name a start is found among the layers.
    assert {row.first_confirmed for row in read.first_layer} == {r"a\$b_c\$"}
