"""The scripts of the gallery: each runs, leaves nothing behind, and uses names that exist."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "docs" / "gallery").glob("plot_*.py"))


@pytest.mark.soak
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_leaves_no_file(script, tmp_path):
    for name in ("work", "tmp"):
        (tmp_path / name).mkdir()
    env = {**os.environ, "MPLBACKEND": "agg", "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_uses_public_names_that_exist(script):
    """`probe.NAME`, `figures.NAME` and `from probe import NAME` are of `dir(probe)` or `dir`."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        match node:
            case ast.Attribute(
                value=ast.Name(id="probe" | "figures" as room), attr=name
            ):
                assert name in dir(import_module(room)), name
            case ast.ImportFrom(module="probe" | "figures" as room, names=names):
                assert {each.name for each in names} <= set(dir(import_module(room)))
            case ast.ImportFrom(module=str(module)):
                assert not module.startswith(("probe.", "figures.", "scenarios")), (
                    module
                )
