"""`probe init`: the study it writes runs as it is, and no file is overwritten."""

import csv
import re
import tomllib

import numpy as np
import pytest

from scenarios.study.study_file import check_study
from scenarios.study.study_toml import read_study

pytestmark = pytest.mark.usefixtures("undrawn")
FEW = "--epochs 1 --seeds 1 --train-limit 4 --learners finetune --workers 1"


def features(run):
    with (run / "layers.csv").open(newline="") as file:
        return {row["feature"] for row in csv.DictReader(file)}


def test_the_study_runs_as_it_is(probe, cwd):
    assert probe("init") == (0, "wrote study.toml\nnext: probe run study.toml\n", "")
    study = check_study(read_study(str(cwd / "study.toml")), "study.toml")
    assert (study.scenario.title, study.network.name) == ("digits", "cnn3")
    assert list(study.learners) == ["finetune", "er", "offline"]
    assert probe(f"run study.toml {FEW}")[0] == 0
    assert features(cwd / "runs" / "study") >= {"conv1", "conv2", "conv3"}


def test_user_defined_code_runs_as_it_is(probe, cwd):
    (cwd / "own").mkdir()
    code, out, _ = probe("init own/sub.toml --own --learners er,offline")
    *wrote, command = out.splitlines()
    assert (code, wrote) == (0, ["wrote own/sub.toml", "wrote own/mynets.py"])
    assert command == "next: probe run own/sub.toml --load own/mynets.py"
    line = command.removeprefix("next: probe ")
    assert probe(f"{line} --epochs 1 --seeds 1 --workers 1")[0] == 0
    assert len(features(cwd / "runs" / "sub")) >= 2
    # The file alone runs no code: it names what only the flag loads.
    code, _, err = probe("run own/sub.toml")
    assert code == 2
    assert "--load" in err


def test_every_key_of_a_commented_line_is_a_key(probe, cwd):
    """A study without the `# ` is one, too."""
    assert probe("init all.toml --learners finetune")[0] == 0
    text = (cwd / "all.toml").read_text("utf-8")
    raw = tomllib.loads(re.sub(r"(?m)^# (?=\[?\w+(\] | = (?!\[\.)))", "", text))
    assert raw["retraining"] == {"epochs": 10}
    assert raw["scenario"].keys() >= {"train_limit", "validation"}
    check_study({"name": "all", **raw}, "all.toml")


@pytest.mark.parametrize(("name", "size"), [("cifar100", 20), ("mnist", 2)])
def test_data_that_would_be_downloaded_are_cut_by_their_names(probe, cwd, name, size):
    assert probe(f"init --data {name}")[0] == 0
    study = check_study(read_study(str(cwd / "study.toml")), "study.toml")
    assert study.scenario.classes_per_task == size
    assert study.network.name == "cnn3"


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (4, "classes_per_task = 1"),
        (6, "classes_per_task = 2"),
        (20, "classes_per_task = 4"),
        (7, "tasks = [[0, 1], [2, 3], [4, 5, 6]]"),
        (2, "# tasks = those of the data"),
    ],
)
def test_feature_files_are_cut_into_about_five_tasks(probe, cwd, classes, expected):
    y = np.arange(4 * classes) % classes
    x = np.random.default_rng(0).normal(size=(len(y), 6)).astype(np.float32)
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    # Or not at all, if the file says of which task each example is.
    task = np.arange(len(y)) // 4
    of_tasks = {"task_train": task, "task_test": task} if classes == 2 else {}
    np.savez(cwd / "rows\N{SNOWMAN}\N{BAGEL}.npz", **arrays, **of_tasks)
    (cwd / "a b").mkdir()
    out = probe("init 'a b/study.toml' --data rows\N{SNOWMAN}\N{BAGEL}.npz")[1]
    assert out.endswith("next: probe run 'a b/study.toml'\n")
    (cwd / "a b" / "study.toml").rename(cwd / "study.toml")
    text = (cwd / "study.toml").read_text("utf-8")
    assert expected in text
    assert 'name = "mlp"' in text
    check_study(read_study(str(cwd / "study.toml")), "study.toml")
    assert probe("run study.toml --dry-run")[0] == 0
