"""Figures that are asked for one by one, by `build_asked` and by the flags of `probe figures`."""

import re
from pathlib import Path

import pytest

from figures.build import RECORD, build, build_asked
from figures.kinds import KINDS
from figures.options import Options
from probe.errors import InputError
from tests.figures import papers


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return papers.run_directory(tmp_path_factory.mktemp("run") / "study")


@pytest.fixture
def cwd(run):
    return run.parent


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_pdf_has_letters_that_publishers_take_and_no_date(run, tmp_path):
    asked = Options(width=3.25, font="serif", labels={"mine": "Replay (ours)"})
    paths = build_asked(run, asked, ["depth", "layers"], ["pdf", "svg"], tmp_path / "a")
    names = ["depth.pdf", "depth.svg", "depth.txt", "layers.pdf", "layers.svg", "layers.txt"]
    assert [path.name for path in paths] == names
    assert all(path.parent == tmp_path / "a" for path in paths)
    for pdf in (path.read_bytes() for path in paths if path.suffix == ".pdf"):
        assert b"/Subtype /Type3" not in pdf
        assert b"/CIDFontType2" in pdf
        assert b"DejaVuSerif" in pdf
        assert b"CreationDate" not in pdf
        # In points: 72 to an inch.
        assert float(re.search(rb"/MediaBox \[ 0 0 ([0-9.]+)", pdf)[1]) == pytest.approx(234)
    assert "Replay (ours)" in (tmp_path / "a" / "depth.txt").read_text("utf-8")
    build_asked(run, asked, ["depth", "layers"], ["pdf", "svg"], tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_what_was_asked_for_and_what_a_run_draws_leave_each_other_alone(run, monkeypatch):
    monkeypatch.setattr("figures.build.KINDS", {k: KINDS[k] for k in ("bias", "matrix")})
    build(run)
    before = contents(run / "figures")
    assert sorted(before) == sorted(
        [RECORD, *(f"{name}.{end}" for name in ("bias", "matrix") for end in ("png", "svg", "txt"))]
    )
    build_asked(run, Options(learners=["ewc"]), ["matrix"], ["png"])
    own = contents(run / "figures" / "asked")
    assert set(own) == {"matrix.png", "matrix.txt"}
    assert own["matrix.png"] != before["matrix.png"]
    build(run, changed_only=True)
    assert contents(run / "figures") == before
    build(run)
    assert contents(run / "figures") == before
    assert contents(run / "figures" / "asked") == own
    with pytest.raises(InputError, match="holds the figures that a run draws"):
        build_asked(run, Options(), ["matrix"], ["png"], run / "figures")
    assert contents(run / "figures") == before


def test_a_lost_or_old_caption_is_written_again_and_no_figure_is_drawn_for_it(run, monkeypatch):
    monkeypatch.setattr("figures.build.KINDS", {k: KINDS[k] for k in ("bias", "matrix")})
    build(run)
    before = contents(run / "figures")
    (run / "figures" / "bias.txt").unlink()
    monkeypatch.setattr("figures.style.save", None)
    build(run, changed_only=True)
    assert contents(run / "figures") == before


def test_without_a_name_all_are_drawn_that_can_be(run, tmp_path, monkeypatch):
    monkeypatch.setattr("figures.layout.fit", lambda *_, **__: None)
    few = Options(learners=["ewc"])
    names = [path.stem for path in build_asked(run, few, (), ["png"], tmp_path)][::2]
    # These compare learners, or budgets and strategies.
    missing = {"sessions", "omegas", "costs", "memory", "sampling"}
    assert names == [name for name in KINDS if name not in missing]


def test_flags_draw_what_they_say(probe, run, tmp_path):
    out = tmp_path / "for a paper"
    line = "figures study --only depth,matrix --format png,pdf --width 3.25 --font-size 9 "
    line += f"--font serif --learners yours,ewc --label 'ewc=EWC=old' --out '{out}'"
    code, printed, errors = probe(line)
    assert (code, errors) == (0, "")
    paths = [Path(text) for text in printed.splitlines()]
    names = [f"{name}.{end}" for name in ("depth", "matrix") for end in ("png", "pdf", "txt")]
    assert [path.name for path in paths] == names
    assert all(path.is_file() for path in paths)
    # 300 to an inch.
    assert int.from_bytes(paths[0].read_bytes()[16:20]) == 975
    assert "Learners: yours and EWC=old." in paths[2].read_text("utf-8")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--only dept", "unknown figure 'dept': did you mean 'depth'?"),
        ("--only depth,", "unknown figure ''"),
        ("--format gif", "unknown format 'gif': (known: pdf, png, svg)"),
        ("--format ''", "unknown format ''"),
        ("--learners ewcc", "unknown learner of these tables 'ewcc': did you mean 'ewc'?"),
        ("--learners ewc,ewc", "learners are one name or more, each once"),
        ("--label ewc", "a label is LEARNER=NAME, as er='Replay (ours)', got 'ewc'"),
        ("--label ewc=", "a label is LEARNER=NAME"),
        ("--label who=Me", "unknown learner of these tables 'who'"),
        (r"--label 'ewc=$\nothing$'", "no formula can be set of the label"),
        ("--readouts none", "unknown readout of these tables 'none'"),
        ("--width 0.9", "the width has to be from 1 to 30 inches, got 0.9"),
        ("--width 30.1", "the width has to be from 1 to 30 inches, got 30.1"),
        ("--width nan", "the width has to be from 1 to 30 inches, got nan"),
        ("--width wide", "expected a number"),
        ("--font-size 3", "the font size has to be from 4 to 30 points, got 3"),
        ("--font Nowhere", "the font 'Nowhere' is not installed"),
        ("--only omegas --learners ewc", "there is nothing to draw in figures.omegas"),
    ],
)
def test_wrong_flags_are_one_sentence_each_and_nothing_is_written(probe, run, flags, said):
    code, printed, errors = probe(f"figures study --out new {flags}")
    assert (code, printed) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1
    assert not (run.parent / "new").exists()


def test_a_folder_that_is_no_run_is_told(probe):
    code, _, errors = probe("figures nowhere --only depth")
    assert code == 2
    assert "cannot be read" in errors
