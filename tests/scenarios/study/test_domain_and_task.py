"""Studies of kind domain and task: shifts, learners that are told the task, and data with tasks."""

import pytest

from probe.errors import InputError
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS
from scenarios.options import RunOptions
from scenarios.study.spec import Study
from scenarios.study.study_file import check_study, overridden
from tests.scenarios.learners.tiny_learners import SMALL

SHIFTS = {
    "rotate": {"angles": [0, 90]},
    "permute": {"sessions": 2},
    "classes": {"classes_per_task": 5},
}
MULTI = {"report": {"heads": ["multi"]}}
CANNOT = {"cumulative", "icarl", "icarl_hybrid1", "geppnet", "geppnet_stm"}


def study(scenario: dict[str, object], *learners: str, **given: object) -> Study:
    raw = {
        "name": "tiny",
        "scenario": {"data": "digits", "train_limit": 4, **scenario},
        "network": {"name": "mlp"},
        "learners": {kind: SMALL.get(kind, {}) for kind in learners or ("finetune",)},
    }
    return check_study({**raw, **given}, "tiny.toml")


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_shift_takes_its_own_keys_alone(shift: str) -> None:
    whole = study({"kind": "domain-incremental", "shift": shift, **SHIFTS[shift]})
    spec = check_study(whole.model_dump(warnings="error"), "again").scenario
    assert spec == whole.scenario
    tasks = spec.scenario(Location()).tasks
    assert (len(tasks), len({task.classes for task in tasks})) == (2, 1)
    with pytest.raises(InputError, match=f"{shift} has no base"):
        study({"kind": "domain-incremental", "shift": shift, **SHIFTS[shift], "base": 2})


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if kind != "untrained"])
def test_every_learner_is_told_the_task_or_refused(kind: str) -> None:
    if kind in CANNOT:
        with pytest.raises(InputError, match=f"{kind} has no loss_classes = .*leave it out"):
            study({"kind": "task-incremental"}, kind, **MULTI)
        return
    told = study({"kind": "task-incremental"}, kind, **MULTI)
    assert told.scenario.task_aware
    assert getattr(told.learners[kind], "loss_classes", "task") == "task"
    assert overridden(told, RunOptions(seeds=3)).learners == told.learners


def test_what_a_study_says_of_competing_outputs_stays() -> None:
    told = study(
        {"kind": "task-incremental"}, learners={"finetune": {"loss_classes": "all"}}, **MULTI
    )
    assert told.learners["finetune"].model_dump()["loss_classes"] == "all"
