"""The plan: jobs, their measurements, and what decides the key of each."""

import json
from itertools import pairwise

import pytest

from probe.by_layer.jobs import jobs_of, keys_of, peers_of, readout_keys
from probe.by_layer.measurement import Key
from scenarios.study.study_file import check_study
from tests.laws.test_keys import STUDIES
from tests.scenarios.study.toy import made_plan, named_plan

RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "mlp", "features": ["hidden1", "hidden2"]},
    "learners": {"finetune": {}, "offline": {}},
    "orders": {"there": [1, 2, 3, 4, 5]},
}
T = 5
TASKS = tuple((str(k), (2 * k, 2 * k + 1)) for k in range(T))


def plan(probing=None, **changes):
    return named_plan({**RAW, "probing": probing or {}, **changes}, TASKS)


def job(of, learner):
    return next(each for each in jobs_of(of) if each.learner == learner)


def keys(of, learner):
    return set(keys_of(of, job(of, learner)))


def read(of, learner, feature="hidden1"):
    """Return at which steps a learner's feature is read, by readout."""
    found = {}
    for key in readout_keys(of, job(of, learner)):
        if key.feature == feature:
            found.setdefault(str(key.readout), []).append(key.tasks_seen)
    return found


def test_every_plan_and_study_reads_back_from_json():
    for raw, _ in STUDIES:
        given = check_study(raw, "study")
        for one in (given, made_plan(given)):
            record = json.loads(json.dumps(one.model_dump(mode="json")))
            assert type(one).model_validate(record) == one


@pytest.mark.parametrize(
    ("steps", "control", "own"),
    [
        ("ends", True, (5,)),
        ("all", True, (1, 2, 3, 4, 5)),
        ("spread", True, (1, 2, 3, 4, 5)),
        ("last", False, (5,)),
        ([0], True, ()),
        ([1, 3], False, (1, 3)),
    ],
)
def test_steps_are_a_rule_or_a_list_and_may_stand_alone(steps, control, own):
    given = plan({"readouts": {"ncm": steps}})
    assert given == plan({"readouts": {"ncm": {"steps": steps}}})
    assert (given.readouts["ncm"].has_controls, given.steps_of("ncm")) == (control, own)
    # The floor is a learner where something is measured before any task.
    assert ("untrained" in given.learners) == control


@pytest.mark.parametrize("tasks", [10, 11, 23, 100])
def test_more_than_ten_steps_are_thinned_to_ten_unless_all_are_asked_for(tasks):
    """The first and the last remain, of given networks those of the steps that there are."""
    of = tuple((str(k), (2 * k, 2 * k + 1)) for k in range(tasks))
    raw = {
        **RAW,
        "scenario": {"data": "a.npz", "classes_per_task": 2},
        "orders": "none",
    }
    default = named_plan(raw, of)
    found = read(default, "finetune")["linear"]
    assert (found[0], found[-1], len(found)) == (1, tasks, 10)
    gaps = {b - a for a, b in pairwise(found)}
    assert max(gaps) - min(gaps) <= 1
    assert read(default, "untrained")["linear"] == [0]
    every = named_plan({**raw, "probing": {"readouts": {"linear": "all"}}}, of)
    assert read(every, "finetune")["linear"] == list(range(1, tasks + 1))
    own = every.learners["finetune"].model_copy(update={"steps": (0, 2, 4, tasks)})
    few = default.model_copy(update={"learners": {**default.learners, "finetune": own}})
    assert read(few, "finetune")["linear"] == [2, 4, tasks]


def test_each_learner_is_read_at_the_steps_of_the_study_and_the_controls_once():
    steps = {
        "retrain": "ends",
        "linear": "all",
        "ncm": "last",
        "knn": [1, 3],
    }
    given = plan({"readouts": steps})
    assert read(given, "finetune") == {
        **{
            "retrain": [5],
            "linear": [1, 2, 3, 4, 5],
            "ncm": [5],
            "knn": [1, 3],
        },
        "diagnostics": [5],
    }
    controls = {"retrain", "linear", "diagnostics"}
    assert read(given, "untrained") == {name: [0] for name in controls}
    assert read(given, "offline") == {name: [5] for name in controls}
    # Downstream of the output nothing is left to read.
    assert read(given, "finetune", "output") == {}


def test_a_learner_with_its_own_network_has_its_own_floor_and_no_ceiling():
    own = plan(learners={"geppnet": {}, "offline": {}}, network={"name": "mlp"})
    assert "untrained" not in own.learners
    assert read(own, "geppnet", "som")["linear"] == [0, 1, 2, 3, 4, 5]
    assert "offline" not in peers_of(own, job(own, "geppnet"))


def test_a_last_network_is_compared_with_each_of_its_own_and_with_the_controls():
    given = plan()
    peers = {
        learner: peers_of(given, job(given, learner)) for learner in given.learners
    }
    after = [*range(1, T)]
    assert peers.pop("finetune") == [*after, "untrained", "offline"]
    assert peers == {"offline": ["untrained"], "untrained": []}


def test_keys_come_step_by_step_the_output_first_and_no_two_are_the_same():
    given = plan({"readouts": {"retrain": "all", "ncm": "all"}, "budget": [1, 2]})
    ordered = keys_of(given, job(given, "finetune"))
    steps = [key.tasks_seen for key in ordered]
    assert len(set(ordered)) == len(ordered)
    assert steps == sorted(steps)
    assert [ordered[steps.index(k)] for k in range(T + 1)] == [
        Key(k) for k in range(T + 1)
    ]
    # The fingerprint holds the settings of the last retraining, but not of a control's.
    last = {Key.parse(T, feature, "retrain") for feature in ("hidden1", "hidden2")}
    assert {key for key in ordered if key.feature and not key.settings} == last
    assert all(key.settings for key in keys(given, "offline") if key.feature)


def test_no_two_jobs_share_a_folder():
    orders = {"0": [1, 2, 3, 4, 5], "0-seed-0": [2, 1, 3, 4, 5]}
    learners = {"finetune-order-0": {"kind": "er"}, "finetune": {}, "offline": {}}
    jobs = jobs_of(plan(orders=orders, learners=learners, seeds=2))
    # Two learners with two orders each, offline and the floor.
    assert len(jobs) == 2 * (2 + 2 + 1 + 1)
    assert len({job.name for job in jobs}) == len(jobs)
