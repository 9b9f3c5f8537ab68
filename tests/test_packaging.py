"""The wheel and the sdist hold what they should, and a preset runs where only the wheel is."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = """
import sys
from setuptools import build_meta
dist = sys.argv[1]
build_meta.build_wheel(dist)
build_meta.build_sdist(dist)
"""
DIGITS = "run digits --seeds 1 --orders none --learners finetune,offline --out out"


def run(*command, **where):
    each = [*map(str, command)]
    done = subprocess.run(each, capture_output=True, text=True, check=False, **where)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def tracked():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    command = "git ls-files --cached --others --exclude-standard"
    listed = run(*command.split(), cwd=ROOT)
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(tracked, tmp_path_factory):
    """Return the wheel built of a copy of the tree, with the sdist beside it."""
    pytest.importorskip("setuptools", "77", reason="it builds both")
    copy = tmp_path_factory.mktemp("copy")
    dist = tmp_path_factory.mktemp("dist")
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-c", BUILD, dist, cwd=copy)
    return next(dist.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_packages_and_the_sdist_the_tree(
    wheel, tracked
):
    held = {
        name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name
    }
    rooms = ("probe/", "scenarios/", "figures/")
    assert held == {name for name in tracked if name.startswith(rooms)}
    assert {"probe/py.typed", "scenarios/study/presets/digits.toml"} < held
    (source,) = map(tarfile.open, wheel.parent.glob("*.tar.gz"))
    held = {name.partition("/")[2] for name in source.getnames()}
    assert {name for name in tracked if not name.startswith(".")} <= held


@pytest.mark.soak
def test_a_preset_runs_in_an_empty_environment(wheel, tmp_path):
    """A minute or more: torch is installed. Neither this tree nor this environment is there."""
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv/bin/python", "-m", "pip", "install", "--no-compile", wheel)
    there = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run(
        tmp_path / "venv/bin/forgetting-probe", *DIGITS.split(), cwd=tmp_path, env=there
    )
    assert (tmp_path / "out/report.html").stat().st_size > 100_000
