"""A job goes on where it was stopped, to the same results; a senseless checkpoint is set aside."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from probe.by_layer.engine import measure
from probe.by_layer.jobs import jobs_of
from probe.by_layer.measurement import Key
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.results.run_directory import store_of
from probe.training.costs import OpsMeter
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS
from scenarios.study import training
from scenarios.study.study_file import check_study
from scenarios.study.training import _DEVICE_FAILED, StudyNetworks
from tests.scenarios.learners.tiny_learners import SMALL, learner
from tests.scenarios.study.toy import do, made_plan, no_offline, outcome
from tests.scenarios.tiny_run import PLAIN, contents, forget, measured

OWN_SETTINGS = {"icarl": {"exemplars": {"total": 20}}}


@cache
def planned(kind, **probing):
    """Return a study of three tasks with one job: the study, its plan, the job and the scenario."""
    raw = {
        "name": "resumed",
        "scenario": {"data": "digits", "tasks": [[0, 1], [2, 3], [4, 5, 6, 7, 8, 9]]},
        "network": {
            "name": "mlp",
            "features": [*LEARNERS[kind].own_features, "output"][-1:],
        },
        "training": {"epochs": 1, "batch_size": 8},
        "learners": {kind: OWN_SETTINGS.get(kind, SMALL.get(kind, {}))},
        "orders": "none",
        "probing": PLAIN | probing,
        "report": {"heads": ["multi"]},
    }
    if kind == "er":
        raw["network"]["features"] = ["hidden1"]
    raw["scenario"] |= {"train_limit": 4, "test_limit": 3}
    study = check_study(raw, "resumed")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    return study, plan, *jobs_of(plan), scenario


class OneJob:
    """The job of such a study, and its store."""

    def __init__(self, kind, root):
        root.mkdir(exist_ok=True)
        self.kind = kind
        self.store = Store(root, "job", {})
        _, _, job, _ = planned(kind)
        self.steps = job.steps

    def run(self):
        """Do what is left and return which measurements that was."""
        return do(*planned(self.kind), self.store)

    def outcomes(self):
        """Return what no two runs differ in, by the key of the measurement."""
        return {key: outcome(m) for key, m in self.store.measurements().items()}

    def lose(self, key, *checkpoints):
        """Lose a measurement, and the checkpoints after so many tasks."""
        forget(self.store.folder / "predictions.npz", str(key))
        for tasks_seen in checkpoints:
            (self.store.folder / f"after-{tasks_seen}.pt").unlink()


@cache
def finished(kind):
    """Return a kind's finished job; no test may change it."""
    own = OneJob(kind, Path(FOLDER.name) / kind)
    own.run()
    return own


FOLDER = TemporaryDirectory()


@pytest.fixture
def copied(tmp_path):
    """Return a copy of the finished job of a kind."""

    def of(kind):
        return OneJob(
            kind, shutil.copytree(finished(kind).store.root, tmp_path / "run")
        )

    return of


@pytest.mark.parametrize("kind", sorted(LEARNERS.keys() - {"untrained"}))
def test_predictions_and_costs_are_the_same_after_a_kill_anywhere(kind, copied):
    """Between the last checkpoint and its measurement, and before it, where it is learned again."""
    own = copied(kind)
    expected = finished(kind).outcomes()
    last = own.steps[-1]
    for checkpoints in ([], [last]):
        own.lose(Key(last), *checkpoints)
        assert own.run() == [Key(last)]
        assert own.outcomes() == expected
    assert {key for key, (*_, cost) in expected.items() if cost} == {
        *map(Key, own.steps[1:])
    }
    assert quarantine_notes(own.store.root) == []


@pytest.mark.parametrize(
    ("lost", "checkpoints"),
    # A lost feature needs the last checkpoint alone.
    [
        *((Key(tasks_seen), []) for tasks_seen in range(3)),
        (Key.parse(3, "hidden1", "retrain"), [2]),
    ],
)
def test_a_lost_measurement_is_made_again_and_nothing_else(copied, lost, checkpoints):
    """No task is learned again: the networks of other steps are whole."""
    own = copied("er")
    own.lose(lost, *checkpoints)
    root = own.store.root
    files = contents(own.store.folder)
    others = measured(root)
    assert own.run() == [lost]
    assert own.outcomes() == finished("er").outcomes()
    assert others.items() < measured(root).items()
    after = contents(own.store.folder)
    assert {name for name in after if after[name] != files.get(name)} == {
        "predictions.npz"
    }


