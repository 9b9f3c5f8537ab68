"""Partial retraining as a result to hold."""

from dataclasses import fields

import numpy as np
import pytest

from probe import Recipe, load, partial_retrain
from probe.tables.result_base import ResultBase
from probe.tables.summary import summarize
from tests.probe.calls import DATA, TASKS, net


@pytest.fixture(scope="module")
def found():
    return partial_retrain(
        net(), ["1", "2"], DATA, DATA, TASKS, Recipe(epochs=1), seed=4
    )


def test_its_rows_say_what_it_measured(found):
    table = found.measurements()
    rows = list(table.itertuples())
    assert {(r.learner, r.order, r.seed, r.tasks_seen) for r in rows} == {
        ("model", "0", 4, 2)
    }
    pra = {r.feature: r.value for r in rows if r.metric == "pra"}
    f1 = [
        [r.value for r in rows if (r.metric, r.feature) == ("f1", name)]
        for name in ("1", "2")
    ]
    assert pra == found.pra
    np.testing.assert_array_equal(f1, found.task_f1)
    assert {(r.feature, r.readout) for r in rows if r.feature} == {
        ("1", "retrain"),
        ("2", ""),
    }
    own = [r.value for r in rows if r.metric == "accuracy" and not r.feature]
    assert own == [found.counts["2"].accuracy([c]) for c in (0, 1)]
    assert summarize(table).query("metric == 'pra'")["mean"].tolist() == list(
        pra.values()
    )


def test_results_are_frozen_and_made_by_names():
    for kind in ResultBase.__subclasses__():
        assert kind.__dataclass_params__.frozen
        assert all(field.kw_only for field in fields(kind))


def test_it_comes_back_exactly(found, tmp_path):
    found.save(tmp_path / "kept")
    assert load(tmp_path / "kept") == found
    assert (found.seed, found.outputs) == (4, ("2",))
    other = partial_retrain(net(), ["1"], DATA, DATA, TASKS, Recipe(epochs=1))
    other.save(str(tmp_path / "kept"))
    assert load(str(tmp_path / "kept")) == other != found


def test_it_shows_the_same_in_every_way(found):
    assert repr(found) == (
        f"PartialRetraining of 2 tasks, seed 4: PRA 1 {found.pra['1']:.4f}, 2 "
        f"{found.pra['2']:.4f}"
    )
    page, lines = found._repr_html_(), found.latex().splitlines()
    for feature, f1 in zip(found.features, found.task_f1, strict=True):
        cells = [f"{value:.4f}" for value in (found.pra[feature], *f1)]
        assert rf"{feature} & {' & '.join(cells)} \\" in lines
        assert all(f">{cell}<" in page and cell in str(found) for cell in cells)
