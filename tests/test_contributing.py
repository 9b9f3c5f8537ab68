"""The code of CONTRIBUTING.md, put into a copy of the tree, passes the checks there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
# Tests of what is new, by a word in their names.
ROOMS = {
    "learning_accuracy": "tests/probe/metrics probe/metrics/riemer.py",
    "test_metrics_command": "tests/scenarios/commands/test_metrics_command.py",
    "test_scorecard": "tests/probe/metrics",
    "learned": "tests/figures/kinds/test_every_kind.py tests/figures/test_plotting.py",
    "perturb": "tests/scenarios/learners tests/scenarios/study/test_results_version.py",
    "median": "tests/probe/readouts/test_readout.py",
}
BLOCK = re.compile(
    r"(?:[Aa] new\s+file\s`(?P<new>[^`]+)`:|[Ii]n\s`(?P<old>[^`]+)`,"
    r" (?P<where>above|at the end of) `(?P<name>\w+)`:)"
    r"\n\n```(?:python|text)\n(?P<code>.*?)```",
    re.DOTALL,
)
STARTS = {
    "above": r"\n(?={} = )",
    "at the end of": r"\n{}\b[^\n]* = [({{]\n.*?\n(?=[)}}])",
}
COMPUTE = """
import sys, pathlib, probe, pytest
from tests.probe.results.test_doubts import computed
root = computed(pathlib.Path(sys.argv[1]), pytest.MonkeyPatch())
probe.predictions(root).to_csv(root / "rows.csv")
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the tree with all of the code in it."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns(".*")
    for folder in ("probe", "figures", "scenarios", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, copy)
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) - 2 == text.count("```python") == 4
    for block in blocks:
        if block["new"]:
            (copy / block["new"]).write_text(block["code"])
            continue
        path = copy / block["old"]
        source = path.read_text()
        start = STARTS[block["where"]].format(block["name"])
        (place,) = re.finditer(start, source, re.DOTALL)
        blank = "\n\n" * (block["where"] == "above")
        path.write_text(
            source[: place.end()] + block["code"] + blank + source[place.end() :]
        )
    return copy


def run(tree, *command):
    """Run a tool of Python's in the tree; fail with what it says."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tree, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_ruff_accepts_it(tree):
    run(tree, "ruff", "check", "probe", "figures", "scenarios")
    run(tree, "ruff", "format", "--check", "probe", "figures", "scenarios")


@pytest.mark.slow
def test_mypy_accepts_it(tree):
    if (cache := ROOT / ".mypy_cache").is_dir():
        shutil.copytree(
            cache, tree / cache.name
        )  # by `make types`, for the files not changed
    run(tree, "mypy")


@pytest.mark.soak
def test_the_tests_of_its_rooms_go_through_it(tree):
    targets = dict.fromkeys(" ".join(ROOMS.values()).split())
    chosen = ["-m", "not slow", "-k", " or ".join(ROOMS)]
    said = run(tree, "pytest", "-vv", "-p", "no:cacheprovider", *chosen, *targets)
    passed = [line for line in said.splitlines() if " PASSED" in line]
    for name, room in ROOMS.items():
        assert any(
            name in line and line.startswith((*room.split(),)) for line in passed
        ), said


def test_it_is_listed(tree):
    said = run(tree, "scenarios", "list", "--json")
    for name in ("learning_accuracy", "perturb", "median"):
        assert f'"{name}"' in said


def test_a_quantity_of_layers_is_what_the_recipe_says(tree, tmp_path):
    """In a stored run: the offline network itself, minus the readouts of its layers."""
    (tree / "compute.py").write_text(COMPUTE)
    run(tree, "compute", str(tmp_path))
    layers, rows = (
        pd.read_csv(tmp_path / f"run/{name}.csv", keep_default_na=False)
        for name in ("layers", "rows")
    )
    # Of two methods that do not see the task, over all tasks.
    gaps = layers.query(
        "learner in ('er', 'finetune') and quantity == 'offline_gap' and task_position == ''"
    )
    last = rows.query("learner == 'offline' and tasks_seen == 3")
    layer = [last[name] for name in ("feature", "readout", "head")]
    is_right = last["label"] == last["predicted"]
    accuracies = is_right.groupby(layer).mean().to_dict()
    assert len(gaps) == 2 * 3 * 8  # methods, layers, readouts
    # Every readout of the output is the network itself.
    output = accuracies["output", "", "single"]
    for row in gaps.itertuples():
        at_layer = accuracies.get((row.feature, row.readout, "single"), output)
        assert float(row.value) == pytest.approx(output - at_layer, abs=1e-12)
