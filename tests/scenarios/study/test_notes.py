"""Notes in a study: from a part's file to notes.csv and to what the commands print."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from scenarios.study.job import run_job
from tests.scenarios.study.toy_setup import RAW, scenario
from torch import Tensor, nn

from probe.by_layer.jobs import jobs_of
from probe.by_layer.store import Store
from probe.results.run_directory import read_setup, store_of
from probe.tables.rows import NoteRow
from probe.tables.table_file import read_table
from scenarios.commands.screen.results import note_lines
from scenarios.study.source import check_study
from tests.scenarios.tiny_run import PLAIN, TINY, Tiny

# Weights that decay to nothing at every step: of the last layer only the biases are left.
DECAYED = TINY.replace(
    "learning_rate = 0.01",
    'optimizer = "adamw"\nlearning_rate = 1e-6\nweight_decay = 1e6',
)


@pytest.fixture
def noted(fresh: Tiny) -> Tiny:
    """A study of which every retrained model predicts one class."""
    fresh.run(DECAYED, seeds=2)
    return fresh


def rows(tiny: Tiny) -> list[NoteRow]:
    return read_table(tiny.root / "notes.csv", NoteRow)


def learners_own(tiny: Tiny) -> list[tuple[str, int, str]]:
    return [(row.learner, row.seed, row.note) for row in rows(tiny) if not row.feature]


def notes_in(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("note: ")]


def test_a_note_is_in_the_part_in_the_table_and_in_what_is_printed(noted: Tiny) -> None:
    """A single class at each seed, of which nothing but the seed tells which."""
    setup, found = read_setup(noted.root), [row for row in rows(noted) if row.feature]
    jobs = [job for job in jobs_of(setup.study, 2) if job.learner == "finetune"]
    assert [(row.learner, row.order, row.seed, row.feature) for row in found] == [
        (job.learner, job.order, job.seed, "hidden1") for job in jobs
    ]
    for job, row in zip(jobs, found, strict=True):
        part = store_of(setup, noted.root, job).read("feature-hidden1")
        assert part is not None
        assert part.notes == (row.note,)
        [label] = part.counts["single"][0].table.sum(0).nonzero()[0]
        assert row.note == f"it predicts class {label} for every test example"
    said = noted.run(DECAYED, seeds=2)
    assert len(found) == 2
    behind = [f"note: finetune, downstream of hidden1 (1 of 2 jobs): {row.note}" for row in found]
    assert [line for line in notes_in(said) if "behind" in line] == behind
    assert str(noted.root / "notes.csv") in said.splitlines()
    # The learners' own outputs are as constant, and are noted of no feature.
    assert {(learner, seed) for learner, seed, _ in learners_own(noted)} == {
        (learner, seed) for learner in ("finetune", "offline") for seed in (0, 1)
    }


def test_a_study_without_notes_has_no_such_table_and_says_nothing(tiny: Tiny) -> None:
    said = tiny.run()
    assert notes_in(said) == []
    assert "notes.csv" not in said
    assert not (tiny.root / "notes.csv").exists()


def test_the_table_goes_with_its_notes_and_comes_back_with_them(noted: Tiny) -> None:
    before = (noted.root / "notes.csv").read_bytes()
    assert notes_in(noted.run(TINY)) == []
    assert not (noted.root / "notes.csv").exists()
    noted.run(DECAYED, seeds=2)
    assert (noted.root / "notes.csv").read_bytes() == before


def test_fewer_seeds_show_their_own_notes_alone(noted: Tiny) -> None:
    first = [row for row in rows(noted) if row.seed == 0]
    lines = notes_in(noted.run(DECAYED))
    [behind] = [row for row in first if row.feature]
    assert f"note: finetune, downstream of hidden1 (1 of 1 job): {behind.note}" in lines
    assert rows(noted) == first


def test_resumed_it_is_the_same(noted: Tiny) -> None:
    before, table = noted.results(), (noted.root / "notes.csv").read_bytes()
    noted.run(DECAYED, seeds=2)
    assert noted.results() == before
    for path in noted.root.glob("jobs/*/*/feature-hidden1.json"):
        path.unlink()
    noted.run(DECAYED, seeds=2)
    assert {name: of[2] for name, of in noted.results().items()} == {
        name: of[2] for name, of in before.items()
    }
    assert (noted.root / "notes.csv").read_bytes() == table


def test_workers_note_the_same(noted: Tiny, tmp_path: Path) -> None:
    other = Tiny(tmp_path / "other")
    said = other.run(DECAYED, seeds=2, executor="pool", workers=2)
    assert notes_in(said) == note_lines(noted.root)
    assert sum("behind" in line for line in notes_in(said)) == 2
    assert rows(other) == rows(noted)
    assert other.tables() == noted.tables()


def test_probe_figures_says_them_of_the_tables_alone(noted, probe, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("scenarios.commands.figures.build", lambda root: [])
    expected = note_lines(noted.root)
    assert {r.note for r in rows(noted)} == {line.partition("): ")[2] for line in expected}
    assert probe(f"figures {noted.root}") == (0, "\n".join([*expected, ""]), "")
    for name in ("rows.csv", "notes.csv"):
        (tmp_path / name).write_bytes((noted.root / name).read_bytes())
    assert probe(f"figures {tmp_path}") == (0, "\n".join([*expected, ""]), "")


class Detached(nn.Linear):
    """A layer that somebody has taken out of the training."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


def test_parameters_without_gradients_are_noted(
    fresh: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def network(name: str, x: Tensor, classes: int) -> nn.Module:
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
        last = nn.Sequential(Detached(32, 32), nn.ReLU(), nn.Linear(32, classes))
        return nn.Sequential(OrderedDict(hidden1=first, output=last))

    monkeypatch.setattr("scenarios.study.job.network_for", network)
    said = fresh.run(TINY.replace("epochs = 1", "epochs = 5"))
    [note] = [row.note for row in rows(fresh) if row.feature and "left output" in row.note]
    assert note.startswith("its training left output.0.weight, output.0.bias as re-initialized:")
    assert f"note: finetune, downstream of hidden1 (1 of 1 job): {note}" in notes_in(said)


def test_a_class_without_training_examples_is_noted_of_every_feature(tmp_path: Path) -> None:
    recipe = {"epochs": 20, "learning_rate": 0.01}
    raw = {**RAW, "network": {"name": "mlp"}, "training": recipe, "learners": {"finetune": {}}}
    study = check_study({**raw, "orders": "none", "probing": PLAIN}, "lacking")
    (job,) = jobs_of(study, 2)
    store = Store(tmp_path, job.name, {})
    parts = list(run_job(study, job, scenario(labels=(0, 1, 2, 2)), store, torch.device("cpu")))
    lacking = "class 3 has no training examples, and cannot be learned downstream of any feature"
    for part in parts:
        measured = store.read(part)
        assert measured is not None
        assert (lacking in measured.notes) == part.startswith("feature-")
    assert [part for part in parts if part.startswith("feature-")]
