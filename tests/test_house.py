"""Rules of the house that neither ruff nor import-linter knows, and that warnings of ours fail."""

from __future__ import annotations

import ast
import subprocess
import warnings
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("probe", "scenarios", "figures")

# In pieces, so that this file names no host either.
REGISTRIES = [
    ".".join(parts).encode()
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("anaconda", "org"),
        ("npmjs", "org"),
        ("crates", "io"),
    )
]


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize(("folders", "most"), [(ROOMS, 300), (("tests",), 400)])
def test_modules_are_short(folders, most):
    files = modules(*folders)
    lengths = {path.relative_to(ROOT): path.read_text("utf-8").count("\n") for path in files}
    assert len(lengths) > 100
    assert {path: lines for path, lines in lengths.items() if lines > most} == {}


def test_functions_are_short():
    """40 lines at most, docstrings not counted."""
    lengths = {}
    for path in modules(*ROOMS):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = node.body[0].end_lineno - node.body[0].lineno + 1
                lines = node.end_lineno - node.lineno + 1
                own = lines - said * (ast.get_docstring(node) is not None)
                lengths[path.relative_to(ROOT), node.name] = own
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > 40} == {}


def test_folders_have_no_more_than_15_modules():
    files = [path for path in modules(*ROOMS) if path.name != "__init__.py"]
    sizes = Counter(path.parent.relative_to(ROOT) for path in files)
    assert {folder: size for folder, size in sizes.items() if size > 15} == {}


def test_no_file_names_the_host_of_a_package_registry():
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a git repository")
    files = [ROOT / name for name in found.stdout.splitlines()]
    assert Path(__file__) in files
    said = {path: path.read_bytes().lower() for path in files if path.is_file()}
    assert [path for path, text in said.items() if any(host in text for host in REGISTRIES)] == []


@pytest.mark.parametrize("module", [*ROOMS, "probe.cut.names", "scenarios.study.job"])
def test_a_warning_that_our_code_causes_is_an_error(module):
    with pytest.raises(DeprecationWarning, match="old"):
        warnings.warn_explicit("old", DeprecationWarning, "x.py", 1, module)


@pytest.mark.parametrize("module", ["torch.nn", "sklearn.probe", "probes", "figures_of_others"])
def test_a_warning_that_other_code_causes_is_none(module):
    with warnings.catch_warnings(record=True) as told:
        warnings.warn_explicit("old", DeprecationWarning, "x.py", 1, module)
    assert len(told) == 1
