"""`probe run` and `probe list`; for mistakes see test_bad_input."""

import json
from pathlib import Path

from probe.readouts.readout import READOUTS
from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.study_toml import preset_names
from tests.bad_input.making import TINY
from tests.bad_input.refused import contents
from tests.scenarios.table_names import NOTES, TABLES, TIMES


def test_a_finished_study_is_shown_again_and_not_changed(probe, cwd):
    (cwd / "tiny.toml").write_text(TINY)
    line = "run tiny.toml --workers 1 --out done"
    assert probe(line)[0] == 0
    before = contents(cwd)
    code, out, err = probe(line)
    assert (code, err) == (0, "")
    last = "figures: done/figures; tables: done/*.csv"
    assert out.splitlines()[-1] == last
    assert contents(cwd) == before
    everything = probe(f"{line} --tables")[1]
    assert {"hidden1", "hidden2", "output", "finetune", "offline"} <= set(
        everything.split()
    )
    assert "in %: one seed" in everything
    # Without the flag, the answer alone.
    assert "finetune forgot " in out
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) < len(everything.splitlines())
    drawn = json.loads((cwd / "done" / "figures" / "drawn.json").read_bytes())["files"]
    assert {Path(file).stem for file in drawn} >= {"depth", "matrix"}
    files = ["report.html", "layers.csv", "retraining.csv", *TABLES, TIMES, NOTES]
    files += [f"figures/{name}" for name in drawn]
    assert all((cwd / "done" / name).stat().st_size for name in files)


def test_list_names_everything_that_a_study_can_name(probe):
    code, out, err = probe("list --json")
    known = json.loads(out)
    assert (code, err) == (0, "")
    flat = " ".join(probe("list")[1].split())
    for kind, expected in (
        ("presets", preset_names()),
        ("data_sets", [*LOADERS, "NAME.npz"]),
        ("learners", list(LEARNERS)),
        ("readouts", list(READOUTS)),
        ("networks", list(ARCHITECTURES)),
    ):
        assert [entry["name"] for entry in known[kind]] == expected
        assert all(name in flat for name in expected)
