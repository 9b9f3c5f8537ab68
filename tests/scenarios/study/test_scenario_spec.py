"""The four kinds of scenario as a TOML file says them, and every mistake by its path."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import torch

from probe.errors import InputError
from scenarios.data.datasets import Location, load
from scenarios.streams.permuted import permutation
from scenarios.study.scenario_spec import KINDS
from scenarios.study.source import check_study
from scenarios.study.spec import Study

STUDY = """
name = "tiny"
[network]
name = "mlp"
[learners.finetune]
[scenario]
"""


def study(text: str, **given: Any) -> Study:
    return check_study({**tomllib.loads(STUDY + text), **given}, "tiny.toml")


def problem(text: str, **given: Any) -> str:
    with pytest.raises(InputError) as error:
        study(text, **given)
    return str(error.value).removeprefix("tiny.toml: ")


SAID = {
    "split": 'data = "digits"\nclasses_per_task = 5',
    "permutation": 'kind = "permutation"\ndata = "digits"\nsessions = 3\npermutations = 4',
    "incremental": 'kind = "incremental"\ndata = "digits"\nbase = 8',
    "multimodal": 'kind = "multimodal"\ndata = ["digits", "breast_cancer"]',
}


@pytest.mark.parametrize(
    ("kind", "title", "names", "classes"),
    [
        ("split", "digits", ["0-4", "5-9"], [5, 5]),
        ("permutation", "digits, permuted", ["1", "2", "3"], [10, 10, 10]),
        ("incremental", "digits, class by class", ["0-7", "8", "9"], [8, 1, 1]),
        ("multimodal", "digits and breast_cancer", ["digits", "breast_cancer"], [10, 2]),
    ],
)
def test_each_kind_is_made_of_its_own_keys(
    kind: str, title: str, names: list[str], classes: list[int]
) -> None:
    spec = study(f"{SAID[kind]}\ntrain_limit = 3\ntest_limit = 2").scenario
    scenario = spec.scenario(Location())
    assert (spec.kind, spec.title, scenario.kind) == (kind, title, kind)
    assert [task.name for task in scenario.tasks] == names
    assert [len(task.classes) for task in scenario.tasks] == classes
    assert [len(task.train) for task in scenario.tasks] == [3 * k for k in classes]
    assert [len(task.test) for task in scenario.tasks] == [2 * k for k in classes]
    assert len(scenario.test) == sum(len(task.test) for task in scenario.tasks)


def test_the_tests_name_every_kind() -> None:
    assert tuple(SAID) == KINDS


def test_what_is_left_out_has_the_papers_values() -> None:
    permuted, by_class = (
        study(f'kind = "{kind}"\ndata = "digits"\ntrain_limit = 1').scenario
        for kind in ("permutation", "incremental")
    )
    assert len(permuted.scenario(Location()).tasks) == 10
    assert [len(t.classes) for t in by_class.scenario(Location()).tasks] == [5, 1, 1, 1, 1, 1]


def test_the_seed_of_the_permutations_is_the_studys_and_no_learners() -> None:
    """Session 3 is `permutation(64, 3, 4)` of the data, whatever the seeds of the study."""
    given, plain = study(SAID["permutation"]), load("digits").test.x.flatten(1)
    session = given.scenario.scenario(Location()).tasks[2].test.x.flatten(1)
    assert torch.equal(session, plain[:, permutation(64, 3, 4)])
    assert not torch.equal(session, plain[:, permutation(64, 3, 0)])


@pytest.mark.parametrize("kind", KINDS)
def test_validation_holds_out_training_data_in_every_kind(kind: str) -> None:
    spec = study(f"{SAID[kind]}\nvalidation = 4").scenario
    whole = study(SAID[kind]).scenario.scenario(Location())
    held = spec.scenario(Location())
    for task, all_of_it in zip(held.tasks, whole.tasks, strict=True):
        assert len(task.test) == 4 * len(task.classes)
        assert len(task.train) == len(all_of_it.train) - len(task.test)
        known = {tuple(x.tolist()) for x in all_of_it.train.x.flatten(1)}
        assert {tuple(x.tolist()) for x in task.test.x.flatten(1)} <= known


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "permutation"', "scenario.data: this key is needed"),
        (
            'kind = "incremental"\ndata = "digit"',
            "scenario.data: unknown data set 'digit': did you mean 'digits'",
        ),
        (
            'kind = "incremental"\ndata = "digits"\nbase = 0',
            "scenario.base: expected 1 or more, got 0",
        ),
        (
            'kind = "multimodal"\ndata = ["digits", "mnits"]',
            "scenario.data.1: unknown data set 'mnits': did you mean 'mnist'",
        ),
        ('kind = "multimodal"\ndata = ["digits"]', "scenario.data.1: this key is needed"),
        *(
            (f"{SAID[kind]}\n{key} = 2", f"scenario.{key}: unknown key")
            for kind, key in [
                ("split", "sessions"),
                ("permutation", "classes_per_task"),
                ("incremental", "permutations"),
                ("multimodal", "base"),
            ]
        ),
    ],
)
def test_a_mistake_is_named_by_its_path(text: str, message: str) -> None:
    """And is not followed by another; more of them in `tests/bad_input/toml_keys.py`."""
    assert problem(text).startswith(message)
    assert "; " not in problem(text)


PATHNET: dict[str, Any] = {"finetune": {}, "pathnet": {}}


@pytest.mark.parametrize(
    ("kind", "heads", "reason"),
    [
        ("split", ["single"], 'single-head is unknown: report heads = ["multi"], or leave it out'),
        ("permutation", ["all", "single"], "single-head is unknown: report heads"),
        ("incremental", ["multi"], "in a session of one class is its label: leave it out"),
    ],
)
def test_a_learner_that_must_be_told_the_task_is_refused_where_it_is_not(
    kind: str, heads: list[str], reason: str
) -> None:
    said = problem(SAID[kind], learners=PATHNET, report={"heads": heads})
    assert said.startswith("learners.pathnet: it has an output layer for each task and must be")
    assert reason in said
    # It is that learner's fault alone.
    assert study(SAID[kind], learners={"finetune": {}}, report={"heads": heads})


def test_a_split_into_single_classes_tells_the_label_too() -> None:
    """With two classes per task it does not."""
    given: dict[str, Any] = {"learners": PATHNET, "report": {"heads": ["multi"]}}
    said = problem('data = "digits"\nclasses_per_task = 1', **given)
    assert "in a session of one class is its label" in said
    assert study('data = "digits"\nclasses_per_task = 2', **given)


@pytest.mark.parametrize("kind", ["split", "permutation", "multimodal"])
def test_multi_head_it_may_learn(kind: str) -> None:
    assert study(SAID[kind], learners=PATHNET, report={"heads": ["multi"]}).learners["pathnet"]
