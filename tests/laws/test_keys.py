"""The law of keys: a changed input moves the results that depend on it, and no other.

Every setting of a study is altered in turn by its type, every other input by hand; see
`tests.laws.keys`. A setting without a rule fails, and a name of settings of which no
value alters any.
"""

import sys
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
import torch

from probe.batch import tensors
from probe.by_layer.code import code_hash
from probe.by_layer.fingerprint import RESULTS_VERSION
from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.plan import CONTROLS
from probe.errors import InputError
from probe.examples import Examples
from probe.results import run_directory
from probe.results.run_directory import survey
from probe.values.allocation import CacheSettings
from scenarios.execution.work import Work
from scenarios.learners.modules import MODULES
from scenarios.study.plan import BUILT_IN
from scenarios.study.study_file import check_study
from scenarios.user_code import loaded
from tests.laws.keys import (
    addresses,
    alterations,
    assert_only,
    everything,
    nothing,
    of_change,
    of_learners,
    of_study,
    result_of,
    stream_of,
)
from tests.probe.results.test_run_directory import keep
from tests.scenarios.learners.tiny_learners import SMALL
from tests.scenarios.study.toy import CPU, made_plan, scenario

RAW = {
    "name": "keys",
    "scenario": {"data": "digits"},
    "network": {"name": "cnn3"},
    "training": {
        "optimizer": "sgd",
        "momentum": 0.5,
        "patience": 3,
        "validation": 0.2,
    },
    "retraining": {"epochs": 9},
    "learners": {
        "finetune": {"exemplars": {"per_class": 5}, "training": {"epochs": 3}},
        "lwf": {"exemplars": {"total": 40}, "freeze": ["conv1"]},
        "offline": {"training": {"learning_rate": 0.5}},
        "geppnet": {},
    },
    "orders": {"a": [1, 2]},
    "probing": {
        "readouts": {"retrain": "all", "linear:2": "all", "knn": "all", "ncm": [2]},
        "controls": ["exclusion"],
        "inherited": True,
    },
    "report": {"heads": ["multi"]},
}


def small(learners, **scenario):
    """Return a study that measures little, over few digits."""
    limits = {"data": "digits", "train_limit": 4, "test_limit": 5}
    study = {**RAW, "learners": learners, "scenario": limits | scenario}
    study |= {"training": {}, "probing": {"readouts": {"ncm": "all"}}}
    return {**study, "orders": "none"}


OF_KIND = {kind: small({kind: SMALL.get(kind, {})}) for kind in MODULES}
OF_DATA = partial(small, {"finetune": {"loss_classes": "task"}, "offline": {}})
STUDIES = [
    (RAW, ""),
    *((raw, "learners") for raw in OF_KIND.values()),
    ({**OF_KIND["er"], "retraining": None}, "training"),
    (OF_DATA(classes_per_task=5), "scenario"),
    (OF_DATA(kind="incremental"), "scenario"),
    (OF_DATA(kind="domain-incremental", shift="rotate", angles=[0.0, 9.0]), "scenario"),
    (OF_DATA(kind="domain-incremental", shift="permute"), "scenario"),
]
NO_VALUE = {"data", "source"}
"""Settings that only another file, or leaving out another setting, would alter."""


def test_each_setting_moves_what_depends_on_it():
    settings = set()
    tried = set()
    for raw, table in STUDIES:
        study = check_study(raw, "study")
        is_toy = table != "scenario"
        before = of_study(study, None if is_toy else stream_of(study.scenario))
        for path, value, changed in alterations(raw, table):
            if not path[0].startswith(table) or (is_toy and path[0] == "scenario"):
                continue
            if not isinstance(value, dict):
                settings.add(path[-1])
            if changed is None:
                continue
            try:
                after = of_study(
                    changed, None if is_toy else stream_of(changed.scenario)
                )
            except InputError:
                continue
            tried.add(path[-1])
            assert_only(before, after, of_change(study, changed, path))
    assert settings - tried == NO_VALUE


# Other inputs

STUDY = check_study({**RAW, "orders": "rotate", "seeds": 2}, "study")


def by_name():
    """Return a scenario in which the inputs of the second task are two by name."""
    first, second = scenario().tasks
    halves = {}
    for split in ("train", "test"):
        examples = getattr(second, split)
        inputs = {"a": examples.x, "b": examples.x.clone()}
        halves[split] = Examples(inputs, examples.y)
    return replace(scenario(), tasks=(first, replace(second, **halves)))


def data_in(stream):
    """Return all tensors of a scenario."""
    splits = [split for task in stream.tasks for split in (task.train, task.test)]
    return [tensor for split in splits for tensor in (*tensors(split.x), split.y)]


def test_each_datum_and_the_order_of_examples_and_tasks_moves_everything():
    before = of_study(STUDY, by_name())
    for i, rows in product(range(len(data_in(by_name()))), ([1, 1], [1, 0])):
        stream = by_name()
        x = data_in(stream)[i]
        x.copy_(x[rows])
        assert_only(before, of_study(STUDY, stream), everything)
    first, second = scenario().tasks
    more_classes = replace(second, classes=(*second.classes, 4))
    for tasks in ((second, first), (first, more_classes)):
        changed = replace(scenario(), tasks=tasks)
        assert_only(of_study(STUDY), of_study(STUDY, changed), everything)


CUDA = torch.device("cuda", 1)


@pytest.mark.parametrize(
    ("name", "value", "depends"),
    [
        ("torch.__version__", "9.9", everything),
        ("probe.by_layer.plan.RESULTS_VERSION", RESULTS_VERSION + 1, everything),
        ("numpy.__version__", "9.9", nothing),
        ("tests.laws.test_keys.CPU", CUDA, everything),
        ("tests.laws.test_keys.CUDA", torch.device("cuda"), nothing),
    ],
)
def test_of_versions_and_devices_only_some_count(monkeypatch, name, value, depends):
    def results():
        return of_study(STUDY, device=CUDA if name.endswith("CUDA") else CPU)

    before = results()
    monkeypatch.setattr(name, value)
    assert_only(before, results(), depends)


