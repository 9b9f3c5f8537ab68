"""Notes in a study, from a measurement to what the commands print; and several budgets."""

from itertools import product
from operator import itemgetter

import numpy as np

from probe.tables.folder import read_tables
from scenarios.commands.screen.results import note_lines
from tests.scenarios.probed import FINETUNE, OFFLINE, UNTRAINED, predicted, rows
from tests.scenarios.tiny_run import PROBED, TINY, Tiny, forget

RETRAINED = "retrain of hidden1 after 2"
# Weights that decay to nothing at every step: of the last layer only the biases are
# left.
DECAYED = TINY.replace(
    "learning_rate = 0.01",
    'optimizer = "adamw"\nlearning_rate = 1e-6\nweight_decay = 1e6',
)


def printed(text):
    return [line for line in text.splitlines() if line.startswith("note: ")]


def test_a_note_is_in_the_table_and_in_what_is_printed_and_resumed_the_same(
    fresh, probe, monkeypatch
):
    """Of a study whose retrained models predict one class each, which the seed alone decides."""
    fresh.ran(DECAYED, seeds=2)
    table = (fresh.root / "notes.csv").read_bytes()
    downstream = [row for row in rows(fresh, "notes") if row["feature"]]
    for seed, row in enumerate(downstream):
        job = FINETUNE.replace("seed-0", f"seed-{seed}")
        [label] = np.unique(predicted(fresh, job, RETRAINED)[2])
        assert (row["learner"], row["feature"]) == ("finetune", "hidden1")
        assert row["seed"] == str(seed)
        assert row["note"] == f"it predicts class {label} for every test example"
    assert len(downstream) == 2
    # The learners' own outputs are as constant, and are noted of no feature.
    own = {(r["learner"], r["seed"]) for r in rows(fresh, "notes", feature="")}
    assert own == set(product(("finetune", "offline"), "01"))
    for path in fresh.root.glob("jobs/finetune*/*/predictions.npz"):
        forget(path, RETRAINED)
    said = fresh.run(DECAYED, seeds=2)
    label = "note: finetune, hidden1, by retrain, after 2 tasks, in 1 run"
    lines = [f"{label}: {row['note']}" for row in downstream]
    # Those on networks come first, and beyond a few lines notes are only counted.
    assert [line for line in printed(said) if "hidden1" in line] == lines[:1]
    assert (fresh.root / "notes.csv").read_bytes() == table
    # `probe figures` says them of the tables alone.
    monkeypatch.setattr("scenarios.commands.figures.build", lambda root: [])
    code, out, err = probe(f"figures {fresh.root}")
    assert (code, err) == (0, "")
    assert out.splitlines() == note_lines(read_tables(fresh.root)["notes"])
    # The table is there as long as there are notes.
    assert printed(fresh.run(TINY.replace("epochs = 1", "epochs = 30"))) == []
    assert not (fresh.root / "notes.csv").exists()


# Budgets: one training read at several lengths

LONGER = "[retraining]\nepochs = 6\nbatch_size = 8\nlearning_rate = 0.01\n"
JOBS = {
    FINETUNE: RETRAINED,
    OFFLINE: RETRAINED,
    UNTRAINED: "retrain of hidden1 after 0",
}


def histories(tiny):
    """Return the loss of each retraining after each epoch."""
    key = itemgetter("learner", "order", "seed", "tasks_seen", "feature", "epoch")
    return {key(row): row["loss"] for row in rows(tiny, "retraining")}


def test_a_budget_is_a_readout_that_reads_the_one_training_at_another_length(tmp_path):
    """Bit for bit what so many epochs alone give, histories too: three and six, and six alone."""
    both, twice = (Tiny(tmp_path / name) for name in ("both", "twice"))
    both.ran(PROBED + LONGER.replace("6", "3"), epoch_multiples="1,2")
    twice.ran(PROBED + LONGER)
    for job, name in JOBS.items():
        double = name.replace("retrain", "retrain@2")
        assert (predicted(both, job, double) == predicted(twice, job, name)).all()
    assert histories(both) == histories(twice)
