import subprocess
import sys

import pandas as pd
import pytest

from figures import build as module
from figures.appearance import learner_appearances
from figures.build import RECORD, build
from figures.options import Options
from figures.plotting import draw_kinds
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, seen
from tests.figures.invented import write

DEFAULT = ("answer", "layers", "depth", "time", "matrix")
NAMES = [f"{name}.{kind}" for name in DEFAULT for kind in ("png", "svg")]
LAYERS = ["conv1", "output"]
ROWS = invented.rows(["finetune", "offline"], LAYERS, tasks=2)
METRICS = invented.metrics(["er10-uniform", "er20-uniform", "er10-entropy"], tasks=2)
MEASUREMENTS = pd.concat([ROWS, invented.courses(["finetune"], LAYERS, steps=2)])
OF_LAYERS = {
    "layers": invented.layers(
        ["finetune"],
        LAYERS,
        tasks=2,
        readouts=("retrain", "retrain@4"),
    ),
    "diagnostics": invented.diagnostics(["finetune"], LAYERS, tasks=2),
}
OTHER_ROWS = ROWS.assign(value=1 - ROWS["value"])
OTHER_METRICS = METRICS.assign(mean=1 - METRICS["mean"])


def contents(run):
    return {path.name: path.read_bytes() for path in (run / "figures").iterdir()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A run directory with every figure, drawn by a process of its own, and its output."""
    run = write(tmp_path_factory.mktemp("drawn"), MEASUREMENTS, METRICS, **OF_LAYERS)
    code = (
        "import sys; from pathlib import Path; from figures.build import build; "
        "print([path.name for path in build(Path(sys.argv[1]))]); "
        "print(sorted({'torch', 'matplotlib.pyplot', 'scenarios'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, run],
        capture_output=True,
        text=True,
    )
    return run, (done.stdout, done.stderr)


def test_every_figure_is_drawn_without_torch_and_pyplot(drawn):
    run, printed = drawn
    assert printed == (f"{NAMES}\n[]\n", "")
    files = contents(run)
    assert sorted(files) == sorted(
        [*NAMES, *(f"{name}.txt" for name in DEFAULT), RECORD]
    )
    for name in DEFAULT:
        assert int.from_bytes(files[f"{name}.png"][16:20]) >= 3.4 * 200
        assert b"<svg" in files[f"{name}.svg"]
        assert b"<dc:date>" not in files[f"{name}.svg"]


@pytest.fixture
def sketched(monkeypatch):
    """Write the word `drawn` for every figure, which is quicker than to draw it."""

    def save(figure, folder, name, *_):
        folder.mkdir(exist_ok=True)
        paths = [folder / f"{name}.png", folder / f"{name}.svg"]
        for path in paths:
            path.write_text("drawn")
        return paths

    monkeypatch.setattr("figures.style.save", save)
    seen.without_layout(monkeypatch)


def test_a_figure_with_nothing_to_draw_is_skipped_and_its_old_picture_removed(
    sketched, tmp_path
):
    run = write(tmp_path, ROWS[ROWS["metric"] == "pra"])
    (run / "figures").mkdir()
    for name in ("bias.png", "bias.txt", "budget.png"):
        (run / "figures" / name).write_bytes(b"of an earlier table")
    assert [path.name for path in build(run)] == ["depth.png", "depth.svg"]
    assert sorted(contents(run)) == ["depth.png", "depth.svg", "depth.txt", RECORD]


@pytest.mark.parametrize("table", ["measurements", "summary", "metrics", "learners"])
def test_a_missing_table_says_so_and_nothing_is_written(table, tmp_path):
    """Diagnostics may be missing, but not unreadable; of only Offline there is no figure."""
    run = write(tmp_path, ROWS[ROWS["learner"] == "offline"])
    assert build(run) == build(run, changed_only=True) == []
    (run / "diagnostics.csv").write_text("learner,value\n")
    with pytest.raises(InputError, match=r"diagnostics\.csv"):
        build(run)
    (run / f"{table}.csv").unlink()
    for changed_only in (False, True):
        with pytest.raises(InputError, match=rf"{table}\.csv"):
            build(run, changed_only)
    assert not (run / "figures").exists()


def test_of_more_learners_than_appearances_no_legend_tells_them_apart(
    sketched, tmp_path
):
    names = [f"er{10 + k}-uniform" for k in range(15)]
    tables = StudyTables.read(write(tmp_path, ROWS, invented.metrics(names, tasks=2)))
    drawn = draw_kinds(["matrix", "omegas", "memory"], tables, Options())
    legends = (legend for figure, _ in drawn.values() for legend in figure.legends)
    texts = {text.get_text() for legend in legends for text in legend.get_texts()}
    assert not texts & {
        "Finetune",
        *(look.label for look in learner_appearances(names).values()),
    }


@pytest.fixture
def run(sketched, monkeypatch, tmp_path):
    """A run directory with two figures and one that has nothing to draw."""
    monkeypatch.setattr(
        "figures.plotting.defaults", lambda tables: ["omegas", "matrix", "bias"]
    )
    build(tables(ROWS, METRICS)(tmp_path))
    return tmp_path


def drawn_again(run):
    """Draw the figures of changed tables; return whether all were drawn, or nothing."""
    for path in (run / "figures").glob("*.svg"):
        path.write_text("as it was")
    paths = build(run, changed_only=True)
    names = ["omegas.png", "omegas.svg", "matrix.png", "matrix.svg"]
    assert paths == [run / "figures" / name for name in names]
    (text,) = {path.read_text() for path in paths[1::2]}
    return text == "drawn"


def tables(rows, metrics):
    return lambda run: write(run, rows[rows["metric"] != "f1"], metrics)


def file(name, text=None):
    """Remove a file of the figures, or write a text into it."""
    return lambda run: (
        (run / "figures" / name).write_text(text)
        if text
        else (run / "figures" / name).unlink()
    )


@pytest.mark.parametrize(
    ("change", "is_drawn"),
    [
        (tables(ROWS, METRICS), False),
        (tables(ROWS, OTHER_METRICS), True),
        (tables(OTHER_ROWS, METRICS), True),
        *((file(name), True) for name in ("omegas.svg", "matrix.txt", RECORD)),
        *((file(RECORD, text), True) for text in ("{", "[]", '{"from": 1}')),
    ],
)
def test_figures_are_drawn_again_if_a_table_has_changed_or_a_file_is_missing(
    run, monkeypatch, change, is_drawn
):
    change(run)
    assert drawn_again(run) is is_drawn
    with monkeypatch.context() as patch:
        patch.setattr("figures.tables.StudyTables.read", None)
        assert drawn_again(run) is False
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    assert drawn_again(run) is True


def test_a_stop_while_figures_are_replaced_leaves_no_record_of_the_old_ones(
    run, monkeypatch
):
    """Else the old tables, should they come back, would be taken for what is drawn."""

    def stop(*arguments):
        raise KeyboardInterrupt

    tables(ROWS, OTHER_METRICS)(run)
    with monkeypatch.context() as patch:
        patch.setattr("figures.style.save", stop)
        with pytest.raises(KeyboardInterrupt):
            build(run, changed_only=True)
    tables(ROWS, METRICS)(run)
    assert drawn_again(run) is True
