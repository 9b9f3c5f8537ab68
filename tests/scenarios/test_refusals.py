"""What studies, data and learners refuse: the type of the error, and the value that it names."""

import sys
from contextlib import ExitStack

import numpy as np
import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.locks import lock
from probe.seeding import stream
from scenarios.data.datasets import Dataset, Location, held_out, load
from scenarios.execution.devices import executor_for
from scenarios.learners.catalog import settings_of
from scenarios.learners.exemplars import Exemplars, ExemplarSettings
from scenarios.learners.gem import project
from scenarios.learners.kemker.pathnet import PathNet
from scenarios.options import RunOptions
from scenarios.study.plan import BUILT_IN
from scenarios.study.study_file import apply_flags, check_study
from scenarios.user_code import loaded
from tests.scenarios.data.test_large_files import arrays
from tests.scenarios.data.test_speech import file_of
from tests.scenarios.data.test_tasks_of_data import X, Y, site
from tests.scenarios.learners.tiny_learners import digits
from tests.scenarios.numbered_data import dataset

LEAST = {
    "name": "tiny",
    "scenario": {"data": "digits"},
    "network": {"name": "mlp"},
}
FINETUNE = {"finetune": {}}
DOMAIN = {"kind": "domain-incremental"}
TASK = {"kind": "task-incremental"}
MULTI = {"heads": ["multi"]}

STUDIES = [
    ({"scenario": {"kind": "incremental", "base": 0}}, "scenario.base"),
    ({"scenario": {**DOMAIN, "shift": "rotate"}}, "angles"),
    ({"scenario": {**DOMAIN, "shift": "permut"}}, "permut"),
    ({"scenario": {**DOMAIN, "source": "datasets"}}, "datasets"),
    ({"scenario": {**TASK, "classes_per_task": 1}}, "learners.finetune"),
    ({"orders": {"back": [2, "1"]}}, "orders.back.1"),
    ({"seeds": [1, 1]}, r"\[1, 1\]"),
    ({"learners": {"er.order-1": {"kind": "er"}}}, "er.order-1"),
    ({"learners": {"er": {"exemplars": {"per_class": 5}}}}, "learners.er.exemplars"),
    ({"learners": {"fel": {"connected": 1e-3}}}, "connected"),
    ({"learners": {"fel": {"firing": 2e-4}}}, "firing"),
    ({"learners": {"offline": {"kind": "finetune"}}}, "offline"),
    ({"learners": {"finetune": {"training": {"init": "torch"}}}}, "training.init"),
    ({"learners": {"finetune": {"training": 5}}}, "got 5"),
    (
        {"learners": {"fel": {}}, "training": {"optimizer": "sgd", "momentum": 0.9}},
        "fel.training",
    ),
    ({"report": {"heads": ["all", "all"]}}, "report.heads"),
]


@pytest.mark.parametrize(("changes", "value"), STUDIES)
def test_a_study_names_what_it_refuses(changes, value):
    scenario = LEAST["scenario"] | changes.get("scenario", {})
    raw = {**LEAST, "learners": FINETUNE, **changes, "scenario": scenario}
    if scenario.get("kind") == "task-incremental":
        raw["report"] = MULTI
    with pytest.raises(InputError, match=rf"^tiny\.toml: .*{value}"):
        check_study(raw, "tiny.toml")


def test_flags_are_refused_together():
    study = check_study({**LEAST, "learners": FINETUNE}, "tiny")
    with pytest.raises(InputError, match=r"orders: .*'x'.*; seeds: .* got 0"):
        apply_flags(study, RunOptions(seeds=0, orders="x"))


@pytest.mark.parametrize(
    "table",
    [
        5,
        [],
        "er",
        {},
        {"kind": "err"},
        {"kind": []},
    ],
)
def test_what_names_no_learner_is_refused(table):
    with pytest.raises(ValueError, match=r"kind|Settings|learner"):
        settings_of(table)


SPEECH = {
    "0 to the number": {"audio": np.zeros(99, np.int16)},
    "one whole number": {"index": np.zeros(19, np.uint8)},
    "per recording": {
        "audio": np.zeros(0, np.int16),
        "offsets": np.zeros(1, int),
        "label": np.zeros(0, int),
        "index": np.zeros(0, int),
    },
    "by 256 samples": {"offsets": np.array([0, 255, *[6000] * 19])},
    "16000": {"sample_rate": np.array(16000)},
}


@pytest.mark.parametrize("value", SPEECH)
def test_a_file_without_spoken_digits_is_refused(tmp_path, value):
    with pytest.raises(InputError, match=rf"fsdd.npz .*{value}"):
        load("spoken_digits", file_of(tmp_path, **SPEECH[value]))


