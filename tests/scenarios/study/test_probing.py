"""What `[probing]` may say: readouts and their steps, budgets, and what becomes of them."""

import json

import pytest

from probe.by_layer.probing import ProbingSpec, Reading, named
from probe.errors import InputError
from probe.readouts.readout import Knn, Linear, Ncm
from probe.by_layer.jobs import jobs_of, parts_of, peers_of, readings_of, steps_of
from probe.by_layer.probing import DEFAULT, ProbingSpec, Reading, named
from probe.by_layer.jobs import jobs_of, parts_of, peers_of, readings_of, steps_of
from scenarios.study.source import check_study
from scenarios.study.spec import Study

RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "mlp", "features": ["hidden1", "hidden2"]},
    "learners": {"finetune": {}, "offline": {}},
    "orders": {"there": [1, 2, 3, 4, 5]},
}
T = 5


def study(probing=None, **changes):
    return check_study({**RAW, "probing": probing or {}, **changes}, "tiny")


def job(of, learner):
    return next(each for each in jobs_of(of, T) if each.learner == learner)


def read(of, learner, feature="hidden1"):
    """Return at which steps a learner's feature is read, by readout."""
    found = {}
    for reading in readings_of(of, job(of, learner)):
        if reading.feature == feature:
            found.setdefault(reading.readout, []).append(reading.step)
    return found


def test_what_is_left_out_is_retraining_at_the_ends_and_linear_at_all_steps():
    given = study().probing
    assert given == ProbingSpec()
    assert {name: own.steps for name, own in given.readouts.items()} == {
        "retrain": "ends",
        "linear": "all",
    }
    assert (given.budget, given.batch_norm, given.checkpoints) == ((1,), "kept", "needed")
    assert given.diagnostics


@pytest.mark.parametrize(
    ("steps", "level", "own"),
    [
        ("ends", True, (5,)),
        ("all", True, (1, 2, 3, 4, 5)),
        ("last", False, (5,)),
        ([0], True, ()),
        ([0, 5], True, (5,)),
        ([1, 3], False, (1, 3)),
        ([5], False, (5,)),
    ],
)
def test_steps_are_a_rule_or_a_list(steps, level, own):
    probing = study({"readouts": {"ncm": steps}}).probing
    assert probing.at("ncm", T) == (level, own)


@pytest.mark.parametrize("name", ["retrain", "linear", "ncm", "knn"])
def test_a_readout_may_be_given_by_its_steps_alone(name):
    short = study({"readouts": {name: "ends"}})
    assert short == study({"readouts": {name: {"steps": "ends"}}})
    assert list(short.probing.readouts) == [name]


def test_readouts_that_are_given_replace_the_default_ones():
    assert list(study({"readouts": {"knn": {}}}).probing.readouts) == ["knn"]
    assert study({"readouts": {}}).probing.readouts == {}
    assert study({"budget": [1, 2]}).probing.readouts == ProbingSpec().readouts


def test_the_settings_of_a_readout_are_those_of_the_toolkit():
    given = {"linear": {"C": 2.0}, "ncm": {}, "knn": {"k": 3}, "retrain": {}}
    probing = study({"readouts": given}).probing
    found = {name: probing.settings_of(name) for name in given}
    assert found == {"linear": Linear(C=2.0), "ncm": Ncm(), "knn": Knn(k=3), "retrain": None}


def test_a_study_of_any_probing_goes_through_json_unchanged():
    given = study(
        {
            "readouts": {"retrain": [0, 2, 5], "linear": {"C": 0.5, "steps": "all"}, "knn": "last"},
            "budget": [1, 2, 4],
            "batch_norm": "reestimated",
            "checkpoints": "all",
            "diagnostics": False,
        }
    )
    written = json.loads(json.dumps(given.model_dump(mode="json")))
    assert Study.model_validate(written) == given
    assert check_study(written, "study.json").probing == given.probing


def test_a_study_of_a_version_without_probing_is_given_the_default():
    written = study().model_dump(mode="json")
    del written["probing"]
    assert check_study(written, "study.json") == study()


def test_each_learner_is_read_where_the_study_says_and_the_levels_once():
    given = study({"readouts": {"retrain": "ends", "linear": "all", "ncm": "last", "knn": [1, 3]}})
    assert read(given, "finetune") == {
        "retrain": [5],
        "linear": [1, 2, 3, 4, 5],
        "ncm": [5],
        "knn": [1, 3],
        "diagnostics": [5],
    }
    levels = {"retrain", "linear", "diagnostics"}
    assert read(given, "untrained") == {name: [0] for name in levels}
    assert read(given, "offline") == {name: [5] for name in levels}
    # Behind the output nothing is left to read.
    assert read(given, "finetune", "output") == {}


@pytest.mark.parametrize(
    ("readouts", "there"),
    [
        ({"linear": "ends"}, True),
        ({"linear": "last"}, False),
        ({"linear": [1, 5]}, False),
        ({"linear": [0]}, True),
        ({}, False),
    ],
)
def test_the_floor_is_a_learner_where_something_is_read_at_no_task(readouts, there):
    given = study({"readouts": readouts})
    assert ("untrained" in given.everyone) == there
    assert "untrained" not in given.learners


