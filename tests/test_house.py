"""Rules of the house that neither ruff nor import-linter knows, and that warnings of ours fail."""

import ast
import io
import subprocess
import tokenize
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from probe.source import imported_names
from tests.unused_names import unused

# The limits, computed from syntax trees. An issue may raise the first by the allowance
# that it names; the others only fall. No line is counted for its own sake.
TOKENS = {"code": 299_864, "tests": 355_763}
DENSITY = {"code": 8.8, "tests": 9.5}  # tokens a line of code, in every folder
NESTED = {"code": 73, "tests": 58}  # comprehensions within another, or of two loops
LONGEST = {"code": 428, "tests": 560}  # tokens of a function
MODULES = 77  # that `probe.retrain` imports, directly or not

ROOT = Path(__file__).parents[1]
ROOMS = ("probe", "scenarios", "figures")
FOLDERS = {"code": ROOMS, "tests": ("tests",)}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LITERALS = (ast.Tuple, ast.List, ast.IfExp)

# Without their dots, so that this file names no host either.
REGISTRIES = (
    b"pypi@org pythonhosted@org download@pytorch@org anaconda@org npmjs@org crates@io"
).replace(b"@", b".")


@dataclass(frozen=True)
class Measured:
    """A module's size and shape: tokens by line, and what is hard to read, by place."""

    folder: str
    tokens: Counter
    lines: int
    nested: list
    splatted: list
    functions: dict


@cache
def measured(kind):
    """Measure the modules of the code or of the tests."""
    paths = []
    for folder in FOLDERS[kind]:
        paths += sorted((ROOT / folder).rglob("*.py"))
    return [measure(path) for path in paths]


def measure(path):
    """Measure a module, without comments and docstrings."""
    text = path.read_text("utf-8")
    name = str(path.relative_to(ROOT))
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = set()
    for node in nodes:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = Counter()
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first, last = token.start[0], token.end[0]
        if token.type not in LAYOUT and first not in docstrings:
            tokens[first] += 1
            lines |= set(range(first, last + 1))
    functions = {}
    for node in nodes:
        if isinstance(node, FUNCTIONS):
            span = range(node.lineno, node.end_lineno + 1)
            functions[f"{name}:{node.name}"] = sum(tokens[line] for line in span)
    return Measured(
        folder=str(path.relative_to(ROOT).parent),
        tokens=tokens,
        lines=len(lines),
        nested=[f"{name}:{node.lineno}" for node in nodes if is_nested(node)],
        splatted=[f"{name}:{node.lineno}" for node in nodes if is_splatted(node)],
        functions=functions,
    )


def is_nested(node):
    """Return whether a comprehension has two loops, or another in it."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    inside = [each for each in ast.walk(node) if isinstance(each, COMPREHENSIONS)]
    return len(inside) > 1 or len(node.generators) > 1


def is_splatted(node):
    """Return whether a literal is unpacked where its items could stand."""
    return isinstance(node, ast.Starred) and isinstance(node.value, LITERALS)


def closure(start, files):
    """Return a module and those of ours that it imports, directly or not, in functions too."""
    seen = set()
    left = [start]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            names = imported_names(ast.parse(files[name].read_bytes()))
            left += [each for each in names if each in files]
    return seen


@pytest.mark.parametrize("kind", FOLDERS)
def test_neither_tokens_nor_what_is_hard_to_read_become_more(kind):
    assert sum(module.tokens.total() for module in measured(kind)) <= TOKENS[kind]
    assert sum(len(module.nested) for module in measured(kind)) <= NESTED[kind]
    assert [module.splatted for module in measured(kind) if module.splatted] == []


@pytest.mark.parametrize("kind", FOLDERS)
def test_no_folder_is_denser_than_the_field_s_model_projects(kind):
    tokens = Counter()
    lines = Counter()
    for module in measured(kind):
        tokens[module.folder] += module.tokens.total()
        lines[module.folder] += module.lines
    densities = {tokens[folder] / lines[folder]: folder for folder in +lines}
    assert max(densities) <= DENSITY[kind], densities


@pytest.mark.parametrize("kind", FOLDERS)
def test_no_function_is_longer_than_the_longest(kind):
    tokens_of = {}
    for module in measured(kind):
        tokens_of |= module.functions
    assert max(tokens_of.values()) <= LONGEST[kind], max(tokens_of, key=tokens_of.get)


def test_what_is_hard_to_read_is_found():
    hard = ast.parse("f(*(1, 2), [x for y in z for x in y], {x: [*y] for x in z})")
    nodes = list(ast.walk(hard))
    assert sum(map(is_splatted, nodes)) == 1
    assert sum(map(is_nested, nodes)) == 1


def test_retraining_imports_few_modules():
    files = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            files[name.removesuffix(".__init__")] = path
    assert len(closure("probe.retrain", files)) <= MODULES


def test_no_file_names_the_host_of_a_package_registry():
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    found = subprocess.run(
        listed, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip("not a git repository")
    files = [ROOT / name for name in found.stdout.splitlines()]
    assert Path(__file__) in files
    for path in filter(Path.is_file, files):
        text = path.read_bytes().lower()
        assert not [host for host in REGISTRIES.split() if host in text], path


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