def test_no_two_results_have_the_same_address():
    """Not even where two tasks have the same classes, as permuted ones do."""
    task = scenario().tasks[0]
    twins = replace(scenario(), tasks=(task, replace(task, index=2)))
    for stream in (scenario(), twins):
        results = [r for r in of_study(STUDY, stream).items() if not r[0].is_first_task]
        places = {(at, r.tasks_seen, r.feature, r.readout) for r, at in results}
        assert len(places) == len(results)


def test_learners_come_and_go_and_move_no_other():
    # Trained as the others are: only the list of what is compared tells of it.
    learners = RAW["learners"] | {"offline": {}}
    before = of_study(check_study({**RAW, "learners": learners}, "study"))
    for name in learners:
        others = {n: t for n, t in learners.items() if n != name}
        fewer = of_study(check_study({**RAW, "learners": others}, "study"))
        assert_only(fewer, before, of_learners({name}, {"geppnet"}))


# The user's files

IMPORTS = """
from pathlib import Path
import probe
import {}_helper
"""
USER_FILES = {
    "network": """
from torch import nn

WIDTH = len(Path(__file__).with_name("network_width").read_text())

@probe.network("mine", features=["0"])
def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(4, WIDTH), nn.Linear(WIDTH, 4))
""",
    "learner": """
from scenarios.learners.continual import ContinualLearner

@probe.learner("mine")
class Mine(ContinualLearner): ...
""",
    "readout": """
@probe.readout("constant", steps="all")
class Constant:
    def predict(self, x, y, test, classes):
        return y.new_zeros(len(test))
""",
    "data": "@probe.data('mine')\ndef load(): ...\n",
    "metric": "@probe.metric('mine')\ndef score(R): ...\n",
}
OF_USER = {
    "network": of_learners({"finetune", "mine", *CONTROLS}, {"geppnet"}),
    "learner": of_learners({"mine"}),
    "readout": lambda result: result.readout.planned == "constant",
    "data": nothing,
    "metric": nothing,
}


@pytest.mark.parametrize("kind", USER_FILES)
def test_a_file_of_the_user_s_moves_what_uses_it(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "network_width").write_text("...")
    for name, text in USER_FILES.items():
        (tmp_path / f"{name}_file.py").write_text(IMPORTS.format(name) + text)
        (tmp_path / f"{name}_helper.py").write_text("VALUE = 1")
    learners = {"finetune": {}, "mine": {}, "offline": {}, "geppnet": {}}
    raw = {**RAW, "learners": learners, "network": {"name": "mine"}}
    raw["probing"] = {"readouts": {"constant": {}, "ncm": {}}}
    files = [str(tmp_path / f"{name}_file.py") for name in USER_FILES]

    def results():
        for name, part in product(USER_FILES, ("file", "helper")):
            monkeypatch.delitem(sys.modules, f"{name}_{part}", raising=False)
        with loaded(files, BUILT_IN):
            return of_study(check_study(raw, "study"))

    before = results()
    for path in tmp_path.glob(f"{kind}_*"):
        path.write_text(path.read_text() + "\nEDITED = 1")
        after = results()
        assert_only(before, after, OF_USER[kind])
        before = after
    with pytest.raises(InputError, match="mine"):
        check_study(raw, "study")


# A run directory


TRAINING = "scenarios.study.training"


def edited_code(module, modules):
    """Return the hash of code with an edit of a module."""
    return code_hash(modules) + module * (module in modules)


def test_a_resumed_run_makes_what_has_moved_and_nothing_else(tmp_path, monkeypatch):
    raw = small({"si": {}, "offline": {}})
    plan = made_plan(check_study(raw, "study"))
    stored = addresses(plan)
    for job in jobs_of(plan):
        keep(plan, tmp_path, job, *keys_of(plan, job)).finish()
    for change in (
        {},
        {"training": {"epochs": 9}},
        {"retraining": {"epochs": 7}},
        {"learners": {"si": {"strength": 9.0}, "offline": {}}},
        {"seeds": 2},
        {"probing": {"readouts": {"knn": {"k": 3}, "ncm": "last"}}},
    ):
        changed = check_study({**raw, **change}, "study")
        assert_resumed(stored, made_plan(changed), tmp_path)
    monkeypatch.setattr("torch.__version__", "9.9")
    assert_resumed(stored, made_plan(check_study(raw, "study")), tmp_path)
    for module, learners in ((MODULES["si"], {"si"}), (TRAINING, {"si", *CONTROLS})):
        edited = partial(edited_code, module)
        monkeypatch.setattr(run_directory, "code_hash", edited)
        assert_only(stored, addresses(plan), of_learners(learners, learners))
        assert_resumed(stored, plan, tmp_path)


def assert_resumed(stored, plan, root):
    """Check that a run makes the results that are not stored, given by their addresses."""
    wanted = addresses(plan)
    settings = {"loader": None, "device": "cpu", "cache": CacheSettings()}
    work = Work(plan=plan, root=root, recompute=True, **settings)
    for state in survey(plan, root):
        of_job = {result_of(state.job, key) for key in keys_of(plan, state.job)}
        moved = {r for r in of_job if stored.get(r) != wanted[r]}
        assert {result_of(state.job, key) for key in work.keys_left(state.job)} == moved
        shown = {r for r in of_job if stored.get(r, ())[:2] == wanted[r][:2]}
        assert (state.done, state.other_code) == (len(shown), bool(shown & moved))
