"""The first task, learned once by all learners of a run that begin alike."""

from pathlib import Path

import pytest

from probe.by_layer.jobs import jobs_of
from probe.results.run_directory import store_of
from probe.results.tables import write_tables
from probe.training.costs import OpsMeter
from scenarios.data.datasets import Location
from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS, MODULES
from scenarios.learners.continual import Finetune
from scenarios.study import checkpoints
from scenarios.study.study_file import check_study
from tests.scenarios.learners.tiny_learners import digits, equal, learner, noisy_network
from tests.scenarios.study.toy import do, made_plan

ALIKE = [kind for kind in MODULES if "first_task" in vars(LEARNERS[kind])]
LEARNED = ("finetune", "er", "si")
RAW = {
    "name": "alike",
    "scenario": {"data": "digits", "classes_per_task": 2, "train_limit": 6, "test_limit": 4},
    "network": {"name": "mlp", "features": ["hidden1"]},
    "training": {"epochs": 2, "batch_size": 5},
    "orders": {"there": [1, 2, 3, 4, 5], "back": [5, 4, 3, 2, 1]},
    "probing": {"readouts": {"linear": "last"}, "diagnostics": False},
}
TABLES = ("measurements.csv", "costs.csv", "metrics.csv", "learners.csv")


@pytest.mark.parametrize("kind", ALIKE)
def test_learners_that_name_the_same_loss_train_alike_on_the_first_task(kind: str) -> None:
    """With dropout and batch norm, bit for bit; their `end` leaves the model alone."""
    first, way = digits(6).tasks[0], LEARNERS[kind].first_task
    kinds = [kind, next(other for other in ALIKE if LEARNERS[other].first_task == way)]
    each = [learner(one, model=noisy_network(), loss_classes="seen") for one in kinds]
    meters = [OpsMeter(), OpsMeter()]
    for own, meter in zip(each, meters, strict=True):
        own.begin(first)
        own.train(first, own.examples(first), meter)
    trained = {name: one.clone() for name, one in each[0].model.state_dict().items()}
    assert equal(trained, each[1].model.state_dict())
    assert each[0].losses == each[1].losses
    assert (meters[0].total, meters[0].steps) == (meters[1].total, meters[1].steps)
    each[0].seen, each[0].learned = first.classes, 1
    each[0].end(first)
    assert equal(trained, each[0].model.state_dict())


def run(root: Path) -> None:
    """Do the jobs of a study in a folder, and write its tables."""
    root.mkdir(exist_ok=True)
    study = check_study({**RAW, "learners": {kind: {} for kind in LEARNED}}, "alike")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    for job in jobs_of(plan):
        do(study, plan, job, scenario, store_of(plan, root, job))
    write_tables(plan, root)


def test_tables_are_those_of_learners_that_each_learn_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Er takes it from fine-tuning in both orders, si does not."""
    trained: list[tuple[str, int]] = []
    train = Learner.train

    def watched(own: Learner, *given: object) -> None:
        trained.append((own.settings.kind, own.learned))
        train(own, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "train", watched)
    run(tmp_path / "shared")
    begun = [kind for kind, learned in trained if not learned]
    assert [begun.count(kind) for kind in LEARNED] == [2, 0, 2]
    monkeypatch.setattr("scenarios.study.training.first_task", lambda *_: None)
    run(tmp_path / "apart")
    for name in TABLES:
        one, other = (tmp_path / folder / name for folder in ("shared", "apart"))
        assert one.read_bytes() == other.read_bytes(), name


def test_it_is_not_inherited_nor_taken_from_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's learner may train otherwise than the one that it is derived from."""
    study = check_study({**RAW, "learners": {"finetune": {}}}, "alike")
    scenario = study.scenario.scenario(Location())
    plan = made_plan(study, scenario)
    job = next(job for job in jobs_of(plan) if job.learner == "finetune")
    store = store_of(plan, tmp_path, job)
    theirs = type("Theirs", (Finetune,), {})
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
