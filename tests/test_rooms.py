"""The house: who imports whom, how long modules are, what public things say, what nobody names."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {"probe": set(), "figures": {"probe"}, "scenarios": {"probe", "figures"}}
MODULES = [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py"))]

# In pieces, so that this file names no host either.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("anaconda", "org"),
        ("npmjs", "org"),
        ("crates", "io"),
    )
]
IGNORED = {"build", "dist", "runs", "__pycache__", "uv.lock"}


def imported(source: str) -> set[str]:
    """Return the top-level packages that a module imports, anywhere in it and also by name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, level=level):
                found.add("." * level + (module or ""))
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                found.add(name)
    return {name.partition(".")[0] for name in found}


def strangers(room: str, source: str) -> set[str]:
    """Return what a module of a room imports of ours and may not; "" stands for a relative one."""
    ours = {*MAY_IMPORT, "tests", ""}
    return (imported(source) & ours) - MAY_IMPORT[room] - {room}


def undocumented(source: str, methods: bool) -> list[str]:
    """Return the public functions, classes and (if asked for) methods without a docstring."""
    tree = ast.parse(source)
    named = {node.name: node for node in public(tree)}
    for outer in [node for node in named.values() if methods and isinstance(node, ast.ClassDef)]:
        named |= {f"{outer.name}.{inner.name}": inner for inner in public(outer)}
    everything = {"the module": tree, **named}
    return [name for name, node in everything.items() if ast.get_docstring(node) is None]


def public(body: ast.Module | ast.ClassDef) -> list[ast.ClassDef | ast.FunctionDef]:
    defined = [node for node in body.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [node for node in defined if not node.name.startswith("_")]


def function_lengths(source: str) -> dict[str, int]:
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    return {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions}


def our_files() -> Iterator[Path]:
    """Yield every file of ours: what tools put into hidden and ignored folders is not."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name == ".ci" or not (name.startswith(".") or name in IGNORED or "egg-info" in name)
        ]
        yield from (Path(folder, name) for name in names if name not in IGNORED)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    assert strangers(path.relative_to(ROOT).parts[0], path.read_text("utf-8")) == set()


@pytest.mark.parametrize(
    ("room", "line", "caught"),
    [
        ("probe", "import scenarios.commands.main", {"scenarios"}),
        ("probe", "def f():\n    from figures import style", {"figures"}),
        ("probe", "import_module('scenarios.streams.task')", {"scenarios"}),
        ("probe", "importlib.import_module('figures')", {"figures"}),
        ("probe", "from . import counts", {""}),
        ("probe", "from tests.zoo import nets", {"tests"}),
        ("figures", "from scenarios.study import spec", {"scenarios"}),
        ("figures", "import probe.tables.rows, numpy", set()),
        ("scenarios", "import probe, figures.build", set()),
        ("probe", "import probe.metrics.counts, torch", set()),
        ("probe", "name = 'scenarios'", set()),
    ],
)
def test_the_check_of_imports_sees_every_spelling(room, line, caught):
    assert strangers(room, line) == caught


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_room_is_checked(room):
    assert sum(path.is_relative_to(ROOT / room) for path in MODULES) >= 8


def test_no_module_is_longer_than_300_lines():
    files = [*MODULES, *(ROOT / "tests").rglob("*.py")]
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").split("\n")) for path in files
    }
    assert {name: lines for name, lines in lengths.items() if lines > 301} == {}


def test_no_function_is_longer_than_40_lines():
    lengths = {
        f"{path.relative_to(ROOT)}: {name}": lines
        for path in MODULES
        for name, lines in function_lengths(path.read_text("utf-8")).items()
    }
    assert {name: lines for name, lines in lengths.items() if lines > 40} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_things_have_a_docstring(path):
    # A step that a learner overrides is documented once, in the base class.
    overrides = path.parent.name == "learners" and path.name != "base.py"
    assert undocumented(path.read_text("utf-8"), methods=not overrides) == []


def test_the_check_of_docstrings_sees_what_is_missing():
    source = (
        "def f(): pass\nclass A:\n    def g(self): pass\n    def _h(self): pass\ndef _i(): pass"
    )
    assert undocumented(source, methods=True) == ["the module", "f", "A", "A.g"]
    assert undocumented(source, methods=False) == ["the module", "f", "A"]
    assert undocumented('"""It."""\n\ndef f():\n    """Do."""', methods=True) == []


def test_no_file_names_the_host_of_a_package_registry():
    files = list(our_files())
    assert {ROOT / "pyproject.toml", ROOT / "probe" / "errors.py", Path(__file__)} <= set(files)
    named = {
        (str(path.relative_to(ROOT)), host)
        for path in files
        for host in REGISTRIES
        if host.encode() in path.read_bytes().lower()
    }
    assert named == set()


def test_what_is_left_out_of_that_search_is_left_out_of_the_repository():
    ignored = {line.rstrip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()}
    assert {*IGNORED, "*.egg-info"} <= ignored
