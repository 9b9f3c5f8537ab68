"""What is not imported until it is needed: seen from processes that start afresh."""

import json
import os
import resource
import subprocess
import sys

import pytest

HEAVY = ("torch", "torchvision", "numpy", "scipy", "sklearn", "matplotlib")
R = "0.9,0.1\n0.5,0.8\n"
STUDY = """
orders = "none"
[scenario]
data = "digits"
train_limit = 5
[network]
name = "mlp"
[training]
epochs = 1
[learners.finetune]
"""

# Runs the command line in a process of its own and reports which packages are loaded then.
RUN = (
    f"HEAVY = {HEAVY}"
    + """
import json, sys
from scenarios.commands.main import main
sys.argv[:1] = ["probe"]
try:
    main()
except SystemExit as stop:
    code = stop.code
print(json.dumps({"code": code, "loaded": sorted(set(sys.modules) & set(HEAVY))}))
"""
)

IMPORT = """
import json, sys
import probe
loaded = ["torch" in sys.modules]
from probe import AccuracyMatrix, Counts
loaded.append("torch" in sys.modules)
from probe import CacheSettings, Examples, Recipe, Counts, AccuracyMatrix, split, partial_retrain
from probe import Analysis, Recorder, analyze, cache_plan, candidates, cut_each, data, load
from probe import metric, network
loaded.append("torch" in sys.modules)
names = [getattr(probe, name) for name in probe.__all__ if name != "metrics"]
given = [AccuracyMatrix, Analysis, CacheSettings, Counts, Examples, Recipe, Recorder, analyze]
given += [cache_plan, candidates, cut_each, data, load, metric, network, partial_retrain, split]
kinds = lambda found: ["class" if isinstance(each, type) else type(each).__name__ for each in found]
print(json.dumps({"torch": loaded, "first": kinds(given), "again": kinds(names)}))
"""


def python(code, *arguments):
    """Run code in a fresh interpreter and return what it printed last, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["metrics", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    assert python(RUN, *arguments) == {"code": 0, "loaded": []}


def test_help_answers_in_under_half_a_second():
    command = [sys.executable, "-c", "from scenarios.commands.main import main; main()", "--help"]

    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "metrics" in done.stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Of the processor's time: the machine may be busy with other work, which slows that, too.
    assert any(once() < 0.5 for _ in range(10))


def test_metrics_import_numpy_alone(tmp_path):
    (tmp_path / "R.csv").write_text(R)
    assert python(RUN, "metrics", tmp_path / "R.csv") == {"code": 0, "loaded": ["numpy"]}


def test_a_study_of_digits_imports_neither_torchvision_nor_before_it_draws_matplotlib(tmp_path):
    (tmp_path / "tiny.toml").write_text(STUDY)
    arguments = ("run", tmp_path / "tiny.toml", "--out", tmp_path / "out", "--executor", "inline")
    undrawn = "import scenarios.commands.run as run\nrun.build = lambda *_, **__: []\n"
    seen = python(undrawn + RUN, *arguments)
    assert seen["code"] == 0
    assert {"torch", "sklearn"} <= set(seen["loaded"])
    assert not {"torchvision", "matplotlib"} & set(seen["loaded"])
    assert (tmp_path / "out" / "rows.csv").exists()


def test_the_package_gives_its_names_and_loads_torch_only_for_those_that_need_it():
    seen = python(IMPORT)
    kinds = 7 * ["class"] + 10 * ["function"]
    assert seen == {"torch": [False, False, True], "first": kinds, "again": kinds}


def test_the_package_lists_its_names_and_has_no_other():
    import probe

    classes = ["AccuracyMatrix", "Analysis", "CacheSettings", "Counts", "Examples", "Recipe"]
    classes += ["Recorder"]
    others = ["analyze", "cache_plan", "candidates", "cut_each", "data", "load", "metric"]
    others += ["metrics", "network", "partial_retrain", "split"]
    assert sorted(probe.__all__) == classes + others
    with pytest.raises(AttributeError, match="no attribute 'retrain_partially'"):
        _ = probe.retrain_partially


@pytest.mark.parametrize("line", ["run digts", "metrics absent.csv"])
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, line):
    """Also where the surroundings name a screen for matplotlib that there is not."""
    command = [sys.executable, "-m", "scenarios", *line.split()]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "nonsense"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
