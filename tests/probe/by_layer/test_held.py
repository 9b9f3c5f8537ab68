"""An analysis as a result to hold: its tables are those of a study, and come back from a folder."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from probe import Analysis, Measure, load
from probe.errors import InputError
from probe.metrics.murata import pra, task_f1
from probe.metrics.task_counts import TaskCounts
from probe.results.analysis import note_sentences
from probe.results.tables import DEAD
from probe.tables.folder import Saved, write_folder
from probe.tables.frames import rows_of_frame
from probe.tables.rows import LayerRow
from tests.probe.by_layer.nets import FEATURES, TASKS, analyzed, finetuned, fresh, offline

NAMES = ("0-2", "3-5", "6-9")
READOUTS = ("retrain", "linear")
LEARNER = {0: ("untrained", "", 0), "offline": ("offline", "", 3)}


@pytest.fixture(scope="module")
def whole() -> Analysis:
    models = {1: finetuned(1), 3: finetuned(3)}
    given = {"untrained": fresh(), "offline": offline()}
    return analyzed(models, readouts=Measure(seeds=3), **given)


@pytest.fixture(scope="module")
def kept(whole: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "kept"
    whole.save(folder)
    return folder


def test_every_evaluation_is_a_row_as_a_study_writes_it(whole: Analysis) -> None:
    cells = {
        (r.learner, r.order, r.seed, r.step, r.feature, r.readout, r.measure, r.task): r.value
        for r in whole.rows()
        # A row 0 of the offline network, which is the untrained one.
        if not (r.learner == "offline" and r.step == 0)
    }
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


def test_it_comes_back_exactly_with_evaluations(
    whole: Analysis, kept: Path, tmp_path: Path
) -> None:
    again = load(kept)
    assert isinstance(again, Analysis)
    for name, rows in whole.tables().items():
        assert list(map(repr, again.tables()[name])) == list(map(repr, rows))
    assert (again.notes, str(again), repr(again)) == (whole.notes, str(whole), repr(whole))
    assert again.evaluations == whole.evaluations
    assert (again.own, again.dead_units, again.tasks) == (whole.own, whole.dead_units, whole.tasks)
    np.testing.assert_array_equal(again.labels, whole.labels)
    for feature, readout in product(FEATURES, READOUTS):
        for ours, theirs in zip(
            *(_numbers(a, feature, readout) for a in (whole, again)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    again.save(tmp_path / "again")
    for path in kept.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def _numbers(found: Analysis, feature: str, readout: str) -> list[np.ndarray]:
    each = [found.right(step, feature, readout) for step in (0, 3, "offline")]
    return [*each, found.matrix(feature, readout).values, found.ceiling(feature, readout)]


def test_with_tables_alone_it_says_what_it_has_not(whole: Analysis, kept: Path) -> None:
    found = Analysis(given=load(kept).tables())
    assert found.notes == tuple(note_sentences(whole.tables()["notes"]))
    np.testing.assert_array_equal(found.R.values, whole.R.values)
    with pytest.raises(InputError, match="holds tables alone, no evaluations: analyze networks"):
        found.right(3, "relu1", "linear")


def test_a_description_that_does_not_fit_the_arrays_is_told(whole: Analysis, kept: Path) -> None:
    saved, folder = whole.saved(), kept.parent / "unfit"
    for changed in ({"plan": {}}, {"parts": {}}):
        given = Saved(
            kind=saved.kind,
            tables=saved.tables,
            record={**saved.record, **changed},
            arrays=saved.arrays,
        )
        write_folder(folder, given)
        with pytest.raises(InputError, match=r"is damaged \(it does not fit the arrays\): save"):
            load(folder)
    write_folder(folder, Saved(kind="cake", tables=saved.tables))
    with pytest.raises(InputError, match=r"has a result of kind 'cake', not analysis or"):
        load(folder)


def test_notes_are_rows_where_they_belong() -> None:
    dead = offline()
    dead.get_submodule("hidden2").bias.data.fill_(-1e3)
    found = analyzed({3: dead}, offline=offline(), readouts=Measure(seeds=2))
    notes = [note for note in found.tables()["notes"] if note.learner == "model"]
    where = {(n.seed, n.feature, n.readout) for n in notes if n.note == DEAD}
    assert where == {(0, "relu2", ""), (1, "relu2", "")}
    told = {(n.feature, n.readout) for n in notes if n.note.startswith("it predicts")}
    assert told == {("", ""), ("relu2", "retrain"), ("relu2", "linear")}
    assert f"model, relu2, after 3 tasks, in 2 runs: {DEAD}" in found.notes


def test_repr_html_and_latex_say_what_text_does(whole: Analysis) -> None:
    assert repr(whole).splitlines()[0].endswith("1 order, 3 seeds, after 0, 1, 3 of 3 tasks")
    page = whole._repr_html_()
    assert page.count("<table") == len(READOUTS)
    for line in str(whole).splitlines()[2:5]:
        for cell in filter(None, line.split("  ")):
            assert f">{cell.strip()}<" in page
    assert "the intervals cover retrainings" in page
    for readout in (None, "linear"):
        lines = whole.latex(readout).splitlines()
        body = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")]
        assert [line[0] for line in body] == ["feature", *FEATURES]
        assert f"readout {readout or 'retrain'}" in lines[0]
    with pytest.raises(InputError, match="unknown readout of this analysis 'lin'"):
        whole.latex("lin")
    with pytest.raises(InputError, match="unknown learner of this analysis 'er'"):
        whole.latex(learner="er")


def test_frames_and_arrays_have_each_cell(whole: Analysis) -> None:
    assert rows_of_frame(whole.to_pandas()) == whole.rows()
    layers = rows_of_frame(whole.to_pandas("layers"), LayerRow)
    assert list(map(repr, layers)) == list(map(repr, whole.layers()))
    with pytest.raises(InputError, match="unknown table 'row': did you mean 'rows'"):
        whole.to_pandas("row")
    pytest.importorskip("xarray")
    found = whole.to_xarray().accuracy.sel(learner="model", order="0")
    for feature, readout in product(FEATURES, READOUTS):
        matrix = whole.matrix(feature, readout).values
        mean = found.sel(feature=feature, readout=readout).mean("seed").sel(task=list(NAMES))
        np.testing.assert_allclose(mean.sel(step=[1, 3]), matrix[[1, 3]], atol=1e-12)


def test_a_folder_without_a_result_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no result \(no rows\.csv\): name the directory"):
        load(tmp_path)
    (tmp_path / "rows.csv").write_text("learner,value\n")
    with pytest.raises(InputError, match=r"rows\.csv: expected the columns scenario,network"):
        load(tmp_path)