def test_nobody_measures_a_floor_where_no_network_is_the_studys():
    only = {"geppnet": {}, "offline": {}}
    own = study(learners=only, network={"name": "mlp"})
    assert "untrained" not in own.everyone
    # Their floor is their own network's.
    assert read(own, "geppnet", "som")["linear"] == [0, 1, 2, 3, 4, 5]
    assert "offline" not in peers_of(own, job(own, "geppnet"))


def test_levels_can_be_chosen_by_name():
    alone = study(learners={"untrained": {}})
    assert list(alone.everyone) == ["untrained"]
    assert steps_of(job(alone, "untrained")) == (0,)


def test_parts_come_step_by_step_the_evaluation_first_and_each_has_its_name():
    given = study({"readouts": {"retrain": "all", "linear": "all", "ncm": "all"}, "budget": [1, 2]})
    for learner in given.everyone:
        parts = parts_of(given, job(given, learner))
        assert len(set(parts)) == len(parts)
        step = -1
        for part in parts:
            if part.startswith("step-"):
                step = int(part.removeprefix("step-"))
            elif part.startswith("feature-"):
                assert step == T
            else:
                assert part.startswith(f"row-{step}.")


def test_the_last_row_of_retraining_alone_has_the_name_that_it_always_had():
    given = study({"readouts": {"retrain": "all"}, "budget": [1, 2], "diagnostics": False})
    plain = [p for p in parts_of(given, job(given, "finetune")) if p.startswith("feature-")]
    assert plain == ["feature-hidden1", "feature-hidden2"]
    levels = parts_of(given, job(given, "offline"))
    assert not [part for part in levels if part.startswith("feature-")]


@pytest.mark.parametrize(
    ("changes", "moved"),
    [
        ({"readouts": {"retrain": "ends", "linear": {"C": 2.0}}}, {"linear"}),
        ({"readouts": {"retrain": "all", "linear": "all"}}, set()),
        ({"budget": [1, 2]}, set()),
        ({"batch_norm": "reestimated"}, set()),
        ({"checkpoints": "all"}, set()),
    ],
)
def test_only_what_depends_on_a_setting_has_another_name_with_it(changes, moved):
    def names(of):
        return {(j.name, p) for j in jobs_of(of, T) for p in parts_of(of, j)}

    lost = {part for _, part in names(study()) - names(study(changes))}
    assert {part.rpartition("-")[0].rpartition(".")[2] for part in lost} == moved


def test_levels_have_other_parts_with_another_recipe_for_retraining():
    # Their fingerprint does not hold it, as offline training alone does not depend on it.
    parts = [set(parts_of(s, job(s, "offline"))) for s in (study(), study(retraining={}))]
    assert parts[0] == parts[1]
    other = study(retraining={"epochs": 7})
    lost = parts[0] - set(parts_of(other, job(other, "offline")))
    assert {part.split(".")[2].partition("-")[0] for part in lost} == {"retrain"}


@pytest.mark.parametrize("own", [{"epochs": 7}, {"learning_rate": 0.5}])
def test_similarity_to_offline_is_measured_anew_where_offline_is_trained_otherwise(own):
    def similar(of, learner):
        return {p for p in parts_of(of, job(of, learner)) if "diagnostics" in p}

    other = study(learners={"finetune": {}, "offline": {"training": own}})
    assert similar(study(), "finetune").isdisjoint(similar(other, "finetune"))
    # What changes nothing moves nothing.
    same = {"epochs": study().training.epochs}
    as_before = study(learners={"finetune": {}, "offline": {"training": same}})
    assert similar(as_before, "finetune") == similar(study(), "finetune")


def test_a_last_network_is_compared_with_each_of_its_own_and_with_the_levels():
    given = study()
    peers = {learner: peers_of(given, job(given, learner)) for learner in given.everyone}
    after = [f"step-{step}" for step in range(1, T)]
    assert peers == {
        "finetune": [*after, "untrained", "offline"],
        "offline": ["untrained"],
        "untrained": [],
    }
    assert "offline" not in peers_of(study(learners={"er": {}}), job(given, "finetune"))


def test_the_name_of_a_variant_says_its_budget_and_its_statistics():
    probing = study({"budget": [1, 4], "batch_norm": "reestimated"}).probing
    assert probing.variants("retrain") == ("retrain", "retrain@4", "retrain+bn", "retrain@4+bn")
    assert probing.variants("linear") == ("linear", "linear+bn")
    each = [
        Reading(step=1, feature="hidden1", readout=name) for name in probing.variants("retrain")
    ]
    assert [reading.base for reading in each] == ["retrain"] * 4
    assert [reading.multiple for reading in each] == [1, 4, 1, 4]
    assert [reading.reestimated for reading in each] == [False, False, True, True]
    assert [named(reading.multiple) for reading in each[:2]] == ["retrain", "retrain@4"]


def test_steps_that_the_stream_does_not_have_are_refused_with_their_table():
    with pytest.raises(InputError, match=r"probing\.readouts\.ncm\.steps: .* from 0 to 5, got 6"):
        jobs_of(study({"readouts": {"ncm": [0, 6]}}), T)
    assert jobs_of(study({"readouts": {"ncm": [0, 5]}}), T)
