"""The first task, learned once by all learners of a run that begin alike."""

from pathlib import Path

import pytest

from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import store_of
from probe.training.costs import OpsMeter
from scenarios.data.datasets import Location
from scenarios.learners.continual import ContinualLearner
from scenarios.study import checkpoints
from scenarios.study.study_file import check_study
from tests.scenarios.learners.tiny_learners import learner
from tests.scenarios.study.toy import made_plan

RAW = {
    "name": "alike",
    "scenario": {"data": "digits", "classes_per_task": 2, "train_limit": 6, "test_limit": 4},
    "network": {"name": "mlp", "features": ["hidden1"]},
    "training": {"epochs": 2, "batch_size": 5},
    "orders": {"there": [1, 2, 3, 4, 5], "back": [5, 4, 3, 2, 1]},
    "probing": {"readouts": {"linear": "last"}, "diagnostics": False},
}


def test_it_is_not_inherited_nor_taken_from_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's learner may train otherwise than the one that it is derived from."""
    study = check_study({**RAW, "learners": {"finetune": {}}}, "alike")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    job = next(job for job in jobs_of(plan) if job.learner == "finetune")
    store = store_of(plan, tmp_path, job)
    theirs = type("Theirs", (ContinualLearner,), {})
    assert checkpoints.first_task(plan, job, learner("finetune", of=theirs), store) is None
    first, data = (
        scenario.reordered(job.tasks).tasks[0],
        scenario.reordered(job.tasks).tasks[0].train,
    )
    before, trained = learner("finetune"), []
    for code in ("this", "other", "other"):
        monkeypatch.setattr(checkpoints, "code_hash", lambda _, code=code: code)
        own = checkpoints.first_task(plan, job, before, store)
        assert own is not None
        own.train(learner("finetune"), first, data, OpsMeter())
        trained.append(own.spared == 0)
    assert trained == [True, True, False]
