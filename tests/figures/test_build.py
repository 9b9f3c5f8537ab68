import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.text import Text

from figures.build import build
from probe.errors import InputError
from probe.tables.rows import LearnerRow, MetricRow, Row, SummaryRow, TimeRow, write_table
from probe.tables.summary import summarize

FIGURES = [
    *("depth", "bias", "matrix", "curves", "tasks", "sessions", "omegas", "costs", "tradeoff"),
    *("memory", "sampling", "spider", "scores"),
]
NAMES = [f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]


@pytest.fixture
def write(storing, timed):
    """Return a function that writes the tables of a study into a folder, and returns the folder."""

    def write(folder: Path, rows: list[Row], metrics: Sequence[MetricRow] = ()) -> Path:
        folder.mkdir(exist_ok=True)
        write_table(folder / "rows.csv", Row, rows)
        write_table(folder / "summary.csv", SummaryRow, summarize(rows))
        write_table(folder / "metrics.csv", MetricRow, metrics)
        learners = dict.fromkeys(row.learner for row in metrics)
        stored = [
            storing(name, "er", per_class=int(name[2:4]), sampling=name[5:]) for name in learners
        ]
        write_table(folder / "learners.csv", LearnerRow, stored)
        write_table(folder / "times.csv", TimeRow, timed(learners, tasks=2))
        return folder

    return write


@pytest.fixture
def rows(study):
    return study(["finetune", "offline"], ["conv1", "output"], tasks=2)


@pytest.fixture
def metrics(scored):
    return scored(["er10-uniform", "er20-uniform", "er10-entropy"], tasks=2)


@pytest.mark.parametrize("name", [r"$\frac{$", r"\$x$", "a$b_c$"])
def test_a_name_is_drawn_as_it_is_and_not_as_a_formula(
    rows, metrics, write, tmp_path, monkeypatch, name
):
    drawn: list[Figure] = []
    monkeypatch.setattr("figures.style.save", lambda figure, *_: drawn.append(figure) or [])
    rows = [replace(row, learner=row.learner.replace("finetune", name)) for row in rows]
    score = replace(metrics[0], paper="diaz_rodriguez", metric=f"cl_score[{name}]", mean=0.5)
    build(write(tmp_path / "run", rows, [*metrics, score]))
    texts = {text.get_text() for figure in drawn for text in figure.findobj(Text)}
    named = [text for text in texts if text.replace(r"\$", "$") == name]
    assert named
    assert not any(is_math_text(text) for text in named)
    assert any(is_math_text(text) for text in texts)


def test_the_same_tables_give_the_same_bytes_and_others_do_not(rows, metrics, write, tmp_path):
    one, two = (build(write(tmp_path / name, rows, metrics)) for name in ("one", "two"))
    assert [path.name for path in one] == NAMES
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    changed = [replace(row, value=1 - row.value) for row in rows]
    others = [replace(row, mean=1 - row.mean) for row in metrics]
    other = build(write(tmp_path / "three", changed, others))
    assert all(a.read_bytes() != b.read_bytes() for a, b in zip(one, other, strict=True))


def test_of_a_table_with_several_heads_the_first_is_drawn_and_each_line_is_checked(
    rows, metrics, write, tmp_path
):
    single = [row for row in rows if row.measure == "accuracy"]
    others = [replace(row, head="multi", value=1 - row.value) for row in single]
    alone, mixed = (
        build(write(tmp_path / name, own, metrics))
        for name, own in (("alone", rows), ("mixed", [*rows, *others]))
    )
    assert [p.read_bytes() for p in alone] == [p.read_bytes() for p in mixed]
    turned = build(write(tmp_path / "turned", [*others, *rows], []))
    drawn = {path.name: path.read_bytes() for path in alone}
    for path in turned:
        if path.stem in ("matrix", "curves", "tasks"):
            assert path.read_bytes() != drawn[path.name]
    table = tmp_path / "mixed" / "rows.csv"
    table.write_text(table.read_text().replace("multi,,,accuracy,1,", "multi,,,accuracy,one,"))
    with pytest.raises(
        InputError, match=r"rows\.csv, line \d+: 'one' cannot be the value of place"
    ):
        build(tmp_path / "mixed")


def test_pngs_are_for_print_and_svgs_carry_no_date(rows, write, tmp_path):
    run = write(tmp_path / "run", [row for row in rows if row.measure == "pra"])
    png, svg = (path.read_bytes() for path in build(run))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20]) >= 3.4 * 200
    assert b"<svg" in svg
    assert b"<dc:date>" not in svg


def test_a_figure_with_nothing_to_draw_is_skipped_and_its_old_picture_removed(
    rows, write, tmp_path
):
    run = write(tmp_path / "run", [row for row in rows if row.measure == "pra"])
    (run / "figures").mkdir()
    (run / "figures" / "bias.png").write_bytes(b"of an earlier table")
    assert [path.name for path in build(run)] == ["depth.png", "depth.svg"]
    assert sorted(path.name for path in (run / "figures").iterdir()) == ["depth.png", "depth.svg"]


def test_a_study_of_offline_alone_writes_nothing(rows, write, tmp_path):
    run = write(tmp_path / "run", [row for row in rows if row.learner == "offline"])
    assert build(run) == []
    assert not (run / "figures").exists()


@pytest.mark.parametrize("missing", ["rows.csv", "summary.csv", "metrics.csv", "learners.csv"])
def test_a_missing_table_says_so_and_nothing_is_written(missing, rows, write, tmp_path):
    run = write(tmp_path / "run", rows)
    (run / missing).unlink()
    with pytest.raises(InputError, match=rf"{missing} cannot be read.*run the study first"):
        build(run)
    assert not (run / "figures").exists()


def test_an_older_directory_has_every_figure_but_those_of_what_it_lacks(
    rows, metrics, write, tmp_path
):
    """Older runs have no times.csv, and no alphas among their metrics."""
    old = [row for row in metrics if not row.metric.startswith("alpha_")]
    run = write(tmp_path / "run", rows, old)
    (run / "times.csv").unlink()
    lacking = [name for name in FIGURES if name not in ("sessions", "costs")]
    assert [path.stem for path in build(run)][::2] == lacking


def test_times_that_cannot_be_read_are_an_error_though_they_may_be_missing(rows, write, tmp_path):
    run = write(tmp_path / "run", rows)
    (run / "times.csv").write_text("learner,seconds\n")
    with pytest.raises(InputError, match=r"times.csv: expected the columns"):
        build(run)
    assert not (run / "figures").exists()


def test_drawing_loads_neither_torch_nor_pyplot(rows, metrics, write, tmp_path):
    run = write(tmp_path / "run", rows, metrics)
    code = (
        "import sys; from pathlib import Path; from figures.build import build; "
        "assert len(build(Path(sys.argv[1]))) == 26; "
        "print(sorted({'torch', 'matplotlib.pyplot', 'scenarios'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, run], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(("count", "told_apart"), [(14, True), (15, False)])
def test_a_sweep_of_more_learners_than_looks_has_no_figure_with_a_legend_of_them(
    count, told_apart, scored, rows, write, tmp_path
):
    sweep = scored([f"er{10 + k}-uniform" for k in range(count)], tasks=2)
    names = {path.stem for path in build(write(tmp_path, rows, sweep))}
    assert ({"tasks", "tradeoff", "spider", "scores", "depth", "bias"} <= names) is told_apart
    assert ({"sessions", "costs"} <= names) is told_apart
    assert {"matrix", "curves", "omegas", "memory"} <= names
