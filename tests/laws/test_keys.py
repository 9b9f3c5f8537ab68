"""The law of keys: a changed input moves the results that depend on it, and no other.

Every setting of a study is altered in turn by its type, every other input by hand; see
`tests.laws.keys`. A setting without a rule, or one that no value alters, fails.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
import torch

from probe.errors import InputError
from probe.extensions import DataEntry
from probe.seeding import stream
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS
from scenarios.study.plan import BUILT_IN
from scenarios.study.study_file import check_study
from scenarios.user_code import registered
from tests.laws.keys import alterations, assert_only, of_change, of_study
from tests.scenarios.learners.tiny_learners import SMALL
from tests.scenarios.study.toy import made_plan, scenario

RECIPE = {
    "optimizer": "sgd",
    "momentum": 0.5,
    "iterations": 7,
    "patience": 3,
    "validation": 0.2,
    "weight_decay": 0.1,
    "warmup": 0.1,
    "clip_norm": 1.0,
}
PLAIN = {
    "name": "plain",
    "scenario": {"data": "digits"},
    "network": {"name": "cnn3"},
    "learners": {
        "finetune": {"exemplars": {"per_class": 5}},
        "er": {"training": {"epochs": 3}},
        "offline": {},
        "geppnet": {},
    },
    "seeds": [0, 3],
    "probing": {"readouts": {"retrain": "all", "linear": "all", "linear:2": "all"}},
    "report": {"heads": ["multi"]},
}
FULL = {
    **PLAIN,
    "training": RECIPE,
    "retraining": {**RECIPE, "epochs": 9},
    "orders": "none",
    "learners": {
        "finetune": {"exemplars": {"total": 40}, "freeze": ["conv1"]},
        "offline": {"training": {"learning_rate": 0.5}},
    },
    "probing": {
        "readouts": {"linear": "all", "ncm": "all", "knn": "all", "linear-task": "all"},
        "controls": ["exclusion"],
        "inherited": True,
    },
}


def of_kind(kind):
    """Return a small study of one kind of learner."""
    learner = {"kind": kind, **SMALL.get(kind, {})}
    probing = {"readouts": {"ncm": "last"}}
    return {**PLAIN, "learners": {kind: learner}, "seeds": 1, "probing": probing}


STUDIES = [(PLAIN, ""), (FULL, ""), *((of_kind(kind), "learners") for kind in LEARNERS)]
# It is part of the readout's name.
NAMED = {"Linear.per_class"}


def test_each_setting_moves_what_depends_on_it():
    settings = set()
    tried = set()
    for raw, table in STUDIES:
        study = check_study(raw, "study")
        before = of_study(study)
        for path, name, altered in alterations(raw, table):
            if path[0] == "scenario":
                continue
            settings.add(name)
            for changed in altered:
                tried.add(name)
                depends = of_change(study, changed, path)
                assert_only(before, of_study(changed), depends)
    assert settings - tried == NAMED


def load(seed=0, parts=1):
    """Return training and test examples of 8 classes, perhaps in parts that are tasks."""

    def drawn(purpose):
        y = torch.arange(8).repeat(4)
        return torch.rand(32, 1, 4, 4, generator=stream(seed, purpose)), y

    names = range(parts)
    splits = ([drawn(f"{split} {n}") for n in names] for split in ("train", "test"))
    return tuple(split if parts > 1 else split[0] for split in splits)


DATA = {
    "points": load,
    "others": partial(load, 1),
    "domains": partial(load, 2, 2),
}
DOMAINS = {"kind": "domain-incremental"}
SCENARIOS = [
    {"classes_per_task": 4},
    {"tasks": [[0, 1], [2, 3], [4, 5, 6, 7]]},
    {"kind": "task-incremental", "classes_per_task": 4},
    {"kind": "permutation"},
    {"kind": "incremental"},
    {"kind": "multimodal", "data": ["points", "others"]},
    {**DOMAINS, "shift": "rotate", "angles": [0.0, 90.0]},
    {**DOMAINS, "shift": "permute"},
    {**DOMAINS, "shift": "classes"},
    {**DOMAINS, "source": "dataset", "data": "domains"},
]


# It stands in place of `shift`.
TOGETHER = {"ScenarioSpec.source"}


def test_each_setting_of_a_scenario_moves_everything():
    settings = set()
    tried = set()
    with ExitStack() as stack:
        for name, data in DATA.items():
            entry = DataEntry(name=name, load=data)
            stack.enter_context(registered(entry, "", BUILT_IN))
        for scenario in SCENARIOS:
            table = {"data": "points", **scenario}
            raw = {**PLAIN, "scenario": table, "orders": "none", "seeds": 1}
            raw["learners"] = {"finetune": {"loss_classes": "task"}, "offline": {}}
            study = check_study(raw, "study")
            stream = loaded_data(study)
            before = of_study(study, stream)
            for path, name, altered in alterations(raw, "scenario"):
                settings.add(name)
                for changed in altered:
                    other = loaded_data(changed)
                    if other is None:
                        continue
                    tried.add(name)
                    kinds = {study.scenario.kind, changed.scenario.kind}
                    gets_id = len(kinds) > 1 and "task-incremental" in kinds
                    differs = gets_id or not same(stream, other)
                    depends = everything if differs else nothing
                    assert_only(before, of_study(changed, other), depends)
    assert settings - tried == TOGETHER


def loaded_data(study):
    """Return the scenario of a study, None if the data do not fit its settings."""
    try:
        return study.scenario.scenario(Location())
    except InputError:
        return None


def data_in(stream):
    """Return all tensors of a scenario."""
    splits = [split for task in stream.tasks for split in (task.train, task.test)]
    return [t for split in splits for t in (*tensors(split.x), split.y)]


def same(one, other):
    pairs = [*zip(data_in(one), data_in(other), strict=False)]
    classes = ([task.classes for task in stream.tasks] for stream in (one, other))
    first, second = classes
    return first == second and all(torch.equal(x, y) for x, y in pairs)


STUDY = check_study(FULL, "study")


def by_name():
    """Return a scenario whose inputs are two tensors by name."""
    stream = scenario()
    for task in stream.tasks:
        for split in (task.train, task.test):
            object.__setattr__(split, "x", {"a": split.x, "b": split.x.clone()})
    return stream


@pytest.mark.parametrize("make", [scenario, by_name])
def test_each_datum_moves_everything(make):
    before = of_study(STUDY, make())
    for i in range(len(data_in(make()))):
        stream = make()
        x = data_in(stream)[i]
        # An example is as another of its task.
        x[0] = x[1]
        assert_only(before, of_study(STUDY, stream), everything)


def test_the_order_of_tasks_and_examples_counts_and_no_name():
    before = of_study(STUDY)
    assert_only(before, of_study(STUDY, scenario().reordered([1, 0])), everything)
    turned = scenario()
    for x in data_in(turned)[:2]:
        x.copy_(x.flip(0))
    assert_only(before, of_study(STUDY, turned), everything)
    tasks = tuple(replace(task, name=f"my {task.name}") for task in scenario().tasks)
    named = replace(scenario(), name="mine", tasks=tasks)
    assert_only(before, of_study(STUDY, named), nothing)


@pytest.mark.parametrize(
    ("name", "value", "depends"),
    [
        ("torch.__version__", "9.9", everything),
        ("probe.by_layer.plan.RESULTS_VERSION", RESULTS_VERSION + 1, everything),
        ("numpy.__version__", "9.9", nothing),
        ("platform.node", lambda: "elsewhere", nothing),
    ],
)
def test_versions_that_change_results_move_everything(
    monkeypatch, name, value, depends
):
    before = of_study(STUDY)
    monkeypatch.setattr(name, value)
    assert_only(before, of_study(STUDY), depends)


def test_the_kind_of_the_device_counts_and_not_its_number():
    first, second = (torch.device("cuda", number) for number in (0, 1))
    before = of_study(STUDY, device=first)
    assert_only(before, of_study(STUDY), everything)
    assert_only(before, of_study(STUDY, device=second), nothing)


@pytest.mark.parametrize("raw", [PLAIN, FULL])
def test_no_two_results_have_the_same_address(raw):
    """Not even where two tasks have the same classes, as permuted ones do."""
    task = scenario().tasks[0]
    twins = replace(scenario(), tasks=(task, replace(task, index=2)))
    for stream in (scenario(), twins):
        places = [
            (address, result.tasks_seen, result.feature, result.readout)
            for result, address in of_study(check_study(raw, "study"), stream).items()
            if not result.is_first_task
        ]
        assert len({*places}) == len(places)


def test_learners_come_and_go_and_are_renamed_and_move_no_other():
    study = check_study(PLAIN, "study")
    before = of_study(study)
    for name, table in PLAIN["learners"].items():
        others = {n: t for n, t in PLAIN["learners"].items() if n != name}
        fewer = check_study({**PLAIN, "learners": others}, "study")
        of_rest = of_study(fewer)
        assert_only(of_rest, before, of_learners({name}, {"geppnet"}))
        if name == "offline":
            continue
        others["renamed"] = {"kind": name, **table}
        renamed = of_study(check_study({**PLAIN, "learners": others}, "study"))
        former = {"renamed": name}
        renamed = {
            replace(r, learner=former.get(r.learner, r.learner)): address
            for r, address in renamed.items()
        }
        assert renamed == before


# The code


@pytest.mark.parametrize("module", [*sorted({*MODULES.values()}), TRAINING, ENGINE])
def test_the_code_of_a_learner_counts_for_its_results(monkeypatch, module):
    """Every result names the code of the engine, of trainings, and of its learner."""
    learners = {kind: SMALL.get(kind, {}) for kind in LEARNERS}
    raw = {**of_kind("si"), "learners": learners}
    study = check_study(raw, "study")
    before = of_study(study)

    def other_code(modules):
        return code_hash(modules) + str(module in (*modules, ENGINE))

    monkeypatch.setattr(run_directory, "code_hash", other_code)
    depends = of_learners({n for n, m in MODULES.items() if m == module})
    ...
