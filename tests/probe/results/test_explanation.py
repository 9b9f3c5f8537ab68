"""`probe explain`: its cells give the number of layers.csv that it explains."""

from collections import defaultdict
from statistics import fmean

import pytest

from probe.errors import InputError
from probe.results.explanation import FORMULAS, explain
from probe.tables.folder import read_tables


def check_cells(root, layer, quantity):
    """Check that cells average to the table: over the orders of a seed, then over seeds."""
    layers = read_tables(root)["layers"].dropna(subset="task_position")
    names = ["learner", "readout", "feature", "quantity"]
    chosen = layers[names] == [*layer, quantity]
    rows = layers[chosen.all(axis=1)].set_index("task_position")["value"].to_dict()
    if not rows:
        pytest.skip("not measured")
    sheet, _, paths = explain(root, *layer, quantity)
    cells = defaultdict(lambda: defaultdict(list))
    for seed, _, j, *_, value in sheet.lines:
        cells[int(j)][seed].append(float(value))
    means = {j: fmean(map(fmean, by_seed.values())) for j, by_seed in cells.items()}
    assert means == pytest.approx(rows, abs=1e-4)
    assert all(path.is_file() for path in paths)


@pytest.mark.parametrize("quantity", sorted(FORMULAS.keys() - {"retained"}))
def test_cells_average_to_the_number_of_the_table(study, quantity):
    """But for `retained`, a ratio of means."""
    check_cells(study.root, ("finetune", "linear", "hidden1"), quantity)


def test_a_statement_is_explained_by_the_quantity_that_decides_it(study):
    layer = study.root, "finetune", "linear", "hidden1"
    assert explain(*layer, "forgets") == explain(*layer, "forgotten")


def test_an_unknown_name_is_refused(study):
    with pytest.raises(InputError, match="'hidden9'"):
        explain(study.root, "finetune", "linear", "hidden9", "forgotten")
