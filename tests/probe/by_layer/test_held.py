"""An analysis as a result to hold: its tables are those of a study, and come back from a folder."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from probe import Analysis, load, predictions
from probe.errors import InputError
from probe.results.analysis import note_sentences
from probe.tables.folder import Saved, write_folder
from tests.probe.by_layer.nets import FEATURES


@pytest.fixture(scope="module")
def kept(whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "kept"
    whole.save(folder)
    return folder


def test_it_comes_back_exactly_with_predictions(whole, kept, tmp_path):
    again = load(kept)
    assert isinstance(again, Analysis)
    assert (again.notes, str(again), repr(again)) == (
        whole.notes,
        str(whole),
        repr(whole),
    )
    pd.testing.assert_frame_equal(predictions(kept), predictions(whole))
    again.save(tmp_path / "again")
    for path in kept.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_with_tables_alone_it_says_what_it_has_not(whole, kept):
    found = Analysis(tables_by_name=load(kept).tables())
    assert found.notes == tuple(note_sentences(whole.tables()["notes"]))
    np.testing.assert_array_equal(found.R.values, whole.R.values)
    with pytest.raises(InputError, match="holds no predictions"):
        predictions(found)


def test_a_description_that_does_not_fit_the_arrays_is_told(whole, kept):
    saved, folder = whole.saved(), kept.parent / "unfit"
    some = {
        name: array for name, array in saved.arrays.items() if "untrained" not in name
    }
    for changed in ({"record": {"plan": {}}}, {"arrays": some}):
        write_folder(folder, replace(saved, **changed))
        with pytest.raises(InputError, match=r"result\.json"):
            load(folder)
    write_folder(folder, Saved(kind="cake", tables=saved.tables))
    with pytest.raises(InputError, match="'cake'"):
        load(folder)


def test_text_html_and_latex_have_a_line_for_each_feature(whole):
    lines = str(whole).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(FEATURES[0]))
    assert [line.split()[0] for line in lines[first : first + 3]] == FEATURES
    page = whole._repr_html_()
    assert all(line in page for line in lines[first : first + 3])
    (sheet,) = whole.sheets()
    assert all(f">{cell}<" in page for line in sheet.lines for cell in line)
    latex = [line for line in whole.latex().splitlines() if line.endswith(r"\\")]
    assert [line.split(" & ")[0] for line in latex] == ["layer", *FEATURES]
    with pytest.raises(InputError, match="'lin'"):
        whole.latex("lin")
