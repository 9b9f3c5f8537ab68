"""No file is run as code: what of Python could do that is not used, or only as a reader of data."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    p for room in ("probe", "scenarios", "figures") for p in (ROOT / room).rglob("*.py")
)

CALLS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
MODULES |= {"yaml", "importlib", "runpy", "imp", "code", "codeop"}
# `files` reads what is installed beside a module; nothing is imported by it.
HARMLESS = {"importlib.resources"}
# Where such a thing may be, and which: the user's own model is imported, by the name that was
# typed; CIFAR's pickles are taken apart by a reader that calls nothing (test_cifar).
# `probe` imports its own modules when they are first asked for; whether Ray is installed is asked
# without importing it.
ALLOWED = {
    ("probe/__init__.py", "importlib"),
    ("scenarios/execution/cluster.py", "importlib"),
    ("scenarios/loading.py", "importlib"),
    ("scenarios/cifar.py", "pickle"),
}


def dangers(source: str) -> set[str]:
    """Return what of a module could run code that comes from outside, by name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {module for alias in names for module in dangerous(alias.name)}
            case ast.ImportFrom(module=str(module), names=names):
                spelled = {f"{module}.{alias.name}" for alias in names} | {module}
                if not spelled & HARMLESS:
                    found |= {name for each in spelled for name in dangerous(each)}
                found |= {a.name for a in names if module == "builtins" and a.name in CALLS}
            case ast.Name(id=name) if name in CALLS:
                found.add(name)
            case ast.Attribute(attr=name, value=ast.Name(id="builtins")) if name in CALLS:
                found.add(name)
            case ast.Call():
                found |= loads(node)
    return found


def dangerous(name: str) -> set[str]:
    return set() if name in HARMLESS else {name.partition(".")[0]} & MODULES


def loads(call: ast.Call) -> set[str]:
    """Return the call if it loads a file and does not say that it loads data only."""
    spelled = ast.unparse(call.func)
    last = spelled.rpartition(".")[2]
    said = {k.arg: ast.unparse(k.value) for k in call.keywords}
    wanted = {
        "load": ("weights_only", "True") if spelled.startswith("torch") else None,
        "read_array": ("allow_pickle", "False"),
        "load_state_dict_from_url": ("weights_only", "True"),
        "read_pickle": ("", ""),
    }
    if spelled in ("np.load", "numpy.load"):
        wanted["load"] = ("allow_pickle", "False")
    need = wanted.get(last)
    return {spelled} if need and said.get(need[0]) != need[1] else set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_could_run_code_of_a_file(path):
    name = str(path.relative_to(ROOT))
    assert {(name, danger) for danger in dangers(path.read_text("utf-8"))} <= ALLOWED


def test_what_is_allowed_is_there_and_all_rooms_are_read():
    found = {
        (str(path.relative_to(ROOT)), danger)
        for path in SOURCES
        for danger in dangers(path.read_text("utf-8"))
    }
    assert found == ALLOWED
    assert len(SOURCES) > 100


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("eval(text)", {"eval"}),
        ("exec(text)", {"exec"}),
        ("run = eval", {"eval"}),
        ("import builtins\nbuiltins.exec(text)", {"exec"}),
        ("from builtins import eval as e", {"eval"}),
        ("code = compile(text, 'f', 'exec')", {"compile"}),
        ("__import__('os')", {"__import__"}),
        ("import pickle", {"pickle"}),
        ("def f():\n    import pickle as p, os", {"pickle"}),
        ("from pickle import loads", {"pickle"}),
        ("from six.moves import cPickle\nimport cPickle", {"cPickle"}),
        ("import joblib.numpy_pickle", {"joblib"}),
        ("import marshal, shelve", {"marshal", "shelve"}),
        ("from yaml import safe_load", {"yaml"}),
        ("import importlib.util", {"importlib"}),
        ("from importlib import import_module", {"importlib"}),
        ("import runpy", {"runpy"}),
        ("torch.load(path)", {"torch.load"}),
        ("torch.load(path, weights_only=False)", {"torch.load"}),
        ("torch.load(path, weights_only=flag)", {"torch.load"}),
        ("torch.jit.load(path)", {"torch.jit.load"}),
        ("np.load(path)", {"np.load"}),
        ("numpy.load(path, allow_pickle=True)", {"numpy.load"}),
        ("np.lib.format.read_array(f)", {"np.lib.format.read_array"}),
        ("pd.read_pickle(f)", {"pd.read_pickle"}),
        ("torch.hub.load_state_dict_from_url(u)", {"torch.hub.load_state_dict_from_url"}),
        ("torch.load(path, weights_only=True)", set()),
        ("np.load(path, allow_pickle=False)", set()),
        ("from importlib.resources import files", set()),
        ("from importlib import resources", set()),
        ("json.loads(text); tomllib.load(file); model.eval()", set()),
        ("import re\nre.compile('x'); torch.compile(m)", set()),
    ],
)
def test_the_scan_finds_every_spelling(source, found):
    assert dangers(source) == found
