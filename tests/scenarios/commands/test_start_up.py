"""Imports that wait until they are needed: seen from processes that start afresh."""

import json
import os
import subprocess
import sys

import pytest

import probe
from probe.results.run_directory import describe
from scenarios.execution.work import carried_out
from tests.scenarios.execution.helpers import jobs_in, work_of

COMPILER = "torch._dynamo"
HEAVY = (
    "torch",
    COMPILER,
    "torchvision",
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
)

# Runs command lines in a process of its own and reports their exit codes, and which
# packages are loaded then.
RUN = f"""
import json, shlex, sys
from scenarios.commands.main import main
codes = []
for line in sys.argv[1:] or [""]:
    sys.argv = ["probe", *shlex.split(line)]
    try:
        main()
    except SystemExit as stop:
        codes.append(stop.code)
print(json.dumps([*codes, *(name for name in {HEAVY} if name in sys.modules)]))
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
    assert python(RUN, "run --help") == [0]
    assert python(RUN, f"metrics {tmp_path}/R.csv") == [0, "numpy"]


def test_what_computes_nothing_loads_no_torch(tmp_path):
    """Of a study with a checkpoint, of everything that has a name, and of two runs."""
    work = work_of(tmp_path / "run", learners={"finetune": {}})
    describe(work.root, work.plan)
    carried_out(work, jobs_in(work)[0])
    assert list(work.root.rglob("after-*.pt"))
    run = "reference:digits"
    seen = python(RUN, f"status {work.root}", "list", f"compare {run} {run}")
    assert seen[:3] == [0, 0, 0]
    assert "torch" not in seen


def test_a_shell_completes_a_command_without_torch(monkeypatch):
    monkeypatch.setenv("_PROBE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "probe comp")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["compare", "[0]"]
    assert not done.stderr


def test_a_plan_is_shown_before_anything_is_imported_that_trains_or_draws(tmp_path):
    """Neither torch's compiler nor scikit-learn, pandas or matplotlib, each up to a second."""
    seen = python(RUN, f"run digits --dry-run --out {tmp_path}/out")
    assert seen == [0, "torch", "numpy", "scipy"]


def test_the_package_gives_its_names_and_loads_torch_only_for_those_that_need_it():
    assert python(IMPORT) == [False, False, True]
    with pytest.raises(AttributeError, match="no attribute 'retrain_partially'"):
        _ = probe.retrain_partially
