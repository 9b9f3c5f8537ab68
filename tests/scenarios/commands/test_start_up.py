"""Imports that wait until they are needed: seen from processes that start afresh."""

import json
import os
import subprocess
import sys

import pytest

import probe
from tests.bad_input.making import TINY

COMPILER = "torch._dynamo"
HEAVY = ("torch", COMPILER, "torchvision", "numpy", "scipy", "sklearn", "pandas", "matplotlib")

# Runs the command line in a process of its own and reports which packages are loaded then.
RUN = f"""
import json, sys
from scenarios.commands.main import main
sys.argv[:1] = ["probe"]
try:
    main()
except SystemExit as stop:
    print(json.dumps([stop.code, *(name for name in {HEAVY} if name in sys.modules)]))
"""
IMPORT = """
import json, sys
import probe
loaded = ["torch" in sys.modules]
from probe import AccuracyMatrix, Counts
loaded.append("torch" in sys.modules)
for name in probe.__all__:
    getattr(probe, name)
loaded.append("torch" in sys.modules)
print(json.dumps(loaded))
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


def test_help_imports_nothing_heavy_and_metrics_numpy_alone(tmp_path):
    (tmp_path / "R.csv").write_text("0.9,0.1\n0.5,0.8\n")
    assert python(RUN, "run", "--help") == [0]
    assert python(RUN, "metrics", tmp_path / "R.csv") == [0, "numpy"]


def test_a_plan_is_shown_before_anything_is_imported_that_trains_or_draws(tmp_path):
    """Neither torch's compiler nor scikit-learn, pandas or matplotlib, each up to a second."""
    seen = python(RUN, "run", "digits", "--dry-run", "--out", tmp_path / "out")
    assert seen == [0, "torch", "numpy", "scipy"]


@pytest.mark.slow
def test_a_study_imports_no_compiler_nor_torchvision_nor_before_it_draws_matplotlib(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    out = tmp_path / "out"
    flags = ("--out", out, "--executor", "inline", "--learners", "finetune")
    undrawn = "import scenarios.commands.run as run\nrun.build = lambda *_, **__: []\n"
    seen = python(undrawn + RUN, "run", tmp_path / "tiny.toml", *flags)
    assert seen[0] == 0
    assert {"torch", "pandas"} <= set(seen)
    assert not {COMPILER, "torchvision", "sklearn", "matplotlib"} & set(seen)
    assert (out / "measurements.csv").exists()


def test_the_package_gives_its_names_and_loads_torch_only_for_those_that_need_it():
    assert python(IMPORT) == [False, False, True]
    with pytest.raises(AttributeError, match="no attribute 'retrain_partially'"):
        _ = probe.retrain_partially


def test_modules_of_the_user_with_our_names(tmp_path):
    (tmp_path / "figures.py").touch()
    (tmp_path / "mine.py").write_text(
        "from probe.tables.held import ResultBase\nResultBase.plot.fget(None)"
    )
    said = f"<module 'figures' from '{tmp_path}/figures.py'> is not that of forgetting-probe"
    assert said in failed(tmp_path, "mine.py")
    assert failed(tmp_path, "-m", "scenarios", "figures", ".").startswith("error: ")
    (tmp_path / "probe.py").touch()
    said = f"ImportError: {tmp_path}/probe.py has the name of a package of forgetting-probe: rename"
    assert said in failed(tmp_path, "-m", "scenarios", "list")


def failed(folder, *arguments):
    """Run Python in a folder, and return what it says on standard error."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode
    return done.stderr