@pytest.mark.parametrize(
    ("files", "value"),
    [
        (
            {
                "2": {},
                "3": {},
            },
            r"\[2, 3\]",
        ),
        (
            {
                "1": {},
                "01": {},
            },
            r"\[1, 1\]",
        ),
        (
            {
                "0": {},
                "2": {},
            },
            r"\[0, 2\]",
        ),
        (
            {
                "1": {},
                "2": {
                    "x_train": X[:4, :2],
                    "x_test": X[:2, :2],
                },
            },
            r"float32 \(0, 3\)",
        ),
        (
            {
                "1": {
                    "task_train": Y[:4],
                    "task_test": Y[:2],
                },
                "2": {},
            },
            "task ids",
        ),
        ({"1": {"task_train": np.zeros(4)}}, "task_train is float64"),
        ({"x": {}}, r"x\.npz"),
    ],
)
def test_files_of_tasks_that_do_not_fit_are_refused(tmp_path, files, value):
    for name, changes in files.items():
        site(tmp_path / f"{name}.npz", **changes)
    with pytest.raises(InputError, match=value):
        load(str(tmp_path / "{task}.npz"))


@pytest.mark.parametrize("bad", [np.nan, 1e300])
def test_numbers_that_are_not_finite_are_refused(tmp_path, bad):
    data = arrays(dtype="f8")
    data["x_test"][7] = bad
    np.savez(tmp_path / "a.npz", **data)
    with pytest.raises(InputError, match=r"x_test .* example 7"):
        load(str(tmp_path / "a.npz"))


def test_what_data_lack_is_named(tmp_path):
    with pytest.raises(InputError, match=r"class 1.* not 2"):
        held_out(dataset(2, [0] * 9 + [1, 1]), 2)
    with pytest.raises(InputError, match="spoken_digits"):
        load("spoken_digits", Location(None, download=True))
    y = torch.tensor([0, 2])
    with pytest.raises(InputError, match=r"\[2\]"):
        Dataset(
            name="toy",
            classes=2,
            train=Examples(torch.eye(2), y),
            test=Examples(y[:, None], y),
        )
    with pytest.raises(InputError, match=r"gone"), lock(tmp_path / "gone", wait=True):
        pass
    assert not (tmp_path / "gone").exists()


SOURCE = """
import probe

@probe.readout("constant", steps="last")
class Constant:
    label: int = 0

    def predict(self, x, y, test, classes):
        return y.new_full((len(test),), self.label)
"""


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (('"constant", steps="last"', '"linear"'), "'linear'"),
        (('"constant"', '"retrain-2"'), "retrain"),
        (('"constant"', '"a+bn"'), "letters"),
        (('steps="last"', 'steps="end"'), "'end'"),
        (("def predict", "def read"), "predict"),
        (("label: int", "steps: int"), "steps"),
    ],
)
def test_a_mark_that_cannot_be_is_refused(tmp_path, change, value):
    file = tmp_path / f"mark{abs(hash(change))}.py"
    file.write_text(SOURCE.replace(*change))
    with ExitStack() as stack, pytest.raises(InputError, match=value):
        stack.enter_context(loaded([str(file)], BUILT_IN))


@pytest.mark.parametrize(
    ("flags", "device", "value"),
    [
        ({}, "cuda:1", "cuda:1"),
        ({"gpus_per_job": 0.25}, "cpu", "--gpus-per-job"),
        ({"ray_address": "auto"}, "cpu", r"127\.0\.0\.1:9"),  # by the environment
        (None, "cpu", "pip install"),
    ],
)
def test_flags_that_ray_refuses(monkeypatch, flags, device, value):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    if flags is None:
        monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=value):
        executor_for(RunOptions(executor="ray", **(flags or {})), torch.device(device))


def test_budgets_gradients_and_numbers_of_tasks_are_refused():
    for budget in ({}, {"per_class": 3, "total": 30}, {"per_class": 0}):
        with pytest.raises(ValueError, match="ExemplarSettings"):
            ExemplarSettings(**budget)
    exemplars = Exemplars(ExemplarSettings(total=3))
    tasks = digits(20).tasks
    exemplars.add(torch.nn.Identity(), tasks[0], stream(0, "memory"))
    with pytest.raises(InputError, match="4 classes"):
        exemplars.add(torch.nn.Identity(), tasks[1], stream(0, "memory"))
    for g, past in (([1.0, torch.nan], [1.0, 1.0]), ([1.0, 1.0], [torch.inf, 0.0])):
        with pytest.raises(InputError, match="not finite"):
            project(torch.tensor(g), torch.tensor([past]))
    # Of 256 tasks all indices survive bf16, of 257 not.
    indices = torch.arange(1, 258).float()
    assert (indices.bfloat16().float() == indices).tolist() == [True] * 256 + [False]
    small = settings_of({"kind": "pathnet"})
    PathNet.network(small, (65,), 10, 256)
    with pytest.raises(InputError, match="257"):
        PathNet.network(small, (65,), 10, 257)
