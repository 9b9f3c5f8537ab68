"""An analysis as a result to hold: its tables are those of a study, and come back from a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from probe import Analysis, load, predictions
from probe.errors import InputError
from probe.results.analysis import note_sentences
from probe.tables.folder import Saved, write_folder
from tests.probe.by_layer.nets import FEATURES

NAMES = ("0-2", "3-5", "6-9")
READOUTS = ("retrain", "linear")


@pytest.fixture(scope="module")
def kept(whole: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "kept"
    whole.save(folder)
    return folder


def test_every_accuracy_on_all_tasks_is_a_row_as_a_study_writes_it(whole: Analysis) -> None:
    """That each table follows from the predictions is tested in `tests/probe/results`."""
    keys = ["learner", "seed", "tasks_seen", "feature", "readout"]
    rows = whole.to_pandas().query("metric == 'pra'").set_index(keys)["value"]
    frame = predictions(whole).query("head == 'single'")
    right = (frame["predicted"] == frame["label"]).groupby(
        [frame[key] for key in keys], observed=True
    )
    # The untrained network is also row 0 of the output in all other runs.
    expected = right.mean()
    assert rows.to_dict().items() >= expected.to_dict().items()
    assert {key[0] for key in rows.index.difference(expected.index)} <= {"model"}


def test_it_comes_back_exactly_with_predictions(
    whole: Analysis, kept: Path, tmp_path: Path
) -> None:
    again = load(kept)
    assert isinstance(again, Analysis)
    for name, rows in whole.tables().items():
        pd.testing.assert_frame_equal(again.tables()[name], rows, check_exact=True)
    assert (again.notes, str(again), repr(again)) == (whole.notes, str(whole), repr(whole))
    pd.testing.assert_frame_equal(predictions(again), predictions(whole))
    pd.testing.assert_frame_equal(predictions(kept), predictions(whole))
    again.save(tmp_path / "again")
    for path in kept.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_with_tables_alone_it_says_what_it_has_not(whole: Analysis, kept: Path) -> None:
    found = Analysis(tables_by_name=load(kept).tables())
    assert found.notes == tuple(note_sentences(whole.tables()["notes"]))
    np.testing.assert_array_equal(found.R.values, whole.R.values)
    with pytest.raises(InputError, match="holds no predictions"):
        predictions(found)


def test_a_description_that_does_not_fit_the_arrays_is_told(whole: Analysis, kept: Path) -> None:
    saved, folder = whole.saved(), kept.parent / "unfit"
    some = {name: array for name, array in saved.arrays.items() if "untrained" not in name}
    for changed in ({"record": {"plan": {}}}, {"arrays": some}):
        write_folder(folder, replace(saved, **changed))
        with pytest.raises(InputError, match=r"or of an earlier version: measure again"):
            load(folder)
    write_folder(folder, Saved(kind="cake", tables=saved.tables))
    with pytest.raises(InputError, match=r"kind 'cake': load one of kind analysis or"):
        load(folder)


def test_text_html_and_latex_have_a_line_for_each_feature(whole: Analysis) -> None:
    assert repr(whole).splitlines()[0].endswith("1 order, 2 seeds, after 0, 1, 3 of 3 tasks")
    page = whole._repr_html_()
    assert page.count("<table") == len(READOUTS) + page.count("points missing, by layer")
    assert "the intervals cover retrainings" in page
    for readout, table in zip(READOUTS, str(whole).split("readout ")[1:], strict=True):
        name, titles, *lines = table.splitlines()
        assert name.startswith(f"{readout},")
        assert titles.split()[:4] == ["feature", "accuracy", "floor", "ceiling"]
        assert [line.split()[0] for line in lines[:3]] == FEATURES
        assert all(f">{cell.strip()}<" in page for cell in filter(None, lines[0].split("  ")))
        assert lines[3].startswith("model: ")
        latex = [line for line in whole.latex(readout).splitlines() if line.endswith(r"\\")]
        assert [line.split(" & ")[0] for line in latex] == ["feature", *FEATURES]
    with pytest.raises(InputError, match="unknown readout of this analysis 'lin'"):
        whole.latex("lin")
    with pytest.raises(InputError, match="unknown learner of this analysis 'er'"):
        whole.latex(learner="er")


def test_frames_and_arrays_have_each_cell(whole: Analysis) -> None:
    assert whole.to_pandas().equals(whole.measurements())
    assert whole.to_pandas("layers").equals(whole.layers())
    with pytest.raises(InputError, match="unknown table 'layer': did you mean 'layers'"):
        whole.to_pandas("layer")
    pytest.importorskip("xarray")
    found = whole.to_xarray().accuracy.sel(learner="model", order="0", readout="linear")
    for feature in FEATURES:
        mean = found.sel(feature=feature).mean("seed").sel(task=list(NAMES), tasks_seen=[1, 3])
        expected = whole.matrix(feature, "linear").values[[1, 3]]
        np.testing.assert_allclose(mean, expected, atol=1e-12)


def test_a_folder_without_a_result_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds no result \(no measurements\.csv\): name the directory"
    ):
        load(tmp_path)
    (tmp_path / "measurements.csv").write_text("learner,value\n")
    with pytest.raises(
        InputError, match=r"measurements\.csv: expected the columns scenario,network"
    ):
        load(tmp_path)
