"""A study's run directory as a result in Python: the same numbers as its own tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from probe import Analysis, load
from probe.errors import InputError
from probe.tables.folder import KINDS
from probe.tables.frames import rows_of_frame
from probe.tables.rows import LayerRow, MetricRow, Row, SummaryRow
from probe.tables.summary import summarize
from probe.tables.table_file import read_table
from tests.scenarios.tiny_run import PROBED, Tiny

TWO_ORDERS = PROBED.replace(
    "orders = { there = [1, 2] }", "orders = { there = [1, 2], back = [2, 1] }\nseeds = 2"
).replace("[learners.offline]", "[learners.joint]\nkind = 'finetune'\n[learners.offline]")
LAST = {"offline": 2, "untrained": 0}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    tiny = Tiny(tmp_path_factory.mktemp("study") / "tiny")
    tiny.run(TWO_ORDERS)
    return tiny


@pytest.fixture(scope="module")
def found(study: Tiny) -> Analysis:
    result = load(study.root)
    assert isinstance(result, Analysis)
    return result


def test_it_has_the_tables_of_the_run(study: Tiny, found: Analysis) -> None:
    assert found.rows() == read_table(study.root / "rows.csv", Row)
    there = {path.stem for path in study.root.glob("*.csv")}
    assert set(found.tables()) == there | {"notes"}
    assert found.learners == ("finetune", "joint")
    assert (found.orders, found.seeds) == (("there", "back"), 2)
    assert (found.features, found.readouts) == (("hidden1", "output"), ("retrain", "linear"))


def test_arrays_over_orders_then_seeds_are_the_summary(study: Tiny, found: Analysis) -> None:
    pytest.importorskip("xarray")
    data, summary = found.to_xarray(), read_table(study.root / "summary.csv", SummaryRow)
    assert len(summary) == 4 * 2 * 3
    for row in summary:
        at = {"learner": row.learner, "feature": row.feature, "readout": "retrain"}
        cells = data[row.measure].sel(step=LAST.get(row.learner, 2), **at)
        if row.place is not None:
            cells = cells.where(cells.place == row.place).mean("task")
        by_seed = cells.mean("order")
        assert by_seed.mean("seed").item() == pytest.approx(row.mean, abs=1e-12)
        assert by_seed.std("seed", ddof=1).item() == pytest.approx(row.std, abs=1e-12)


def test_frames_give_rows_and_these_the_summary(study: Tiny, found: Analysis) -> None:
    pytest.importorskip("pandas")
    rows = rows_of_frame(found.to_pandas())
    expected = read_table(study.root / "summary.csv", SummaryRow)
    assert list(map(repr, summarize(rows))) == list(map(repr, expected))
    for name, kind in KINDS.items():
        back = rows_of_frame(found.to_pandas(name), kind)
        assert list(map(repr, back)) == list(map(repr, found.tables()[name]))


def test_matrices_have_the_accuracies_of_layers_and_metrics(study: Tiny, found: Analysis) -> None:
    quantities = {"accuracy": (2,), "floor": (0,)}
    for row in read_table(study.root / "layers.csv", LayerRow):
        matrix = found.matrix(row.feature, row.readout, learner=row.learner).values
        if row.place and row.quantity in quantities and row.feature != "output":
            value = matrix[quantities[row.quantity][0], row.place - 1]
            assert value == pytest.approx(row.value, abs=1e-12)
        if row.place and row.quantity == "ceiling":
            ceiling = found.ceiling(row.feature, row.readout)
            assert ceiling[row.place - 1] == pytest.approx(row.value, abs=1e-12)
    metrics = read_table(study.root / "metrics.csv", MetricRow)
    average = [r for r in metrics if (r.metric, r.learner) == ("average_accuracy[2]", "joint")]
    R = found.matrix("output", "linear", learner="joint").values
    (own,) = (row.mean for row in average if not row.feature)
    assert R[2].mean() == pytest.approx(own, abs=1e-12)


def test_of_several_learners_one_must_be_named(found: Analysis) -> None:
    for call in (lambda: found.R, lambda: found.matrix("hidden1", "linear")):
        with pytest.raises(InputError, match=r"has the learners finetune, joint: say which one"):
            call()
    with pytest.raises(InputError, match="unknown learner of this analysis 'join'"):
        found.matrix("hidden1", "linear", learner="join")
    assert not np.isnan(found.matrix("hidden1", "retrain", "joint").values[[0, 2]]).any()


def test_text_and_latex_say_whose_each_line_is(found: Analysis) -> None:
    text = str(found)
    for learner in ("finetune", "joint"):
        assert f"{learner}, readout linear, in %, mean over 2 seeds [95 % interval]" in text
    lines = [line for line in found.latex("linear").splitlines() if line.endswith(r"\\")]
    assert [line.split(" & ")[:2] for line in lines] == [
        ["learner", "feature"],
        *([name, feature] for name in ("finetune", "joint") for feature in ("hidden1", "output")),
    ]
    one = found.latex("linear", learner="joint").splitlines()
    assert one[0].startswith("% joint, readout linear")
    assert repr(found).startswith(
        "Analysis of finetune, joint: 2 orders, 2 seeds, after 0 to 2 of 2 tasks"
    )


def test_it_is_saved_and_comes_back_and_the_run_is_left_alone(
    study: Tiny, found: Analysis, tmp_path: Path
) -> None:
    found.save(tmp_path / "kept")
    again = load(tmp_path / "kept")
    for name, rows in found.tables().items():
        assert list(map(repr, again.tables()[name])) == list(map(repr, rows))
    assert (str(again), repr(again)) == (str(found), repr(found))
    with pytest.raises(InputError, match="holds something else"):
        found.save(study.root)


def test_a_study_without_floor_and_ceiling_shows_its_pra(finished_study: Tiny) -> None:
    plain = load(finished_study.root)
    assert isinstance(plain, Analysis)
    summary = read_table(finished_study.root / "summary.csv", SummaryRow)
    (value,) = (
        row.mean
        for row in summary
        if (row.learner, row.feature) == ("finetune", "hidden1") and row.place is None
    )
    bare = Analysis(given={"rows": plain.rows()})
    assert f"finetune  hidden1  {100 * value:.1f}" in str(bare)
    assert rf"hidden1 & {100 * value:.1f} \\" in bare.latex()
    assert "<table" in bare._repr_html_()
    assert repr(bare).endswith("ceiling")


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("layers.csv", "er,x\n", r"layers\.csv: expected the columns learner,readout"),
        ("rows.csv", b"\xff\xfe", r"rows\.csv is not a table of this study"),
        ("notes.csv", "learner,order,seed,feature,note\ner,0,-3,,x\n", r"notes\.csv, line 2: '-3'"),
    ],
)
def test_a_damaged_table_is_told(tiny: Tiny, name: str, damage: str | bytes, told: str) -> None:
    (tiny.root / name).write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    with pytest.raises(InputError, match=told) as error:
        load(tiny.root)
    assert "\n" not in str(error.value)
