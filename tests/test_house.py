"""Rules of the house that neither ruff nor import-linter knows, and that warnings of ours fail."""

import ast
import io
import subprocess
import tokenize
import warnings
from pathlib import Path

import pytest

from probe.source import imported_names
from tests.unused_names import unused

ROOT = Path(__file__).parents[1]
ROOMS = ("probe", "scenarios", "figures")
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# Without their dots, so that this file names no host either.
REGISTRIES = [
    host.replace("@", ".").encode()
    for host in (
        "pypi@org",
        "pythonhosted@org",
        "download@pytorch@org",
        "anaconda@org",
        "npmjs@org",
        "crates@io",
    )
]


def tokens(path):
    """Count the tokens of a module, without comments and docstrings."""
    text = path.read_text("utf-8")
    docstrings = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    read = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(t.type not in LAYOUT and t.start[0] not in docstrings for t in read)


def closure(start, files):
    """Return a module and those of ours that it imports, directly or not, in functions too."""
    seen = set[str]()
    left = [start]
    while left:
        if (name := left.pop()) not in seen:
            seen.add(name)
            names = imported_names(ast.parse(files[name].read_bytes()))
            left += [each for each in names if each in files]
    return seen


def test_the_house_keeps_its_size():
    """An issue may raise the first two numbers by the allowance that it names."""
    rooms = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    tests = (ROOT / "tests").rglob("*.py")
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in rooms]
    files = {n.removesuffix(".__init__"): p for n, p in zip(names, rooms, strict=True)}
    assert sum(map(tokens, rooms)) <= 278_700, "tokens of code"
    assert sum(map(tokens, tests)) <= 323_397, "tokens of tests"
    assert len(closure("probe.retrain", files)) <= 77, (
        "modules that probe.retrain imports"
    )


def test_no_file_names_the_host_of_a_package_registry():
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    found = subprocess.run(
        listed, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip("not a git repository")
    files = [ROOT / name for name in found.stdout.splitlines()]
    assert Path(__file__) in files
    said = {path: path.read_bytes().lower() for path in files if path.is_file()}
    assert [
        path for path, text in said.items() if any(host in text for host in REGISTRIES)
    ] == []


@pytest.mark.parametrize("module", [*ROOMS, "probe.cut.names"])
def test_a_warning_that_our_code_causes_is_an_error(module):
    with pytest.raises(DeprecationWarning, match="old"):
        warnings.warn_explicit("old", DeprecationWarning, "x.py", 1, module)


@pytest.mark.parametrize("module", ["sklearn.probe", "probes"])
def test_a_warning_that_other_code_causes_is_none(module):
    with warnings.catch_warnings(record=True) as told:
        warnings.warn_explicit("old", DeprecationWarning, "x.py", 1, module)
    assert len(told) == 1


def test_unused_names_are_found():
    sources = {
        "probe.one": """
import torch
X = 1
class Used:
    size = 1
    left = 2
    def run(self): self.kept = self.size
    def lost(self): ...
class Layer(torch.nn.Module):
    def forward(self): ...
def named(): ...
def registered_by_name(): ...
def documented(): ...
def lost(): ...
@app.command()
def shown(): ...
""",
        "probe.two": """
from probe.one import Used
import probe.one as one
one.named(Used().run())
TABLE = {"x": "one:registered_by_name"}
print(TABLE, "X", "a lost word")
""",
    }
    lost = [": X", ": lost", ": Layer", ": Used.kept", ": Used.left", ": Used.lost"]
    found = unused(sources, "call `documented`")
    assert found == sorted(f"probe.one{each}" for each in lost)