@pytest.mark.parametrize(
    ("diagnostics", "models"), [(False, [0, 1, 1, 1]), (True, [0, 1, 2, 3])]
)
def test_of_a_checkpoint_stays_what_somebody_still_needs(tmp_path, diagnostics, models):
    """Killed after every measurement: the newest one alone can be learned on from."""
    study, plan, job, scenario = planned(
        "er", checkpoints="needed", diagnostics=diagnostics
    )
    results = Store(tmp_path, "job", {})
    kept = {}
    source = StudyNetworks(plan=plan, study=study, scenario=scenario)
    while key := next(measure(source, job, results, CacheSettings(), no_offline), None):
        each = [c for t in job.steps if (c := results.load_checkpoint(t))]
        if not key.feature:
            kept[key.tasks_seen] = sum(c.learner is not None for c in each), len(each)
    assert kept == {
        tasks_seen: (min(tasks_seen, 1), own) for tasks_seen, own in enumerate(models)
    }
    outcomes = {key: outcome(m) for key, m in results.measurements().items()}
    assert finished("er").outcomes().items() <= outcomes.items()
    assert quarantine_notes(tmp_path) == []


# Senseless checkpoints


def as_it_is(state):
    return state


def garbage(state):
    """Other values, so that a learner that took over some of them gives other results."""
    return {name: torch.full_like(tensor, 3) for name, tensor in state.items()}


def longer(state):
    *_, last = state
    return {**garbage(state), last: torch.zeros(len(state[last]) + 1)}


def without(name):
    return lambda state: {own: tensor for own, tensor in state.items() if own != name}


def with_one(name, tensor):
    return lambda state: {**state, name: tensor}


def reshaped(kind):
    """Give what is called so another shape."""
    return lambda state: {
        n: torch.zeros(2, 3) if kind in n else x for n, x in state.items()
    }


SPOILT = {
    "er": [
        without("cost"),
        without("seconds"),
        with_one("unheard", torch.ones(2)),
        without("memory.y"),
        reshaped("memory.x"),
        with_one("memory.y", torch.zeros(1, dtype=torch.int64)),
    ],
    "gem": [without("memory.sizes"), with_one("memory.sizes", torch.tensor([1]))],
}


def cut_back(own, model, learner, every=False):
    """Take the last step away and spoil the checkpoint before it, or every one; return which."""
    *steps, last = own.steps
    own.lose(Key(last), last)
    spoilt = steps[1:] if every else steps[-1:]
    for tasks_seen in spoilt:
        saved = own.store.load_checkpoint(tasks_seen)
        assert saved is not None
        assert saved.learner is not None
        own.store.save_checkpoint(
            tasks_seen, model(saved.model), learner(saved.learner)
        )
    return spoilt


@pytest.mark.parametrize(
    ("kind", "model", "learner", "every"),
    [("er", spoil, as_it_is, True) for spoil in (longer, lambda state: {})]
    + [("er", as_it_is, spoil, False) for spoil in SPOILT["er"]]
    + [("gem", as_it_is, spoil, False) for spoil in SPOILT["gem"]]
    + [("icarl", as_it_is, reshaped("memory.x"), False)]
    + [("rwalk", as_it_is, reshaped("score."), False)],
)
def test_a_checkpoint_from_which_no_learner_can_be_restored_is_set_aside(
    copied, kind, model, learner, every
):
    """And the results are those of a run without it: nothing of it was taken over."""
    own = copied(kind)
    spoilt = cut_back(own, model, learner, every)
    own.run()
    assert own.outcomes() == finished(kind).outcomes()
    notes = quarantine_notes(own.store.root)
    assert all("the learner cannot be restored from it" in note for note in notes)
    assert [note.partition(": ")[0][-10:] for note in notes] == [
        f"after-{t}.pt" for t in spoilt
    ]


def test_other_values_give_other_results(copied):
    """What is set aside above would have been seen, had it been used."""
    own = copied("er")
    cut_back(own, garbage, as_it_is)
    own.run()
    assert own.outcomes() != finished("er").outcomes()
    assert quarantine_notes(own.store.root) == []


@pytest.mark.parametrize("error", [error("gone") for error in _DEVICE_FAILED])
def test_a_device_that_fails_says_nothing_about_a_checkpoint(
    copied, monkeypatch, error
):
    own = copied("er")
    cut_back(own, as_it_is, as_it_is)

    def fail(*_):
        raise error

    monkeypatch.setattr("scenarios.learners.continual.ContinualLearner.restore", fail)
    with pytest.raises(type(error)):
        own.run()
    assert quarantine_notes(own.store.root) == []


def test_a_first_training_is_not_taken_from_other_code(tmp_path, monkeypatch):
    """It is made by this code, made again by another, and then taken."""
    _, plan, job, scenario = planned("finetune")
    store = store_of(plan, tmp_path, job)
    task = scenario.tasks[0]
    is_trained = []
    for code in ("this", "other", "other"):
        monkeypatch.setattr(training, "code_hash", lambda _, code=code: code)
        own = learner("finetune")
        own.begin(task)
        first = training.first_task_store(plan, job, own, store)
        spared = training.train_first_task(first, own, task, task.train, OpsMeter())
        is_trained.append(spared == 0)
    assert is_trained == [True, True, False]
