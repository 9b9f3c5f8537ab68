"""An analysis as a result to hold: its tables are those of a study, and come back from a folder."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import probe
from probe import Analysis, load
from probe.errors import InputError
from probe.metrics.murata import pra, task_f1
from probe.metrics.task_counts import TaskCounts
from probe.results.tables import DEAD
from probe.results.text import note_sentences
from probe.tables.frames import rows_of_frame
from probe.tables.rows import LayerRow, Row
from probe.tables.summary import mean_accuracies, pra_by_step, summarize
from probe.tables.table_file import read_table
from tests.probe.by_layer.nets import FEATURES, TASKS, analyzed, finetuned, fresh, offline

NAMES = ("0-2", "3-5", "6-9")
READOUTS = ("retrain", "linear")
LEARNER = {0: ("untrained", "", 0), "offline": ("offline", "", 3)}


@pytest.fixture(scope="module")
def whole() -> Analysis:
    models = {1: finetuned(1), 3: finetuned(3)}
    return analyzed(models, untrained=fresh(), offline=offline(), seeds=3)


@pytest.fixture(scope="module")
def kept(whole: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "kept"
    whole.save(folder)
    return folder


def as_text(analysis: Analysis) -> dict[str, list[str]]:
    return {name: list(map(repr, rows)) for name, rows in analysis.tables().items()}


def test_every_evaluation_is_a_row_as_a_study_writes_it(whole: Analysis) -> None:
    cells = {
        (r.learner, r.order, r.seed, r.step, r.feature, r.readout, r.measure, r.task): r.value
        for r in whole.rows()
    }
    assert len(cells) == len(whole.rows())
    tasks = tuple(map(tuple, TASKS))
    expected = {}
    for at, one in whole.evaluations.items():
        learner, order, step = LEARNER.get(at.step, ("model", "0", at.step))
        runs = [(learner, order, at.seed, step)]
        # The untrained network is also row 0 of R, and of the output.
        output = at.feature == "output"
        runs += [("model", "0", at.seed, 0)] if at.step == 0 and output else []
        for run in runs:
            readout = "" if output else at.readout
            expected[*run, at.feature, readout, "pra", ""] = pra(one.counts)
            accuracies = TaskCounts(tasks=tasks, tables=(one.counts,)).accuracies()
            for name, value in zip(NAMES, accuracies.tolist(), strict=True):
                where = ("", "") if output else (at.feature, readout)
                expected[*run, *where, "accuracy", name] = value
            if run[3] == 3 or run[0] == "untrained":
                for name, value in zip(NAMES, task_f1(one.counts, TASKS).tolist(), strict=True):
                    if readout != "linear":
                        expected[*run, at.feature, readout, "f1", name] = value
    assert cells == expected
    assert {row.head for row in whole.rows() if not row.feature} == {"all"}


def test_what_reads_the_rows_of_a_study_reads_these(whole: Analysis) -> None:
    rows = whole.rows()
    np.testing.assert_array_equal(mean_accuracies(rows)["model"].values, whole.R.values)
    (at_relu1,) = (
        row.mean for row in summarize(rows) if _key(row) == ("model", "relu1", "pra", None)
    )
    last = [one.counts.accuracy() for at, one in whole.evaluations.items() if _is_last(at)]
    assert at_relu1 == pytest.approx(np.mean(last), abs=1e-12)
    steps = {layer.feature: list(own) for layer, own in pra_by_step(rows, "linear").items()}
    assert steps["relu1"] in ([1, 3], [3], [0])


def _key(row: object) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in ("learner", "feature", "measure", "place"))


def _is_last(at: object) -> bool:
    return tuple(at)[:3] == (3, "relu1", "retrain")  # type: ignore[call-overload]


def test_it_comes_back_exactly_with_evaluations(whole: Analysis, kept: Path) -> None:
    again = load(kept)
    assert isinstance(again, Analysis)
    assert as_text(again) == as_text(whole)
    assert (again.notes, str(again), repr(again)) == (whole.notes, str(whole), repr(whole))
    assert again.evaluations == whole.evaluations
    assert (again.own, again.dead_units, again.tasks) == (whole.own, whole.dead_units, whole.tasks)
    np.testing.assert_array_equal(again.labels, whole.labels)
    for feature, readout in product(FEATURES, READOUTS):
        numbers = (_numbers(each, feature, readout) for each in (whole, again))
        for ours, theirs in zip(*numbers, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    # What was one evaluation, such as the output's for all seeds, is one again.
    assert len(set(map(id, again.evaluations.values()))) == len(
        set(map(id, whole.evaluations.values()))
    )


def _numbers(found: Analysis, feature: str, readout: str) -> list[np.ndarray]:
    each = [found.right(step, feature, readout) for step in (0, 1, 3, "offline")]
    return [*each, found.matrix(feature, readout).values, found.ceiling(feature, readout)]


def test_saved_twice_it_is_the_same_bytes(whole: Analysis, kept: Path, tmp_path: Path) -> None:
    load(kept).save(tmp_path / "again")
    for path in kept.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_its_tables_can_be_read_as_those_of_a_study(whole: Analysis, kept: Path) -> None:
    assert read_table(kept / "rows.csv", Row) == whole.rows()
    assert list(map(repr, read_table(kept / "layers.csv", LayerRow))) == list(
        map(repr, whole.layers())
    )


def test_with_tables_alone_it_says_what_it_has_not(whole: Analysis, kept: Path) -> None:
    found = Analysis(given=load(kept).tables())
    assert found.notes == tuple(note_sentences(whole.tables()["notes"]))
    np.testing.assert_array_equal(found.R.values, whole.R.values)
    with pytest.raises(InputError, match="holds tables alone, no evaluations: analyze networks"):
        found.right(3, "relu1", "linear")


def test_a_description_that_does_not_fit_the_arrays_is_told(whole: Analysis, kept: Path) -> None:
    from probe.tables.folder import Saved, write_folder

    saved, folder = whole.saved(), kept.parent / "unfit"
    for changed in ({"own": [[3, 999]]}, {"own": [["last", 0]]}, {"notes_of_each": []}):
        record = {**saved.record, **changed}
        write_folder(
            folder,
            Saved(kind=saved.kind, tables=saved.tables, record=record, arrays=saved.arrays),
        )
        with pytest.raises(InputError, match=r"is damaged \(it does not fit the arrays\): save"):
            load(folder)
    write_folder(folder, Saved(kind="cake", tables=saved.tables))
    with pytest.raises(InputError, match=r"holds a result of kind 'cake', expected analysis or"):
        load(folder)


def test_notes_are_rows_where_they_belong() -> None:
    dead = offline()
    dead.get_submodule("hidden2").bias.data.fill_(-1e3)
    found = analyzed({3: dead}, offline=offline(), seeds=2)
    notes = found.tables()["notes"]
    assert {(n.seed, n.feature, n.readout) for n in notes if n.note == DEAD} == {
        (0, "relu2", ""),
        (1, "relu2", ""),
    }
    told = {(n.feature, n.readout) for n in notes if n.note.startswith("it predicts")}
    assert told == {("", ""), ("relu2", "retrain"), ("relu2", "linear")}
    runs = {(n.learner, n.order, n.step) for n in notes if "predicts" in n.note or n.note == DEAD}
    assert runs == {("model", "0", 3)}
    only = Analysis(given={"rows": found.rows(), "notes": notes})
    assert f"model, relu2, after 3 tasks, in 2 runs: {DEAD}" in only.notes


def test_repr_says_in_two_lines_what_there_is(whole: Analysis) -> None:
    assert repr(whole).splitlines() == [
        "Analysis of model: 1 order, 3 seeds, after 0, 1, 3 of 3 tasks",
        "  downstream of relu1, relu2, output by retrain, linear; floor and ceiling",
    ]


def test_html_has_what_text_has(whole: Analysis) -> None:
    page, text = whole._repr_html_(), str(whole)
    assert page.count("<table") == len(READOUTS)
    for line in text.splitlines()[2:5]:
        for cell in filter(None, line.split("  ")):
            assert f">{cell.strip()}<" in page
    assert "the intervals cover retrainings" in page


def test_latex_has_a_line_for_each_feature_of_one_readout(whole: Analysis) -> None:
    for readout in (None, "linear"):
        lines = whole.latex(readout).splitlines()
        body = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")]
        assert [line[0] for line in body] == ["feature", *FEATURES]
        assert f"readout {readout or 'retrain'}" in lines[0]
    with pytest.raises(InputError, match="unknown readout of this analysis 'lin'"):
        whole.latex("lin")
    with pytest.raises(InputError, match="unknown learner of this analysis 'er'"):
        whole.latex(learner="er")


def test_frames_give_every_table_back(whole: Analysis) -> None:
    pytest.importorskip("pandas")
    assert rows_of_frame(whole.to_pandas()) == whole.rows()
    layers = rows_of_frame(whole.to_pandas("layers"), LayerRow)
    assert list(map(repr, layers)) == list(map(repr, whole.layers()))
    with pytest.raises(InputError, match="unknown table 'row': did you mean 'rows'"):
        whole.to_pandas("row")


def test_arrays_have_each_cell(whole: Analysis) -> None:
    pytest.importorskip("xarray")
    found = whole.to_xarray().accuracy.sel(learner="model", order="0")
    for feature, readout in product(FEATURES, READOUTS):
        matrix = whole.matrix(feature, readout).values
        mean = found.sel(feature=feature, readout=readout).mean("seed").sel(task=list(NAMES))
        np.testing.assert_allclose(mean.sel(step=[1, 3]), matrix[[1, 3]], atol=1e-12)


def test_figures_are_what_is_installed(whole: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probe.tables.held.extension", lambda name: lambda of: (name, of))
    assert whole.plot == ("plot", whole)


def test_a_folder_without_a_result_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no result \(no rows\.csv\): name the directory"):
        probe.load(tmp_path)
    (tmp_path / "rows.csv").write_text("learner,value\n")
    with pytest.raises(InputError, match=r"rows\.csv: expected the columns scenario,network"):
        probe.load(tmp_path)
