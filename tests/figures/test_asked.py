"""Figures that are asked for one by one, by `build_asked` and by the flags of `probe figures`."""

import re

import pytest

from figures.build import build, build_asked
from figures.options import Options
from probe.errors import InputError


@pytest.fixture
def cwd(study_folder):
    return study_folder.parent


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_pdf_has_letters_that_publishers_take_and_no_date(study_folder, tmp_path):
    options = Options(
        width=3.25,
        font="serif",
        labels={"mine": "Replay (ours)"},
    )
    formats = ["pdf", "svg", "png"]
    paths = build_asked(study_folder, options, ["tradeoff"], formats, tmp_path / "a")
    assert [path.name for path in paths] == [
        "tradeoff.pdf",
        "tradeoff.svg",
        "tradeoff.png",
        "tradeoff.txt",
    ]
    pdf = paths[0].read_bytes()
    for absent in (b"/Subtype /Type3", b"CreationDate"):
        assert absent not in pdf
    for present in (b"/CIDFontType2", b"DejaVuSerif"):
        assert present in pdf
    # In points: 72 to an inch.
    assert float(re.search(rb"/MediaBox \[ 0 0 ([0-9.]+)", pdf)[1]) == pytest.approx(
        234
    )
    # 300 to an inch.
    assert int.from_bytes(paths[2].read_bytes()[16:20]) == 975
    assert "Replay (ours)" in paths[3].read_text("utf-8")
    build_asked(study_folder, options, ["tradeoff"], formats, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_figures_on_request_and_those_of_a_run_leave_each_other_alone(
    study_folder, monkeypatch
):
    monkeypatch.setattr("figures.plotting.defaults", lambda tables: ["bias", "matrix"])
    build(study_folder)
    before = contents(study_folder / "figures")
    build_asked(study_folder, Options(learners=["ewc"]), ["matrix"], ["png"])
    requested = contents(study_folder / "figures" / "asked")
    assert set(requested) == {"matrix.png", "matrix.txt"}
    assert requested["matrix.png"] != before["matrix.png"]
    with pytest.raises(InputError, match="figures"):
        build_asked(
            study_folder, Options(), ["matrix"], ["png"], study_folder / "figures"
        )
    assert contents(study_folder / "figures") == before


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ("--only dpth", "'dpth'"),
        ("--format gif", "'gif'"),
        ("--label ewc=", "'ewc='"),
        ("--width wide", "number"),
        ("--only omegas --learners ewc", "figures.omegas"),
    ],
)
def test_wrong_flags_are_one_sentence_each_and_nothing_is_written(
    probe, study_folder, flags, value
):
    code, printed, errors = probe(f"figures study --out new {flags}")
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert value in errors
    assert not (study_folder.parent / "new").exists()
