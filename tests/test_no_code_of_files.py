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
MODULES |= {"yaml", "importlib", "runpy", "imp", "code", "codeop", "subprocess", "pty"}
# Of `os`, what starts a program; the names of the others begin so.
PROGRAMS = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.startfile")
# They read what is installed beside a module, and its version; nothing is imported by it.
HARMLESS = {"importlib.resources", "importlib.resources.abc", "importlib.metadata"}
# Where such a thing may be, and which: the user's own model is imported, by the name that was
# typed; CIFAR's pickles are taken apart by a reader that calls nothing (test_cifar).
# `probe` and `figures` import their own modules when they are first asked for; whether Ray is
# installed is asked without importing it, and so is where torch is.
ALLOWED = {
    ("probe/__init__.py", "importlib"),
    ("figures/build.py", "importlib"),
    ("scenarios/execution/cluster.py", "importlib"),
    ("scenarios/commands/user_model.py", "importlib"),
    ("scenarios/study/shortcut.py", "importlib"),
    ("scenarios/data/cifar.py", "pickle"),
}


def dangers(source: str) -> set[str]:
    """Return what of a module could run code that comes from outside, by name."""
    tree = ast.parse(source)
    known, found, said = imported(tree), set(), {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {module for alias in names for module in dangerous(alias.name)}
            case ast.ImportFrom(module=str(module), names=names):
                spelled = {f"{module}.{alias.name}" for alias in names} | {module}
                if not spelled & HARMLESS:
                    found |= {name for each in spelled for name in dangerous(each)}
                found |= {name for each in spelled for name in calls(each)}
            case ast.Call(func=called, keywords=keywords):
                said[called] = {(word.arg, ast.unparse(word.value)) for word in keywords}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            full = full_name(node, known)
            found |= calls(full) | loads(full, said.get(node, set()))
    return found


def imported(tree: ast.AST) -> dict[str, str]:
    """Return what the names that a module imports stand for, in full."""
    known = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                known |= {alias.asname: alias.name for alias in names if alias.asname}
            case ast.ImportFrom(module=str(module), names=names):
                known |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
    return known


def full_name(node: ast.expr, known: dict[str, str]) -> str:
    """Return what is spelled, `torch.load` also for a `load` that was imported from there."""
    first, dot, rest = ast.unparse(node).partition(".")
    return known.get(first, first) + dot + rest


def dangerous(name: str) -> set[str]:
    return set() if name in HARMLESS else {name.partition(".")[0]} & MODULES


def calls(full: str) -> set[str]:
    if full.startswith(PROGRAMS):
        return {full}
    return {full.removeprefix("builtins.")} & CALLS


def loads(full: str, said: set[tuple[str | None, str]]) -> set[str]:
    """Return what loads a file unless it is called and told to load data only."""
    wanted = {
        "load": ("weights_only", "True") if full.startswith("torch.") else None,
        "read_array": ("allow_pickle", "False"),
        "load_state_dict_from_url": ("weights_only", "True"),
        "read_pickle": ("", ""),
    }
    if full in ("np.load", "numpy.load"):
        wanted["load"] = ("allow_pickle", "False")
    need = wanted.get(full.rpartition(".")[2])
    return {full} if need and need not in said else set()


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
        ("from torch import load\nload(f)", {"torch.load"}),
        ("from torch import load as get\nget(f, weights_only=False)", {"torch.load"}),
        ("import torch as t\nt.load(f)", {"torch.load"}),
        ("import torch.jit as j\nj.load(f)", {"torch.jit.load"}),
        ("read = torch.load", {"torch.load"}),
        ("map(torch.load, files)", {"torch.load"}),
        ("from numpy import load\nload(f, allow_pickle=True)", {"numpy.load"}),
        ("import numpy as n\nn.load(f)", {"numpy.load"}),
        ("from numpy.lib.format import read_array as r\nr(f)", {"numpy.lib.format.read_array"}),
        ("os.system('ls')", {"os.system"}),
        ("import os as o\no.popen('ls')", {"os.popen"}),
        ("from os import execvp", {"os.execvp"}),
        ("import subprocess", {"subprocess"}),
        ("from subprocess import run as r", {"subprocess"}),
        ("import builtins as b\nb.eval(text)", {"eval"}),
        ("import builtins as b\nrun = b.exec", {"exec"}),
        ("torch.load(path, weights_only=True)", set()),
        ("from torch import load\nload(f, weights_only=True)", set()),
        ("import torch as t\nt.load(f, weights_only=True)", set()),
        ("from numpy import load\nload(f, allow_pickle=False)", set()),
        ("from json import load\nload(f)", set()),
        ("import os\nos.replace(a, b)\nsystem = os.name", set()),
        ("from re import compile as c\nc('x')", set()),
        ("np.load(path, allow_pickle=False)", set()),
        ("from importlib.resources import files", set()),
        ("from importlib import resources", set()),
        ("json.loads(text); tomllib.load(file); model.eval()", set()),
        ("import re\nre.compile('x'); torch.compile(m)", set()),
    ],
)
def test_the_scan_finds_every_spelling(source, found):
    assert dangers(source) == found
