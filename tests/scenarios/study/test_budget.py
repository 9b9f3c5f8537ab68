"""`--budget`: one training read at several lengths; and trainings that came to nothing, noted."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from torch import Tensor, nn

from probe.training.history import STUCK
from scenarios.commands.screen.results import note_lines
from tests.scenarios.probed import FINETUNE, OFFLINE, UNTRAINED, counts, parts, rows
from tests.scenarios.tiny_run import PROBED, Tiny

JOBS = {FINETUNE: "feature-hidden1", OFFLINE: "row-2.hidden1.retrain"}
JOBS[UNTRAINED] = "row-0.hidden1.retrain"
LONGER = "[retraining]\nepochs = 6\nbatch_size = 8\nlearning_rate = 0.01\n"
SHORT = LONGER.replace("6", "3")


@pytest.fixture(scope="module")
def budgets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tiny]:
    """The study by three epochs, by three and six, and by six alone."""
    folder = tmp_path_factory.mktemp("budgets")
    runs = {"once": (SHORT, {}), "both": (SHORT, {"budget": "1,2"}), "twice": (LONGER, {})}
    found = {name: Tiny(folder / name) for name in runs}
    for name, (recipe, flags) in runs.items():
        found[name].run(PROBED + recipe, **flags)
    return found


def test_each_budget_is_a_readout_and_the_first_is_what_it_is_without(
    budgets: dict[str, Tiny],
) -> None:
    once, both = budgets["once"], budgets["both"]
    assert {row["readout"] for row in rows(both, "rows")} == {"", "linear", "retrain", "retrain@2"}
    for job, part in JOBS.items():
        assert (counts(once, job, part) == counts(both, job, part)).all()
    new = {job: set(own) - set(parts(once)[job]) for job, own in parts(both).items()}
    assert all(len(added) == 1 and "retrain@2" in str(added) for added in new.values())
    same = [row for row in rows(both, "rows") if row["readout"] != "retrain@2"]
    assert same == rows(once, "rows")


def test_a_multiple_is_what_so_many_epochs_alone_give(budgets: dict[str, Tiny]) -> None:
    both, twice = budgets["both"], budgets["twice"]
    for job, part in JOBS.items():
        there = part if part.startswith("row") else "row-2.hidden1.retrain"
        found = counts(both, job, f"{there}@2")
        assert (found == counts(twice, job, part)).all()
    # The epochs between make a difference somewhere.
    assert any(
        (counts(both, job, part) != counts(twice, job, part)).any() for job, part in JOBS.items()
    )


def test_the_histories_of_all_budgets_are_one(budgets: dict[str, Tiny]) -> None:
    """The longest stands in the table, and the shorter are its beginning, bit for bit."""
    key = ("learner", "order", "seed", "step", "feature", "epoch")
    once, both, twice = (
        {
            tuple(row[k] for k in key): (row["loss"], row["accuracy"])
            for row in rows(t, "retraining")
        }
        for t in budgets.values()
    )
    assert len(once) == 3 * (1 + 3)
    assert len(both) == 3 * (1 + 6)
    assert both == twice
    assert {name: both[name] for name in once} == once
    readouts = {name: {r["readout"] for r in rows(t, "retraining")} for name, t in budgets.items()}
    assert readouts == {"once": {"retrain"}, "both": {"retrain@2"}, "twice": {"retrain"}}


def test_a_budget_more_trains_for_it_alone_and_another_way_round_for_none(
    budgets: dict[str, Tiny],
) -> None:
    both = budgets["both"]
    before = parts(both)
    both.run(PROBED + SHORT, budget="1,2")
    assert parts(both) == before


# Trainings that came to nothing

STILL = PROBED.replace("epochs = 1", "epochs = 3").replace(
    "learning_rate = 0.01", 'optimizer = "sgd"\nlearning_rate = 1e-12'
)


def test_trainings_that_never_left_their_first_loss_are_noted_wherever_they_are(
    fresh: Tiny,
) -> None:
    fresh.run(STILL)
    stuck = {
        (row["learner"], row["step"], row["feature"], row["readout"])
        for row in rows(fresh, "notes", note=STUCK)
    }
    assert stuck == {
        *(("finetune", step, "", "") for step in "12"),
        ("offline", "2", "", ""),
        *(
            (learner, step, "hidden1", "retrain")
            for learner, step in (("finetune", "2"), ("offline", "2"), ("untrained", "0"))
        ),
    }
    said = [line for line in note_lines(fresh.root) if STUCK in line]
    assert said == [
        f"note: finetune, offline, untrained, behind hidden1 (3 of 3 jobs): {STUCK}",
        f"note: finetune, offline, after 1 task and after all (2 of 2 jobs): {STUCK}",
    ]


def test_resumed_a_training_that_did_nothing_is_noted_the_same(fresh: Tiny) -> None:
    fresh.run(STILL)
    before = (fresh.root / "notes.csv").read_bytes()
    for path in fresh.root.glob("jobs/*/*/step-2.json"):
        path.unlink()
    fresh.run(STILL)
    assert (fresh.root / "notes.csv").read_bytes() == before


class Nothing(nn.Module):
    """The same for whatever it is given."""

    def forward(self, x: Tensor) -> Tensor:
        return 0 * x


def test_constant_predictions_are_noted_of_every_step_and_readout(
    fresh: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a network that says one class whatever it sees, and whose features are all the same."""

    def network(*_: object) -> nn.Module:
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), Nothing())
        return nn.Sequential(OrderedDict(hidden1=first, output=nn.Linear(8, 10)))

    monkeypatch.setattr("scenarios.study.job.network_for", network)
    fresh.run(PROBED)
    noted = {
        (row["learner"], row["step"], row["feature"], row["readout"])
        for row in rows(fresh, "notes")
        if "for every test example" in row["note"]
    }
    assert noted == {
        *(("finetune", step, "", "") for step in "12"),
        ("offline", "2", "", ""),
        *(("finetune", step, "hidden1", "linear") for step in "12"),
        *(("offline", "2", "hidden1", readout) for readout in ("retrain", "linear")),
        *(("untrained", "0", "hidden1", readout) for readout in ("retrain", "linear")),
        ("finetune", "2", "hidden1", "retrain"),
    }
